"""Where each claimed latency holds: the claims as bands, each system's acquire as a line over the round trip."""

import math
from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bench.analysis import names
from bench.analysis.claims import Claim, sources
from bench.analysis.evidence import Evidence
from bench.analysis.network.cost_model import CostModel
from bench.analysis.network.reach import all_trips, fixed_us, reach
from bench.analysis.speed_claims import US_PER, claimed_us
from bench.records.network import NO_NETWORK, PRESETS
from bench.report import formats
from bench.report.figures.contention.marks import SMALL, WIDTH_IN, nothing
from bench.report.figures.drawing import (
    Drawing,
    canvas,
    caption_height_in,
    load_drawing,
    machine_words,
    write_caption,
    write_title,
)
from bench.report.style import MUTED, SOURCE_GREYS, house_style, look

NAME = "where_claims_hold"
_TITLE = "Where each claimed latency holds: acquire by round trip"
_ACROSS = 3
_PANEL_IN, _LEFT_IN, _GAP_IN, _TOP_IN, _SCALE_IN = 1.75, 0.5, 0.28, 0.55, 0.45
_SPAN_MS = (0.02, 300.0)  # round trips: from loopback to the other side of the world
_STEPS = 200
_LINE_POINTS = 8.0  # of a claim's name
_WORDS_TO_MS = 0.7  # so far to the right does it reach from the left edge
_CLEAR = 1.6  # so much higher than a line, and the words lie above it


def where_claims_hold(evidence: Evidence) -> Drawing:
    """One panel for each system that pages claim a latency of: its line is thick where it crosses a claim."""
    models = [model for model in evidence.over_networks if model.operation == "acquire" and all_trips(model)]
    panels = [(system, own) for system in _claimed(evidence) if (own := _models_of(models, system))]
    if not panels:
        return nothing(evidence, NAME, _TITLE, "one client over several networks")
    caption = _caption(evidence)
    rows = math.ceil(len(panels) / _ACROSS)
    with house_style():
        below_in = caption_height_in(caption, WIDTH_IN) + _SCALE_IN
        content_in = rows * _PANEL_IN + (rows - 1) * (_GAP_IN + _SCALE_IN)
        figure = canvas(WIDTH_IN, below_in + content_in + _TOP_IN)
        write_caption(figure, caption)
        write_title(figure, _TITLE)
        for place, (system, own) in enumerate(panels):
            _panel(_axes(figure, place, rows, below_in), evidence, system, own)
    runs = dict.fromkeys(sample.run_id for _, own in panels for model in own for sample in model.samples)
    return load_drawing(NAME, _TITLE, caption, runs, evidence, figure)


def _claimed(evidence: Evidence) -> Sequence[str]:
    """Systems with a claimed range, in the order of the tables."""
    return sorted({claim.system for claim in _claims(evidence)}, key=names.position)


def _claims(evidence: Evidence) -> Sequence[Claim]:
    return [claim for claim in evidence.claims if claim.metric == "acquire_latency" and claim.has_range]


def _models_of(models: Sequence[CostModel], system: str) -> Sequence[CostModel]:
    """Of the system and its durable sibling."""
    return [model for model in models if names.claimed_as(model.system) == system]


def _axes(figure: Figure, place: int, rows: int, below_in: float) -> Axes:
    width_in, height_in = (float(size) for size in figure.get_size_inches())
    panel_in = (WIDTH_IN - 0.1 - _ACROSS * _LEFT_IN) / _ACROSS
    row, column = divmod(place, _ACROSS)
    left_in = _LEFT_IN + column * (panel_in + _LEFT_IN)
    bottom_in = below_in + (rows - 1 - row) * (_PANEL_IN + _GAP_IN + _SCALE_IN)
    return figure.add_axes((left_in / width_in, bottom_in / height_in, panel_in / width_in, _PANEL_IN / height_in))


def _panel(axes: Axes, evidence: Evidence, system: str, models: Sequence[CostModel]) -> None:
    pages = sources(evidence.claims)
    claims = [claim for claim in _claims(evidence) if claim.system == system]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*_SPAN_MS)
    axes.set_ylim(*_latencies_ms(evidence))
    for claim in claims:
        _band(axes, claim, pages.index(claim.source))
    _name_bands(axes, claims, models)
    for preset in PRESETS.values():
        axes.axvline(preset.rtt_ms, color=MUTED, linewidth=0.6, linestyle=(0, (1.0, 2.0)), zorder=2)
    for model in models:
        _line(axes, model, claims)
    emulator = ", emulator" if any(model.emulator for model in models) else ""
    axes.set_title(f"{names.title(system)}{emulator}", fontsize=7.8, pad=4)
    axes.set_xlabel("round trip, ms", fontsize=SMALL)
    axes.set_ylabel("median acquire, ms", fontsize=SMALL)
    axes.tick_params(labelsize=SMALL)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _latencies_ms(evidence: Evidence) -> tuple[float, float]:
    """The same for all panels: from the quickest acquire to beyond the longest claim."""
    ends = [claim.high * US_PER[claim.unit] for claim in _claims(evidence) if claim.high]
    lowest = [sample.p50_us[model.operation] for model in evidence.over_networks for sample in model.samples]
    return min(lowest) / US_PER["ms"] / 1.5, max(ends) / US_PER["ms"] * 2.5


