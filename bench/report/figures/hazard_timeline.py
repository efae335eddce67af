"""One paused holder, instant by instant: who believed what, when, and what became of each write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.analysis import names
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import plays, scenarios_in
from bench.analysis.hazards.rows import TrialRow
from bench.records.hazards import Belief, HazardPlan, Trial, TrialChecked, Write
from bench.records.meaning import Role
from bench.report.figures.drawing import (
    Drawing,
    canvas,
    caption_height_in,
    lab_drawing,
    lab_words,
    veil,
    write_caption,
    write_title,
)
from bench.report.formats import NO_BREAK
from bench.report.style import MUTED, house_style

_WIDTH_IN = 7.6
_LEFT_IN, _RIGHT_IN = 0.88, 0.15
_PANEL_IN, _BETWEEN_IN, _LEGEND_IN = 1.62, 0.3, 0.5
_PAUSE_TTLS = 8.0 / 5.0  # of the page scenario; the gc-pause trial nearest to it stands in for it
_BAR = 0.34
_WORDS_IN, _SHORT_WORD_IN = 1.4, 0.36  # of "two holders, 0.00 s" and "waits", with a little room
_HOLDER, _OTHER, _STOPPED = "#0072B2", "#E69F00", "#d9d9d9"
_ACCEPTED, _REFUSED = "#D55E00", "#222222"
_NO_CAMPAIGN = HazardPlan(
    campaign_id="none", run_id="", position=0, scenario="", system="", parameters={}, repetition=1, seed=0
)
_NOTHING = "Nothing to draw: no run that counts in this campaign stopped a holder."


@dataclass(frozen=True, slots=True)
class _Clock:
    """Seconds since the holder learned of its grant."""

    zero_ns: int

    def s(self, instant_ns: int) -> float:
        return (instant_ns - self.zero_ns) / 1e9


def hazard_timeline(hazards: HazardEvidence, system: str | None = None) -> Drawing:
    """Draw one trial with the fence off above one with the fence on, of `system`.

    Default: the first system, in table order, on which the fence made the difference. The page scenario is taken where
    it was played, else the pause nearest to it.
    """
    rows = _chosen(hazards, system)
    title, caption = _title(rows), _caption(hazards, rows)
    runs = dict.fromkeys(row.run_id for row in rows)
    return lab_drawing("hazard_timeline", title, caption, runs, hazards, _figure(rows, title, caption))


def trial_timeline(trials: Mapping[str, tuple[Trial, TrialChecked]], title: str, caption: str) -> Drawing:
    """Draw trials that belong to no campaign, as simulated ones, by the words above each."""
    rows = [TrialRow(_NO_CAMPAIGN, trial, checked, {}) for trial, checked in trials.values()]
    figure = _figure(rows, title, caption, list(trials))
    return Drawing("trial_timeline", title, caption, (), _NO_CAMPAIGN.campaign_id, "none", figure)


def _figure(rows: Sequence[TrialRow], title: str, caption: str, headings: Sequence[str] = ()) -> Figure:
    headings = headings or ["fence on" if row.fence else "fence off" for row in rows]
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.45
        count = max(1, len(rows))
        height_in = below_in + count * _PANEL_IN + (count - 1) * _BETWEEN_IN + 0.24 + _LEGEND_IN + 0.3
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        end_s = max((_end_s(row) for row in rows), default=1.0)
        for number, row in enumerate(rows):
            bottom_in = below_in + (count - 1 - number) * (_PANEL_IN + _BETWEEN_IN)
            axes = figure.add_axes(
                (
                    _LEFT_IN / _WIDTH_IN,
                    bottom_in / height_in,
                    1.0 - (_LEFT_IN + _RIGHT_IN) / _WIDTH_IN,
                    _PANEL_IN / height_in,
                )
            )
            _panel(axes, row, end_s, headings[number], last=number == count - 1)
        if rows:
            _legend(figure, 1.0 - 0.32 / height_in)
        else:
            figure.text(0.1 / _WIDTH_IN, (below_in + 0.3) / height_in, _NOTHING, fontsize=8.5)
    return figure


def _chosen(hazards: HazardEvidence, system: str | None) -> Sequence[TrialRow]:
    """A trial with the fence off and one with it on, of one system; fewer where there are fewer."""
    paused = [
        row
        for row in hazards.trials
        if plays(row.scenario, Role.PAUSE_MAP) and _holder(row) is not None and _pauses(row)
    ]
    pairs: dict[tuple[int, str], dict[bool, TrialRow]] = {}
    for place, scenario in enumerate(scenarios_in(Role.PAUSE_MAP)):
        for name in {row.system for row in paused if row.scenario == scenario and system in (None, row.system)}:
            mine = [row for row in paused if row.scenario == scenario and row.system == name]
            pair = {bool(row.fence): row for row in sorted(mine, key=_distance, reverse=True)}
            pairs[place, name] = pair

    def rank(key: tuple[int, str]) -> tuple[bool, int, int, str]:
        off, on = pairs[key].get(False), pairs[key].get(True)
        telling = off is not None and on is not None and off.checked.stale_accepted and on.checked.stale_refused
        # The last of the scenarios is the page's own.
        return (not telling, -key[0], names.position(key[1]), key[1])

    if not pairs:
        return ()
    pair = pairs[min(pairs, key=rank)]
    return [pair[fence] for fence in (False, True) if fence in pair]


def _distance(row: TrialRow) -> tuple[float, int, str]:
    """How far from the page's pause; of equals the first run, so that a rendering repeats itself."""
    return (abs((row.measure("pause_ms") or 0.0) / row.ttl_ms - _PAUSE_TTLS) // 0.01, row.plan.position, row.trial.name)


def _pauses(row: TrialRow) -> Sequence[tuple[int, int]]:
    return [(one.began_ns, one.ended_ns) for one in row.faults if one.kind == "pause" and one.ended_ns is not None]


def _holder(row: TrialRow) -> Belief | None:
    """The belief of the client that was stopped."""
    stopped = {one.target for one in row.faults if one.kind == "pause"}
    return next((one for one in row.trial.beliefs if one.actor in stopped), None)


def _clock(row: TrialRow) -> _Clock:
    holder = _holder(row)
    return _Clock(holder.from_ns if holder else row.trial.began_ns)


def _end_s(row: TrialRow) -> float:
    clock = _clock(row)
    ends_ns = [one.until_ns or row.trial.ended_ns for one in row.trial.beliefs]
    return max((clock.s(instant) for instant in (*ends_ns, *(end for _, end in _pauses(row)))), default=1.0)


def _panel(axes: Axes, row: TrialRow, end_s: float, heading: str, *, last: bool) -> None:
    clock, holder = _clock(row), _holder(row)
    asked = [(one.asked_ns, one.actor) for one in row.trial.asks]
    asked = sorted([*asked, *((one.asked_ns, one.actor) for one in row.trial.beliefs)])
    actors = list(dict.fromkeys([*(actor for _, actor in asked), *(one.actor for one in row.trial.writes)]))
    place = {actor: float(len(actors) - 1 - number) for number, actor in enumerate(actors)}
    axes.set_xlim(-0.03 * end_s, 1.04 * end_s)
    axes.set_ylim(-0.62, len(actors) - 0.18)
    for began, ended in _pauses(row):
        axes.axvspan(clock.s(began), clock.s(ended), color=_STOPPED, alpha=0.55, linewidth=0, zorder=0)
        axes.text(
            clock.s((began + ended) // 2),
            len(actors) - 0.3,
            f"holder stopped from {clock.s(began):.3f} to {clock.s(ended):.3f}{NO_BREAK}s",
            ha="center",
            va="center",
            fontsize=7.6,
            color="#333333",
        )
    _other_faults(axes, row, clock, end_s)
    for ask in row.trial.asks:
        answered = ask.answered_ns or row.trial.ended_ns
        if answered - ask.asked_ns > 0.01 * end_s * 1e9:
            y = place[ask.actor]
            axes.plot([clock.s(ask.asked_ns), clock.s(answered)], [y, y], color=MUTED, linestyle="dotted", zorder=2)
            middle = clock.s((ask.asked_ns + answered) // 2)
            if clock.s(answered) - clock.s(ask.asked_ns) > _across_s(axes, _SHORT_WORD_IN):
                axes.text(middle, y + 0.12, "waits", ha="center", fontsize=7.4, color=MUTED)
    for belief in row.trial.beliefs:
        _belief(axes, belief, place[belief.actor], clock, row, is_holder=belief is holder)
    _overlap(axes, row, clock, len(actors))
    for write in row.trial.writes:
        _write(axes, write, place[write.actor], clock, above=write.actor == actors[0])
    axes.set_yticks([place[actor] for actor in actors], actors)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_title(heading, fontsize=9, pad=3)
    if last:
        axes.set_xlabel("seconds since the holder was granted the lock" if holder else "seconds")
    else:
        axes.tick_params(labelbottom=False)


def _other_faults(axes: Axes, row: TrialRow, clock: _Clock, end_s: float) -> None:
    """A line where each other fault begins, with its name at the foot; those that lie close together share a place."""
    words: dict[float, list[str]] = {}
    for fault in (one for one in row.faults if one.kind != "pause"):
        begins = clock.s(fault.began_ns)
        axes.axvline(begins, color=MUTED, linewidth=1.0, linestyle="dashed", zorder=1)
        place = begins if not words or begins - max(words) > 0.3 * end_s else max(words)
        name = fault.kind.replace("_", " ")
        words.setdefault(place, []).append(f"{name}: {fault.target}" if fault.target else name)
    for place, names_there in words.items():
        name = f" {', '.join(names_there)}"
        axes.text(place, -0.6, name, va="bottom", fontsize=7.0, color=MUTED, bbox=veil(0.4), zorder=5)


def _belief(axes: Axes, belief: Belief, y: float, clock: _Clock, row: TrialRow, *, is_holder: bool) -> None:
    start, end = clock.s(belief.from_ns), clock.s(belief.until_ns or row.trial.ended_ns)
    colour = _HOLDER if is_holder else _OTHER
    lease = None if belief.lease_until_ns is None else clock.s(belief.lease_until_ns)
    good = end if lease is None else min(end, max(start, lease))
    axes.barh(y, good - start, left=start, height=_BAR, color=colour, edgecolor=colour, linewidth=0.8, zorder=2)
    if end > good:
        axes.barh(
            y,
            end - good,
            left=good,
            height=_BAR,
            color="white",
            edgecolor=colour,
            hatch="////",
            linewidth=0.8,
            zorder=2,
        )
    if is_holder and lease is not None:
        axes.plot([lease, lease], [y - 0.3, y + 0.3], color="#222222", linewidth=1.6, zorder=4)
        axes.annotate(
            f"lease ends, {lease:.2f}{NO_BREAK}s",
            (lease, y - 0.2),
            (-4, 0),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=7.4,
            bbox={"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 0.6},
            zorder=5,
        )


def _across_s(axes: Axes, width_in: float) -> float:
    """The seconds that lie below words of this width."""
    first_s, last_s = axes.get_xlim()
    return width_in / (_WIDTH_IN - _LEFT_IN - _RIGHT_IN) * (last_s - first_s)


def _overlap(axes: Axes, row: TrialRow, clock: _Clock, lanes: int) -> None:
    for one in row.checked.overlaps:
        start, end = clock.s(one.from_ns), clock.s(one.until_ns)
        y = (lanes - 1) / 2.0
        words_s = _across_s(axes, _WORDS_IN)
        # Words wider than their arrow stand below it, away from those about the lease, and within the panel.
        above = end - start > words_s
        middle = min((start + end) / 2.0, axes.get_xlim()[1] - words_s / 2.0)
        axes.annotate(
            "", (start, y), (end, y), arrowprops={"arrowstyle": "<->", "color": _ACCEPTED, "linewidth": 1.3}, zorder=4
        )
        axes.text(
            middle,
            y + (0.06 if above else -0.05),
            f"two holders, {one.seconds:.2f}{NO_BREAK}s",
            ha="center",
            va="bottom" if above else "top",
            fontsize=7.6,
            fontweight="bold",
            color=_ACCEPTED,
            bbox={"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 0.4},
            zorder=5,
        )


def _write(axes: Axes, write: Write, y: float, clock: _Clock, *, above: bool) -> None:
    """The first client's words stand above its line, the others' below: between them is what the two share."""
    x = clock.s(write.sent_ns)
    if write.accepted is None:
        words, marker, colour = "no answer", "s", MUTED
    elif write.accepted:
        lost = "" if write.value_read == write.value_before else ", an update is lost"
        words, marker, colour = f"accepted: {write.value_before}\u2192{write.value_written}{lost}", "v", _ACCEPTED
    else:
        words, marker, colour = f"refused: token {write.token} < {write.highest_before}", "X", _REFUSED
    axes.plot(
        [x],
        [y],
        linestyle="none",
        marker=marker,
        markersize=8,
        color=colour,
        markeredgecolor="white",
        markeredgewidth=0.9,
        zorder=6,
        clip_on=False,
    )
    right = x > sum(axes.get_xlim()) / 2.0
    axes.annotate(
        words,
        (x, y + (0.2 if above else -0.2)),
        (4 if right else -4, 2 if above else -2),
        textcoords="offset points",
        ha="right" if right else "left",
        va="bottom" if above else "top",
        fontsize=7.6,
        fontweight="bold",
        color=colour,
        zorder=6,
    )


def _legend(figure: Figure, top: float) -> None:
    def marker(sign: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], linestyle="none", marker=sign, color=colour, markersize=7, label=label)

    handles: list[Patch | Line2D] = [
        Patch(facecolor=_HOLDER, label="holder believes that it has the lock"),
        Patch(facecolor="white", edgecolor=_HOLDER, hatch="////", label="believes so after its lease"),
        Patch(facecolor=_OTHER, label="contender has the lock"),
        Patch(facecolor=_STOPPED, label="holder stopped"),
        marker("v", _ACCEPTED, "write accepted"),
        marker("X", _REFUSED, "write refused"),
    ]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, top),
        ncols=3,
        frameon=False,
        fontsize=7.6,
        handlelength=1.8,
        columnspacing=1.6,
        labelspacing=0.4,
    )


def _title(rows: Sequence[TrialRow]) -> str:
    if not rows:
        return "A paused holder, instant by instant"
    row = rows[0]
    pause_s, overlap_s = (row.measure("pause_ms") or 0.0) / 1_000.0, row.overlap_ms / 1_000.0
    staged = f"{names.title(row.system)}, TTL {row.ttl_ms / 1_000.0:g} s, holder stopped for {pause_s:.1f} s: "
    if not overlap_s:
        return staged + "never two holders"
    return staged + f"two holders for {overlap_s:.1f} s{_fenced(rows)}"


def _fenced(rows: Sequence[TrialRow]) -> str:
    refused = any(row.fence and row.checked.stale_refused and not row.checked.stale_accepted for row in rows)
    accepted = any(not row.fence and row.checked.stale_accepted for row in rows)
    return ", and the fence decides" if refused and accepted else ""


def _caption(hazards: HazardEvidence, rows: Sequence[TrialRow]) -> str:
    if not rows:
        return f"{_NOTHING} {lab_words(hazards)}"
    played = "; ".join(f"fence {'on' if row.fence else 'off'}: {row.run_id}, trial {row.trial.name}" for row in rows)
    confirmed = dict.fromkeys(one.confirmed for row in rows for one in row.faults if one.kind == "pause")
    return " ".join(
        (
            f"Scenario {rows[0].scenario}; {played}. Bars: from the instant a client learned of its grant until it "
            "learned that it no longer holds the key. The lease's end is by the holder's own clock. Writes are placed "
            f"where they were sent, with the counter before and after. Stop confirmed by: {'; '.join(confirmed)}.",
            *(["An emulator stands for DynamoDB."] if rows[0].emulator else []),
            lab_words(hazards),
        )
    )
