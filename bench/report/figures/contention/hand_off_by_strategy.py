"""The hand-off by system and way to wait."""

from collections.abc import Sequence

from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.report import formats
from bench.report.figures.contention.dot_rows import DotColumn, row_words, rows_of_dots, strategies
from bench.report.figures.contention.marks import hold_words, metric, nothing, sample_words
from bench.report.figures.drawing import Drawing, machine_words

NAME = "hand_off_by_strategy"
_COLUMN = DotColumn(
    "hand-off, ms: median (dot) to p99 (tick)",
    metric("hand_off_us_p50"),
    lambda value: formats.ms_value(value),
    factor=1e-3,
    also=metric("hand_off_us_p99"),
    words_in=1.5,
)


def hand_off_by_strategy(evidence: Evidence) -> Drawing:
    """From a release's answer to the next client's grant; only grants that changed hands and were waited for."""
    cells = strategies(evidence, "hand_off_us_mean")
    if not cells:
        return nothing(evidence, NAME, "The hand-off by way to wait", "several ways to wait")
    return rows_of_dots(evidence, NAME, (_title(cells), _caption(evidence, cells)), cells, (_COLUMN,))


def _title(cells: Sequence[Cell]) -> str:
    found = [value.value for cell in cells if not isinstance(value := _COLUMN.measure(cell), Absent)]
    if not found:
        return "The hand-off by way to wait"
    return f"The median hand-off takes {formats.ms(min(found))} to {formats.ms(max(found))} ms, by way to wait"


def _caption(evidence: Evidence, cells: Sequence[Cell]) -> str:
    return (
        f"Closed loop, {row_words(cells)}, one key {hold_words(cells)}. {sample_words(cells)} "
        "Hand-off: from a release's answer to the next client's grant, where it waited. "
        "Below 0: the server answered the next client first. Grants that the releaser won again are not in it. "
        "No tick: too few operations for a p99. "
        f"{machine_words(evidence)}"
    )
