"""What becomes of a claim when it meets the runs.

Each run is judged by itself, because the run is the unit of replication; the cell's verdict is what its runs agree on.

Latency, from the median p50 and the 99th percentile p99 of an uncontended acquire against [low, high]:
    p50 and p99 within            holds
    only one of them within       holds here with a condition, which says what the other one does
    both below                    fails, faster than claimed
    both above                    fails, slower than claimed
    p50 below and p99 above       fails, wider than claimed
The direction matters: over loopback a claim about a network fails by being too slow to be true here, which says nothing
against it elsewhere.

Throughput is a claim about capacity, and a measurement gives a lower bound of it: where the generator was the
bottleneck, and where generator and servers share this machine's cores, a smaller number refutes nothing. The claims
count "operations" without saying whether an acquire and its release are one or two, so both readings are tried.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, TOO_SMALL, Absent, Cell, cells_named
from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.hazards.claims import judge_by_hazards
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.judgement import Judgement, Verdict
from bench.analysis.metrics import metric
from bench.analysis.runs import RunRow

Judge = Callable[[Claim, Cell, RunRow], "Finding"]
US_PER: dict[str, float] = {"us": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
_ONE_MACHINE = ("native", "compose")  # sources whose servers share the generator's machine


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict and the words behind it; two runs agree when their findings are equal."""

    verdict: Verdict
    why: str = ""
    faster: bool = False  # something was faster than claimed, which over loopback needs a word more


def adjudicate(
    claims: Iterable[Claim], cells: Sequence[Cell], loopback_rtt_us: float, hazards: HazardEvidence | None = None
) -> tuple[Judgement, ...]:
    """Judge every claim, in file order; one judgement for each row that the claim applies to.

    Claims about speed are judged from the cells, claims about safety from a hazard campaign, where there is one.
    """
    judged: list[Judgement] = []
    for claim in claims:
        judged += (judge_by_hazards(claim, hazards) if hazards else ()) or _judge(claim, cells, loopback_rtt_us)
    return tuple(judged)


