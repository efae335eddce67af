"""Beside Locust's page: what computes the seconds that it shows, and strikes where its buttons say, for as long as the
page is there."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from time import monotonic, monotonic_ns
from typing import Any

from bench.campaign.live.console import Console
from bench.campaign.live.keeper import Keeper
from bench.campaign.live.network import LiveNetwork
from bench.campaign.live.servers import Served
from bench.campaign.live.staging.staging import Staging
from bench.load.channel import Channel, Message
from bench.load.live import LOOPBACK, LiveFailed, live_running
from bench.records.hazards import FaultWindow
from bench.servers.interruption import uninterrupted
from bench.systems.registry import sharing_servers

_MOMENT_S = 1.0


def run_live(
    systems: Sequence[str],
    port: int,
    processes: int,
    served: Served,
    keeper: Keeper | None = None,
    host: str = LOOPBACK,
) -> None:
    """Serve the page until Ctrl-C or SIGTERM, which end it as an exception here. Raises LiveFailed.

    No process of Locust is left afterwards, no holder, and no fault; and what was received of a test is kept.
    """
    with ExitStack() as ending:
        # In a thread of its own, which no signal interrupts in the middle of a message. It reads until Locust is gone.
        thread = ThreadPoolExecutor(1, "attending")
        ending.callback(_joined, thread)
        network = LiveNetwork(served.supervisor_of)
        staging = ending.enter_context(Staging(served.lab, served.staged, _noted_by(keeper)))
        running = live_running(systems, port, processes, served.surroundings(), host)
        process, channel = ending.enter_context(running)
        thread.submit(attend, channel, staging, keeper, network).result()
        exit_code = process.wait()
    if exit_code != 0:
        raise LiveFailed(f"Locust ended with exit code {exit_code}; the reason stands above")


def _joined(thread: ThreadPoolExecutor) -> None:
    with uninterrupted("keeping what the test has shown"):
        thread.shutdown()


def _noted_by(keeper: Keeper | None) -> Callable[[str, FaultWindow], None]:
    """A fault strikes whatever lives on the servers, or waits for the holder, of one system."""

    def note(name: str, window: FaultWindow) -> None:
        if keeper is not None:
            keeper.add_fault(window, sharing_servers(name))

    return note


def attend(
    channel: Channel,
    staging: Staging | None = None,
    keeper: Keeper | None = None,
    network: LiveNetwork | None = None,
) -> None:
    """Do what the page asks for, and tell it a moment every second. When the page is gone: keep what there is to keep,
    take the lines of `network` away, close the channel, and return.
    """
    stages = staging or Staging(None, {})
    with ExitStack() as ending:
        ending.callback(channel.close)
        if network is not None:
            ending.enter_context(network)
        if keeper is not None:
            keeper.serve(channel, stages.wait_stopped, None if network is None else network.end)
            ending.callback(keeper.close)
        ending.callback(stages.stop)  # also where Locust is gone without a word: its faults are over, and kept
        _attend(channel, _Session(channel, stages, keeper, network))


def _attend(channel: Channel, session: "_Session") -> None:
    while True:
        if channel.readable(session.due_in_s):
            message = channel.receive()
            if message is None:
                return
            session.take(message)
        session.tell_when_due()


class _Session:
    """One page: the tests that run in it, one after the other, and its holders."""

    def __init__(self, channel: Channel, staging: Staging, keeper: Keeper | None, network: LiveNetwork | None) -> None:
        self._channel, self._staging, self._keeper, self._network = channel, staging, keeper, network
        self._console: Console | None = None
        self._runs = False  # a test
        self._were_active = False  # the holders, when they were told of last: their end is told too
        self._next_s = monotonic()
        channel.send("staging", staging.about())

    @property
    def due_in_s(self) -> float | None:
        """None: nothing changes by itself."""
        return self._next_s - monotonic() if self._runs or self._staging.active or self._were_active else None

    def take(self, message: Message) -> None:
        if message.kind == "press":
            self._staging.press(message.content)
            self._next_s = monotonic()
        elif message.kind == "network":
            self._have_network(message.content)
        elif message.kind == "begin":
            if self._network is not None:
                self._network.begin(message.content["network"])
            self._console, self._runs = Console(message.content, monotonic()), True
            self._next_s = monotonic() + _MOMENT_S
        elif message.kind == "second" and self._console is not None:
            self._console.add(message.content, message.body, monotonic_ns())
            if not self._runs and message.body:  # what a worker tells after the end still belongs to the test
                self._tell_moment()
        elif message.kind == "end":
            self._staging.stop()
            if self._network is not None:
                self._network.end()
            if self._runs:
                self._tell_moment()
            self._runs = False
        if self._keeper is not None:
            self._keeper.take(message)

    def _have_network(self, asked: Mapping[str, Any]) -> None:
        if self._network is None:
            self._channel.send("network", {"number": asked["number"], "refused": "there are no delay lines here"})
        else:
            self._network.ask(asked, lambda answer: self._channel.send("network", answer))

    def tell_when_due(self) -> None:
        due_in_s = self.due_in_s
        if due_in_s is None or due_in_s > 0:
            return
        if self._runs:
            self._tell_moment()
        self._were_active = self._staging.active
        if acts := self._staging.report():
            self._channel.send("staged", {"at_s": self._at_s, "systems": acts})
        self._next_s = monotonic() + _MOMENT_S

    def _tell_moment(self) -> None:
        if self._console is None:
            return
        network = None if self._network is None else self._network.about
        moment = {**self._console.moment(monotonic()), "network": network}
        self._channel.send("moment", moment)
        if self._keeper is not None:
            self._keeper.show(moment)

    @property
    def _at_s(self) -> float | None:
        """On the clock of the curves."""
        return None if self._console is None else self._console.at_s(monotonic())
