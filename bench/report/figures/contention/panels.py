"""Small panels, one a system, by the number of contenders."""

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.report.figures.contention.marks import SMALL, WIDTH_IN
from bench.report.figures.scales import doubling, logarithmic
from bench.report.style import MUTED

_PANEL_IN, _LEFT_IN, _TOP_IN, _BETWEEN_IN = 1.6, 0.8, 0.62, 0.42


def panels_in(count: int, across: int) -> float:
    """The height that so many take, with the room above for the figure's title."""
    rows = -(-count // across)
    return rows * _PANEL_IN + (rows - 1) * _BETWEEN_IN + _TOP_IN


def panels(
    figure: Figure, count: int, across: int, below_in: float, names_in: float
) -> Iterator[tuple[Axes, bool, bool]]:
    """Panels with one vertical scale, each with whether it is the first of its row and the last of its column.

    `names_in` is the room for the labels at the right of each.
    """
    height_in = figure.get_size_inches()[1]
    rows = -(-count // across)
    width_in = (WIDTH_IN - _LEFT_IN) / across - names_in
    shared: Axes | None = None
    for place in range(count):
        row, column = divmod(place, across)
        bottom_in = below_in + (rows - 1 - row) * (_PANEL_IN + _BETWEEN_IN)
        left_in = _LEFT_IN + column * (width_in + names_in)
        axes = figure.add_axes(
            (left_in / WIDTH_IN, bottom_in / height_in, width_in / WIDTH_IN, _PANEL_IN / height_in), sharey=shared
        )
        shared = shared or axes
        yield axes, column == 0, place + across >= count


def by_contenders(
    axes: Axes, counts: Sequence[float], heading: str, colour: str, what: str, ends: tuple[bool, bool]
) -> None:
    """The heading and the scales of one panel."""
    first, last = ends
    logarithmic(axes)
    doubling(axes, counts)
    axes.set_title(heading, fontsize=7.8, color=colour, pad=4)
    axes.tick_params(labelleft=first)
    if first:
        axes.set_ylabel(what, fontsize=SMALL)
    if last:
        axes.set_xlabel("contenders (log scale)", fontsize=SMALL)


def aside(axes: Axes, words: str) -> None:
    """Small words at the right of a panel's heading."""
    axes.annotate(
        words,
        (1.0, 1.0),
        (0, 4),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        fontsize=6.0,
        color=MUTED,
    )
