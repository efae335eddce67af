"""Acquire latency without contention: one percentile curve a system."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.quantiles import FRACTIONS, highest_fraction
from bench.analysis.speed_claims import US_PER
from bench.records.histogram import LatencyHistogram
from bench.report import formats
from bench.report.figures.drawing import (
    RUN_DOT,
    Drawing,
    canvas,
    load_drawing,
    machine_words,
    write_caption,
    write_title,
)
from bench.report.style import house_style, look

_WIDTH_IN, _HEIGHT_IN = 7.6, 4.9
_POINTS = 240
_FROM = 0.1  # the percentile at which curves begin: below it they say nothing of interest and stretch the scale
_Array = np.ndarray[Any, np.dtype[np.float64]]


def acquire_latency(evidence: Evidence) -> Drawing:
    """Draw the curves of all systems that have an uncontended cell with a run that counts.

    x is 1 / (1 - p) on a log scale, as HdrHistogram's own plots have it, so that the tail gets the room it deserves.
    Each curve ends where its smallest run stops carrying the percentile.
    """
    cells = [cell for cell in evidence.cells if cell.workload.title == "uncontended" and cell.used]
    title = _title(cells)
    caption = _caption(evidence, cells)
    with house_style():
        figure = canvas(_WIDTH_IN, _HEIGHT_IN)
        below = write_caption(figure, caption)
        axes = figure.add_axes(
            (0.72 / _WIDTH_IN, (below + 0.45) / _HEIGHT_IN, 4.85 / _WIDTH_IN, 1.0 - (below + 0.45 + 0.4) / _HEIGHT_IN)
        )
        write_title(figure, title)
        ends = [_curve(axes, cell) for cell in cells]
        _axes(axes)
        _legend(axes, cells, ends)
    runs = (run_id for cell in cells for run_id in cell.evidence)
    return load_drawing("acquire_latency", title, caption, runs, evidence, figure)


def _curve(axes: Axes, cell: Cell) -> float:
    """Draw one cell: the range of its runs as a band, their median as a line. Returns the height of its end, in ms."""
    style = look(cell.system)
    limit = highest_fraction(cell.operations_min) or 0.0
    start = 1.0 / (1.0 - _FROM)
    x = np.geomspace(start, max(1.0 / (1.0 - limit), start * 1.01), _POINTS)
    curves = np.array([_quantiles_ms(run.acquire, 1.0 - 1.0 / x) for run in cell.used if run.acquire is not None])
    middle = np.median(curves, axis=0)
    faint = _alpha(cell)
    if len(curves) > 1:
        axes.fill_between(
            x, curves.min(axis=0), curves.max(axis=0), color=style.colour, alpha=0.16 * faint, linewidth=0
        )
    axes.plot(x, middle, color=style.colour, linestyle=style.line, alpha=faint)
    marked = [1.0 / (1.0 - fraction) for fraction in FRACTIONS.values() if fraction <= limit]
    for curve in curves if len(curves) > 1 else ():
        axes.plot(marked, np.interp(marked, x, curve), color=style.colour, alpha=faint, **RUN_DOT)
    axes.plot(
        marked,
        np.interp(marked, x, middle),
        linestyle="none",
        marker=style.marker,
        color=style.colour,
        markerfacecolor=style.face,
        alpha=faint,
    )
    return float(middle[-1])


def _quantiles_ms(histogram: LatencyHistogram, fractions: _Array) -> _Array:
    """Many quantiles at once, by nearest rank like `LatencyHistogram.quantile_ns`, in ms."""
    edges = np.array(sorted(histogram.counts), dtype=np.float64)
    cumulative = np.cumsum([histogram.counts[int(edge)] for edge in edges])
    ranks = np.maximum(1, np.ceil(fractions * cumulative[-1] - 1e-9))
    found: _Array = edges[np.searchsorted(cumulative, ranks)] / (US_PER["ms"] * 1_000.0)
    return found


def _axes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1.0 / (1.0 - _FROM), max(1_200.0, axes.get_xlim()[1]))
    ticks = {1.0 / (1.0 - fraction): f"{fraction * 100:g} %" for fraction in (0.5, 0.9, 0.99, 0.999, 0.9999)}
    axes.xaxis.set_major_locator(FixedLocator([x for x in ticks if x <= axes.get_xlim()[1]]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: ticks[min(ticks, key=lambda tick: abs(tick - x))]))
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    # Within less than two decades, powers of ten alone would leave the axis almost without figures.
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.set_xlabel("percentile of the acquires of one run")
    axes.set_ylabel("acquire latency, ms (log scale)")


def _legend(axes: Axes, cells: Sequence[Cell], ends: Sequence[float]) -> None:
    """Name the curves at the right, top to bottom in the order in which they end."""
    handles = []
    for index in sorted(range(len(cells)), key=lambda index: -ends[index]):
        cell, style = cells[index], look(cells[index].system)
        name = names.title(cell.system, cell.setting.engine if cell.setting else "")
        handles.append(
            Line2D(
                [],
                [],
                color=style.colour,
                linestyle=style.line,
                marker=style.marker,
                markerfacecolor=style.face,
                alpha=_alpha(cell),
                label=name.replace(", ", ",\n", 1).replace(" (", "\n(") + (", emulator" if cell.emulator else ""),
            )
        )
    axes.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        handlelength=3.2,
        labelspacing=0.9,
    )


def _alpha(cell: Cell) -> float:
    return 0.6 if cell.emulator else 1.0


def _title(cells: Sequence[Cell]) -> str:
    medians = []
    for cell in cells:
        value = cell.value("acquire_us_p50")
        baseline = cell.setting is not None and "baseline" in cell.setting.tags
        if not isinstance(value, Absent) and not cell.emulator and not baseline:
            medians.append(value.value)
    if not medians:
        return "Acquire latency without contention"
    low, high = formats.ms(min(medians)), formats.ms(max(medians))
    if low == high:
        return f"Without contention the median acquire takes {low} ms"
    return f"Without contention the median acquire takes {low} to {high} ms, by system and durability"


def _caption(evidence: Evidence, cells: Sequence[Cell]) -> str:
    if not cells:
        return f"No run of this campaign measured it. {machine_words(evidence)}"
    runs = formats.counted((len(cell.used) for cell in cells), "run")
    lines = (
        "Each line is one run." if runs == "1 run" else f"Line: median of {runs}; band: their range; dots: the runs."
    )
    operations = formats.counted((cell.operations_min for cell in cells), "operation")
    emulated = " An emulator's curve is faint, and never ranked." if any(c.emulator for c in cells) else ""
    return (
        f"Closed loop, {_clients(cells)}. {lines} A curve begins at the "
        f"{_FROM * 100:.0f}th percentile and ends at the last one its smallest run supports ({operations} a run)."
        f"{emulated} {machine_words(evidence)}"
    )


def _clients(cells: Sequence[Cell]) -> str:
    counts = sorted({cell.workload.clients for cell in cells})
    if counts == [1]:
        return "1 client with a key of its own"
    return f"{', '.join(str(count) for count in counts)} clients, each with a key of its own"
