"""The network of a live session: delay lines between its load and its servers, for one test and no longer."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

from bench.campaign.live.looks import SupervisorOf
from bench.campaign.networks import Emulated, OwnNetwork, emulated, has_own_network
from bench.errors import LockbenchError
from bench.load.runner import where
from bench.records.network import NO_NETWORK, read_network
from bench.records.schema import NetworkMeasured
from bench.servers.network.lines import LinesFailed
from bench.systems.registry import system

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Crossed:
    """What the load of one test has crossed: a line before each of these addresses, in their order."""

    targets: Sequence[Address]
    measured: NetworkMeasured

    def of(self, addresses: Collection[Address]) -> NetworkMeasured:
        """What one system's clients had. The messages are those of all: one process carries them."""
        places = [place for place, target in enumerate(self.targets) if target in addresses]
        sides = {side: tuple(getattr(self.measured, side)[place] for place in places) for side in ("before", "after")}
        return self.measured.model_copy(update=sides if places else {})


class LiveNetwork:
    """Of one page. A context manager: at its end no line is left.

    One thread does everything in its order, so a test's network is measured for the last time before another's opens.
    """

    def __init__(self, supervisor_of: SupervisorOf) -> None:
        self._supervisor_of = supervisor_of
        self._one = ThreadPoolExecutor(1, "network")
        self._standing = ExitStack()
        self._emulated: Emulated | None = None
        self._begun = False  # by the test that runs; else they wait for one
        self._crossed: Future[Crossed | None] = _nothing()
        self.about: Mapping[str, Any] | None = None  # what the page shows of the network that the running test has

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._one.submit(self._shut)
        self._one.shutdown()

    def ask(self, asked: Mapping[str, Any], answer: Callable[[Mapping[str, Any]], object]) -> None:
        """Have the network of the test that is about to begin, as `Forwarder.have_network` asks for it. `answer` is
        called from another thread, with the places of the lines, or with why there are none."""
        self._one.submit(lambda: answer({"number": asked["number"], **self._opened(asked)}))

    def begin(self, network: str) -> None:
        """A test begins. What it did not ask for is removed."""
        self._crossed = _nothing()
        self._begun = network != NO_NETWORK
        emulated = self._emulated
        self.about = {"asked": network, "rtt_us": emulated.rtt_us} if self._begun and emulated else None
        if not self._begun:
            self._one.submit(self._shut)

    def end(self) -> "Future[Crossed | None]":
        """The test is over: measure once more, and take the lines away. A further call asks for the same again."""
        if self._begun:
            self._begun = False
            self._crossed = self._one.submit(self._last)
        return self._crossed

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _opened(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        self._shut()
        if (network := read_network(asked["network"])) is None:
            return {"places": [], "rtt_us": None}
        try:
            targets = [address for name in asked["systems"] for address in self._targets(name)]
            opened = self._standing.enter_context(emulated(network, targets, asked["seed"]))
        except (LockbenchError, OSError) as refused:
            self._shut()
            return {"refused": str(refused)}
        self._emulated = opened
        return {"places": list(opened.lines.places.items()), "rtt_us": opened.rtt_us}

    def _targets(self, name: str) -> Sequence[Address]:
        entry = system(name)
        supervisor = self._supervisor_of(entry)
        if has_own_network(entry, supervisor):
            raise OwnNetwork(f"the servers of {name} are your own, and have a network: choose {NO_NETWORK}")
        return where(entry, supervisor)[1].addresses

    def _last(self) -> Crossed | None:
        if self._emulated is None:
            return None
        try:
            return Crossed(list(self._emulated.lines.places), self._emulated.measured())
        except LinesFailed:  # they have ended by themselves: the run then has no network measured, and is void
            return None
        finally:
            self._shut()

    def _shut(self) -> None:
        self._emulated = None
        self._standing.close()


def _nothing() -> "Future[Crossed | None]":
    found: Future[Crossed | None] = Future()
    found.set_result(None)
    return found
