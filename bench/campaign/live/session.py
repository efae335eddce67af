"""Beside Locust's page: what computes the seconds that it shows, and strikes where its buttons say, for as long as the
page is there."""

from collections.abc import Sequence
from time import monotonic, monotonic_ns

from bench.campaign.live.console import Console
from bench.campaign.live.servers import Served
from bench.campaign.live.staging.staging import Staging
from bench.load.channel import Channel, Message
from bench.load.live import LiveFailed, live_running

_MOMENT_S = 1.0


def run_live(systems: Sequence[str], port: int, processes: int, served: Served) -> None:
    """Serve the page until Ctrl-C or SIGTERM, which end it as an exception here. Raises LiveFailed.

    No process of Locust is left afterwards, no holder, and no fault.
    """
    with (
        Staging(served.lab, served.staged) as staging,
        live_running(systems, port, processes, served.surroundings()) as (process, channel),
    ):
        attend(channel, staging)
        exit_code = process.wait()
    if exit_code != 0:
        raise LiveFailed(f"Locust ended with exit code {exit_code}; the reason stands above")


def attend(channel: Channel, staging: Staging | None = None) -> None:
    """Do what the page asks for, and tell it a moment every second. Returns when the page is gone."""
    session = _Session(channel, staging or Staging(None, {}))
    while True:
        if channel.readable(session.due_in_s):
            message = channel.receive()
            if message is None:
                return
            session.take(message)
        session.tell_when_due()


class _Session:
    """One page: the tests that run in it, one after the other, and its holders."""

    def __init__(self, channel: Channel, staging: Staging) -> None:
        self._channel, self._staging = channel, staging
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
        elif message.kind == "begin":
            self._console, self._runs = Console(message.content, monotonic()), True
            self._next_s = monotonic() + _MOMENT_S
        elif message.kind == "second" and self._console is not None:
            self._console.add(message.content, message.body, monotonic_ns())
            if not self._runs and message.body:  # what a worker tells after the end still belongs to the test
                self._tell_moment()
        elif message.kind == "end":
            self._staging.stop()
            if self._runs:
                self._tell_moment()
            self._runs = False

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
        if self._console is not None:
            self._channel.send("moment", self._console.moment(monotonic()))

    @property
    def _at_s(self) -> float | None:
        """On the clock of the curves."""
        return None if self._console is None else self._console.at_s(monotonic())
