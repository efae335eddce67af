"""Reads a campaign of load, and holds what the first table of comparison.md says of contention against the events.

Of the plans and the events alone, in plain loops: the hand-off is from the answer to a release until the answer to the
next client's acquire, if that client had asked before. The wait in a fair queue is everybody else once, with the mean
of what a grant keeps from the others.
"""

import itertools
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

_HEADING = "Under contention"
_FRACTIONS = {"p50": 0.5, "p99": 0.99}


@dataclass(frozen=True)
class Waiting:
    """Of one run; None where so few operations do not tell."""

    system: str
    hold_ms: float
    hand_off_ms: float | None
    by_fair: float | None


def contended(folder: Path) -> list[Waiting]:
    """Every run of the mode's own contended cell, of a folder that holds plans and events."""
    plans = [json.loads(path.read_text()) for path in sorted(folder.glob("*/plan.json"))]
    mine = [plan for plan in plans if plan["workload"]["name"] == "contended" and not plan["workload"].get("label")]
    return [_waiting(plan, parquet.read_table(folder / plan["run_id"] / "events.parquet").to_pylist()) for plan in mine]


def _waiting(plan: Mapping[str, object], events: Sequence[Mapping[str, int]]) -> Waiting:
    workload = plan["workload"]
    assert isinstance(workload, dict)
    grants = sorted((one for one in events if one["outcome"] == "acquired"), key=lambda one: one["acquired_ns"])
    hand_offs, waits = [], []
    for before, after in itertools.pairwise(grants):
        free = min(before["freed_ns"], after["acquired_ns"])
        waits.append(max(0, free - after["intended_ns"]))
        if after["client"] != before["client"] and after["started_ns"] <= free:
            hand_offs.append(after["acquired_ns"] - before["freed_ns"])
    kept = [one["freed_ns"] - one["acquired_ns"] for one in grants]
    service = statistics.fmean(kept) + (statistics.fmean(hand_offs) if hand_offs else 0.0)
    fair = (workload["clients"] - 1) * service - workload.get("think_ms", 0.0) * 1e6
    median, tail = _percentile(hand_offs, "p50"), _percentile(waits, "p99")
    return Waiting(
        str(plan["system"]),
        float(workload["hold_ms"]),
        None if median is None else median / 1e6,
        tail / fair if tail is not None and hand_offs and fair > 0.0 else None,
    )


def _percentile(values: Sequence[int], name: str) -> float | None:
    """The least value that so many do not exceed, where the largest of the sample exceeds the true one, with 97.5 %."""
    fraction = _FRACTIONS[name]
    needed = math.ceil(math.log(0.025) / math.log(fraction))
    return sorted(values)[math.ceil(fraction * len(values)) - 1] if len(values) >= needed else None


def compare_contention(text: str, folder: Path, titles: Mapping[str, str], seen: Comparison) -> None:
    """The cells of comparison.md's first table that come from hand-offs."""
    header, rows = next((header, rows) for _, header, rows in tables_of(text) if header[0] == "")
    place = next(number for number, row in enumerate(rows) if row[0].startswith(_HEADING))
    every = contended(folder)
    for title, cell in zip(header[1:], rows[place + 1][1:], strict=True):
        system = titles[max((one for one in titles if title.startswith(one)), key=len)]
        runs = [one for one in every if one.system == system]
        _cell(f"{_HEADING}, {title}", cell.replace("\u00a0", " ").strip("* "), runs, seen)


def _cell(where: str, cell: str, runs: Sequence[Waiting], seen: Comparison) -> None:
    """Of fewer than six runs: their median. All or nothing, since those that carry a percentile are the fast ones."""
    hand_offs = [one.hand_off_ms for one in runs]
    ratios = [one.by_fair for one in runs]
    told = re.match(r"([−\d.,]+); (?:([\d.,]+) × a fair queue|a fair queue: .+), held ([\d.]+) ms", cell)
    seen.same(f"{where}, is there a hand-off", told is not None, bool(runs) and None not in hand_offs)
    if told is None:
        return
    seen.near(f"{where}, hand-off", told.group(1), statistics.median(one for one in hand_offs if one is not None))
    seen.same(f"{where}, is there a ratio", told.group(2) is not None, None not in ratios)
    if told.group(2) is not None:
        seen.near(f"{where}, by a fair queue", told.group(2), statistics.median(one for one in ratios if one))
    seen.near(f"{where}, hold", told.group(3), runs[0].hold_ms)
