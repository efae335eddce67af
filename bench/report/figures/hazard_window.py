"""The hazard window: how long two clients held one lock, against how long its holder was stopped beyond the TTL."""

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bench.analysis import names
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.window import TOLERATED_TTLS, WindowFit, WindowPoint
from bench.records.meaning import Role
from bench.records.numbers import MINUS, percent
from bench.report import formats
from bench.report.figures.drawing import (
    Drawing,
    beside,
    canvas,
    caption_height_in,
    lab_drawing,
    lab_words,
    write_caption,
    write_title,
)
from bench.report.formats import NO_BREAK
from bench.report.style import MUTED, house_style, look

_WIDTH_IN = 7.6
_LEFT_IN, _PLOT_IN = 0.72, 4.4
_UPPER_IN, _LOWER_IN, _GAP_IN = 2.6, 1.45, 0.2
_DODGE_POINTS = 3.8  # systems stand beside each other below, where all would lie on one line
_LEGEND_CHARACTERS = 31
_JUST_BEYOND = 1.01  # a pause of one TTL is over it by a hair: its difference says nothing of the line
_TOLERATED = f"{100.0 * TOLERATED_TTLS:g}{NO_BREAK}%"
_NOTHING = "Nothing to draw: no run that counts in this campaign stopped a holder."


def hazard_window(hazards: HazardEvidence) -> Drawing:
    """Draw every counted trial that stopped a holder: above the window itself, below how far it is off the line."""
    points, fits = hazards.window_points, hazards.window_fits
    overlapping = _overlapping(points)
    title, caption = _title(fits, overlapping), _caption(hazards)
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.45
        height_in = below_in + _LOWER_IN + _GAP_IN + _UPPER_IN + 0.42
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        if points:
            lower = _place(figure, below_in, _LOWER_IN)
            upper = _place(figure, below_in + _LOWER_IN + _GAP_IN, _UPPER_IN)
            _windows(upper, points)
            _differences(lower, points)
            lower.set_xlim(upper.get_xlim())
            _legend(figure, points, fits, 1.0 - 0.4 / height_in)
        else:
            figure.text(0.1 / _WIDTH_IN, 0.6, _NOTHING, fontsize=8.5)
    runs = dict.fromkeys(point.run_id for point in points)
    return lab_drawing("hazard_window", title, caption, runs, hazards, figure)


def _place(figure: Figure, bottom_in: float, height_in: float) -> Axes:
    whole_in = float(figure.get_size_inches()[1])
    return figure.add_axes((_LEFT_IN / _WIDTH_IN, bottom_in / whole_in, _PLOT_IN / _WIDTH_IN, height_in / whole_in))


def _overlapping(points: Sequence[WindowPoint]) -> list[str]:
    """The systems on which two clients held the lock at once, in table order."""
    found = {point.system for point in points if point.overlap_ms}
    return sorted(found, key=lambda name: (names.position(name), name))


def _beyond_s(point: WindowPoint) -> float:
    """How long the holder was stopped beyond its TTL; negative where it was back in time."""
    return (point.pause_ms - point.ttl_ms) / 1_000.0


def _windows(axes: Axes, points: Sequence[WindowPoint]) -> None:
    right = 1.06 * max(*(_beyond_s(point) for point in points), *(point.overlap_ms / 1_000.0 for point in points), 0.1)
    left = min(*(_beyond_s(point) for point in points), 0.0) - 0.05 * right
    # The claim: nothing until the TTL is over, then as long as the pause exceeds it.
    axes.plot([left, 0.0, right], [0.0, 0.0, right], color=MUTED, linewidth=1.2, zorder=1)
    axes.annotate(
        f"claimed: pause {MINUS} TTL",
        (0.6 * right, 0.6 * right),
        (-9, 3),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=8,
        color=MUTED,
    )
    for point in points:
        _mark(axes, point, _beyond_s(point), point.overlap_ms / 1_000.0, 0.0)
    axes.set_xlim(left, right)
    axes.set_ylim(-0.04 * right, right)
    axes.set_ylabel("two holders at once, s")
    axes.tick_params(labelbottom=False)


