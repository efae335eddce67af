"""docs/calibration.md, and the texts of a calibration's lines: rendered from a record, and from nothing else."""

import statistics
from collections.abc import Iterable, Sequence

from bench.records.calibration import Bound, Calibration, Line
from bench.report.machine import cores
from bench.report.model import Block, Bullets, Column, Document, FactList, Fit, Heading, Look, Paragraph, Table, Text

_DIGITS = 3


def rounded(value: float) -> float:
    """Three significant digits: what a handful of repetitions can carry."""
    return float(f"{value:.{_DIGITS}g}")


def calibration_document(calibration: Calibration) -> Document:
    """The whole page. The same record gives the same bytes."""
    return Document("Is the instrument lighter than what it measures?", tuple(_blocks(calibration)))


def terminal_blocks(calibration: Calibration) -> Iterable[Block]:
    """The lines, and what misses its target."""
    yield Heading(f"The instrument against native tools and its budgets: medians of {calibration.pairs} (range)")
    yield _table(calibration)
    for line in calibration.missed:
        yield Paragraph(f"{line.name} misses its target: {line.explanation}")


def line_texts(line: Line) -> tuple[str, str, str, str]:
    """What was measured, what it is held against, the value with its range, and the target."""
    values, unit = line.values, "" if line.against else f" {line.unit}"
    against = f"{line.against}: {_number(statistics.median(line.native))} {line.unit}" if line.against else "-"
    span = f"{_number(line.median)}{unit} ({_number(min(values))}–{_number(max(values))})"
    sign = "≥" if line.bound is Bound.AT_LEAST else "≤"
    target = f"{sign} {line.target:g}{unit}" if line.target is not None else "-"
    return f"{_number(statistics.median(line.instrument))} {line.unit}", against, span, target


_COLUMNS: Sequence[Column[Line]] = (
    Column("what", lambda line: line.title, fit=Fit()),
    Column("measured", lambda line: line_texts(line)[0], fit=Fit()),
    Column("against", lambda line: line_texts(line)[1], fit=Fit()),
    Column("ratio or cost", lambda line: line_texts(line)[2], fit=Fit()),
    Column("target", lambda line: line_texts(line)[3], fit=Fit()),
    Column("met", lambda line: _MET[line.met], fit=Fit(width=3)),
)
_MET: dict[bool | None, Text | str] = {
    True: Text("yes", measured=None),
    False: Text("no", look=Look.FAILS),
    None: "-",
}


def _table(calibration: Calibration) -> Table[Line]:
    return Table(_COLUMNS, calibration.lines)


def _blocks(calibration: Calibration) -> Iterable[Block]:
    machine = calibration.environment
    yield Paragraph(
        "Rendered by `lockbench report --reference` from `data/reference/calibration.json`, which "
        "`lockbench calibrate --save` wrote. Each comparison was repeated "
        f"{calibration.pairs} times: native tool and Locust in turn, in alternating order, on the same server; "
        f"Locust's window was {calibration.window_s:g} s. The table shows medians, with the range of the repetitions "
        "in brackets. A ratio is taken within each repetition."
    )
    yield Paragraph(
        f"Measured {calibration.created_at} with lockbench {calibration.lockbench_version} on {machine.cpu_model}, "
        f"{cores(machine)}, {machine.operating_system}, Python {machine.python}; loopback round trip "
        f"{_number(machine.loopback_rtt_us_p50)} µs, fdatasync {_number(machine.fdatasync_us_p50)} µs, load average "
        f"{machine.load_average_1m:g} before the start. It took {calibration.took_s:.0f} s in all."
    )
    yield _table(calibration)
    yield Heading("What misses its target, and why")
    missed = [(line.title, f"{line.explanation}.") for line in calibration.missed]
    yield FactList(missed) if missed else Paragraph("Every target was met.")
    yield Heading("How to read it")
    yield Bullets(_NOTES)
    yield Heading("Programs")
    yield Bullets([f"{name}: {version}" for name, version in sorted(calibration.programs.items())])


_NOTES = (
    "`SET NX PX` is not the lock. It is a command that both sides can send: `redis-benchmark` repeats a single "
    "command, and Locust runs the probe `redis-set`, whose acquire and release each send that command over the lock's "
    "own connection. Both sides use keys of the same length that do not exist yet (on the native side, about ten per "
    "run do), on a database emptied beforehand, so that each command does the same work. The rate counts commands: two "
    "per turn of a Locust user, as for a lock.",
    "`redis-benchmark` counts latencies in steps of 8 µs and reports the upper end of a step as its median, which is "
    "therefore up to 8 µs too high and favours the instrument. Its mean uses the middle of each step; that line is "
    "for comparison.",
    "The lock's own pair is compared with a rate combined from two runs of `redis-benchmark`, one for each script. "
    "There the release finds no key to delete, which is less work than the lock's.",
    "`pgbench` runs the lock's statements as a script: prepared, `BEGIN` and the taking of the row in one round trip, "
    "`COMMIT` in another, in sessions with the adapter's settings, each client on a row of its own. With one client "
    "its median transaction is compared with the sum of the lock's two medians.",
    "Client CPU is the processor time of the load process in the window ÷ the pairs: adapter, client library, "
    "recorder, event loop and Locust itself. `null` has no system behind it and shows what the instrument costs alone.",
    "If a line misses its target, the same load was run once more with its processor time sampled. A function's share "
    "includes what the kernel did for it.",
)


def _number(value: float) -> str:
    """Three significant digits without an exponent, thousands apart."""
    shown = rounded(value)
    return f"{shown:,.0f}".replace(",", " ") if shown >= 100 else f"{shown:g}"
