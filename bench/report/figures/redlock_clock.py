"""The smallest jump of some clocks that gave Redlock two holders, by TTL and nodes held; one Redis beside it."""

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench.analysis.cells import Absent
from bench.analysis.claims import Claim, load_claims
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.tolerance import ToleranceRow, clock_rule, fewest_clocks
from bench.records.meaning import Role
from bench.report import formats
from bench.report.figures.drawing import (
    Drawing,
    canvas,
    caption_height_in,
    lab_drawing,
    lab_words,
    write_caption,
    write_title,
)
from bench.report.formats import NO_BREAK
from bench.report.style import DASHED, DOTTED, MUTED, house_style

_WIDTH_IN = 7.6
_LEFT_IN, _RIGHT_IN, _BETWEEN_IN, _LEGEND_AT_IN = 0.72, 1.75, 0.2, 1.62
_CONTENT_IN = 3.0
_DODGE = 0.15  # of the distance between two TTLs
_CLAIM = ("redlock", "clock_skew")
# What the algorithm sets aside for drifting clocks, as its authors have it: 1 % of the TTL and 2 ms.
_DRIFT_SHARE, _DRIFT_MS = 0.01, 2.0
_MOMENTS = {"late": "just before the validity ends", "early": "right after the grant"}
_REDLOCK = "redlock"
# By nodes held; one node is one Redis.
_SERIES = {1: ("#56B4E9", "o"), 3: ("#D55E00", "^"), 4: ("#E69F00", "D"), 5: ("#0072B2", "s")}
_OTHER = ("#000000", "P")
_NOTHING = "Nothing to draw: no run that counts in this campaign set the clocks of Redlock's nodes."


def redlock_clock(hazards: HazardEvidence, claims: Sequence[Claim] | None = None) -> Drawing:
    """Draw one panel for each moment of the jump, one marker for each TTL and number of nodes held: for the fewest
    clocks that broke the lock, and for the most that never did. What still more clocks do stands in the table.

    A bar below a marker reaches down to the largest jump that broke nothing. Where none broke it, an arrow stands at
    the largest that was tried. `claims` (default: the project's) hold the jump that others claim to be enough.
    """
    rows = _shown(hazards.tolerance)
    every = load_claims() if claims is None else claims
    claim = next((one for one in every if (one.system, one.metric) == _CLAIM and one.high), None)
    moments = [moment for moment in (*_MOMENTS, "") if any(row.when == moment for row in rows)]
    nodes = sorted({row.nodes_held for row in rows})
    title, caption = _title(rows), _caption(hazards, claim)
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.45
        height_in = below_in + _CONTENT_IN + 0.62
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        if rows:
            ttls = {moment: len({row.ttl_ms for row in rows if row.when == moment}) for moment in moments}
            for_one_in = (_WIDTH_IN - _LEFT_IN - _RIGHT_IN - _BETWEEN_IN * (len(moments) - 1)) / sum(ttls.values())
            left_in = _LEFT_IN
            for number, moment in enumerate(moments):
                width_in = for_one_in * ttls[moment]
                axes = figure.add_axes(
                    (left_in / _WIDTH_IN, below_in / height_in, width_in / _WIDTH_IN, _CONTENT_IN / height_in)
                )
                left_in += width_in + _BETWEEN_IN
                _panel(axes, [row for row in rows if row.when == moment], rows, nodes, claim)
                axes.set_title(_MOMENTS.get(moment, "clocks jump"), fontsize=8.5, pad=4)
                if number:
                    axes.tick_params(labelleft=False)
                else:
                    axes.set_ylabel("jump of the nodes' clocks, ms (log scale)")
            _legend(figure, rows, nodes, claim, 1.0 - 0.55 / height_in)
        else:
            figure.text(0.1 / _WIDTH_IN, 0.6, _NOTHING, fontsize=8.5)
    runs = dict.fromkeys(run_id for row in rows for run_id in row.evidence)
    return lab_drawing("redlock_clock", title, caption, runs, hazards, figure)


