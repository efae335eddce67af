"""Saturation by number of clients: throughput and latency on each step of the ladder, unlike steps never pooled."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.analysis.cells import TOO_SMALL, Absent, Cell, Value
from bench.analysis.intervals import Estimate, across_campaigns
from bench.analysis.quantiles import FRACTIONS, carried_quantile_us
from bench.records.histogram import LatencyHistogram
from bench.records.schema import LadderStep


@dataclass(frozen=True, slots=True)
class Point:
    """One number of clients, across the runs that had this step."""

    clients: int
    pairs_per_s: Estimate
    acquire_us: Mapping[str, Value]  # by name of the quantile


def curve(cell: Cell) -> tuple[Point, ...]:
    """From few clients to many; empty where the runs have no ladder."""
    steps: dict[int, dict[str, list[LadderStep]]] = {}
    for run in cell.used:
        for step in run.curve:
            if step.pairs:
                steps.setdefault(step.clients, {}).setdefault(run.campaign_id, []).append(step)
    return tuple(_point(clients, list(steps[clients].values())) for clients in sorted(steps))


def _point(clients: int, campaigns: list[list[LadderStep]]) -> Point:
    rates = across_campaigns([[step.pairs_per_s for step in steps] for steps in campaigns])
    histograms = [[LatencyHistogram.decode(step.acquire) for step in steps] for steps in campaigns]
    return Point(clients, rates, {name: _latency(histograms, name) for name in ("p50", "p99")})


def _latency(campaigns: list[list[LatencyHistogram]], name: str) -> Value:
    """As with every percentile: printed where every run carries it."""
    values = [[carried_quantile_us(one, FRACTIONS[name]) for one in runs] for runs in campaigns]
    present = [[value for value in runs if value is not None] for runs in values]
    if [len(runs) for runs in present] != [len(runs) for runs in values]:
        return Absent(TOO_SMALL)
    return across_campaigns(present)
