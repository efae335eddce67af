"""What the figures of waiting share: a point with its interval, gaps where there is no number, labels at line ends."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.cells import Absent, Cell, Value
from bench.analysis.evidence import Evidence
from bench.report import formats
from bench.report.figures.drawing import (
    Drawing,
    canvas,
    caption_height_in,
    load_drawing,
    machine_words,
    write_caption,
    write_title,
)
from bench.report.style import MUTED, Look, house_style

WIDTH_IN = 7.6
SMALL = 7.2
_BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.75}  # words lie on lines
_MARGIN_POINTS = 14.0
_LEADER = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 2.0, "shrinkB": 4.0}
Measure = Callable[[Cell], Value]


def metric(name: str) -> Measure:
    """One metric of a cell."""
    return lambda cell: cell.value(name)


def nothing(evidence: Evidence, name: str, title: str, why: str) -> Drawing:
    """In the place of a figure whose sweep a campaign has not."""
    caption = f"Nothing to draw: no run of this campaign has {why}. {machine_words(evidence)}"
    with house_style():
        figure = canvas(WIDTH_IN, 1.0)
        write_title(figure, title)
        write_caption(figure, caption)
    return load_drawing(name, title, caption, (), evidence, figure)


def framed(
    evidence: Evidence,
    name: str,
    words: tuple[str, str],
    cells: Iterable[Cell],
    content_in: float,
    draw: Callable[[Figure, float], None],
    scale_in: float = 0.5,
) -> Drawing:
    """A figure of some cells: title and caption are `words`, and between them `draw` has `content_in` inches.

    It is called with the figure and the height of what is below: the caption, and `scale_in` for a scale.
    """
    title, caption = words
    with house_style():
        below_in = caption_height_in(caption, WIDTH_IN) + scale_in
        figure = canvas(WIDTH_IN, below_in + content_in)
        write_caption(figure, caption)
        write_title(figure, title)
        draw(figure, below_in)
    return load_drawing(name, title, caption, behind(cells), evidence, figure)


def behind(cells: Iterable[Cell]) -> tuple[str, ...]:
    """The runs of some cells."""
    return tuple(dict.fromkeys(run_id for cell in cells for run_id in cell.evidence))


def why_absent(value: Absent) -> str:
    """In two or three words, for the place where the number would stand."""
    return "void" if value.reason.startswith("void") else value.reason.removeprefix("n/a (").removesuffix(")")


def line(
    axes: Axes,
    points: Mapping[float, Cell],
    measure: Measure,
    look: Look,
    *,
    scale: float = 1.0,
    faint: bool = False,
    marker: bool = True,
) -> list[tuple[float, float]]:
    """A line through the cells that have a number, broken where one has none, with the intervals of its points.

    Returns the points drawn. What lies at 0 or below has no place on a logarithmic axis, and is left out like it.
    """
    xs, ys = np.array(list(points), dtype=float), np.full(len(points), np.nan)
    for place, (x, cell) in enumerate(points.items()):
        value = measure(cell)
        if isinstance(value, Absent) or value.value <= 0.0:
            continue
        ys[place] = value.value * scale
        if value.runs > 1 and not faint:
            axes.vlines(x, max(value.low, 1e-9) * scale, value.high * scale, color=look.colour, linewidth=1.0)
    axes.plot(
        xs,
        ys,
        color=look.colour,
        linestyle=look.line,
        linewidth=1.0 if faint else 1.8,
        marker=look.marker if marker else "",
        markersize=3.2 if faint else 4.5,
        markerfacecolor="white" if faint else look.face,
    )
    return [(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True) if not np.isnan(y)]


def absences(axes: Axes, points: Mapping[float, Cell], measure: Measure) -> None:
    """Why there is no point, above or below what else stands there; to be called when the limits are set."""
    for x, cell in points.items():
        value = measure(cell)
        if not isinstance(value, Absent):
            continue
        drawn = [
            float(y) for one in axes.lines for at, y in np.asarray(one.get_xydata()) if at == x and not np.isnan(y)
        ]
        to_axes = axes.transData + axes.transAxes.inverted()
        at_top = bool(drawn) and max(float(to_axes.transform((x, y))[1]) for y in drawn) < 0.6
        axes.annotate(
            why_absent(value),
            (x, 1.0 if at_top else 0.0),
            (0, -3 if at_top else 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="top" if at_top else "bottom",
            fontsize=6.0,
            color=MUTED,
            bbox=_BEHIND,
        )


def labels(
    axes: Axes, ends: Sequence[tuple[float, float, str, str]], least_points: float = 8.0, *, in_margin: bool = False
) -> None:
    """Name lines beside their ends (x, y, words, colour), moved apart where they would cover each other.

    `in_margin`: all of them right of the axes, each joined to its end, for lines that end close to each other. To be
    called when the limits of the axes are set: the places are in points.
    """
    if not ends:
        return
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes belong to a figure"
    per_point = figure.dpi / 72.0
    places = [(axes.transData.transform((x, y)) / per_point, words, colour) for x, y, words, colour in ends]
    ordered = sorted(places, key=lambda place: place[0][1])
    heights = [place[0][1] for place in ordered]
    for _ in range(200):
        for below in range(len(heights) - 1):
            if (missing := least_points - (heights[below + 1] - heights[below])) > 0.0:
                heights[below] -= missing / 2.0
                heights[below + 1] += missing / 2.0
    edge = float(axes.transAxes.transform((1.0, 0.0))[0]) / per_point
    for ((x, y), words, colour), height in zip(ordered, heights, strict=True):
        end = tuple(axes.transData.inverted().transform((x * per_point, y * per_point)))
        away = (edge - x + _MARGIN_POINTS if in_margin else 6.0, height - y)
        if in_margin:
            axes.annotate("", end, away, textcoords="offset points", arrowprops={**_LEADER, "color": colour})
        axes.annotate(
            words,
            end,
            away,
            textcoords="offset points",
            fontsize=6.8,
            color=colour,
            va="center",
            annotation_clip=False,
            zorder=6,
            bbox=_BEHIND,
        )


def sample_words(cells: Sequence[Cell]) -> str:
    """How many runs and operations stand behind each point, and what the bars are."""
    used = [cell for cell in cells if cell.used]
    runs = formats.counted((len(cell.used) for cell in used), "run")
    operations = formats.counted((cell.operations_min for cell in used), "operation")
    bars = "" if runs == "1 run" else " Bars: the range of the runs, or the 95 % interval of six or more."
    smallest = "" if runs == "1 run" else "the smallest with "
    return f"Each point: {runs}, {smallest}{operations}.{bars}"


def hold_words(cells: Sequence[Cell]) -> str:
    """What the clients of a sweep have in common."""
    workload = cells[0].workload
    think = f", think time {workload.think_ms:g} ms" if workload.think_ms else ", no think time"
    return f"held {workload.hold_ms:g} ms{think}"