def _shown(rows: Iterable[ToleranceRow]) -> list[ToleranceRow]:
    """Of each number of nodes held, the fewest clocks that broke the lock, and the most that never did."""
    by_system: dict[str, list[ToleranceRow]] = {}
    for row in rows:
        by_system.setdefault(row.system, []).append(row)
    return [
        row for found in by_system.values() for row in found if row.nodes_jumped in fewest_clocks(found)[row.nodes_held]
    ]


def _panel(
    axes: Axes, shown: Sequence[ToleranceRow], every: Sequence[ToleranceRow], nodes: Sequence[int], claim: Claim | None
) -> None:
    ttls = sorted({row.ttl_ms for row in shown})
    axes.set_yscale("log")
    axes.set_xlim(-0.5, len(ttls) - 0.5)
    axes.set_ylim(*_span_ms(every, claim))
    for place, ttl_ms in enumerate(ttls):
        drift_ms = _DRIFT_SHARE * ttl_ms + _DRIFT_MS
        axes.plot([place - 0.45, place + 0.45], [drift_ms, drift_ms], color="#222222", linestyle=DASHED, linewidth=1.3)
    if claim is not None and claim.high is not None:
        axes.axhline(claim.high, color=MUTED, linestyle=DOTTED, linewidth=1.6, zorder=1)
    for row in shown:
        x = ttls.index(row.ttl_ms) + _DODGE * (nodes.index(row.nodes_held) - (len(nodes) - 1) / 2.0)
        colour, marker = _SERIES.get(row.nodes_held, _OTHER)
        if row.smallest_breaking_ms is None:
            axes.plot(
                [x], [row.largest_tried_ms], linestyle="none", marker="$\u2191$", markersize=10, color=colour, zorder=3
            )
            axes.plot(
                [x],
                [row.largest_tried_ms / 1.2],
                linestyle="none",
                marker=marker,
                markersize=6,
                color=colour,
                markerfacecolor="white",
                zorder=3,
            )
            continue
        if row.largest_survived_ms:
            axes.plot([x, x], [row.largest_survived_ms, row.smallest_breaking_ms], color=colour, linewidth=1.4)
        axes.plot(
            [x], [row.smallest_breaking_ms], linestyle="none", marker=marker, markersize=6, color=colour, zorder=3
        )
    axes.set_xticks(range(len(ttls)), [f"{ttl_ms / 1_000.0:g}" for ttl_ms in ttls])
    axes.grid(visible=False, axis="x")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300.0 * low else (1.0,)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}" if y >= 1.0 else f"{y:g}"))
    axes.set_xlabel("TTL, s")


def _span_ms(rows: Sequence[ToleranceRow], claim: Claim | None) -> tuple[float, float]:
    ends = [row.largest_tried_ms for row in rows if not row.broke]
    ends += [one for row in rows for one in (row.smallest_breaking_ms, row.largest_survived_ms) if one]
    ends += [_DRIFT_SHARE * row.ttl_ms + _DRIFT_MS for row in rows]
    if claim is not None and claim.high:
        ends.append(claim.high)
    return min(ends) / 1.6, max(ends) * 1.7


