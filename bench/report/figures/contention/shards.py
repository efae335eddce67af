"""One hot key split into several: pairs per second and waiting, by the number of shards."""

from collections.abc import Sequence
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
    WIDTH_IN,
    framed,
    hold_words,
    labels,
    line,
    metric,
    nothing,
    sample_words,
)
from bench.report.figures.drawing import Drawing, machine_words
from bench.report.figures.scales import doubling, logarithmic
from bench.report.style import look

NAME = "shards"
_AXES_IN, _LEFT_IN, _RIGHT_IN, _GAP_IN, _TOP_IN = 2.4, 0.72, 0.95, 1.5, 0.62
_RATE = metric("throughput_pairs_per_s")
_PANELS = (("pairs per second", _RATE, 1.0), ("wait by time, ms", metric("wait_by_time_us"), 1e-3))


def shards(evidence: Evidence) -> Drawing:
    """Each client takes any of the shards; one shard is the key itself."""
    lines = usual(series(sweep(evidence.cells, CONTENDED, "keys"), "keys"))
    cells = [cell for one in lines.values() for cell in one.values()]
    if all(isinstance(_RATE(cell), Absent) for cell in cells):
        return nothing(evidence, NAME, "One hot key, split into shards", "a hot key split into several")
    words = _title(lines), _caption(evidence, cells)
    return framed(evidence, NAME, words, cells, _AXES_IN + _TOP_IN, partial(_draw, lines))


def _draw(lines: Series, figure: Figure, below_in: float) -> None:
    height_in = figure.get_size_inches()[1]
    width_in = (WIDTH_IN - _LEFT_IN - _RIGHT_IN - _GAP_IN) / 2.0
    counts = sorted({x for one in lines.values() for x in one})
    for number, (heading, measure, scale) in enumerate(_PANELS):
        left_in = _LEFT_IN + number * (width_in + _GAP_IN)
        axes: Axes = figure.add_axes(
            (left_in / WIDTH_IN, below_in / height_in, width_in / WIDTH_IN, _AXES_IN / height_in)
        )
        ends = []
        for (system, _), points in lines.items():
            drawn = line(axes, points, measure, look(system), scale=scale)
            if drawn:
                ends.append((*drawn[-1], names.title(system), look(system).colour))
        logarithmic(axes, (1.0, 2.0, 5.0))
        doubling(axes, counts)
        axes.set_title(heading, fontsize=8.5, fontweight="normal", pad=4)
        axes.set_xlabel("shards of the key (log scale)")
        labels(axes, ends)


def _title(lines: Series) -> str:
    times = []
    for one in lines.values():
        least, most = (_RATE(one[x]) for x in (min(one), max(one)))
        if not isinstance(least, Absent) and not isinstance(most, Absent):
            times.append(most.value / least.value)
    if not times:
        return "One hot key, split into shards"
    counts = sorted({x for one in lines.values() for x in one})
    return f"A key split into {counts[-1]:g} shards serves {formats.low_to_high(times)} times as many pairs per second"


def _caption(evidence: Evidence, cells: Sequence[Cell]) -> str:
    clients = formats.counted([cells[0].workload.clients], "client")
    return (
        f"Closed loop, {clients}, each takes a shard at random; {hold_words(cells)}. {sample_words(cells)} "
        f"Wait by time: the mean wait that a random moment of waiting belongs to. "
        f"A gap is a cell without a number. {machine_words(evidence)}"
    )
