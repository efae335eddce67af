"""What the runs of a cell say together about a fault: their median and range. Each run has its own instants."""

import statistics
from collections import Counter
from collections.abc import Mapping

from bench.analysis.cells import NOT_RECORDED, TOO_SMALL, Absent, Cell, Value
from bench.analysis.contention.availability import outcome_name
from bench.analysis.intervals import Estimate, Method
from bench.analysis.quantiles import FRACTIONS


def availability_value(cell: Cell, name: str) -> Value:
    """One number of `availability` across the runs that count."""
    if not cell.used:
        return cell.void
    values = [run.availability[name] for run in cell.used if name in run.availability]
    if len(values) < len(cell.used):
        recorded = all(run.availability for run in cell.used)
        if recorded and name.rpartition("_")[2] in FRACTIONS:
            return Absent(TOO_SMALL)
        return Absent("n/a (no grant again)" if recorded else NOT_RECORDED)
    return Estimate(statistics.median(values), min(values), max(values), Method.RANGE, len(values))


def answered(cell: Cell, phase: str) -> Mapping[str, int]:
    """How the acquires that were answered in a phase ended, all runs that count together."""
    start = outcome_name(phase, "")
    found: Counter[str] = Counter()
    for run in cell.used:
        counts = {name: value for name, value in run.availability.items() if name.startswith(start)}
        found.update({name.removeprefix(start): round(value) for name, value in counts.items() if "_us_" not in name})
    return dict(sorted(found.items()))
