"""What came of each pause: system by length of pause, with the resource's fence off and on."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from bench.analysis import names
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import plays, scenarios_in
from bench.analysis.hazards.rows import HazardRun
from bench.analysis.hazards.window import PauseOutcome, asked_ttls
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
from bench.report.style import house_style

_WIDTH_IN = 7.6
_LEFT_IN, _RIGHT_IN, _BETWEEN_IN = 1.2, 0.1, 0.22
_ROW_IN, _LEGEND_IN, _HEAD_IN = 0.36, 0.22, 0.28  # the legend's for each of its lines
_LEGEND_COLUMNS = 3
_NOTHING = "Nothing to draw: no run of this campaign stopped a holder."
_AHEAD = "E: it arrived before the new holder's first write: the resource had not seen the greater token, and took it."
_EDGE = "#555555"


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one outcome looks. Lightness, hatching and the sign in the cell tell outcomes apart without colour."""

    words: str
    colour: str
    sign: str
    hatch: str = ""
    ink: str = "#222222"


_KINDS: Mapping[PauseOutcome, _Kind] = {
    PauseOutcome.ONE_HOLDER: _Kind("one holder at a time", "#ffffff", "1"),
    PauseOutcome.REFUSED: _Kind("two holders, late write refused", "#56B4E9", "R", "////"),
    PauseOutcome.UNSEEN: _Kind("two holders, no late write", "#F0E442", "2", "...."),
    PauseOutcome.READ: _Kind("late write read by the new holder", "#D9E8C5", "B", "----"),
    PauseOutcome.AHEAD: _Kind("late write before the new holder's first", "#F5B78A", "E", "\\\\\\\\"),
    PauseOutcome.ACCEPTED: _Kind("two holders, late write accepted", "#D55E00", "A", ink="white"),
}
_VOID = _Kind("void: every run of it", "#dddddd", "v", "xxxx")
_NOT_TRIED = _Kind("not tried", "#ffffff", "")

_Key = tuple[str, float, bool]


@dataclass(frozen=True, slots=True)
class _Cell:
    kind: _Kind
    seen: int = 0  # trials with the worst outcome
    of: int = 0


def hazard_map(hazards: HazardEvidence) -> Drawing:
    """Draw one cell for each system, pause in TTLs, and fence: the most harmful outcome of its trials."""
    cells = _cells(hazards)
    systems = sorted({key[0] for key in cells}, key=lambda name: (names.position(name), name))
    pauses = sorted({key[1] for key in cells})
    kinds = [
        kind for kind in (*_KINDS.values(), _VOID, _NOT_TRIED) if any(cell.kind is kind for cell in cells.values())
    ]
    title, caption = _title(hazards), _caption(hazards)
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.48
        content_in = max(1, len(systems)) * _ROW_IN
        legend_in = math.ceil(len(kinds) / _LEGEND_COLUMNS) * _LEGEND_IN
        height_in = below_in + content_in + _HEAD_IN + legend_in + 0.36
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        if cells:
            width_in = (_WIDTH_IN - _LEFT_IN - _RIGHT_IN - _BETWEEN_IN) / 2.0
            for number, fence in enumerate((False, True)):
                left_in = _LEFT_IN + number * (width_in + _BETWEEN_IN)
                axes = figure.add_axes(
                    (left_in / _WIDTH_IN, below_in / height_in, width_in / _WIDTH_IN, content_in / height_in)
                )
                _panel(axes, cells, systems, pauses, fence)
                if not number:
                    axes.set_yticks(range(len(systems)), [_name(system) for system in systems])
            _legend(figure, kinds, 1.0 - 0.32 / height_in)
        else:
            figure.text(0.1 / _WIDTH_IN, (below_in + 0.1) / height_in, _NOTHING, fontsize=8.5)
    return lab_drawing("hazard_map", title, caption, _runs(hazards), hazards, figure)


def _cells(hazards: HazardEvidence) -> Mapping[_Key, _Cell]:
    """Every cell of the grid that the campaign planned, those without a counted trial as void or not tried."""
    outcomes: dict[_Key, Counter[PauseOutcome]] = {}
    for point in hazards.window_points:
        key = (point.system, round(point.pause_ttls, 2), point.fence)
        outcomes.setdefault(key, Counter())[point.outcome] += 1
    void = [run for run in hazards.runs if run.void and plays(run.scenario, Role.PAUSE_MAP)]
    pauses = {key[1] for key in outcomes} | {pause for run in void for _, pause, _ in _tried(run)}
    systems = {key[0] for key in outcomes} | {run.system for run in void}
    cells: dict[_Key, _Cell] = {}
    for system in systems:
        for fence in (False, True):
            lost = {key for run in void if run.system == system for key in _tried(run)}
            # A run without a history names no trials: all that its plan may have had is void.
            unknown = any(
                run.system == system and not run.trials and bool(run.plan.parameters.get("fence")) is fence
                for run in void
            )
            for pause in pauses:
                key = (system, pause, fence)
                if key in outcomes:
                    cells[key] = _cell(outcomes[key])
                else:
                    cells[key] = _Cell(_VOID if key in lost or unknown else _NOT_TRIED)
    return cells


