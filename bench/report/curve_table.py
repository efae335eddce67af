"""Saturation by number of clients, as a table: what more clients bring, and what they cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.analysis.cells import Cell
from bench.analysis.curves import Point, curve
from bench.report import formats
from bench.report.cell_texts import estimate_text
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import Comparison, LongRow, system_column

_TITLE = "Saturation by number of clients"
_EXPLANATION = (
    "Each step of the climb on its own: latencies of different client counts are never pooled. Once throughput stops "
    "rising, more clients only wait. The window after the climb has as many clients as the best step."
)


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of one row's climb."""

    row: LongRow
    cell: Cell
    point: Point


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where nothing climbed."""
    steps = [
        _Step(row, cell, point)
        for row in comparison.rows
        if (cell := row.cells.get("saturation")) is not None
        for point in curve(cell)
    ]
    return (Heading(_TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, steps)) if steps else ()


def _ms(quantile: str) -> Callable[[_Step], Text]:
    return lambda step: estimate_text(step.point.acquire_us[quantile], formats.ms_value, step.cell)


_COLUMNS: Sequence[Column[_Step]] = (
    system_column(lambda step: step.row),
    Column("Clients", lambda step: str(step.point.clients), fit=Fit(width=8, right=True)),
    Column(
        "Pairs/s",
        lambda step: estimate_text(step.point.pairs_per_s, formats.whole_value, step.cell),
        fit=Fit(),
    ),
    Column("p50", _ms("p50"), unit="ms", fit=Fit()),
    Column("p99", _ms("p99"), unit="ms", fit=Fit()),
)
