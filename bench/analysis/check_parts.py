"""What all self-checks are made of: the record of one, and the numbers that they ask of a measurement."""

from collections import Counter

from bench.records.histogram import LatencyHistogram
from bench.records.schema import STRANGERS, Check, Measured, RunPlan, Severity
from bench.records.workload import RATE, UNCONTENDED

GENERATOR_CPU_LIMIT = 0.8  # of one processor, for each load process
CLAIM_LATENCY = (UNCONTENDED, RATE)  # workloads whose number is a latency; see selfchecks.py


def check_of(
    name: str, passed: bool, severity: Severity, observed: str, limit: str, when_passed: str, when_failed: str
) -> Check:
    """One check, with the message that fits how it ended."""
    return Check(
        name=name,
        passed=passed,
        severity=severity,
        observed=observed,
        limit=limit,
        message=when_passed if passed else when_failed,
    )


def by_outcome(measured: Measured, phase: str) -> dict[str, int]:
    """Counts of one phase by outcome, those of strangers among them."""
    found = Counter[str]()
    for name, count in measured.counts.items():
        of, _, outcome = name.partition("/")
        if of.removeprefix(STRANGERS) == phase:
            found[outcome] += count
    return dict(found)


def histogram_of(measured: Measured, phase: str) -> LatencyHistogram:
    """One phase, all its outcomes together, those of strangers among them; empty where there is none."""
    parts = measured.histograms.items()
    texts = (text for name, text in parts if name.partition("/")[0].removeprefix(STRANGERS) == phase)
    return LatencyHistogram.merged(LatencyHistogram.decode(text) for text in texts)


def quantile_us(measured: Measured, name: str, fraction: float) -> float:
    """A quantile of the histogram "phase/outcome" in µs; 0 where it is missing or empty."""
    text = measured.histograms.get(name)
    return (LatencyHistogram.decode(text).quantile_ns(fraction) or 0.0) / 1e3 if text else 0.0


def generator_share(measured: Measured) -> float:
    """Processor time of a load process in the window, as a share of the window; the mean where there are several."""
    return measured.generator_cpu_s / max(1e-9, measured.window_s * measured.generator_processes)


def is_alone(plan: RunPlan, measured: Measured) -> bool:
    """Has each client a load process to itself, so that none queues for another's processor time?"""
    return plan.workload.clients <= measured.generator_processes


def machine_shares(measured: Measured) -> dict[str, float]:
    """How busy the processors were, all of them and the servers' own; empty where it was not recorded."""
    if measured.machine_cpu_share is None:
        return {}
    shares = {"all processors": measured.machine_cpu_share}
    ours = [
        share
        for number, share in measured.cpu_share_by_processor.items()
        if number in measured.placement.get("servers", "").split(",")
    ]
    if ours:
        shares["the servers' processors"] = sum(ours) / len(ours)
    return shares


def clients_of(plan: RunPlan, measured: Measured) -> int:
    """How many clients were at work in the window: all of the plan, or those of the best step of a ladder."""
    return measured.window_clients or plan.workload.clients
