"""Rows of dots with their intervals, one row a system and way to wait, for one measure or several beside each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.contention.sweeps import sweep
from bench.analysis.evidence import Evidence
from bench.analysis.intervals import Estimate
from bench.records.workload import CONTENDED
from bench.report import formats
from bench.report.figures.contention.marks import SMALL, WIDTH_IN, Measure, framed, why_absent
from bench.report.figures.drawing import Drawing
from bench.report.style import MUTED, look

ROW_IN = 0.19
GROUP_IN = 0.10  # above each system
LEFT_IN = 2.15
WORDS_IN = 0.62  # right of each column, for its numbers
HEAD_IN = 0.62


@dataclass(frozen=True, slots=True)
class DotColumn:
    """One measure: `words` stand beside each dot, and `also` is a thin mark in the same row."""

    heading: str
    measure: Measure
    words: Callable[[Estimate], str]
    factor: float = 1.0
    limits: tuple[float, float] | None = None  # None: logarithmic
    also: Measure | None = None
    words_in: float = WORDS_IN


def strategies(evidence: Evidence, recorded: str) -> Sequence[Cell]:
    """The cells of the sweep over ways to wait, each system's own first; empty where nobody recorded that metric."""
    swept = sweep(evidence.cells, CONTENDED, "wait")
    best: dict[tuple[str, str], Cell] = {}
    for cell in swept:
        known = best.get(key := (cell.system, cell.workload.wait))
        if known is None or len(known.used) < len(cell.used):
            best[key] = cell
    if all(run.metrics.get(recorded) is None for cell in best.values() for run in cell.used):
        return ()
    order = sorted(best, key=lambda key: (names.position(key[0]), key[1] != names.default_wait(key[0]), key[1]))
    return [best[key] for key in order]


def height_in(cells: Sequence[Cell]) -> float:
    """What the rows take."""
    return -places(cells)[-1] + ROW_IN


def places(cells: Sequence[Cell]) -> Sequence[float]:
    """Where each row lies, in inches below the top."""
    found, at = [], 0.0
    for place, cell in enumerate(cells):
        at -= ROW_IN + (GROUP_IN if place and cell.system != cells[place - 1].system else 0.0)
        found.append(at)
    return found


def rows_of_dots(
    evidence: Evidence, name: str, words: tuple[str, str], cells: Sequence[Cell], columns: Sequence[DotColumn]
) -> Drawing:
    """The whole figure; title and caption are `words`."""

    def draw(figure: Figure, below_in: float) -> None:
        _draw_rows(figure, cells, columns, below_in)

    return framed(evidence, name, words, cells, height_in(cells) + HEAD_IN, draw, scale_in=0.35)


def _draw_rows(figure: Figure, cells: Sequence[Cell], columns: Sequence[DotColumn], below_in: float) -> None:
    """The names at the left, and a panel a column."""
    whole_in = figure.get_size_inches()[1]
    rows_in, at = height_in(cells), places(cells)
    free_in = WIDTH_IN - LEFT_IN - sum(one.words_in for one in columns)
    left_in = LEFT_IN
    for number, column in enumerate(columns):
        width_in = free_in / len(columns)
        axes = figure.add_axes(
            (left_in / WIDTH_IN, below_in / whole_in, width_in / WIDTH_IN, rows_in / whole_in)
        )  # fmt: skip
        axes.set_ylim(-rows_in, 0.0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_title(column.heading, fontsize=SMALL, loc="left", pad=5)
        for cell, y in zip(cells, at, strict=True):
            _dot(axes, cell, y, column)
        _scale(axes, column)
        if not number:
            _names(axes, cells, at)
        left_in += width_in + column.words_in


def _dot(axes: Axes, cell: Cell, y: float, column: DotColumn) -> None:
    value, own = column.measure(cell), look(cell.system)
    axes.axhline(y, color="#eeeeee", linewidth=0.6, zorder=0)
    if isinstance(value, Absent):
        axes.annotate(
            why_absent(value), (0.0, y), (2, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            va="center", fontsize=6.2, color=MUTED,
        )  # fmt: skip
        return
    also = column.also(cell) if column.also is not None else None
    if isinstance(also, Estimate):
        axes.plot([also.value * column.factor], [y], marker="|", markersize=6.0, color=own.colour, linestyle="none")
        ends = [value.value * column.factor, also.value * column.factor]
        axes.plot(ends, [y, y], color=own.colour, linewidth=0.6, alpha=0.5)
    if value.runs > 1:
        axes.plot([value.low * column.factor, value.high * column.factor], [y, y], color=own.colour, linewidth=2.2)
    axes.plot(
        [value.value * column.factor], [y], marker=own.marker, color=own.colour, markerfacecolor=own.face,
        linestyle="none", clip_on=False, zorder=5,
    )  # fmt: skip
    axes.annotate(
        column.words(value), (1.0, y), (8, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
        va="center", fontsize=6.6,
    )  # fmt: skip


def _scale(axes: Axes, column: DotColumn) -> None:
    if column.limits is not None:
        axes.set_xlim(*column.limits)
        axes.xaxis.set_major_locator(FixedLocator([column.limits[0], sum(column.limits) / 2.0, column.limits[1]]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        return
    low = min(
        (float(x) for one in axes.lines for x in np.asarray(one.get_xdata()) if one.get_color() != "#eeeeee"),
        default=1.0,
    )
    if low > 0.0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator())
    else:  # a server may tell the next client first
        axes.set_xscale("symlog", linthresh=0.1)
        axes.axvline(0.0, color="#555555", linewidth=0.8)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: formats.significant(x, 1)))


def _names(axes: Axes, cells: Sequence[Cell], at: Sequence[float]) -> None:
    before = ""
    for cell, y in zip(cells, at, strict=True):
        for words, left, weight in (
            (names.title(cell.system) if cell.system != before else "", -LEFT_IN * 72.0 + 8.0, "bold"),
            (cell.workload.wait, -6.0, "normal"),
        ):
            axes.annotate(
                words, (0.0, y), (left, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                ha="left" if weight == "bold" else "right", va="center", fontsize=7.2, fontweight=weight,
            )  # fmt: skip
        before = cell.system


def row_words(cells: Sequence[Cell]) -> str:
    """What all rows have in common."""
    return formats.counted([cells[0].workload.clients], "client")
