"""Tidy CSV: one row a thing, plain numbers, units in the column names, empty where there is no number."""

from collections.abc import Mapping

import pandas as pd

from bench.analysis.cells import Absent, Value, amplification
from bench.analysis.evidence import Evidence
from bench.analysis.runs import run_frame
from bench.analysis.verdicts import US_PER, verdict_frame
from bench.report.comparison import build_comparison
from bench.report.table_model import Comparison, LongRow


def comparison_csv(evidence: Evidence) -> str:
    """One row a system in one setting: what its numbers depend on, claims and measurements."""
    comparison = build_comparison(evidence)
    return to_csv(pd.DataFrame([_comparison_row(evidence, comparison, row) for row in comparison.rows]))


def claims_csv(evidence: Evidence) -> str:
    """One row a claim and system, all claims, with the ids of the runs behind each verdict."""
    return to_csv(verdict_frame(evidence.judgements))


def runs_csv(evidence: Evidence) -> str:
    """One row a run, void ones included with the reason."""
    return to_csv(run_frame(evidence.rows))


def to_csv(frame: pd.DataFrame) -> str:
    """Six significant digits: more than a histogram's bucket resolves, and the same text on every machine."""
    text: str = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return text


def _comparison_row(evidence: Evidence, comparison: Comparison, row: LongRow) -> Mapping[str, object]:
    uncontended, contended, saturation = (row.cells.get(name) for name in ("uncontended", "contended", "saturation"))
    flat: dict[str, object] = {
        "campaign_id": evidence.campaign.campaign_id,
        "system": row.system,
        "title": row.title,
        "tags": ", ".join(row.tags),
        "durability": row.durability,
        "nodes": row.nodes,
        "wait_contended": row.wait,
        "source": row.source,
        "server_version": row.version,
        "runs_counted": row.runs,
        "claimed_acquire_ms": row.claimed_latency_ms,
    }
    for quantile in ("p50", "p99", "p999"):
        value = uncontended.value(f"acquire_us_{quantile}") if uncontended else None
        flat |= _numbers(f"acquire_ms_{quantile}", value, 1.0 / US_PER["ms"])
    flat["claimed_throughput_per_s"] = row.claimed_throughput_per_s
    flat |= _numbers("throughput_pairs_per_s", saturation.value("throughput_pairs_per_s") if saturation else None)
    flat["throughput_is_lower_bound"] = bool(saturation and saturation.generator_bound)
    flat["claimed_amplification_x"] = row.claimed_amplification
    amplified = amplification(contended, uncontended) if contended and uncontended else None
    flat |= _numbers("contention_amplification_x", amplified)
    flat |= _numbers("client_cpu_us_per_pair", uncontended.value("client_cpu_us_per_pair") if uncontended else None)
    for one in comparison.properties:
        pair = one.pairs.get(row.system)
        if one.key in ("fencing", "pause_safety", "clock_skew", "consensus", "operational_cost"):
            flat[f"claimed_{one.key}"] = pair.claimed if pair else ""
            flat[f"measured_{one.key}"] = pair.measured.words if pair else ""
    flat["notes"] = " | ".join(note for cell in row.cells.values() for note in cell.notes())
    return flat


def _numbers(name: str, value: Value | None, factor: float = 1.0) -> dict[str, object]:
    if value is None or isinstance(value, Absent):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    scaled = value.scaled(factor)
    return {name: scaled.value, f"{name}_low": scaled.low, f"{name}_high": scaled.high}