def _tried(run: HazardRun) -> Sequence[_Key]:
    found = []
    for row in run.trials:
        pause_ms = row.measure("pause_ms") or row.longest_fault_ms("pause") or 0.0
        found.append((run.system, round(asked_ttls(row) or pause_ms / row.ttl_ms, 2), bool(row.fence)))
    return found


def _cell(outcomes: Counter[PauseOutcome]) -> _Cell:
    worst = max(outcomes, key=list(PauseOutcome).index)
    return _Cell(_KINDS[worst], outcomes[worst], outcomes.total())


def _panel(
    axes: Axes, cells: Mapping[_Key, _Cell], systems: Sequence[str], pauses: Sequence[float], fence: bool
) -> None:
    for row, system in enumerate(systems):
        for column, pause in enumerate(pauses):
            cell = cells[system, pause, fence]
            kind = cell.kind
            axes.add_patch(
                Rectangle(
                    (column - 0.46, row - 0.43),
                    0.92,
                    0.86,
                    facecolor=kind.colour,
                    hatch=kind.hatch,
                    edgecolor="#cccccc" if kind is _NOT_TRIED else _EDGE,
                    linestyle="dotted" if kind is _NOT_TRIED else "solid",
                    linewidth=0.6,
                )
            )
            words = kind.sign if cell.seen == cell.of else f"{kind.sign}\n{cell.seen}/{cell.of}"
            axes.text(
                column,
                row,
                words,
                ha="center",
                va="center",
                linespacing=1.0,
                fontsize=7.5 if cell.seen == cell.of else 6.0,
                fontweight="bold",
                color=kind.ink,
                # Hatching must not run through the sign.
                bbox={"facecolor": kind.colour, "edgecolor": "none", "pad": 0.7} if kind.hatch else None,
            )
    axes.set_xlim(-0.5, len(pauses) - 0.5)
    axes.set_ylim(len(systems) - 0.5, -0.5)
    axes.set_xticks(range(len(pauses)), [f"{pause:g}" for pause in pauses])
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_title("fence on" if fence else "fence off", fontsize=9, pad=4)
    axes.set_xlabel("pause of the holder, in TTLs")


def _name(system: str) -> str:
    return names.title(system).replace(", ", ",\n", 1)


def _legend(figure: Figure, kinds: Sequence[_Kind], top: float) -> None:
    handles = [
        Patch(
            facecolor=kind.colour,
            hatch=kind.hatch,
            edgecolor=_EDGE,
            linestyle="dotted" if kind is _NOT_TRIED else "solid",
            linewidth=0.6,
            label=f"{kind.sign} {kind.words}".strip(),
        )
        for kind in kinds
    ]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, top),
        ncols=_LEGEND_COLUMNS,
        frameon=False,
        fontsize=7.6,
        handlelength=1.8,
        handleheight=1.1,
        columnspacing=1.6,
        labelspacing=0.4,
    )


def _runs(hazards: HazardEvidence) -> Sequence[str]:
    """Void runs too: the map shows that they are void."""
    return [run.run_id for run in hazards.runs if plays(run.scenario, Role.PAUSE_MAP)]


def _title(hazards: HazardEvidence) -> str:
    def accepted(fence: bool) -> list[str]:
        found = {
            point.system
            for point in hazards.window_points
            if point.fence is fence and point.outcome is PauseOutcome.ACCEPTED
        }
        return sorted(found, key=lambda name: (names.position(name), name))

    tried = len({point.system for point in hazards.window_points})
    if not tried:
        return "What came of a paused holder's late write"
    fenced = accepted(True)
    which = ", ".join(names.title(system) for system in fenced)
    return (
        f"Late writes accepted on {len(accepted(False))} of {tried} systems with the fence off, on "
        f"{len(fenced)} with it on{f' ({which})' if len(fenced) == 1 else ''}"
    )


def _caption(hazards: HazardEvidence) -> str:
    runs = _runs(hazards)
    if not runs:
        return f"{_NOTHING} {lab_words(hazards)}"
    points = hazards.window_points
    void = [one for one in hazards.void if plays(one.scenario, Role.PAUSE_MAP)]
    trials = formats.counted(Counter((p.system, round(p.pause_ttls, 2), p.fence) for p in points).values(), "trial")
    left_out = "; ".join(f"{one.run_id}: {one.cause}" for one in void)
    played = formats.runs_by_scenario(runs, scenarios_in(Role.PAUSE_MAP))
    return " ".join(
        (
            f"Each cell is the most harmful outcome of its trials ({trials} each; a fraction where they differ): "
            f"{played}. A late write was sent after another client had been granted "
            "the key. With the fence on, the resource refuses a token below the highest it has accepted.",
            *([_AHEAD] if any(point.outcome is PauseOutcome.AHEAD for point in points) else []),
            *([f"Left out as void: {left_out}."] if left_out else []),
            *(["An emulator stands for DynamoDB."] if any(run.emulator for run in hazards.runs) else []),
            lab_words(hazards),
        )
    )
