"""For which round trips does a claimed latency hold? The claim as a band, the cost model as a line that crosses it."""

import statistics
from dataclasses import dataclass

from bench.analysis.break_even import Reach
from bench.analysis.claims import Claim
from bench.analysis.network.cost_model import CostModel
from bench.records.network import PRESETS


@dataclass(frozen=True, slots=True)
class Setting:
    """The network that a claim is about: round trips from none up to this."""

    words: str
    rtt_ms: float
    named: bool = True  # by the claim itself


# What a claim's own words say of its network -> the preset whose source says how long round trips are there.
_NAMED = (
    ("on the same network", "within one datacenter", "zone"),
    ("in one region", "within one region", "region"),
)
# No page is about a lock across regions.
UNNAMED = Setting("within one region", PRESETS["region"].rtt_ms, named=False)


def setting_of(claim: Claim) -> Setting:
    """Which network a claim names; within one region where it names none."""
    for phrase, words, preset in _NAMED:
        if phrase in claim.claim:
            return Setting(words, PRESETS[preset].rtt_ms)
    return UNNAMED


def reach(claim_us: tuple[float, float], fixed_us: float, trips: float) -> Reach:
    """Where `fixed_us` and so many round trips lie in the claimed range, in µs; `trips` must be above 0."""
    low_ms, high_ms = ((end - fixed_us) / trips / 1_000.0 for end in claim_us)
    return Reach(low_ms, high_ms)


def all_trips(model: CostModel) -> float:
    """Round trips of both kinds, over one network."""
    return model.round_trips.number + model.peer_round_trips.number


def fixed_us(model: CostModel) -> tuple[float, float, float]:
    """What is left without a network, durable writes of the measured disk included: value, low, high.

    The 95 % interval of the median, from order statistics; of what is only an upper bound it begins at 0.
    """
    fixed, writes_us = model.fixed, _writes_us(model)
    low = 0.0 if model.bounds else fixed.low + writes_us
    return fixed.value + writes_us, low, fixed.high + writes_us


def tail_us(model: CostModel) -> float | None:
    """How far the 99th percentile lies above the median; None where no setting carries it."""
    tails = model.tails_us(model.with_tails)
    return statistics.median(tails) if tails else None


def _writes_us(model: CostModel) -> float:
    return model.durable_writes * statistics.median([sample.fdatasync_us for sample in model.samples])
