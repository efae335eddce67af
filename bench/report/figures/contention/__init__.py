"""Figures of waiting: drawn where a campaign has the sweep that each of them needs, and left out elsewhere."""

from bench.analysis.evidence import Evidence
from bench.report.figures.contention.fairness import fairness
from bench.report.figures.contention.hand_off_by_strategy import hand_off_by_strategy
from bench.report.figures.contention.requests_per_grant import requests_per_grant
from bench.report.figures.contention.shards import shards
from bench.report.figures.contention.wait_by_contenders import wait_by_contenders
from bench.report.figures.contention.wait_by_utilisation import wait_by_utilisation
from bench.report.figures.contention.where_hand_off_goes import where_hand_off_goes
from bench.report.figures.drawing import Drawing

CONTENTION = (
    wait_by_contenders,
    hand_off_by_strategy,
    where_hand_off_goes,
    wait_by_utilisation,
    fairness,
    requests_per_grant,
    shards,
)


def contention_drawings(evidence: Evidence) -> list[Drawing]:
    """Those that have something to show."""
    return [drawing for drawing in (draw(evidence) for draw in CONTENTION) if drawing.runs]


__all__ = [
    "CONTENTION",
    "contention_drawings",
    "fairness",
    "hand_off_by_strategy",
    "requests_per_grant",
    "shards",
    "wait_by_contenders",
    "wait_by_utilisation",
    "where_hand_off_goes",
]
