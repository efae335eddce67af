"""Reads campaigns of load, and holds what is printed of contention against the events: run by run, cell by cell, and in
the first table of comparison.md. Of the plans, the events and the window's instants alone (`waits`).
"""

import csv
import io
import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

from tests.judge.comparison import Comparison
from tests.judge.page import tables_of
from tests.judge.waits import waits

_HEADING = "Under contention"
_GRID_US = 0.2  # committed instants lie on a grid of 100 ns, and each time has two ends
_MEDIANS = {
    "changed_hands_share",
    "longest_streak",
    "overtaking_share",
    "jain_index",
    "clients_without_grant",
    "longest_wait_us",
}  # medians
_T = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}  # two-sided 95 % by degrees of freedom


@dataclass(frozen=True)
class Waiting:
    """Of one run."""

    campaign: str
    run_id: str
    system: str
    workload: Mapping[str, object]
    measures: Mapping[str, float]

    @property
    def mode(self) -> bool:
        """The cell of the first table: so many clients as the modes have, on one key, waiting as suits the system."""
        label = str(self.workload.get("label") or "contended")
        return self.workload["name"] == "contended" and label in ("contended", "contenders, 8 clients")


def waiting(folder: Path) -> list[Waiting]:
    """Every run whose clients met at a key, of a folder that holds plans and events."""
    plans = [json.loads(path.read_text()) for path in sorted(folder.glob("*/plan.json"))]
    return [
        Waiting(
            plan["campaign_id"],
            plan["run_id"],
            plan["system"],
            plan["workload"],
            waits(plan["workload"], _events(folder / plan["run_id"]), _window_ns(folder / plan["run_id"])),
        )
        for plan in plans
        if plan["workload"]["name"].startswith("contended")
    ]


def _events(run: Path) -> list[Mapping[str, int]]:
    """Of the window, and around it."""
    return [row for name in ("events", "around") for row in parquet.read_table(run / f"{name}.parquet").to_pylist()]


def _window_ns(run: Path) -> tuple[int, int]:
    opens_ns, closes_ns = json.loads((run / "measured.json").read_text())["window_ns"]
    return opens_ns, closes_ns


def compare_runs(text: str, runs: Sequence[Waiting], seen: Comparison) -> None:
    """A table of runs; `runs` are of one campaign or several, whose folders have the campaigns' names."""
    rows = {row["run_id"]: row for row in csv.DictReader(io.StringIO(text))}
    for run in runs:
        row = rows.get(f"{run.campaign}/{run.run_id}") or rows[run.run_id]
        if row["void_reason"]:
            continue
        for name, value in run.measures.items():
            where = f"{row['run_id']}, {name}"
            seen.same(f"{where}, is it told", bool(row[name]), True)
            if row[name]:
                slack = _GRID_US if name.endswith("_us") or "_us_" in name else 2.0 / len(runs)
                seen.close(where, float(row[name]), value, slack)


def compare_cells(text: str, runs: Sequence[Waiting], void: set[str], seen: Comparison) -> None:
    """A table of cells: what several runs say together, and their interval where there are three campaigns."""
    for row in csv.DictReader(io.StringIO(text)):
        mine = [
            one
            for one in runs
            if (one.system, one.workload.get("label") or one.workload["name"]) == (row["system"], row["workload"])
            and f"{one.campaign}/{one.run_id}" not in void
        ]
        for name in sorted({name for one in mine for name in one.measures}):
            where = f"{row['system']}, {row['workload']}, {name}"
            values = [one.measures.get(name) for one in mine]
            seen.same(f"{where}, is there a number", bool(row[name]), None not in values)
            if row[name] and None not in values:
                _pooled(where, name, row, mine, seen)


def _pooled(where: str, name: str, row: Mapping[str, str], runs: Sequence[Waiting], seen: Comparison) -> None:
    for end, value in zip(("", "_low", "_high"), pooled(runs, name), strict=True):
        seen.close(f"{where}{end}", float(row[f"{name}{end}"]), value, 2.0 * _GRID_US)


def pooled(runs: Sequence[Waiting], name: str) -> tuple[float, float, float]:
    """What the runs say together, and its bounds: of three campaigns or more a t interval of their mean logarithms, of
    fewer, and of what has no logarithm, the median and the range."""
    values = [one.measures[name] for one in runs]
    campaigns = sorted({one.campaign for one in runs})
    if name in _MEDIANS or min(values) <= 0.0 or len(campaigns) < 3:
        return statistics.median(values), min(values), max(values)
    means = [statistics.fmean(math.log(one.measures[name]) for one in runs if one.campaign == c) for c in campaigns]
    half = _T[len(means) - 1] * statistics.stdev(means) / math.sqrt(len(means))
    middle = statistics.fmean(means)
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def compare_contention(text: str, every: Sequence[Waiting], titles: Mapping[str, str], seen: Comparison) -> None:
    """The cells of comparison.md's first table that come from hand-offs."""
    header, rows = next((header, rows) for _, header, rows in tables_of(text) if header[0] == "")
    place = next(number for number, row in enumerate(rows) if row[0].startswith(_HEADING))
    for title, cell in zip(header[1:], rows[place + 1][1:], strict=True):
        system = titles[max((one for one in titles if title.startswith(one)), key=len)]
        runs = [one for one in every if one.system == system and one.mode]
        _cell(f"{_HEADING}, {title}", cell.replace("\u00a0", " ").strip("* "), runs, seen)


def _cell(where: str, cell: str, runs: Sequence[Waiting], seen: Comparison) -> None:
    """All or nothing, since those runs that carry a percentile are the fast ones."""
    hand_offs = [one.measures.get("hand_off_us_p50") for one in runs]
    ratios = [one.measures.get("wait_by_fair_p99") for one in runs]
    told = re.match(r"([−\d.,]+); (?:([\d.,]+) × a fair queue|a fair queue: .+), held ([\d.]+) ms", cell)
    seen.same(f"{where}, is there a hand-off", told is not None, bool(runs) and None not in hand_offs)
    if told is None:
        return
    seen.near(f"{where}, hand-off", told.group(1), pooled(runs, "hand_off_us_p50")[0] / 1e3)
    seen.same(f"{where}, is there a ratio", told.group(2) is not None, None not in ratios)
    if told.group(2) is not None:
        seen.near(f"{where}, by a fair queue", told.group(2), pooled(runs, "wait_by_fair_p99")[0])
    seen.near(f"{where}, hold", told.group(3), float(str(runs[0].workload["hold_ms"])))
