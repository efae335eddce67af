"""Tidy CSV: one row a thing, plain numbers, units in the column names, empty where there is no number."""

from collections.abc import Mapping

from bench.analysis.cells import Absent, Cell, Value, amplification, cell_frame
from bench.analysis.curves import curve
from bench.analysis.evidence import Evidence
from bench.analysis.floor import COMMON, critical_path, floor_range_us, floor_us, over_floor, server_means_us
from bench.analysis.intervals import Estimate
from bench.analysis.runs import run_frame
from bench.analysis.speed_claims import US_PER
from bench.analysis.verdicts import verdict_frame
from bench.report import formats
from bench.report.comparison import build_comparison
from bench.report.group_marks import GroupMarks
from bench.report.table_model import Comparison, LongRow
from bench.report.writers.csv import csv, csv_of

_WORKLOADS = ("uncontended", "contended", "saturation")


def comparison_csv(evidence: Evidence) -> str:
    """One row a system in one setting: what its numbers depend on, claims and measurements."""
    comparison, marks = build_comparison(evidence), GroupMarks(evidence)
    return csv([_comparison_row(evidence, comparison, row, marks) for row in comparison.rows])


def claims_csv(evidence: Evidence) -> str:
    """One row a claim and system, all claims, with the ids of the runs behind each verdict."""
    return csv_of(verdict_frame(evidence.judgements))


def cells_csv(evidence: Evidence) -> str:
    """One row a cell, all metrics with their bounds and, of several campaigns, both parts of their variation."""
    return csv_of(cell_frame(evidence.cells))


def curves_csv(evidence: Evidence) -> str:
    """One row a saturation cell and number of clients."""
    own = any(cell.workload.label for cell in evidence.cells)
    rows = [
        {
            "system": cell.system,
            **({"workload": cell.workload.title} if own else {}),
            "workload_digest": cell.workload.digest,
            "clients": point.clients,
            **_numbers("pairs_per_s", point.pairs_per_s),
            **_numbers("acquire_ms_p50", point.acquire_us["p50"], 1.0 / US_PER["ms"]),
            **_numbers("acquire_ms_p99", point.acquire_us["p99"], 1.0 / US_PER["ms"]),
        }
        for cell in evidence.cells
        for point in curve(cell)
    ]
    return csv(rows)


def runs_csv(evidence: Evidence) -> str:
    """One row a run, void ones included with the reason."""
    return csv_of(run_frame(evidence.rows))


def _comparison_row(
    evidence: Evidence, comparison: Comparison, row: LongRow, marks: GroupMarks
) -> Mapping[str, object]:
    uncontended, contended, saturation = (row.cells.get(name) for name in _WORKLOADS)
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
        **{f"runs_{name}": len(row.cells[name].used) if name in row.cells else 0 for name in _WORKLOADS},
        "claimed_acquire_ms": row.claimed_latency_ms,
    }
    for quantile in ("p50", "p99", "p999"):
        value = uncontended.value(f"acquire_us_{quantile}") if uncontended else None
        flat |= _numbers(f"acquire_ms_{quantile}", value, 1.0 / US_PER["ms"])
        flat[f"acquire_ms_{quantile}_group"] = marks.letter(uncontended, f"acquire_us_{quantile}")
    flat |= _floor(evidence, uncontended)
    flat["claimed_throughput_per_s"] = row.claimed_throughput_per_s
    flat |= _numbers("throughput_pairs_per_s", saturation.value("throughput_pairs_per_s") if saturation else None)
    flat["throughput_pairs_per_s_group"] = marks.letter(saturation, "throughput_pairs_per_s")
    flat["throughput_is_lower_bound"] = bool(saturation and saturation.bounds)
    flat["throughput_bound_by"] = ", ".join(saturation.bounds) if saturation else ""
    flat["latency_bound_by"] = ", ".join(uncontended.latency_bounds) if uncontended else ""
    flat["claimed_amplification_x"] = row.claimed_amplification
    waiting, single = evidence.of_waiting(contended, uncontended) if contended else (None, None)
    amplified = amplification(waiting, single) if waiting and single else None
    flat |= _numbers("contention_amplification_x", amplified)
    sides = (waiting, single) if isinstance(amplified, Estimate) else (None, None)
    flat |= _limit("contention_amplification", *sides, "acquire_us_p99")
    flat |= _numbers("contended_wait_by_fair_p99_x", waiting.value("wait_by_fair_p99") if waiting else None)
    handed_us = waiting.value("hand_off_us_p50") if waiting else None
    flat |= _numbers("hand_off_ms_p50", handed_us, 1.0 / US_PER["ms"])
    flat |= _limit("hand_off", waiting if isinstance(handed_us, Estimate) else None, None, "hand_off_us_p50")
    flat["contended_hold_ms"] = waiting.workload.hold_ms if waiting else None
    found = [cell.value("acquire_us_p50") for cell in row.cells.values()]
    methods = dict.fromkeys(str(value.method) for value in found if not isinstance(value, Absent))
    flat["interval_method"] = "; ".join(methods)
    flat |= _numbers("client_cpu_us_per_pair", uncontended.value("client_cpu_us_per_pair") if uncontended else None)
    for one in comparison.properties:
        pair = one.pairs.get(row.system)
        if one.key in ("fencing", "pause_safety", "clock_skew", "consensus", "operational_cost"):
            flat[f"claimed_{one.key}"] = pair.claimed if pair else ""
            flat[f"measured_{one.key}"] = pair.measured.words if pair else ""
    flat["notes"] = " | ".join(str(note) for cell in row.cells.values() for note in cell.notes())
    return flat


def _limit(name: str, cell: Cell | None, below: Cell | None, metric: str) -> Mapping[str, object]:
    """Is a number of a cell, or its ratio to one `below`, only a limit: the sign of the tables, ≥ or ≤, and what binds.

    Empty: it is no limit. Of a limit `_low` or `_high` is the end that the tables print.
    """
    most, least = (one.bounds_of(metric) if one else () for one in (cell, below))
    return {f"{name}_limit": formats.limit_sign(most, least), f"{name}_bound_by": ", ".join(least or most)}


def _floor(evidence: Evidence, cell: Cell | None) -> Mapping[str, object]:
    path = critical_path(cell) if cell else Absent("")
    floor = floor_us(cell, evidence.environment) if cell else Absent("")
    client, peers, writes = (
        (None, None, None)
        if isinstance(path, Absent)
        else (path.client_round_trips, path.peer_round_trips, path.durable_writes)
    )
    machines = tuple(evidence.environments.values()) or (evidence.environment,)
    ends = floor_range_us(cell, machines) if cell and not isinstance(floor, Absent) else None
    means = server_means_us(cell) if cell else {}
    return {
        "acquire_client_round_trips": client,
        "acquire_peer_round_trips": peers,
        "acquire_durable_writes": writes,
        "floor_ms": None if isinstance(floor, Absent) else floor / US_PER["ms"],
        "floor_ms_low": ends[0] / US_PER["ms"] if ends else None,
        "floor_ms_high": ends[1] / US_PER["ms"] if ends else None,
        **_numbers(
            "acquire_p50_by_floor_x", over_floor(cell, evidence.environment, evidence.environments) if cell else None
        ),
        **{f"server_{name}_us_mean": means.get(name) for name in COMMON},
    }


def _numbers(name: str, value: Value | None, factor: float = 1.0) -> dict[str, object]:
    if value is None or isinstance(value, Absent):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    scaled = value.scaled(factor)
    return {name: scaled.value, f"{name}_low": scaled.low, f"{name}_high": scaled.high}
