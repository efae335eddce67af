"""`lockbench pauses`: how long this machine keeps a process that is due from running."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bench.commands.durations import duration_option
from bench.commands.endings import say_how_to_end
from bench.commands.files import require_writable
from bench.commands.terminal import ERR, OUT, campaign_progress
from bench.errors import LockbenchError
from bench.records.store import write_atomically
from bench.servers.interruption import Ended

if TYPE_CHECKING:
    from bench.records.pauses import PauseRecorder

_FOR_S = (1.0, 86_400.0)
_EVERY_MS = (0.2, 1_000.0)  # more often, and the recorder would be what the machine is busy with


def register(app: typer.Typer) -> None:
    """Add this command to the app."""
    app.command()(pauses)


def pauses(
    for_: str = typer.Option("60s", "--for", metavar="DURATION", help="How long to record: 60s, 10min, up to 1440min."),
    out: Path = typer.Option(Path("pauses.json"), "--out", "-o", help="The file to write."),
    every: str = typer.Option("1ms", "--every", metavar="DURATION", help="How often the recorder is due."),
) -> None:
    """Record how late this machine lets a process run that is due: on the machine where locks are to be held.

    Ctrl-C keeps what was recorded so far. `lockbench ttl` gives the smallest TTL from it.

    Example: lockbench pauses --for 10min --out pauses.json
    """
    for_s = duration_option("--for", for_, "s", *_FOR_S)
    every_ms = duration_option("--every", every, "ms", *_EVERY_MS)
    require_writable("--out", out)
    from bench.records.pauses import PauseRecorder, pauses_record

    recorder = PauseRecorder(round(every_ms * 1e6))
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    say_how_to_end()
    if not ERR.is_terminal:
        ERR.print(f"recording for {for_s:g} s", highlight=False)
    ended: Ended | None = None
    with campaign_progress(by_hand=True) as bar:  # a thread that draws would be among what is recorded
        task = bar.add_task("recording pauses, s", total=round(for_s))

        def show(seconds: float) -> None:
            bar.update(task, completed=round(seconds))
            bar.refresh()

        try:
            recorder.run(round(for_s * 1e9), show)
        except Ended as end:
            ended = end
    if not recorder.histogram.total:
        raise ended or LockbenchError("nothing was recorded")
    record = pauses_record(recorder, started_at)
    write_atomically(out, record.model_dump_json(indent=1) + "\n")
    _say(recorder, out)
    if ended is not None:
        raise ended


def _say(recorder: "PauseRecorder", out: Path) -> None:
    histogram, seconds = recorder.histogram, recorder.observed_ns / 1e9
    median_us, longest_us = ((histogram.quantile_ns(fraction) or 0.0) / 1e3 for fraction in (0.5, 1.0))
    OUT.print(
        f"{histogram.total:,} wakings in {seconds:,.0f} s: {median_us:,.0f} µs late at the median, "
        f"{longest_us / 1e3:,.3g} ms at most",
        highlight=False,
        soft_wrap=True,
    )
    OUT.print(
        f"{out}: `lockbench ttl --pauses {out} --rtt 0.5ms` gives the smallest TTL", highlight=False, soft_wrap=True
    )