def _differences(axes: Axes, points: Sequence[WindowPoint]) -> None:
    """Only pauses longer than the TTL, and only locks that two clients held at once: the others stay at zero above."""
    order = _overlapping(points)
    shown = [point for point in points if point.pause_ttls > _JUST_BEYOND and point.system in order]
    for point in shown:
        shift = _DODGE_POINTS * (order.index(point.system) - (len(order) - 1) / 2.0)
        _mark(axes, point, _beyond_s(point), point.difference_ms, shift)
    differences = [point.difference_ms for point in shown]
    tolerated_ms = min((TOLERATED_TTLS * point.ttl_ms for point in shown), default=1.0)
    axes.axhspan(-tolerated_ms, tolerated_ms, color="#eeeeee", zorder=0, linewidth=0)
    axes.axhline(0.0, color=MUTED, linewidth=1.2, zorder=1)
    axes.set_ylim(min(*differences, -tolerated_ms, 0.0) * 1.12, max(*differences, tolerated_ms, 0.0) * 1.12)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set_ylabel("off the line, ms")
    axes.set_xlabel(f"pause {MINUS} TTL, s, as measured (below 0 the holder was back in time)")


def _mark(axes: Axes, point: WindowPoint, x: float, y: float, shift_points: float) -> None:
    style = look(point.system)
    axes.plot(
        [x],
        [y],
        linestyle="none",
        marker=style.marker,
        color=style.colour,
        markerfacecolor=style.face,
        markersize=5.5,
        markeredgewidth=1.1,
        alpha=0.85,
        transform=beside(axes, shift_points),
        zorder=3,
    )


def _legend(figure: Figure, points: Sequence[WindowPoint], fits: Sequence[WindowFit], top: float) -> None:
    fitted = {fit.system: fit for fit in fits}
    systems = sorted({point.system for point in points}, key=lambda name: (names.position(name), name))
    handles = []
    for system in systems:
        style = look(system)
        handles.append(
            Line2D(
                [],
                [],
                linestyle="none",
                marker=style.marker,
                color=style.colour,
                markerfacecolor=style.face,
                markersize=6,
                label=_words(system, fitted.get(system), overlapping=system in _overlapping(points)),
            )
        )
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=((_LEFT_IN + _PLOT_IN + 0.05) / _WIDTH_IN, top),
        frameon=False,
        fontsize=7.4,
        handlelength=1.2,
        labelspacing=0.8,
        borderaxespad=0.0,
    )


def _words(system: str, fit: WindowFit | None, *, overlapping: bool) -> str:
    """The name, how far off the line, and why: what cannot overlap at all is said in words."""
    lines = [names.title(system)]
    if fit is None:
        lines.append("single pauses only")
    elif fit.median_difference_ms is None or fit.median_difference_ttls is None:
        lines.append(fit.reason)
    elif not overlapping:
        lines.append(f"never two holders, {formats.counted([fit.points], 'pause')} beyond the TTL: {fit.reason}")
    else:
        lines.append(
            f"{formats.significant(fit.median_difference_ms)}{NO_BREAK}ms off at the median, "
            f"{percent(fit.median_difference_ttls, 1)} of the TTL"
        )
    return "\n".join(line for part in lines for line in textwrap.wrap(part, _LEGEND_CHARACTERS))


def _title(fits: Sequence[WindowFit], overlapping: Sequence[str]) -> str:
    shown = [fit for fit in fits if fit.system in overlapping]
    if not shown:
        return f"The hazard window against pause {MINUS} TTL"
    near = sum(fit.on_the_line for fit in shown)
    return (
        f"Two holders for pause {MINUS} TTL, to within {_TOLERATED} of the TTL: "
        f"{near} of {len(shown)} systems that can have two"
    )


def _caption(hazards: HazardEvidence) -> str:
    points = hazards.window_points
    if not points:
        return f"{_NOTHING} {lab_words(hazards)}"
    runs = formats.runs_by_scenario(dict.fromkeys(point.run_id for point in points), scenarios_in(Role.PAUSE_MAP))
    ttls = formats.spread(sorted({point.ttl_ms for point in points}))
    off = [
        f"{names.title(fit.system)}: {fit.reason}."
        for fit in hazards.window_fits
        if fit.system in _overlapping(points) and fit.reason
    ]
    return " ".join(
        (
            f"One marker per trial, TTL {ttls}{NO_BREAK}ms: {runs}. Two holders: from the contender's grant until the "
            "holder learned of its loss. Pause: from confirmed start to confirmed end. Grey below: "
            f"{_TOLERATED} of the shortest TTL; markers stand side by side there.",
            *off,
            *(["An emulator stands for DynamoDB."] if any(row.emulator for row in hazards.trials) else []),
            lab_words(hazards),
        )
    )
