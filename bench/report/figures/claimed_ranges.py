"""The acquire latencies that all pages claim, system by system, against what was measured here."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Absent, Cell
from bench.analysis.claims import Claim, sources
from bench.analysis.evidence import Evidence
from bench.analysis.speed_claims import US_PER
from bench.analysis.verdicts import Judgement, Verdict
from bench.report import formats
from bench.report.figures.drawing import (
    RUN_DOT,
    Drawing,
    canvas,
    caption_height_in,
    load_drawing,
    machine_words,
    write_caption,
    write_title,
)
from bench.report.style import MUTED, SOURCE_GREYS, house_style, look

_METRIC = "acquire_latency"
_SHOWN = ("acquire_us_p50", "acquire_us_p99")
_WIDTH_IN = 7.6
_LABELS_IN = 1.32  # at the left, for the systems
_AXES_IN = _WIDTH_IN - _LABELS_IN - 0.2
_ROW_IN = 0.205  # height of one bar's line
_LANE_GAP_IN = 0.17
_BAR_IN = 0.105
_DOTS_IN = 0.07  # above the line of the measurement
_CHARACTER_IN = 0.052  # of a note, on average
_DARK = 0.55  # a grey that takes white letters
_LABEL_CHARACTERS = 15
_TITLE_CHARACTERS = 36  # of a page beside its bar; the caption has the whole title


@dataclass(frozen=True, slots=True)
class _Lane:
    """One system: the claims about it, and the cells of it and of its durable sibling."""

    system: str
    claims: tuple[Claim, ...]
    cells: tuple[Cell, ...]

    @property
    def rows(self) -> int:
        return len(self.claims) + max(1, len(self.cells))


def claimed_ranges(evidence: Evidence) -> Drawing:
    """Draw every claimed range as a grey bar and every measured p50 to p99 as a line in the system's colour."""
    lanes = _lanes(evidence)
    pages = sources(evidence.claims)
    title = _title(evidence)
    caption = _caption(evidence)
    content_in = sum(lane.rows for lane in lanes) * _ROW_IN + len(lanes) * _LANE_GAP_IN
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.45
        height_in = below_in + content_in + 0.42
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        axes = _axes(figure, lanes, below_in, content_in)
        y_in = content_in
        for number, lane in enumerate(lanes):
            top_in = y_in
            y_in -= _LANE_GAP_IN / 2.0
            for claim in lane.claims:
                _claim_bar(axes, claim, pages.index(claim.source), y_in - _ROW_IN / 2.0)
                y_in -= _ROW_IN
            for cell in lane.cells:
                _measured_line(axes, cell, y_in - _ROW_IN / 2.0)
                y_in -= _ROW_IN
            if not lane.cells:
                _say(axes, f"{NOT_MEASURED} by this campaign", y_in - _ROW_IN / 2.0)
                y_in -= _ROW_IN
            y_in -= _LANE_GAP_IN / 2.0
            _lane_label(axes, lane, (top_in + y_in) / 2.0)
            if number % 2 == 0:
                axes.axhspan(y_in, top_in, color="#f4f4f4", zorder=0, linewidth=0)
    runs = (run_id for lane in lanes for cell in lane.cells for run_id in cell.evidence)
    return load_drawing("claimed_ranges", title, caption, runs, evidence, figure)


def _lanes(evidence: Evidence) -> tuple[_Lane, ...]:
    claims = [claim for claim in evidence.claims if claim.metric == _METRIC and claim.has_range]
    systems = sorted({claim.system for claim in claims}, key=lambda system: (names.position(system), system))
    return tuple(
        _Lane(
            system,
            tuple(claim for claim in claims if claim.system == system),
            tuple(
                cell
                for cell in evidence.cells
                if names.claimed_as(cell.system) == system and cell.workload.title == "uncontended"
            ),
        )
        for system in systems
    )


def _axes(figure: Figure, lanes: Sequence[_Lane], below_in: float, content_in: float) -> Axes:
    height_in = figure.get_size_inches()[1]
    axes = figure.add_axes((_LABELS_IN / _WIDTH_IN, below_in / height_in, _AXES_IN / _WIDTH_IN, content_in / height_in))
    low, high = _span_ms(lanes)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, content_in)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x", which="major")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_xlabel("acquire latency without contention, ms (log scale)")
    return axes


def _span_ms(lanes: Sequence[_Lane]) -> tuple[float, float]:
    """The claims and the measurements, with room for the words at the right of the longest bar."""
    ends = [bound for lane in lanes for claim in lane.claims for bound in (claim.low, claim.high) if bound]
    for lane in lanes:
        for cell in lane.cells:
            ends += [value / US_PER["ms"] for name in _SHOWN for run in cell.used if (value := run.metrics[name])]
    return min(ends) / 1.6, max(ends) * 5.0


