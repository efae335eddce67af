"""A session on the live page: how long acquires took, second by second, and what was done meanwhile."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bench.analysis import names
from bench.records.live_seconds import FOLDER, SECONDS_FILE, read_seconds
from bench.records.schema import Environment, RunPlan, RunState, Struck
from bench.records.store import CampaignFolder
from bench.report.figures.drawing import FORMATS, Drawing, canvas, caption_height_in, write_caption, write_title
from bench.report.figures.scales import logarithmic
from bench.report.files import write_file
from bench.report.machine import cores
from bench.report.style import MUTED, house_style, look

_WIDTH_IN, _PANEL_IN, _GAP_IN = 7.6, 1.6, 0.28
_LEFT_IN, _RIGHT_IN, _ABOVE_IN, _BELOW_IN = 0.72, 0.15, 0.72, 0.5
_SHADE, _DARK = "#e0e0e0", "#222222"  # no system has these
_QUANTILES = {"acquire_us_p50": "p50", "acquire_us_p99": "p99"}
_MARKERS = 12  # along a line
_TITLE = "A live session: acquire latency over time"

_Line = tuple[Sequence[float], Sequence[float]]
_Lines = Mapping[tuple[str, str], _Line]  # by system and column


def live_session(folder: CampaignFolder) -> Drawing:
    """A panel for each percentile, a line for each system; faults are shaded. Raises StoreError, and OSError."""
    campaign = folder.campaign
    lines, opened_ns = _lines(folder)
    faults = _faults(folder)
    caption = _caption(campaign.runs, folder.environment, faults)
    height_in = _ABOVE_IN + 2 * _PANEL_IN + _GAP_IN + _BELOW_IN + caption_height_in(caption, _WIDTH_IN)
    with house_style():
        figure = canvas(_WIDTH_IN, height_in)
        below_in = write_caption(figure, caption) + _BELOW_IN
        write_title(figure, _TITLE)
        for row, (column, quantile) in enumerate(_QUANTILES.items()):
            bottom_in = below_in + (len(_QUANTILES) - 1 - row) * (_PANEL_IN + _GAP_IN)
            width_in = _WIDTH_IN - _LEFT_IN - _RIGHT_IN
            place = (_LEFT_IN / _WIDTH_IN, bottom_in / height_in, width_in / _WIDTH_IN, _PANEL_IN / height_in)
            axes = figure.add_axes(place)
            _panel(axes, column, quantile, lines, [(one, opened_ns) for one in faults])
            axes.tick_params(labelbottom=row == len(_QUANTILES) - 1)
        axes.set_xlabel("seconds since the session began")
        _legend(figure, [plan.system for plan in campaign.runs], bool(faults), 1.0 - 0.3 / height_in)
    runs = tuple(plan.run_id for plan in campaign.runs)
    return Drawing("live_session", _TITLE, caption, runs, campaign.campaign_id, campaign.git_commit, figure)


def write_live_session(folder: CampaignFolder, target: Path) -> list[Path]:
    """Write the figure into a report's folder; nothing where the page's seconds are missing. Returns the files."""
    if not (folder.path / FOLDER / SECONDS_FILE).is_file():
        return []
    drawing = live_session(folder)
    return [write_file(target / f"{drawing.name}.{one}", drawing.rendered(one)) for one in FORMATS]


def _lines(folder: CampaignFolder) -> tuple[_Lines, int]:
    """And the instant from which on seconds count, on the clock of the faults. What is empty is a gap in its line."""
    found: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    opened_ns = 0
    for second in read_seconds(folder.path / FOLDER / SECONDS_FILE):
        at_s = float(second["at_s"])
        opened_ns = opened_ns or int(second["at_ns"]) - round(at_s * 1e9)
        for column in _QUANTILES:
            xs, ys = found.setdefault((second["system"], column), ([], []))
            xs.append(at_s)
            ys.append(float(second[column]) / 1e3 if second[column] else math.nan)
    return found, opened_ns


def _faults(folder: CampaignFolder) -> Sequence[Struck]:
    """Each once, whichever systems it concerned."""
    measured = (run.measured for run in folder.runs() if run.state in (RunState.MEASURED, RunState.CHECKED))
    return list(dict.fromkeys(fault for one in measured for fault in one.faults))


def _panel(axes: Axes, column: str, quantile: str, lines: _Lines, faults: Sequence[tuple[Struck, int]]) -> None:
    shown = {system: line for (system, name), line in lines.items() if name == column}
    known = [y for _, ys in shown.values() for y in ys if not math.isnan(y)]
    axes.set_xlim(0.0, 1.02 * max((xs[-1] for xs, _ in shown.values()), default=1.0))
    axes.set_ylabel(f"acquire {quantile}, ms")
    if not known:
        axes.set_yticks([])
        words = f"too few grants in ten seconds for a {quantile}"
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=MUTED)
        return
    logarithmic(axes, (1.0, 2.0, 5.0) if max(known) < 100.0 * min(known) else (1.0,))
    for fault, opened_ns in faults:
        began_s = (fault.began_ns - opened_ns) / 1e9
        if fault.ended_ns is None:
            axes.axvline(began_s, color=_DARK, linewidth=1.0, zorder=1)
        else:
            axes.axvspan(began_s, (fault.ended_ns - opened_ns) / 1e9, color=_SHADE, linewidth=0, zorder=0)
        axes.text(began_s, 1.01, fault.kind, transform=axes.get_xaxis_transform(), fontsize=6.6, color=MUTED)
    for system, (xs, ys) in shown.items():
        style = look(system)
        axes.plot(
            xs,
            ys,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markerfacecolor=style.face,
            markevery=max(1, len(xs) // _MARKERS),
        )


def _legend(figure: Figure, systems: Sequence[str], faults: bool, top: float) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=look(system).colour,
            linestyle=look(system).line,
            marker=look(system).marker,
            markerfacecolor=look(system).face,
            label=names.title(system),
        )
        for system in systems
    ]
    if faults:
        handles.append(Line2D([], [], color=_SHADE, linewidth=7.0, label="fault in force"))
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, top), ncols=4, frameon=False, fontsize=7.6)


def _caption(plans: Sequence[RunPlan], machine: Environment, faults: Sequence[Struck]) -> str:
    asked = plans[0].workload
    struck = "; ".join(dict.fromkeys(f"{one.kind} of {one.target}" for one in faults))
    side_by_side = " Systems side by side shared the load generator." if len(plans) > 1 else ""
    return (
        f"{asked.title[:1].upper()}{asked.title[1:]}, as it was watched and changed by hand. Each point is of the "
        f"grants of the ten seconds before it.{side_by_side}{f' Faults: {struck}.' if struck else ''} Machine: "
        f"{machine.cpu_model}, {cores(machine)}, {machine.operating_system}. Campaign {plans[0].campaign_id}."
    )
