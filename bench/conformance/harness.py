"""What a check works with: one system, its endpoint, and everything opened on it, closed again when the check ends."""

import itertools
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from bench.conformance.actors import Actor, LocalActor, ProcessActor
from bench.conformance.bounds import (
    BAD_WIRE_CALL_MS,
    LAPSE_SLACK_MS,
    LONG_TTL_MS,
    LOOK_EVERY_S,
    PATIENCE_MS,
    SHORT_TTL_MS,
)
from bench.conformance.script import endpoint_as_values
from bench.conformance.together import together
from bench.conformance.wires import LinkWire, Wire
from bench.servers.endpoint import Endpoint
from bench.systems.base import Capabilities, ClientOptions, Grant, LockClient, Outcome, Refusal
from bench.systems.clock import SYSTEM_CLOCK, Clock
from bench.systems.registry import System
from bench.systems.sole_use import ClientMisuse
from bench.systems.wait import Wait, ways_to_wait

T = TypeVar("T")
TRY = Wait("try")
_RUN = uuid.uuid4().hex[:6]
_COUNT = itertools.count(1)


def now_ms() -> float:
    """This machine's clock of leases, which all processes on it share."""
    return SYSTEM_CLOCK.monotonic_ns() / 1e6


@dataclass
class Harness:
    """One check's use of one system. A context manager: what was opened is closed at the end, in reverse order."""

    system: System
    endpoint: Endpoint
    variant: dict[str, str] = field(default_factory=dict)  # for every client: a planted fault, say
    round_trip_ms: int = 0  # of every wire, between this client and each server, while nothing is wrong with it
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    # What the system is

    @property
    def capabilities(self) -> Capabilities:
        """The adapter's own statement."""
        return self.system.client_class.capabilities

    @property
    def wait(self) -> Wait:
        """How contended clients of this system wait by default."""
        return Wait.parse(self.system.default_wait)

    @property
    def waits(self) -> list[Wait]:
        """Every way of waiting that the system knows, `try` left out, the default first."""
        return [*map(Wait.parse, ways_to_wait(self.system.default_wait, self.capabilities.wait_strategies))]

    @property
    def short_ttl_ms(self) -> int:
        """A lease to wait out: short, and long enough for the system to honour it."""
        return max(SHORT_TTL_MS, self.capabilities.ttl_min_ms)

    @property
    def lapse_ms(self) -> int:
        """By when a short lease that nobody renews has ended, and a waiter has noticed."""
        return self.short_ttl_ms + self.capabilities.ttl_granularity_ms + LAPSE_SLACK_MS

    # What a check opens

    def new_key(self, hint: str = "") -> str:
        """A key that nobody has used before."""
        return f"conf-{_RUN}-{next(_COUNT)}{hint}"

    def open(
        self,
        *,
        client: str | None = None,
        ttl_ms: int = LONG_TTL_MS,
        via: Wire | None = None,
        call_timeout_ms: int = 2_000,
        patient: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        **variant: str,
    ) -> LockClient:
        """A client of the system, through a wire if one is given; `patient`: without the adapter's own call limits."""
        if patient:
            variant = {**self.system.patient_variant, **variant}
        options = ClientOptions(
            client=client or f"c{next(_COUNT)}-{_RUN}",
            ttl_ms=ttl_ms,
            call_timeout_ms=call_timeout_ms,
            clock=clock,
            variant={**self.system.client_variant, **self.variant, **variant},
        )
        reached = via.endpoint if via else self.endpoint

        def try_it() -> LockClient | None:
            try:
                return self.system.client_class.open(reached, options)
            except ConnectionError:
                if call_timeout_ms > BAD_WIRE_CALL_MS:
                    raise
                return None  # servers that wait for a busy disk: the limit is meant for what comes after the opening

        opened = eventually(try_it, PATIENCE_MS, f"no client could be opened in {call_timeout_ms} ms")
        self._stack.callback(_close, opened)
        return opened

    def wire(self) -> Wire:
        """A way to the servers on which faults can be put. Open a client with `via=` to use it."""
        if self.system.servers_path is None:
            wire: Wire = LinkWire(self.endpoint, self.round_trip_ms)
        else:
            from bench.conformance.proxy_wire import ProxyWire  # only the real systems need the proxy

            wire = ProxyWire(self.endpoint, self.round_trip_ms)
        self._stack.callback(wire.close)
        return wire

    def spawn(
        self, *, ttl_ms: int, processes: bool | None = None, greenlets: bool = False, wait: Wait | None = None
    ) -> Actor:
        """A client that can be stopped and killed: in its own process, where the system reaches beyond this one.

        `greenlets`: in a process under gevent, where it can be asked to `kill` an acquire of its own.
        """
        apart = self.capabilities.nodes > 0 if processes is None else processes
        actor: Actor = ProcessActor("greenlet_actor" if greenlets else "actor") if apart else LocalActor()
        self._stack.callback(actor.end)
        actor.ask(
            "open",
            client_path=self.system.client_path,
            endpoint=endpoint_as_values(self.endpoint),
            client=f"a{next(_COUNT)}-{_RUN}",
            ttl_ms=ttl_ms,
            variant={**self.system.client_variant, **self.variant},
            wait=str(wait or self.wait),
        )
        return actor

    def spawn_all(self, count: int, *, ttl_ms: int, processes: bool | None = None) -> list[Actor]:
        """Several actors, started side by side: most of the time goes into importing the adapter."""
        return together([partial(self.spawn, ttl_ms=ttl_ms, processes=processes)] * count, PATIENCE_MS)

    # What a check does

    def ask(self, client: LockClient, key: str, timeout_ms: int = 0, wait: Wait = TRY) -> Grant | Refusal:
        """Acquire with the client's own TTL; by default one try."""
        return client.acquire(key, client.options.ttl_ms, timeout_ms, wait)

    def take(self, client: LockClient, key: str, timeout_ms: int = PATIENCE_MS, wait: Wait | None = None) -> Grant:
        """Acquire, and fail the check on a refusal."""
        answer = self.ask(client, key, timeout_ms, wait or self.wait)
        if isinstance(answer, Refusal):
            raise AssertionError(f"expected a grant of {key[:60]!r}, got {answer.outcome}: {answer.reason}")
        return answer

    def entries(self, key: str) -> list[str]:
        """What the servers themselves store for a key: its holder and its queue."""
        return self.system.leftovers(self.endpoint, key)

    def presence(self) -> Mapping[str, int]:
        """What the servers themselves say they have of their clients, counted by kind; empty where they do not tell."""
        return self.system.presence(self.endpoint)

    def must_be_held(self, key: str, by: str) -> None:
        """Fail unless a stranger's try finds the key busy."""
        stranger = self.open()
        answer = self.ask(stranger, key)
        assert isinstance(answer, Refusal), f"{by} should hold {key[:60]!r}, but a stranger was granted it"
        assert answer.outcome is Outcome.BUSY, f"a try on a held key said {answer.outcome}: {answer.reason}"
        stranger.close()

    def actor_acquires(self, actor: Actor, key: str) -> dict[str, Any]:
        """Let an actor acquire, and fail the check on a refusal."""
        answer = actor.ask("acquire", key=key, timeout_ms=PATIENCE_MS)
        assert answer["outcome"] == "acquired", f"an actor was refused {key!r}: {answer}"
        return answer


def _close(client: LockClient) -> None:
    with suppress(ClientMisuse):  # a call of it hangs still, which is what the check failed for
        client.close()


def must_be_a_mistake(call: Callable[[], object], what: str) -> None:
    """Fail unless the call raises ValueError: how the contract refuses a mistake of its caller."""
    try:
        answer = call()
    except ValueError:
        return
    raise AssertionError(f"{what} was not refused as a mistake of the caller: {answer!r}")


def eventually(question: Callable[[], T | None], within_ms: float, otherwise: str) -> T:
    """Ask until the answer is true, and return it. AssertionError with `otherwise` when the time is up."""
    until_ms = now_ms() + within_ms
    while True:
        answer = question()
        if answer:
            return answer
        if now_ms() >= until_ms:
            raise AssertionError(f"{otherwise}; last answer {answer!r} after {within_ms:.0f} ms")
        time.sleep(LOOK_EVERY_S)  # pace: there is no event to wait for, only an answer that changes


def let_pass(duration_ms: float) -> None:
    """Let time itself go by, where the check is about time (a lease running out, a waiter being on its way)."""
    time.sleep(max(0.0, duration_ms) / 1000)  # pace: the passing of time is the subject