def _band(axes: Axes, claim: Claim, page: int) -> None:
    low, high = _range_ms(axes, claim)
    colour = SOURCE_GREYS[page % len(SOURCE_GREYS)]
    axes.axhspan(low, high, facecolor=colour, edgecolor="#777777", alpha=0.4, linewidth=0.6, zorder=1)


def _name_bands(axes: Axes, claims: Sequence[Claim], models: Sequence[CostModel]) -> None:
    """Below the upper edge of each band; of several pages with the same range once, and never over each other.

    At the left where the lines run lower than the words there, else at the right.
    """
    bands: dict[str, list[Claim]] = {}
    for claim in sorted(claims, key=lambda one: _range_ms(axes, one)[1], reverse=True):
        bands.setdefault(f"{formats.claimed_range(claim)} {claim.unit}", []).append(claim)
    per_point = axes.figure.dpi / 72.0
    free = {"left": math.inf, "right": math.inf}  # height in points below which nothing is written yet
    lines_ms = max(_acquire_ms(model, _WORDS_TO_MS) for model in models)
    for words, own in bands.items():
        high = _range_ms(axes, own[0])[1]
        edge = float(axes.transData.transform((1.0, high))[1]) / per_point
        side: Literal["left", "right"] = "left" if high > _CLEAR * lines_ms else "right"
        height = min(edge - 2.0, free[side])
        axes.annotate(
            f"{', '.join(claim.id for claim in own)}: {words}",
            (0.0 if side == "left" else 1.0, high),
            (3 if side == "left" else -3, height - edge),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=6.2,
            color="#333333",
            zorder=6,
        )
        free[side] = height - _LINE_POINTS


def _range_ms(axes: Axes, claim: Claim) -> tuple[float, float]:
    """What of a claimed range lies within the axes."""
    low_us, high_us = claimed_us(claim)
    bottom, top = axes.get_ylim()
    return max(bottom, low_us / US_PER["ms"]), top if claim.high is None else high_us / US_PER["ms"]


def _line(axes: Axes, model: CostModel, claims: Sequence[Claim]) -> None:
    """Dashed beyond the measured round trips; thick where a claimed range contains it."""
    own = look(model.system)
    value_us, trips = fixed_us(model)[0], all_trips(model)
    low_ms, high_ms = (end / US_PER["ms"] for end in model.rtts_us)
    plain: dict[str, Any] = {"color": own.colour, "linewidth": 0.9, "zorder": 4}
    for ends, line in (((low_ms, high_ms), own.line), ((high_ms, _SPAN_MS[1]), (0, (1.0, 1.5)))):
        xs = _spread(*ends)
        axes.plot(xs, [_acquire_ms(model, x) for x in xs], linestyle=line, **plain)
    for claim in claims:
        held = reach(claimed_us(claim), value_us, trips)
        left, right = max(held.low_ms, _SPAN_MS[0]), min(held.high_ms, _SPAN_MS[1])
        if left < right:
            xs = _spread(left, right)
            axes.plot(xs, [_acquire_ms(model, x) for x in xs], color=own.colour, linewidth=2.8, alpha=0.55, zorder=3)
    for sample in (one for one in model.samples if one.peer_network == NO_NETWORK):
        axes.plot(
            [sample.rtt_us / US_PER["ms"]],
            [sample.p50_us[model.operation] / US_PER["ms"]],
            marker=own.marker,
            color=own.colour,
            markerfacecolor=own.face,
            markersize=3.0,
            linestyle="none",
            zorder=5,
        )


def _acquire_ms(model: CostModel, rtt_ms: float) -> float:
    return fixed_us(model)[0] / US_PER["ms"] + all_trips(model) * rtt_ms


def _spread(low: float, high: float) -> Sequence[float]:
    """Points along a logarithmic axis."""
    return [low * (high / low) ** (step / _STEPS) for step in range(_STEPS + 1)]


def _caption(evidence: Evidence) -> str:
    presets = ", ".join(f"{name} {preset.rtt_ms:g} ms" for name, preset in PRESETS.items())
    return (
        "Grey bands: claimed ranges, darker from page to page. Points: the median of one run over its measured round "
        "trip. Lines: fixed cost, durable writes and round trips of the cost model, with the same round trip between "
        "servers as before them; dotted beyond what was measured; thick where a claimed range contains the median. "
        f"Vertical: {presets}. Points of systems with several servers lie below their line over long round trips, "
        f"since between servers they had loopback. {machine_words(evidence)}"
    )