def verdict_frame(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """The judgements as a table, figures in the claim's own unit."""
    frame = pd.DataFrame([_flat(judgement) for judgement in judgements])
    if any(judgement.found for judgement in judgements):
        place = list(frame.columns).index("evidence_runs")
        frame.insert(place, "found", [judgement.found for judgement in judgements])
    return frame


def _judge(claim: Claim, cells: Sequence[Cell], loopback_rtt_us: float) -> Iterable[Judgement]:
    kind = _KINDS.get(claim.metric) if claim.has_range and claim.system != ALL_SYSTEMS else None
    if kind is None:
        yield Judgement(claim, claim.system, Verdict.NOT_MEASURED, "no experiment of this campaign", (), False, ())
        return
    workload, metrics, find = kind
    siblings = {cell.system for cell in cells if names.claimed_as(cell.system) == claim.system != cell.system}
    for system in (claim.system, *sorted(siblings, key=names.position)):
        found = cells_named(cells, system, workload)
        if not found:
            why = f"no {workload} run of {system} in this campaign"
            yield Judgement(claim, system, Verdict.NOT_MEASURED, why, (), False, ())
        for cell in found:
            finding = _of_cell(claim, cell, loopback_rtt_us, find)
            yield Judgement(
                claim=claim,
                system=system,
                verdict=finding.verdict,
                why=finding.why,
                measured=tuple(cell.value(name) for name in metrics),
                at_least=workload == "saturation" and cell.generator_bound,
                evidence=cell.evidence,
            )


def _of_cell(claim: Claim, cell: Cell, rtt_us: float, find: Judge) -> Finding:
    if cell.void_reason is not None:
        return Finding(Verdict.NOT_TESTABLE, cell.void_reason)
    if cell.emulator:
        return Finding(Verdict.NOT_TESTABLE, "an emulator answered: its speed says nothing about the service")
    tally = Counter(find(claim, cell, run) for run in cell.used)
    finding = _agreed(tally)
    shared = cell.setting is not None and cell.setting.source in _ONE_MACHINE
    if shared and finding.faster:
        return Finding(finding.verdict, f"{finding.why} (over loopback, round trip {rtt_us:.0f} µs)", True)
    return finding


def _agreed(tally: Counter[Finding]) -> Finding:
    ranked = sorted(tally.items(), key=lambda item: (-item[1], item[0].verdict, item[0].why))
    if len(ranked) == 1:
        return ranked[0][0]
    # Runs disagree: the claim stands at its edge. If it holds in any of them, that is the condition; else the verdict
    # is the commonest, and every reason is told.
    total = tally.total()
    alike = len({one.verdict for one in tally}) == 1
    told = "; ".join(
        f"{count} of {total} runs: {finding.why if alike else _words(finding)}" for finding, count in ranked
    )
    kept = {Verdict.HOLDS, Verdict.CONDITION}
    verdict = Verdict.CONDITION if any(one.verdict in kept for one in tally) else ranked[0][0].verdict
    return Finding(verdict, told, any(one.faster for one in tally))


def _words(finding: Finding) -> str:
    return f"{finding.verdict}, {finding.why}" if finding.why else str(finding.verdict)


def _latency(claim: Claim, cell: Cell, run: RunRow) -> Finding:
    scale = US_PER[claim.unit]
    low_us, high_us = (bound * scale for bound in _bounds(claim))
    # A quantile that one run of the cell cannot carry is used of none: the verdict rests on what the table shows.
    p50, p99 = (
        None if isinstance(cell.value(name), Absent) else run.metrics[name]
        for name in ("acquire_us_p50", "acquire_us_p99")
    )
    words = metric("acquire_us_p50")
    faster, slower = words.less_than_claimed, words.more_than_claimed
    if p50 is None:
        return Finding(Verdict.NOT_TESTABLE, f"p50: {TOO_SMALL}")
    if p50 > high_us:
        return Finding(Verdict.FAILS, slower)
    below = p50 < low_us
    if p99 is None:
        median = f"is {faster}" if below else "lies within"
        return Finding(Verdict.NOT_TESTABLE, f"the median {median}; p99: {TOO_SMALL}", below)
    if p99 < low_us:
        return Finding(Verdict.FAILS, faster, True)
    if below and p99 > high_us:
        return Finding(Verdict.FAILS, "wider than claimed", True)
    if below:
        return Finding(Verdict.CONDITION, f"for p99; the median is {faster}", True)
    if p99 > high_us:
        return Finding(Verdict.CONDITION, f"for the median; p99 is {slower}")
    return Finding(Verdict.HOLDS)


def _throughput(claim: Claim, _cell: Cell, run: RunRow) -> Finding:
    pairs = run.metrics.get("throughput_pairs_per_s")
    if pairs is None:
        return Finding(Verdict.NOT_TESTABLE, "no lock was taken")
    low, high = _bounds(claim)
    as_one, as_two = low <= pairs <= high, low <= 2.0 * pairs <= high
    words = metric("throughput_pairs_per_s")
    if as_one or as_two:
        count = "one" if as_one else "two"
        conditions = [] if as_one and as_two else [f"if an acquire and its release count as {count}"]
        if run.generator_bound:
            conditions.append("at least: generator-bound")
        return Finding(Verdict.CONDITION if conditions else Verdict.HOLDS, "; ".join(conditions))
    if pairs > high:
        return Finding(Verdict.FAILS, words.more_than_claimed)
    if run.generator_bound:
        return Finding(Verdict.NOT_TESTABLE, f"{words.less_than_claimed}, but generator-bound")
    if run.setting is not None and run.setting.source in _ONE_MACHINE:
        return Finding(
            Verdict.NOT_TESTABLE, f"{words.less_than_claimed}, but generator and servers share this machine's cores"
        )
    return Finding(Verdict.FAILS, words.less_than_claimed)


def _bounds(claim: Claim) -> tuple[float, float]:
    return claim.low or 0.0, float("inf") if claim.high is None else claim.high


# Metric of a claim -> the workload that tests it, the measured metrics to show, and the judge of one run.
_KINDS: dict[str, tuple[str, tuple[str, ...], Judge]] = {
    "acquire_latency": ("uncontended", ("acquire_us_p50", "acquire_us_p99"), _latency),
    "throughput": ("saturation", ("throughput_pairs_per_s",), _throughput),
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
    flat["evidence_runs"] = " ".join(judgement.evidence)
    return flat


def _ms(value_us: float | None) -> float | None:
    return None if value_us is None else value_us / US_PER["ms"]


__all__ = ["NOT_MEASURED", "Finding", "Judgement", "Verdict", "adjudicate", "verdict_frame"]
