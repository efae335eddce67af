"""What becomes of a claim when it meets the runs of a campaign."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pandas as pd

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Absent, Cell, cells_named
from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.contention.claims import judge_by_contention
from bench.analysis.hazards.claims import judge_by_hazards
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.judgement import EMULATED, Judgement, Verdict
from bench.analysis.network.claims import judge_over_networks
from bench.analysis.network.cost_model import CostModel
from bench.analysis.speed_claims import LATENCY, RATE, US_PER, Finding, latency_finding, throughput_finding

Judge = Callable[[Claim, Cell], Finding]


def adjudicate(
    claims: Iterable[Claim],
    cells: Sequence[Cell],
    hazards: HazardEvidence | None = None,
    waiting: Sequence[Cell] | None = None,
    networks: Sequence[CostModel] = (),
) -> tuple[Judgement, ...]:
    """Judge every claim, in file order; one judgement for each row that the claim applies to.

    Claims about speed are judged from the cells, claims about waiting from `waiting` (default: the same), claims
    about safety from a hazard campaign, where there is one. Latencies of systems that were measured over networks are
    judged by what these runs say.
    """
    judged: list[Judgement] = []
    waiting = cells if waiting is None else waiting
    models = {model.system: model for model in networks if model.operation == "acquire"}
    for claim in claims:
        by_hazards = judge_by_hazards(claim, hazards) if hazards else ()
        judged += by_hazards or judge_by_contention(claim, waiting) or _judge(claim, cells, models)
    return tuple(judged)


def verdict_frame(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """The judgements as a table, figures in the claim's own unit."""
    frame = pd.DataFrame([_flat(judgement) for judgement in judgements])
    if any(judgement.found for judgement in judgements):
        place = list(frame.columns).index("evidence_runs")
        frame.insert(place, "found", [judgement.found for judgement in judgements])
    return frame


def _judge(claim: Claim, cells: Sequence[Cell], models: Mapping[str, CostModel]) -> Iterable[Judgement]:
    kind = _KINDS.get(claim.metric) if claim.has_range and claim.system != ALL_SYSTEMS else None
    if kind is None:
        yield Judgement(claim, claim.system, Verdict.NOT_MEASURED, "not tested by this campaign", (), False, ())
        return
    workload, metrics, find = kind
    over_networks = models if claim.metric == "acquire_latency" else {}
    there = {*(cell.system for cell in cells), *over_networks}
    siblings = {system for system in there if names.claimed_as(system) == claim.system != system}
    for system in (claim.system, *sorted(siblings, key=names.position)):
        if system in over_networks and (judged := judge_over_networks(claim, over_networks[system])) is not None:
            yield judged
            continue
        found = cells_named(cells, system, workload)
        if not found:
            why = f"no {workload} run of {system} in this campaign"
            yield Judgement(claim, system, Verdict.NOT_MEASURED, why, (), False, ())
        for cell in found:
            finding = _of_cell(claim, cell, find)
            yield Judgement(
                claim=claim,
                system=system,
                verdict=finding.verdict,
                why=finding.why,
                measured=tuple(cell.value(name) for name in metrics),
                at_least=workload == "saturation" and bool(cell.bounds),
                evidence=cell.evidence,
                at_most=workload == "uncontended" and bool(cell.latency_bounds),
                break_even=finding.break_even,
            )


def _of_cell(claim: Claim, cell: Cell, find: Judge) -> Finding:
    if cell.void_reason is not None:
        return Finding(Verdict.NOT_TESTABLE, cell.void_reason)
    if cell.emulator:
        return Finding(Verdict.NOT_TESTABLE, EMULATED)
    return find(claim, cell)


# Metric of a claim -> the workload that tests it, the measured metrics to show, and the judge of a cell.
_KINDS: dict[str, tuple[str, tuple[str, ...], Judge]] = {
    "acquire_latency": ("uncontended", LATENCY, latency_finding),
    "throughput": ("saturation", (RATE,), throughput_finding),
}


def _flat(judgement: Judgement) -> dict[str, object]:
    claim = judgement.claim
    flat: dict[str, object] = {
        "id": claim.id,
        "source": claim.source,
        "system": judgement.system,
        "metric": claim.metric,
        "claim": claim.claim,
        "low": claim.low,
        "high": claim.high,
        "unit": claim.unit,
        "verdict": str(judgement.verdict),
        "why": judgement.why,
    }
    latency = claim.metric == "acquire_latency"
    values = [None if isinstance(value, Absent) else value.value for value in judgement.measured]
    flat["measured_acquire_ms_p50"] = _ms(values[0]) if latency and values else None
    flat["measured_acquire_ms_p99"] = _ms(values[1]) if latency and values else None
    flat["measured_throughput_pairs_per_s"] = values[0] if values and not latency else None
    flat["measured_is_lower_bound"] = judgement.at_least
    flat["measured_is_upper_bound"] = judgement.at_most
    reach = judgement.break_even
    flat["break_even_round_trip_ms_low"] = max(0.0, reach.low_ms) if reach else None
    flat["break_even_round_trip_ms_high"] = reach.high_ms if reach else None
    flat["evidence_runs"] = " ".join(judgement.evidence)
    return flat


def _ms(value_us: float | None) -> float | None:
    return None if value_us is None else value_us / US_PER["ms"]


__all__ = ["NOT_MEASURED", "Finding", "Judgement", "Verdict", "adjudicate", "verdict_frame"]
