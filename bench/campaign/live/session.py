"""Beside Locust's page: what computes the seconds that it shows, for as long as the page is there."""

from collections.abc import Sequence
from time import monotonic, monotonic_ns

from bench.campaign.live.console import Console
from bench.load.channel import Channel
from bench.load.live import LiveFailed, live_running

_MOMENT_S = 1.0


def run_live(systems: Sequence[str], port: int = 8089, processes: int = 1) -> None:
    """Serve the page until Ctrl-C or SIGTERM, which end it as an exception here. Raises LiveFailed.

    No process of Locust is left afterwards.
    """
    with live_running(systems, port, processes) as (process, channel):
        attend(channel)
        exit_code = process.wait()
    if exit_code != 0:
        raise LiveFailed(f"Locust ended with exit code {exit_code}; the reason stands above")


def attend(channel: Channel) -> None:
    """Tell the page a moment every second while a test runs, and at its end. Returns when the page is gone."""
    console: Console | None = None
    next_s: float | None = None  # when to tell; None while no test runs
    while True:
        if next_s is None or channel.readable(next_s - monotonic()):
            message = channel.receive()
            if message is None:
                return
            if message.kind == "begin":
                console, next_s = Console(message.content, monotonic()), monotonic() + _MOMENT_S
            elif console is not None and message.kind == "second":
                console.add(message.content, message.body, monotonic_ns())
            running = next_s is not None
            if message.kind == "end":
                next_s = None
            # What a worker tells after the end still belongs to the test.
            if console is not None and next_s is None and (running or message.body):
                channel.send("moment", console.moment(monotonic()))
        if console is not None and next_s is not None and monotonic() >= next_s:
            channel.send("moment", console.moment(monotonic()))
            next_s = monotonic() + _MOMENT_S
