"""Every acquire around a fault: when it was meant to start, how long it took, and how it ended."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator, NullLocator

from bench.analysis import names
from bench.analysis.cells import Cell
from bench.analysis.contention.fault_kinds import why_not
from bench.analysis.evidence import Evidence
from bench.analysis.runs import RunRow
from bench.records.durations import duration_text
from bench.records.schema import RunState
from bench.records.workload import FAULTS, Workload
from bench.report.figures.drawing import (
    Drawing,
    canvas,
    caption_height_in,
    load_drawing,
    machine_words,
    veil,
    write_caption,
    write_title,
)
from bench.report.formats import NO_BREAK, low_to_high, significant
from bench.report.style import MUTED, house_style, look
from bench.systems.registry import SYSTEMS

_WIDTH_IN = 7.6
_LEFT_IN, _RIGHT_IN, _PANEL_IN, _GAP_IN, _BETWEEN_IN = 1.84, 0.12, 0.8, 0.1, 0.1
_SHADE, _DARK = "#e0e0e0", "#222222"  # no system has these
_HEADINGS = {
    "leader-killed": "leader or only\nserver killed",
    "minority-stopped": "minority of\nservers stopped",
    "majority-stopped": "majority of\nservers stopped",
    "holder-killed": "holder killed",
}
_TICKS_MS = {0.1: "0.1 ms", 1.0: "1 ms", 10.0: "10 ms", 100.0: "100 ms", 1_000.0: "1 s", 10_000.0: "10 s"}
_LOW_MS, _HIGH_MS, _BAR_MS = 0.06, 60_000.0, 20_000.0
_WORDS_SHARE = 0.3  # of a panel's width
_TITLE = "Waiting for a lock while servers or holders are lost"


def recovery_timeline(evidence: Evidence) -> Drawing:
    """One row a system, one column a fault, each with the first run that counts; where none does, the first.

    Where there is none to show, its place says why.
    """
    asked = [cell for cell in evidence.cells if cell.workload.has_fault]
    cells = [cell for cell in asked if _run(cell) is not None]
    faults = [fault for fault in FAULTS if cells and any(cell.workload.fault == fault for cell in asked)]
    systems = list(dict.fromkeys(cell.system for cell in asked)) if cells else []
    shown: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        shown.setdefault((cell.system, cell.workload.fault), cell)
    runs = [run for cell in shown.values() if (run := _run(cell)) is not None]
    title, caption = _title(runs), _caption(evidence, list(shown.values()))
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.42
        above_in = 0.88
        height_in = below_in + max(1, len(systems)) * (_PANEL_IN + _BETWEEN_IN) + above_in
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        width_in = (_WIDTH_IN - _LEFT_IN - _RIGHT_IN - (len(faults) - 1) * _GAP_IN) / max(1, len(faults))
        for row, system in enumerate(systems):
            bottom_in = height_in - above_in - (row + 1) * _PANEL_IN - row * _BETWEEN_IN
            for column, fault in enumerate(faults):
                left_in = _LEFT_IN + column * (width_in + _GAP_IN)
                place = (left_in / _WIDTH_IN, bottom_in / height_in, width_in / _WIDTH_IN, _PANEL_IN / height_in)
                axes = figure.add_axes(place)
                found = shown.get((system, fault))
                _panel(axes, found, _limits(runs), _why_none(asked, system, fault))
                # Beside and below what is not shown there is room for the labels of the next one.
                first = not any((system, one) in shown for one in faults[:column])
                last = not any((one, fault) in shown for one in systems[row + 1 :])
                axes.tick_params(labelleft=first, labelbottom=last)
                if row == 0:
                    axes.set_title(_HEADINGS[fault], fontsize=8, fontweight="normal", pad=4)
            _name(figure, system, 0.1 / _WIDTH_IN, (bottom_in + _PANEL_IN / 2.0) / height_in)
        if runs:
            middle = (_LEFT_IN + _WIDTH_IN - _RIGHT_IN) / 2.0 / _WIDTH_IN
            figure.text(middle, (below_in - 0.3) / height_in, "seconds since the fault began", fontsize=8, ha="center")
            _legend(figure, 1.0 - 0.28 / height_in)
    run_ids = [run.run_id for run in runs]
    return load_drawing("recovery_timeline", title, caption, run_ids, evidence, figure)


def _run(cell: Cell) -> RunRow | None:
    """The first that counts and has a timeline; else the first that has one."""
    timed = [run for run in (*cell.used, *cell.runs) if run.over_time is not None and run.faults]
    return timed[0] if timed else None


def _why_none(asked: Sequence[Cell], system: str, fault: str) -> str:
    """Why there may be nothing to show of a fault on a system."""
    runs = [run for cell in asked if (cell.system, cell.workload.fault) == (system, fault) for run in cell.runs]
    if any(run.state is RunState.FAILED for run in runs):
        return "failed"
    # A system of an old record, or of a package that is not here, tells nothing of its servers.
    return "does not apply" if system in SYSTEMS and why_not(fault, SYSTEMS[system]) else "not measured"


def _limits(runs: Sequence[RunRow]) -> tuple[float, float]:
    """From the window's opening to its close, in seconds since the fault."""
    froms = [run.workload.fault_after_s for run in runs]
    return -max(froms), max(run.workload.measure_s - run.workload.fault_after_s for run in runs)


