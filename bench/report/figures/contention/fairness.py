"""Who waits: fairness by system and way to wait."""

from collections.abc import Sequence

from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.records.numbers import percent
from bench.report import formats
from bench.report.figures.contention.dot_rows import DotColumn, row_words, rows_of_dots, strategies
from bench.report.figures.contention.marks import hold_words, metric, nothing, sample_words
from bench.report.figures.drawing import Drawing, machine_words

NAME = "fairness"
_JAIN = metric("jain_index")
_COLUMNS = (
    DotColumn("Jain's index: 1 is even", _JAIN, lambda one: f"{one.value:.2f}", limits=(0.0, 1.0), words_in=0.5),
    DotColumn(
        "grants that overtook, %",
        metric("overtaking_share"),
        lambda one: percent(one.value),
        factor=100.0,
        limits=(0.0, 100.0),
        words_in=0.5,
    ),
    DotColumn("longest wait, s", metric("longest_wait_us"), lambda one: formats.significant(one.value / 1e6), 1e-6),
)


def fairness(evidence: Evidence) -> Drawing:
    """Grants by client, order of the grants against that of the requests, and the longest wait."""
    cells = strategies(evidence, "jain_index")
    if not cells:
        return nothing(evidence, NAME, "Who waits, by way to wait", "several ways to wait")
    return rows_of_dots(evidence, NAME, (_title(cells), _caption(evidence, cells)), cells, _COLUMNS)


def _title(cells: Sequence[Cell]) -> str:
    found = [value.value for cell in cells if not isinstance(value := _JAIN(cell), Absent)]
    even = sum(one >= 0.95 for one in found)
    return f"{even} of {len(found)} ways to wait share the lock evenly among {row_words(cells)}"


def _caption(evidence: Evidence, cells: Sequence[Cell]) -> str:
    return (
        f"Closed loop, {row_words(cells)}, one key {hold_words(cells)}. {sample_words(cells)} "
        "Jain's index is 1 where all clients got equally many grants; evenly means 0.95 or more. "
        "A grant overtakes if a client that asked at least one grant earlier still waits. "
        f"The longest wait counts refusals and clients that got nothing. {machine_words(evidence)}"
    )
