"""The actors of a run with their proxies: started together, replaced when killed, ended together."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self, TextIO

from bench.hazards.actor_process import ActorFailed, ActorProcess, Interrupted, Message
from bench.hazards.resources.base import Place, addresses_of, reached_at
from bench.hazards.scenario import ActorPart, filled
from bench.records.hazards import Scalar
from bench.servers.breaking.proxy import FaultProxy
from bench.servers.endpoint import Endpoint
from bench.systems.registry import System

ANSWERS_WITHIN_S = 20.0  # beyond what a request was allowed to take: opening a session on a busy machine, mostly
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Backstage:
    """Where actors find what they use."""

    system: System
    endpoint: Endpoint
    resource_kind: str
    place: Place
    log: TextIO  # standard error of the actors
    stopped: Callable[[], bool]  # has someone asked for an end?


class Cast:
    """One set of actors by name. A context manager: at its end every process is gone and every proxy closed."""

    def __init__(self, parts: Mapping[str, ActorPart], backstage: Backstage) -> None:
        self._parts = parts
        self._backstage = backstage
        self._actors: dict[str, ActorProcess] = {}
        self._proxies: dict[str, list[FaultProxy]] = {}
        self._resource_proxies: dict[str, list[FaultProxy]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            for name, part in self._parts.items():
                if part.proxied:
                    self._proxies[name] = self._before(self._backstage.endpoint.addresses)
                if part.resource_proxied:
                    self._resource_proxies[name] = self._before(addresses_of(self._backstage.place))
            self.complete()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:  # the proxies go last, and each actor is ended, also after another would not
            for actor in self._actors.values():
                self._stack.callback(actor.end)

    def _before(self, targets: Sequence[tuple[str, int]]) -> list[FaultProxy]:
        return [self._stack.enter_context(FaultProxy(target)) for target in targets]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._parts)

    def actor(self, name: str) -> ActorProcess:
        return self._actors[name]

    def has(self, name: str) -> bool:
        """Was it started?"""
        return name in self._actors

    def proxies(self, name: str) -> list[FaultProxy]:
        """One proxy a server, in node order."""
        return self._proxies[name]

    def resource_proxies(self, name: str) -> list[FaultProxy]:
        """Those before the resource, on the way of this actor alone."""
        return self._resource_proxies[name]

    def all_proxies(self) -> list[list[FaultProxy]]:
        """Those before the lock's servers, of every actor that has any."""
        return list(self._proxies.values())

    def wait_reply_held(self, name: str, servers: int) -> None:
        """Wait until the replies of so many servers to this actor are kept back by its proxies. Raises ActorFailed,
        Interrupted."""
        self._wait_held(f"no reply to actor {name}", self._proxies[name], FaultProxy.wait_reply_held, servers)

    def wait_request_held(self, name: str, servers: int) -> None:
        """The same for what this actor sent to so many servers."""
        self._wait_held(f"no request of actor {name}", self._proxies[name], FaultProxy.wait_request_held, servers)

    def wait_write_held(self, name: str) -> None:
        """The same for what this actor sent to the resource."""
        self._wait_held(f"no write of actor {name}", self._resource_proxies[name], FaultProxy.wait_request_held, 1)

    def _wait_held(
        self, what: str, proxies: Sequence[FaultProxy], held: Callable[[FaultProxy, float], bool], count: int
    ) -> None:
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        idle = list(proxies)
        while len(proxies) - len(idle) < count:
            idle = [proxy for proxy in idle if not held(proxy, _LOOK_EVERY_S)]
            if self._backstage.stopped():
                raise Interrupted
            if time.monotonic() >= deadline:
                raise ActorFailed(f"{what} was kept back within {ANSWERS_WITHIN_S:g} s")

    def log(self, line: str) -> None:
        """Say something in the run's log, where what the actors print goes too."""
        print(line, file=self._backstage.log, flush=True)

    def complete(self) -> None:
        """Start the actors that are missing, all side by side. Who is gone, or still at what it was asked in a trial
        that broke off, is replaced."""
        self.replace(*(name for name in self._parts if name not in self._actors or not self._actors[name].idle))

    def replace(self, *fresh: str) -> None:
        """Start these anew, side by side, whatever has become of them. They have no session yet."""
        for name in fresh:
            if name in self._actors:
                self._actors[name].end()
            self._actors[name] = ActorProcess(name, self._backstage.log)
        for name in fresh:
            self._actors[name].wait_ready()

    def open(self, values: Mapping[str, Scalar], *names: str) -> None:
        """Give every actor, or those named, a session of its own (the lease belongs to the session in some systems)."""
        numbers = {}
        for name in names or self._parts:
            part = self._parts[name]
            endpoint = self._backstage.endpoint
            if part.proxied:
                endpoint = endpoint.at(tuple(proxy.address for proxy in self._proxies[name]))
            place = self._backstage.place
            if part.resource_proxied:
                place = reached_at(place, [proxy.address for proxy in self._resource_proxies[name]])
            numbers[name] = self._actors[name].send(
                "open",
                system_name=self._backstage.system.name,
                endpoint=endpoint.to_tree(),
                ttl_ms=int(values["ttl_ms"]),
                call_timeout_ms=part.call_timeout_ms,
                variant={name: str(value) for name, value in filled(part.variant, values).items()},
                resource_kind=self._backstage.resource_kind,
                place=dict(place),
                suspension_uncounted=part.suspension_uncounted,
            )
        for name, number in numbers.items():
            self.collect(name, number, ANSWERS_WITHIN_S, "opened")

    def wait_said(self, name: str, what: str, count: int, within_s: float) -> Message | None:
        """See `ActorProcess.wait_said`."""
        return self._actors[name].wait_said(what, count, within_s, self._backstage.stopped)

    def ask(self, name: str, do: str, **request: Any) -> Message:
        """One request and its answer."""
        return self.collect(name, self._actors[name].send(do, **request), ANSWERS_WITHIN_S)

    def collect(self, name: str, number: int, within_s: float, expected: str | None = None) -> Message:
        """The answer to an earlier request. Raises ActorFailed when there is none, or when it is not the expected."""
        return self._actors[name].answer(number, within_s, self._backstage.stopped, expected)