def _panel(axes: Axes, cell: Cell | None, limits: tuple[float, float], why_none: str) -> None:
    run = None if cell is None else _run(cell)
    axes.set_xlim(*limits)
    axes.set_yscale("log")
    axes.set_ylim(_LOW_MS, _HIGH_MS)
    axes.xaxis.set_major_locator(MultipleLocator(2.0))
    axes.yaxis.set_major_locator(FixedLocator(list(_TICKS_MS)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _TICKS_MS.get(y, "")))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=7, length=2)
    if cell is None or run is None:
        axes.set_axis_off()
        axes.text(0.34, 0.5, why_none, transform=axes.transAxes, ha="center", va="center", fontsize=7, color=MUTED)
        return
    assert run.over_time is not None, "`_run` chose it"
    began_ns = max(one.began_ns for one in run.faults)
    zero_ms = (began_ns - run.faults[0].window_opens_ns) / 1e6
    ends_s = [(one.ended_ns - began_ns) / 1e9 for one in run.faults if one.ended_ns is not None]
    if ends_s:
        axes.axvspan(0.0, max(ends_s), color=_SHADE, linewidth=0, zorder=0)
    else:
        axes.axvline(0.0, color=_DARK, linewidth=1.0, zorder=1)
    style = look(cell.system)
    for granted in (True, False):
        points = [
            ((at_ms - zero_ms) / 1e3, took_ms)
            for at_ms, took_ms, outcome in zip(
                run.over_time.at_ms, run.over_time.took_ms, run.over_time.outcomes, strict=True
            )
            if (outcome == "acquired") is granted
        ]
        axes.plot(
            [x for x, _ in points],
            [max(y, _LOW_MS) for _, y in points],
            linestyle="none",
            marker="." if granted else "x",
            markersize=3.0,
            markeredgewidth=0.0 if granted else 0.6,
            color=style.colour if granted else _DARK,
            alpha=0.7,
            zorder=3 if granted else 4,
        )
    _without_grant(axes, run.availability, limits)
    if run.void:
        axes.text(
            0.98,
            0.04,
            f"void: {run.void_cause}",
            transform=axes.transAxes,
            ha="right",
            fontsize=6.6,
            color=MUTED,
            bbox=veil(0.8),
            zorder=6,
        )


def _without_grant(axes: Axes, found: Mapping[str, float], limits: tuple[float, float]) -> None:
    """A bar above the points, as long as the key went without a grant."""
    if "without_grant_s" not in found:
        return
    start, length = found["without_grant_from_s"], found["without_grant_s"]
    end = min(start + length, limits[1])
    axes.plot([start, end], [_BAR_MS, _BAR_MS], color=_DARK, linewidth=2.2, solid_capstyle="butt", zorder=5)
    again = "" if found.get("grants_again", 1.0) else "≥ "
    words, width = f"{again}{significant(length)}{NO_BREAK}s", limits[1] - limits[0]
    if limits[1] - end > _WORDS_SHARE * width:
        axes.text(end + 0.03 * width, _BAR_MS, words, fontsize=6.8, va="center", zorder=5)
    else:  # beside the bar there is no room within the panel: below it there is
        axes.text(end, _BAR_MS / 2.2, words, fontsize=6.8, ha="right", va="top", bbox=veil(0.8), zorder=5)


def _name(figure: Figure, system: str, x: float, y: float) -> None:
    words = names.title(system).replace(", ", ",\n", 1).replace(" (", "\n(")
    figure.text(x, y, words, fontsize=7.6, va="center", color=look(system).colour, fontweight="bold")


def _legend(figure: Figure, top: float) -> None:
    def marker(sign: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], linestyle="none", marker=sign, color=colour, markersize=5, label=label)

    handles: list[Patch | Line2D] = [
        marker(".", MUTED, "acquire that got the lock"),
        marker("x", _DARK, "any other answer"),
        Line2D([], [], color=_DARK, linewidth=2.2, label="longest time without a grant"),
        Patch(facecolor=_SHADE, label="fault in force"),
    ]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, top),
        ncols=4,
        frameon=False,
        fontsize=7.6,
        handlelength=1.6,
        columnspacing=1.4,
    )


def _title(runs: Sequence[RunRow]) -> str:
    found = [run.availability for run in runs if not run.void and run.availability]
    if not found:
        return _TITLE
    # By length; where two are alike the one that went on is the longer.
    lost = sorted((one["without_grant_s"], not one.get("grants_again", 1.0)) for one in found)
    (low, _), (high, longest_went_on) = lost[0], lost[-1]
    if not any(went_on for _, went_on in lost):
        words = f"{low_to_high([low, high])} s"
    elif longest_went_on and not lost[0][1]:
        words = f"{low_to_high([low, high])} s or longer"
    else:  # a run that went on may have become any length: nothing is known of the longest, or not even of the least
        words = f"{significant(low)} s or longer"
    return f"Around a fault nobody gets the lock for {words}, by system and fault"


def _caption(evidence: Evidence, cells: Sequence[Cell]) -> str:
    if not cells:
        return f"No run of this campaign had a fault. {machine_words(evidence)}"
    asked = "; ".join(dict.fromkeys(_asked(cell.workload) for cell in cells))
    emulated = " An emulator stands for DynamoDB." if any(cell.emulator for cell in cells) else ""
    return (
        f"{asked}. Each dot is the slowest acquire of 10 ms, placed where it was scheduled; its height is the time "
        "from there to its answer, on a log scale. Shaded: from the first signal until stopped servers "
        "continued, or killed ones served again. One run a panel, the first that counts."
        f"{emulated} {machine_words(evidence)}"
    )


def _asked(workload: Workload) -> str:
    loop = f"Open loop, {workload.rate_per_s:g} arrivals a second" if workload.open_loop else "Closed loop"
    ttl, hold = (duration_text(value, "ms") for value in (workload.ttl_ms, workload.hold_ms))
    return f"{loop}, {workload.clients} clients, one key, held {hold}, TTL {ttl}"
