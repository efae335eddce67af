"""Figures: one function makes one figure. Each returns a `Drawing`, which knows its caption and the runs behind it."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from bench.analysis.claims import Claim
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.places import AVAILABILITY, JOBS, NETWORK, STRANGERS
from bench.analysis.places import CONTENTION as WAITING
from bench.report.figures.acquire_latency import acquire_latency
from bench.report.figures.claimed_ranges import claimed_ranges
from bench.report.figures.contention import (
    CONTENTION,
    contention_drawings,
    fairness,
    hand_off_by_strategy,
    requests_per_grant,
    shards,
    wait_by_contenders,
    wait_by_utilisation,
    where_hand_off_goes,
)
from bench.report.figures.crash_recovery import crash_recovery
from bench.report.figures.drawing import Drawing
from bench.report.figures.hazard_map import hazard_map
from bench.report.figures.hazard_timeline import hazard_timeline, trial_timeline
from bench.report.figures.hazard_window import hazard_window
from bench.report.figures.lock_or_no_lock import lock_or_no_lock
from bench.report.figures.own import OwnFigure, own_figure
from bench.report.figures.recovery_timeline import recovery_timeline
from bench.report.figures.redlock_clock import redlock_clock
from bench.report.figures.round_trips import round_trips
from bench.report.figures.where_claims_hold import where_claims_hold
from bench.report.figures.where_time_goes import where_time_goes

ALL = (acquire_latency, where_time_goes, claimed_ranges)
OF_TOPIC: Mapping[str, Sequence[Callable[[Evidence], Drawing]]] = {  # of what may be measured apart
    WAITING: CONTENTION,
    AVAILABILITY: (recovery_timeline,),
    NETWORK: (round_trips, where_claims_hold),
    JOBS: (lock_or_no_lock,),
    STRANGERS: (),
}
WHERE_MEASURED = tuple(chain(*OF_TOPIC.values()))  # left out where a campaign has no run of it


def load_drawings(evidence: Evidence) -> list[Drawing]:
    """Every figure of a campaign of load; of those that only some campaigns measure, what they measured.

    Where campaigns about a topic lie beside it, the topic's figures are theirs alone: each has its name once.
    """
    elsewhere = {draw for topic in evidence.apart for draw in OF_TOPIC[topic]}
    own = [draw for draw in WHERE_MEASURED if draw not in elsewhere]
    optional = [draw(evidence) for draw in own]
    return [*(draw(evidence) for draw in ALL), *(drawing for drawing in optional if drawing.runs)]


def hazard_drawings(hazards: HazardEvidence, claims: Sequence[Claim] | None = None) -> list[Drawing]:
    """Every figure of a hazard campaign, also those that have nothing to draw and say so.

    `claims`: default, the project's.
    """
    return [
        hazard_timeline(hazards),
        hazard_map(hazards),
        hazard_window(hazards),
        crash_recovery(hazards),
        redlock_clock(hazards, claims),
    ]


__all__ = [
    "ALL",
    "CONTENTION",
    "OF_TOPIC",
    "WHERE_MEASURED",
    "Drawing",
    "OwnFigure",
    "acquire_latency",
    "claimed_ranges",
    "contention_drawings",
    "crash_recovery",
    "fairness",
    "hand_off_by_strategy",
    "hazard_drawings",
    "hazard_map",
    "hazard_timeline",
    "hazard_window",
    "load_drawings",
    "lock_or_no_lock",
    "own_figure",
    "recovery_timeline",
    "redlock_clock",
    "requests_per_grant",
    "round_trips",
    "shards",
    "trial_timeline",
    "wait_by_contenders",
    "wait_by_utilisation",
    "where_claims_hold",
    "where_hand_off_goes",
    "where_time_goes",
]
