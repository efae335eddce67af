"""One client driven by requests and answers of plain values: what an actor runs, in its process or in ours."""

import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.conformance.crowd import Crowd, Tasks
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Refusal, Released
from bench.systems.clock import SYSTEM_CLOCK
from bench.systems.wait import Wait

_ON_THEIR_WAY_S = 0.1


def endpoint_as_values(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint for the wire. Its secrets go through a pipe to our own child, never into an argument vector."""
    return {
        "addresses": [list(address) for address in endpoint.addresses],
        "options": dict(endpoint.options),
        "secrets": dict(endpoint.secrets),
    }


def endpoint_from_values(values: dict[str, Any]) -> Endpoint:
    """The inverse of `endpoint_as_values`."""
    addresses = tuple((str(host), int(port)) for host, port in values["addresses"])
    return Endpoint(addresses, values["options"], values["secrets"])


class Script:
    """Holds one client and its grants by key. Each request names what to `do`; each answer has an `outcome`."""

    def __init__(self, tasks: Tasks | None = None) -> None:
        self._tasks = tasks or Tasks()
        self._client: LockClient | None = None
        self._crowd: Crowd | None = None
        self._grants: dict[str, Grant] = {}
        self._wait = Wait("try")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do one thing. Exceptions of the client are let out: the caller reports them."""
        match request["do"]:
            case "open":
                return self._open(request)
            case "acquire":
                return self._acquire(request)
            case "renew":
                return self._renew(request)
            case "release":
                return self._described(self.client.release(self._grants[request["key"]]))
            case "lost":
                return {"outcome": "told", "reason": self.client.lost(self._grants[request["key"]])}
            case "count":
                return self._count(request)
            case "churn":
                self._churn(request)
            case "gather":
                return self._gather(request)
            case "interrupt":
                self.crowd.interrupt(request["count"])
                return {"outcome": "interrupted"}
            case "disperse":
                return {"outcome": "dispersed", "answers": self.crowd.disperse()}
            case "close":
                self.client.close()
                return {"outcome": "closed"}
        raise ValueError(f"an actor cannot {request['do']!r}")

    @property
    def client(self) -> LockClient:
        """The open client."""
        assert self._client is not None, "the actor has not been opened"
        return self._client

    @property
    def crowd(self) -> Crowd:
        """The last one that was gathered."""
        assert self._crowd is not None, "nobody has been gathered"
        return self._crowd

    def _open(self, request: dict[str, Any]) -> dict[str, Any]:
        options = ClientOptions(client=request["client"], ttl_ms=request["ttl_ms"], variant=request["variant"])
        endpoint = endpoint_from_values(request["endpoint"])
        module, _, name = request["client_path"].partition(":")
        kind: type[LockClient] = getattr(import_module(module), name)
        self._client = kind.open(endpoint, options)
        self._opener = lambda number: kind.open(endpoint, replace(options, client=f"{options.client}-{number}"))
        self._wait = Wait.parse(request["wait"])
        return {"outcome": "open"}

    def _acquire(self, request: dict[str, Any]) -> dict[str, Any]:
        key, ttl_ms = request["key"], self.client.options.ttl_ms
        sent_ns = SYSTEM_CLOCK.monotonic_ns()
        answer = self.client.acquire(key, ttl_ms, request["timeout_ms"], self._wait)
        if isinstance(answer, Grant):
            self._grants[key] = answer
        return {**self._described(answer), "sent_ns": sent_ns}

    def _gather(self, request: dict[str, Any]) -> dict[str, Any]:
        wait = Wait.parse(request["wait"])
        self._crowd = Crowd(self._tasks, self._opener, request["key"], wait, request["patience_ms"])
        time.sleep(_ON_THEIR_WAY_S)  # pace: nobody tells that all of them wait by now
        return {"outcome": "gathered"}

    def _renew(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.renew(self._grants[request["key"]])
        if isinstance(answer, Grant):
            self._grants[request["key"]] = answer
        return self._described(answer)

    def _count(self, request: dict[str, Any]) -> dict[str, Any]:
        """Raise a counter in a file, `rounds` times, by read, pause and write: right only if nobody else does so."""
        path = Path(request["path"])
        for _ in range(request["rounds"]):
            answer = self.client.acquire(request["key"], self.client.options.ttl_ms, request["timeout_ms"], self._wait)
            if isinstance(answer, Refusal):
                return self._described(answer)
            counted = int(path.read_text() or 0)  # empty: another is writing it, which a lock would have prevented
            time.sleep(0.001)  # pace: room for a second holder to read the same number
            path.write_text(str(counted + 1))
            released = self.client.release(answer)
            if isinstance(released, Refusal):
                return self._described(released)
        return {"outcome": "counted"}

    def _churn(self, request: dict[str, Any]) -> None:
        """Acquire and release without end: whoever asked will kill this process, at whatever point it has reached."""
        while True:
            answer = self.client.acquire(request["key"], self.client.options.ttl_ms, request["timeout_ms"], self._wait)
            if isinstance(answer, Grant):
                self.client.release(answer)

    def _described(self, answer: Grant | Released | Refusal) -> dict[str, Any]:
        if isinstance(answer, Grant):
            return {"outcome": "acquired", "token": answer.token, "deadline_ns": answer.deadline_ns}
        return {"outcome": str(answer.outcome), "reason": getattr(answer, "reason", "")}