def _legend(
    figure: Figure, rows: Sequence[ToleranceRow], nodes: Sequence[int], claim: Claim | None, top: float
) -> None:
    handles = []
    for held in nodes:
        colour, marker = _SERIES.get(held, _OTHER)
        words = _series_words(held, [row for row in rows if row.nodes_held == held])
        handles.append(Line2D([], [], linestyle="none", marker=marker, markersize=6, color=colour, label=words))
    if any(not row.broke for row in rows):
        handles.append(
            Line2D(
                [],
                [],
                linestyle="none",
                marker="$\u2191$",
                markersize=9,
                color=MUTED,
                label="no jump up to here\nbroke it",
            )
        )
    drift = f"drift term: {100.0 * _DRIFT_SHARE:g}{NO_BREAK}%\nof the TTL + {_DRIFT_MS:g}{NO_BREAK}ms"
    handles.append(Line2D([], [], color="#222222", linestyle=DASHED, linewidth=1.3, label=drift))
    if claim is not None and claim.high is not None:
        words = f"claimed to break it:\n{claim.high:g}{NO_BREAK}{claim.unit} ({claim.id})"
        handles.append(Line2D([], [], color=MUTED, linestyle=DOTTED, linewidth=1.6, label=words))
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.0 - _LEGEND_AT_IN / _WIDTH_IN, top),
        frameon=False,
        fontsize=7.6,
        handlelength=2.0,
        labelspacing=0.9,
        borderaxespad=0.0,
    )


def _series_words(held: int, rows: Sequence[ToleranceRow]) -> str:
    """Whose clocks: those that broke it, and those that did not."""
    broken, _ = fewest_clocks(rows)[held]
    whole = [row for row in rows if not row.broke and row.nodes_jumped != broken]
    if held == 1:
        words = ["one Redis, its clock"] if broken else ["one Redis"]
    else:
        words = [f"{held} held, {broken} jump{'s' if broken == 1 else ''}"] if broken else [f"{held} held"]
    if whole:
        words.append(f"{max(row.nodes_jumped for row in whole)}: none up to {_tried(whole)}")
    return "\n".join(words)


def _tried(rows: Sequence[ToleranceRow]) -> str:
    """How far the search went: in ms where there is one TTL, else in TTLs where it went equally far in each."""
    ms, ttls = ({row.largest_tried_ms for row in rows}, {round(row.largest_tried_ms / row.ttl_ms, 2) for row in rows})
    if len(ms) > 1 and len(ttls) == 1:
        return f"{ttls.pop():g}{NO_BREAK}TTL"
    return f"{max(ms):,.0f}{NO_BREAK}ms"


def _title(rows: Sequence[ToleranceRow]) -> str:
    redlock = [row for row in rows if row.system == _REDLOCK]
    if not redlock:
        return "How far the clocks of Redlock's nodes may jump"
    fewest = {held: broken for held, (broken, _) in fewest_clocks(redlock).items() if broken is not None}
    if not fewest:
        largest = max(row.largest_tried_ms for row in redlock)
        return f"No clock jump up to {largest:,.0f} ms gave Redlock two holders"
    first, *others = (f"{broken} of {held}" for held, broken in fewest.items())
    also = f" ({', '.join(others)})" if others else ""
    clocks, jump = ("the clock", "jumps") if min(fewest.values()) == 1 else ("the clocks", "jump")
    return f"Redlock has two holders when {clocks} of {first} held nodes {jump}{also}"


def _caption(hazards: HazardEvidence, claim: Claim | None) -> str:
    rows = _shown(hazards.tolerance)
    if not rows:
        return f"{_NOTHING} {lab_words(hazards)}"
    runs = formats.runs_by_scenario(
        dict.fromkeys(run_id for row in rows for run_id in row.evidence), scenarios_in(Role.CLOCK_SEARCH)
    )
    trials = formats.counted([sum(row.tried for row in rows)], "trial")
    rule = clock_rule([row for row in hazards.tolerance if row.system == _REDLOCK])
    return " ".join(
        (
            f"Marker: smallest jump that gave two holders; its bar ends at the largest harmless jump below it. "
            f"{runs}, {trials}, each a real step of the wall clocks of that many running servers; nodes that are not "
            "held are out of the holder's reach.",
            *([] if isinstance(rule, Absent) else [f"The rule: {rule.words}; {rule.fit_words}."]),
            *([f"Claim {claim.id}: {claim.claim}."] if claim is not None else []),
            lab_words(hazards),
        )
    )
