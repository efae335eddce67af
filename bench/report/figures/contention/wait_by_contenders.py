"""Waiting by the number of contenders, beside the wait in a fair queue: one small panel a system."""

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.contention.sweeps import Series, series, sweep, usual
from bench.analysis.evidence import Evidence
from bench.records.workload import CONTENDED
from bench.report import formats
from bench.report.figures.contention.marks import (
    absences,
    framed,
    hold_words,
    labels,
    line,
    metric,
    nothing,
    sample_words,
)
from bench.report.figures.contention.panels import aside, by_contenders, panels, panels_in
from bench.report.figures.drawing import Drawing, machine_words
from bench.report.style import MUTED, Look, look

NAME = "wait_by_contenders"
_ACROSS = 3
_NAMES_IN = 0.66
_MS = 1e-3
_FAIR = Look(MUTED, "", (0, (3.0, 1.5)))
_P99, _P50, _QUEUE = metric("queue_wait_us_p99"), metric("queue_wait_us_p50"), metric("fair_wait_us_mean")


def wait_by_contenders(evidence: Evidence) -> Drawing:
    """Median and 99th percentile of the queue wait, and the fair queue's wait, which is the same for everybody."""
    swept = sweep(evidence.cells, CONTENDED, "clients")
    lines = usual(series(swept, "clients"))
    lines = {key: line for key, line in lines.items() if any(map(_is_told, line.values()))}
    if not lines:
        return nothing(evidence, NAME, "Waiting by the number of contenders", "several numbers of contenders")
    cells = [cell for one in lines.values() for cell in one.values()]
    words = _title(lines), _caption(evidence, cells)
    return framed(evidence, NAME, words, cells, panels_in(len(lines), _ACROSS), partial(_panels, lines))


def _panels(lines: Series, figure: Figure, below_in: float) -> None:
    counts = sorted({x for one in lines.values() for x in one})
    named: list[tuple[Axes, Mapping[float, Cell], list[tuple[float, float, str, str]]]] = []
    every = panels(figure, len(lines), _ACROSS, below_in, _NAMES_IN)
    for (axes, *ends), ((system, wait), points) in zip(every, lines.items(), strict=True):
        own = look(system)
        fair = line(axes, points, _QUEUE, _FAIR, scale=_MS, marker=False)
        low = line(axes, points, _P50, own, scale=_MS, faint=True)
        high = line(axes, points, _P99, own, scale=_MS)
        by_contenders(axes, counts, names.title(system), own.colour, "queue wait, ms", (ends[0], ends[1]))
        aside(axes, wait)
        drawn = ((high, "p99", own.colour), (low, "median", own.colour), (fair, "fair queue", MUTED))
        named.append((axes, points, [(*one[-1], words, colour) for one, words, colour in drawn if one]))
    for axes, points, places in named:  # all panels share the scale, which is known now
        absences(axes, points, _P99)
        labels(axes, places)


def _is_told(cell: Cell) -> bool:
    return not all(isinstance(measure(cell), Absent) for measure in (_P99, _P50, _QUEUE))


def _title(lines: Series) -> str:
    most = max(x for one in lines.values() for x in one)
    times = [
        value.value
        for one in lines.values()
        if most in one and not isinstance(value := one[most].value("wait_by_fair_p99"), Absent)
    ]
    if not times:
        return "Waiting by the number of contenders, beside a fair queue"
    return f"With {most:g} contenders the p99 wait is {formats.low_to_high(times)} times that of a fair queue"


def _caption(evidence: Evidence, cells: Sequence[Cell]) -> str:
    return (
        f"Closed loop, one key {hold_words(cells)}. {sample_words(cells)} "
        "Fair queue: everybody else once, with the hold, release and hand-off of the same runs. "
        f"Where a word stands, there is no p99. A median of 0 has no place on this scale. {machine_words(evidence)}"
    )