def _claim_bar(axes: Axes, claim: Claim, page: int, y_in: float) -> None:
    scale = US_PER[claim.unit] / US_PER["ms"]
    left, right = axes.get_xlim()
    low = claim.low * scale if claim.low else left
    high = right if claim.high is None else claim.high * scale
    colour = SOURCE_GREYS[page % len(SOURCE_GREYS)]
    axes.barh(y_in, high - low, left=low, height=_BAR_IN, color=colour, zorder=2)
    # An end that the claim leaves open runs to the edge and gets an arrow head, so that it does not read as a bound.
    for is_open, at, marker in ((not claim.low, left, "<"), (claim.high is None, right, ">")):
        if is_open:
            axes.plot([at], [y_in], marker=marker, color=colour, markersize=6, clip_on=False, zorder=3)
    title = textwrap.shorten(claim.source, _TITLE_CHARACTERS, placeholder="\u2026")
    words = f"{title}: {formats.claimed_range(claim)}"
    # On the side with more room, or on the bar where neither has enough; each bar has a line to itself.
    room_in = math.log(max(low / left, right / high)) / math.log(right / left) * _AXES_IN
    if len(words) * _CHARACTER_IN > room_in:
        on_bar = {**_NOTE, "color": "#ffffff" if to_rgb(colour)[0] < _DARK else "#222222"}
        axes.annotate(words, (low, y_in), (5, 0), textcoords="offset points", va="center", **on_bar)
    elif low / left > right / high:
        axes.annotate(words, (low, y_in), (-4, 0), textcoords="offset points", va="center", ha="right", **_NOTE)
    else:
        axes.annotate(words, (high, y_in), (5, 0), textcoords="offset points", va="center", **_NOTE)


_NOTE: dict[str, Any] = {"fontsize": 7.2, "color": MUTED}


def _measured_line(axes: Axes, cell: Cell, y_in: float) -> None:
    style = look(cell.system)
    p50, p99 = cell.value("acquire_us_p50"), cell.value("acquire_us_p99")
    variant = names.title(cell.system).partition(", ")[2]
    who = variant or "measured"
    if isinstance(p50, Absent):
        _say(axes, f"{who}: {p50.reason}", y_in)
        return
    middle = p50.value / US_PER["ms"]
    far = middle
    most = f"≤{formats.NO_BREAK}" if cell.latency_bounds else ""
    words = f"{who}: p50 {most}{formats.ms_alone(p50, cell.latency_bounds)}, p99 "
    if isinstance(p99, Absent):
        words += p99.reason
    else:
        far = p99.value / US_PER["ms"]
        words += f"{most}{formats.ms_alone(p99, cell.latency_bounds)}"
        axes.plot([middle, far], [y_in, y_in], color=style.colour, linestyle=style.line, linewidth=2.2, zorder=4)
        axes.plot([far], [y_in], marker="|", color=style.colour, markersize=8, markeredgewidth=1.8, zorder=5)
    if cell.latency_bounds:
        words += f" ({formats.bound_words(cell.latency_bounds)})"
    for metric in _SHOWN if len(cell.used) > 1 else ():
        runs = [value / US_PER["ms"] for run in cell.used if (value := run.metrics[metric]) is not None]
        axes.plot(runs, [y_in + _DOTS_IN] * len(runs), color=style.colour, zorder=5, **RUN_DOT)
    axes.plot([middle], [y_in], marker=style.marker, color=style.colour, markerfacecolor=style.face, zorder=5)
    bold: dict[str, Any] = {"fontsize": 7.4, "color": "#222222", "fontweight": "bold"}
    # The words stand at the right of the line, or at its left where the right has no room for them.
    reach = math.log(far / axes.get_xlim()[0]) / math.log(axes.get_xlim()[1] / axes.get_xlim()[0])
    if reach < 0.62:
        axes.annotate(words, (far, y_in), (7, 0), textcoords="offset points", va="center", **bold)
    else:
        axes.annotate(words, (middle, y_in), (-8, 0), textcoords="offset points", va="center", ha="right", **bold)


def _say(axes: Axes, words: str, y_in: float) -> None:
    axes.text(axes.get_xlim()[0] * 1.1, y_in, words, va="center", fontsize=7.4, color=MUTED, style="italic")


def _lane_label(axes: Axes, lane: _Lane, y_in: float) -> None:
    engines = sorted({cell.setting.engine for cell in lane.cells if cell.setting is not None and cell.setting.engine})
    title = names.title(lane.system, ", ".join(engines)).replace(" (", "\n(")
    words = "\n".join(part for line in title.split("\n") for part in textwrap.wrap(line, _LABEL_CHARACTERS))
    if any(cell.emulator for cell in lane.cells):
        words += "\nemulator"
    axes.annotate(
        words,
        (0.0, y_in),
        (-8, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=9,
        fontweight="bold",
        color="#222222" if lane.cells else MUTED,
    )


def _title(evidence: Evidence) -> str:
    judged = [one for one in evidence.judgements if _counts(evidence, one)]
    if not judged:
        return "Claimed acquire latencies of five pages"
    holding, conditional = (
        sum(one.verdict is verdict for one in judged) for verdict in (Verdict.HOLDS, Verdict.CONDITION)
    )
    return f"{holding} of {len(judged)} claimed acquire latencies hold as measured here, {conditional} on a condition"


def _counts(evidence: Evidence, judgement: Judgement) -> bool:
    """Claims about latency that were put to the test on the system itself, not on an emulator or a durable sibling."""
    cells = evidence.cells_for(judgement.system, "uncontended")
    return (
        judgement.claim.metric == _METRIC
        and judgement.system == judgement.claim.system
        and judgement.verdict is not Verdict.NOT_MEASURED
        and not any(cell.emulator for cell in cells)
    )


def _caption(evidence: Evidence) -> str:
    cells = [cell for lane in _lanes(evidence) for cell in lane.cells if cell.used]
    runs = formats.counted((len(cell.used) for cell in cells), "run")
    operations = formats.counted((cell.operations_min for cell in cells), "operation")
    pages = "; ".join(sources(evidence.claims))
    return (
        f"Grey: claimed ranges, darker from page to page ({pages}). Colour: measured p50 (marker) to p99 (bar) "
        f"and the runs behind them (dots), {runs} with {operations} each, closed loop. "
        f"An emulator is shown, never ranked. {machine_words(evidence)}"
    )
