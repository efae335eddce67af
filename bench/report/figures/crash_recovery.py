"""How long after a holder's crash the next client had the lock, against the TTL."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from bench.analysis import names
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.recovery import ROLES, RecoveryPoint
from bench.records.meaning import Role
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
_LEFT_IN, _PLOT_IN = 0.88, 4.35
_UPPER_IN, _LOWER_IN, _GAP_IN = 2.1, 1.3, 0.2
_DODGE_POINTS = 6.0  # systems stand beside each other: most of them lie on one line
_LATE = 1.1  # by more than a tenth of the TTL: later than any asking costs
_LEADER_LOST = "x"
_NOTHING = "Nothing to draw: no run that counts in this campaign killed a holder."


def crash_recovery(hazards: HazardEvidence) -> Drawing:
    """Draw every counted trial that killed a holder; those in which the leader or primary was lost as well are crosses.
    One that nobody followed stands at the top edge, as an arrow."""
    points = hazards.recovery_points
    every = [*points, *hazards.recovery_points_with_failover] if points else []
    systems = sorted({point.system for point in every}, key=lambda name: (names.position(name), name))
    title, caption = _title(points), _caption(hazards)
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.45
        height_in = below_in + _LOWER_IN + _GAP_IN + _UPPER_IN + 0.42
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        if points:
            lower = _place(figure, below_in, _LOWER_IN)
            upper = _place(figure, below_in + _LOWER_IN + _GAP_IN, _UPPER_IN)
            _seconds(upper, every)
            _by_ttl(lower, every)
            lower.set_xlim(upper.get_xlim())
            for point in every:
                shift = _DODGE_POINTS * (systems.index(point.system) - (len(systems) - 1) / 2.0)
                _mark(upper, point, None if point.recovery_ms is None else point.recovery_ms / 1_000.0, shift)
                _mark(lower, point, point.by_ttl, shift)
            _legend(upper, hazards, systems)
        else:
            figure.text(0.1 / _WIDTH_IN, 0.6, _NOTHING, fontsize=8.5)
    return lab_drawing(
        "crash_recovery", title, caption, dict.fromkeys(point.run_id for point in every), hazards, figure
    )


def _place(figure: Figure, bottom_in: float, height_in: float) -> Axes:
    whole_in = float(figure.get_size_inches()[1])
    return figure.add_axes((_LEFT_IN / _WIDTH_IN, bottom_in / whole_in, _PLOT_IN / _WIDTH_IN, height_in / whole_in))


def _seconds(axes: Axes, points: Sequence[RecoveryPoint]) -> None:
    ttls = sorted({point.ttl_ms / 1_000.0 for point in points})
    found = [point.recovery_ms / 1_000.0 for point in points if point.recovery_ms]
    left, right = ttls[0] / 1.5, ttls[-1] * 1.5
    _ttl_axis(axes, ttls)
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(min(*found, left) / 1.6, max(*found, right) * 2.0)
    axes.plot([left, right], [left, right], color=MUTED, linewidth=1.2, zorder=1)
    axes.annotate(
        "recovery = TTL",
        (right, right),
        (-4, -16),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8,
        color=MUTED,
    )
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.set_ylabel("crash to grant, s\n(log scale)")
    axes.tick_params(labelbottom=False)


def _by_ttl(axes: Axes, points: Sequence[RecoveryPoint]) -> None:
    """The same in TTLs, where a quarter of a TTL shows."""
    _ttl_axis(axes, sorted({point.ttl_ms / 1_000.0 for point in points}))
    axes.set_ylim(-0.08, max(1.25, *(1.1 * (point.by_ttl or 0.0) for point in points)))
    axes.axhline(1.0, color=MUTED, linewidth=1.2, zorder=1)
    axes.set_ylabel("the same,\nin TTLs")
    axes.set_xlabel("TTL, s (log scale)")


def _ttl_axis(axes: Axes, ttls: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(ttls)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _mark(axes: Axes, point: RecoveryPoint, y: float | None, shift_points: float) -> None:
    """Where nobody got the lock after the crash, an arrow at the top edge."""
    style = look(point.system)
    marker = _LEADER_LOST if point.failover else style.marker
    low, high = axes.get_ylim()
    top = high / (high / low) ** 0.07 if axes.get_yscale() == "log" else high - 0.07 * (high - low)
    axes.plot(
        [point.ttl_ms / 1_000.0],
        [top if y is None else y],
        linestyle="none",
        marker="$\u2191$" if y is None else marker,
        color=style.colour,
        markerfacecolor=style.colour if y is None else style.face,
        markersize=9 if y is None else 5.5,
        markeredgewidth=0.4 if y is None else 1.1,
        alpha=0.85,
        transform=beside(axes, shift_points),
        zorder=3,
    )


def _legend(axes: Axes, hazards: HazardEvidence, systems: Sequence[str]) -> None:
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
                label=_words(hazards, system),
            )
        )
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        frameon=False,
        fontsize=7.6,
        handlelength=1.2,
        labelspacing=0.8,
        borderaxespad=0.0,
    )


def _words(hazards: HazardEvidence, system: str) -> str:
    """The name, and the range of recovery in TTLs; in ms where the lock has no TTL."""
    mine = [point for point in hazards.recovery_points if point.system == system]
    leased = any(row.has_lease for row in hazards.in_role(Role.RECOVERY, system))
    lines = [names.title(system)]
    found = [point for point in mine if point.recovery_ms is not None]
    if found:
        values = [point.by_ttl or 0.0 for point in found] if leased else [point.recovery_ms or 0.0 for point in found]
        low, high = min(values), max(values)
        if leased:
            shown = list(dict.fromkeys((f"{low:.2f}", f"{high:.2f}")))
            lines.append(f"{' to '.join(shown)} TTL")
        else:
            lines.append("no TTL: free when its")
            lines.append(f"connection ends, \u2264{NO_BREAK}{formats.significant(high)}{NO_BREAK}ms")
    lost = [point.by_ttl for point in hazards.recovery_points_with_failover if point.system == system and point.by_ttl]
    if lost:
        lines.append(f"\u00d7 leader lost too: \u2264{NO_BREAK}{max(lost):.2f} TTL")
    if len(mine) > len(found):
        lines.append(f"no grant after the crash in {len(mine) - len(found)} of {len(mine)}")
    return "\n".join(lines)


def _title(points: Sequence[RecoveryPoint]) -> str:
    systems = {point.system for point in points}
    if not systems:
        return "Time from a holder's crash to the next grant"
    late = {point.system for point in points if point.recovery_ms is None or (point.by_ttl or 0.0) > _LATE}
    return (
        f"After a crash the lock was free within {_LATE:g} TTL in every trial "
        f"on {len(systems) - len(late)} of {len(systems)} systems"
    )


def _caption(hazards: HazardEvidence) -> str:
    points = hazards.recovery_points
    if not points:
        return f"{_NOTHING} {lab_words(hazards)}"
    every = (*points, *hazards.recovery_points_with_failover)
    runs = formats.runs_by_scenario(dict.fromkeys(point.run_id for point in every), scenarios_in(*ROLES))
    allowed = {
        point.system: point.allowed_ms - point.ttl_ms
        for point in points
        if point.allowed_ms - point.ttl_ms > (_LATE - 1.0) * min(one.ttl_ms for one in points)
    }
    longer = ", ".join(f"{names.title(system)} by up to {value:,.0f}{NO_BREAK}ms" for system, value in allowed.items())
    return " ".join(
        (
            f"One marker per trial, side by side at each TTL: {runs}. From the holder's confirmed death by SIGKILL to "
            "the grant of the client that waited.",
            *([f"By its adapter's own account, a lease may outlive its TTL here: {longer}."] if longer else []),
            *(
                ["A cross: at once or half a TTL later the leader, or the primary, was killed too."]
                if hazards.recovery_points_with_failover
                else []
            ),
            *(
                ["An arrow at the top: no grant after the confirmed death."]
                if any(point.recovery_ms is None for point in points)
                else []
            ),
            *(
                ["An emulator stands for DynamoDB."]
                if any(row.emulator for row in hazards.in_role(Role.RECOVERY))
                else []
            ),
            lab_words(hazards),
        )
    )
