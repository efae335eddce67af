"""The way between a client and its servers, and what can go wrong on it: for a real network and for `faulty`."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from bench.servers.breaking.proxy import Direction
from bench.servers.endpoint import Endpoint
from bench.systems.faulty.link import LINKS, Link


class Wire(Protocol):
    """Faults for every connection through `endpoint`; `node` narrows one to the server at that place in it."""

    endpoint: Endpoint

    def delay(self, delay_ms: int, node: int | None = None) -> None: ...

    def drop(self, node: int | None = None) -> None: ...

    def sever(self, node: int | None = None) -> None: ...

    def hang_up(self) -> None: ...

    def silence(self) -> None: ...

    def refuse(self, node: int | None = None) -> None: ...

    def swallow_reply(self, *, then_sever: bool) -> None: ...

    def restore(self) -> None: ...

    def overhear(self, heard: Callable[[Direction], None]) -> None: ...

    def close(self) -> None: ...


class LinkWire:
    """The in-process link of `faulty`, which has one node."""

    def __init__(self, endpoint: Endpoint, round_trip_ms: int) -> None:
        self._name = uuid.uuid4().hex
        self._round_trip_ms = round_trip_ms
        self._link = LINKS[self._name] = Link(delay_ms=round_trip_ms)
        self.endpoint = replace(endpoint, options={**endpoint.options, "link": self._name})

    def delay(self, delay_ms: int, node: int | None = None) -> None:
        """Requests arrive this late."""
        self._link.delay_ms = self._round_trip_ms + delay_ms

    def drop(self, node: int | None = None) -> None:
        """Requests vanish; the connection stays open."""
        self._link.dropping = True

    def sever(self, node: int | None = None) -> None:
        """Close all connections; new ones work."""
        self._link.cuts += 1

    def hang_up(self) -> None:
        """The same: the end of a connection is noticed at the next call, however it came."""
        self.sever()

    def silence(self) -> None:
        """Nothing passes any more over the connections there are; new ones work."""
        self._link.silences += 1

    def refuse(self, node: int | None = None) -> None:
        """Nobody is there to connect to."""
        raise NotImplementedError("an in-process link has no address to refuse")

    def swallow_reply(self, *, then_sever: bool) -> None:
        """The next request is carried out and its reply vanishes; the connection breaks then, or stays, silent."""
        self._link.swallowing, self._link.severing = 1, then_sever

    def restore(self) -> None:
        """A sound wire again."""
        self._link.dropping, self._link.swallowing, self._link.delay_ms = False, 0, self._round_trip_ms

    def overhear(self, heard: Callable[[Direction], None]) -> None:
        """Tell of everything that passes from now on."""
        self._link.heard = heard

    def close(self) -> None:
        """Forget the link."""
        LINKS.pop(self._name, None)
