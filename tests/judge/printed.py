"""Reads the CSVs that lockbench printed, and holds every count in them against the judge's own."""

import csv
import io
import re
from collections.abc import Sequence

from tests.judge import tables
from tests.judge.claims.base import Finding
from tests.judge.comparison import COUNT, Comparison
from tests.judge.fence import fence_faults, without_verdict
from tests.judge.lines import Line
from tests.judge.moments import two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.reasons import clauses_of, told_of
from tests.judge.records import Run
from tests.judge.settled import findings_of, lines_of
from tests.judge.waiting import never_served
from tests.judge.writes import accepted, late, late_read, lost_updates, refused, stale

_NUMBER = re.compile(r"[+\-−]?\d[\d,]*(?:\.\d+)?")
SAFETY = frozenset(
    f"C{number}"
    for first, last in ((13, 31), (33, 39), (44, 47), (53, 60), (63, 64), (67, 68))
    for number in range(first, last + 1)
)


def compare_verdicts(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """hazard_verdicts.csv: one row a system and fault."""
    judged = lines_of(tuple(runs))
    every = enumerate(csv.DictReader(io.StringIO(text)))
    rows = {(row["system"], row["fault"]): (number, row) for number, row in every}
    seen.same("hazard_verdicts.csv, its rows", set(rows), set(judged))
    for key in seen.each([one for one in rows if one in judged], lambda key: rows[key][0]):
        row, line = rows[key][1], judged[key]
        tally, where = line.tally, f"hazard_verdicts.csv, {' under '.join(key)}"
        off, on = tally.late_accepted(False), tally.late_accepted(True)
        exact = {
            "hazard": line.counted_hazard,
            "verdict": tally.word,
            "shown": line.behind.seen,
            "of_trials": line.behind.of,
            "of_runs": len(line.behind.runs),
            "shown_outside": tally.outside.seen,
            "of_outside": tally.outside.of,
            "late_accepted_fence_off": off.seen,
            "late_judged_fence_off": off.of,
            "late_accepted_fence_on": on.seen,
            "late_judged_fence_on": on.of,
            "unavailable": tally.nobody.seen,
            "of_exposed_to_that": tally.nobody.of,
            "has_token": tally.has_token,
            "emulator": any("emulator" in one.run.history.get("tags", []) for one in tally.trials),
        }
        seen.same(f"{where}, evidence_runs", set(row["evidence_runs"].split()), set(line.evidence))
        seen.same(f"{where}, void_runs", row["void_runs"].split(), line.void)
        for name, value in exact.items():
            seen.same(f"{where}, {name}", row[name], str(value))
        for name, value in (("upper_bound_of_runs", line.behind.bound), ("overlap_s_max", tally.longest_ms / 1e3)):
            seen.same(f"{where}, {name}", row[name], f"{value:.6g}")
        reason(f"{where}, reason", row["reason"], line, seen)


def reason(where: str, text: str, line: Line, seen: Comparison) -> None:
    seen.told(where, text, told_of(line))
    seen.clauses(where, text, clauses_of(line))


def compare_trials(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """hazards.csv: one row a trial."""
    judged = {(one.run.run_id, one.name): one for run in runs for one in run.trials}
    rows = list(enumerate(csv.DictReader(io.StringIO(text))))
    without = [row["run_id"] for _, row in rows if not row["trial"]]
    seen.same("hazards.csv, runs without a trial", set(without), {run.run_id for run in runs if not run.trials})
    rows = [(number, row) for number, row in rows if row["trial"]]
    seen.same("hazards.csv, its trials", len(rows), len(judged))
    for _, row in seen.each(rows, lambda one: one[0]):
        one = judged[row["run_id"], row["trial"]]
        pairs, falls = pairs_and_falls(one)
        exact = {
            "repetition": one.run.plan["repetition"],
            "ttl_ms": int(one.ttl_ms),
            "grants": len(one.beliefs),
            "writes": len(one.writes),
            "late_accepted": accepted(late(one)) - late_read(one),
            "late_refused": refused(late(one)),
            "late_read": late_read(one),
            "overtaken": len(late(one)) - len(stale(one)),
            "lost_updates": lost_updates(one),
            "token_pairs": pairs,
            "token_faults": falls,
            "fence_faults": fence_faults(one),
            "never_served": never_served(one),
            "unknown": without_verdict(one),
        }
        for name, value in exact.items():
            seen.same(f"hazards.csv, {row['run_id']}, trial {one.name}, {name}", int(float(row[name])), value)
        where = f"hazards.csv, {row['run_id']}, trial {one.name}"
        seen.same(f"{where}, overlap_s", row["overlap_s"], f"{two_at_once_ns(one) / 1e9:.6g}")
        for column, cell in row.items():
            kind, _, name = column.partition("_")
            told = {"parameter": one.setting, "measured": one.measured}.get(kind)
            value = told(name) if told else None
            if kind == "parameter" and (cell or value is not None):
                seen.same(f"{where}, {column}", _parameter(cell), tables.plain(value))
            elif kind == "measured" and (cell or value is not None):
                seen.same(f"{where}, {column}", cell, "" if value is None else f"{value:.6g}")


def _parameter(cell: str) -> str:
    return {"True": "on", "False": "off"}.get(cell, tables.plain(cell))


def compare_claims(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """claims.csv: what was found of each claim about safety, and every count of its reason."""
    judged = findings_of(tuple(runs))
    told = set()
    for _, row in seen.each(enumerate(csv.DictReader(io.StringIO(text))), lambda one: one[0]):
        if row["id"] not in SAFETY:
            continue
        key, where = (row["id"], row["system"]), f"claims.csv, {row['id']} of {row['system']}"
        told.add(key)
        one, found = judged.get(key, Finding()), row.get("found", "")
        seen.counts(where, found, one.counts)
        seen.told(f"{where}, why", row["why"], one.why)
        seen.clauses(where, f"{found}; {row['why']}", one.clauses)
        numbers = _NUMBER.findall(COUNT.sub("", found).replace("p95", ""))
        if one.numbers:
            seen.same(f"{where}, how many numbers", len(numbers), len(one.numbers))
            for printed, value in zip(numbers, one.numbers, strict=False):
                seen.near(where, printed, value)
            if row["id"] != "C57":
                seen.same(f"{where}, told again in the reason", found in row["why"], True)
    seen.same("claims.csv, claims with a finding that are not there", set(judged) - told, set())
