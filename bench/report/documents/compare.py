"""Two campaigns side by side as a document."""

from collections.abc import Iterable, Mapping, Sequence

from bench.analysis.cells import Absent, Value
from bench.analysis.comparing import Campaigns, Line, Tally
from bench.analysis.evidence import Evidence
from bench.analysis.history import VerdictChange
from bench.analysis.intervals import Method
from bench.records.numbers import percent
from bench.report import formats
from bench.report.formats import NOTHING
from bench.report.model import Block, Bullets, Column, Document, Fit, Heading, Table

_WIDTH = 80


def compare_document(
    campaigns: Campaigns, a: Evidence, b: Evidence, verdicts: Sequence[VerdictChange] | None = None
) -> Document:
    """What differs, cell by cell, and how much came out again; and the verdicts that differ, if these are compared."""
    return Document("Two campaigns", (*_blocks(campaigns, a, b), *_verdicts(verdicts)))


def compare_rows(campaigns: Campaigns) -> list[Mapping[str, object]]:
    """One row a cell and column, plain numbers: for CSV."""
    return [_flat(line) for line in campaigns.lines]


def _blocks(campaigns: Campaigns, a: Evidence, b: Evidence) -> Iterable[Block]:
    yield Bullets(tuple(_heads(a, b)))
    yield Heading("What differs")
    yield Table(_DIFFERS, campaigns.differences, empty="Nothing recorded differs.", width=_WIDTH)
    yield Heading("Cell by cell")
    yield Table(_CELLS, campaigns.lines, width=_WIDTH)
    yield Heading("How much of B falls within A's intervals")
    yield Table(_TALLIES, campaigns.tallies(), width=_WIDTH)
    yield Bullets(tuple(_notes(campaigns)))


def _verdicts(changes: Sequence[VerdictChange] | None) -> Iterable[Block]:
    if changes is not None:
        yield Heading("Verdicts that differ")
        yield Table(_CHANGES, changes, empty="No verdict differs.", width=_WIDTH)


def _heads(a: Evidence, b: Evidence) -> Iterable[str]:
    for letter, one in (("A", a), ("B", b)):
        runs = formats.counted([sum(not row.void for row in one.rows)], "run")
        yield f"{letter}: {one.campaign.campaign_id}, {runs} counted, {one.campaign.created_at}"


def _value(value: Value, *, bounds: bool) -> str:
    if isinstance(value, Absent):
        return value.reason
    if value.method is Method.COUNT:
        return f"{value.value:g}"
    return formats.with_range(value, _number) if bounds else _number(value.value)


def _number(value: float) -> str:
    return formats.whole(value) if value >= 100.0 else formats.significant(value)


def _ratio(line: Line) -> str:
    if line.bound:
        return formats.bound_words(line.bound)
    return formats.times_value(line.ratio) if line.ratio is not None else NOTHING


def _counted(one: Tally) -> str:
    share = f" ({percent(one.within / one.compared)})" if one.compared else ""
    bounds = f"; {one.bounds} not compared: a bound" if one.bounds else ""
    return f"{one.within} of {one.compared}{share}{bounds}"


_DIFFERS: Sequence[Column[Sequence[str]]] = (
    Column("", lambda one: one[0], fit=Fit(width=20)),
    Column("A", lambda one: one[1], fit=Fit(width=28)),
    Column("B", lambda one: one[2], fit=Fit(width=28)),
)
_CHANGES: Sequence[Column[VerdictChange]] = (
    Column("Claim or fault", lambda one: one.about, fit=Fit(width=24)),
    Column("System", lambda one: one.system, fit=Fit(width=16)),
    Column("A", lambda one: one.a or NOTHING, fit=Fit(width=16)),
    Column("B", lambda one: one.b or NOTHING, fit=Fit(width=16)),
)
_CELLS: Sequence[Column[Line]] = (
    Column("Cell", lambda line: f"{line.system} {line.workload}", fit=Fit(width=12, once=True)),
    Column("Column", lambda line: line.column, fit=Fit(width=14)),
    Column("A", lambda line: _value(line.a, bounds=True), fit=Fit(width=19)),
    Column("B", lambda line: _value(line.b, bounds=False), fit=Fit(width=7)),
    Column("B / A", _ratio, fit=Fit(width=17)),
    Column("B in A", lambda line: {True: "yes", False: "no", None: NOTHING}[line.lies_within], fit=Fit(width=3)),
)
_TALLIES: Sequence[Column[Tally]] = (
    Column("Column", lambda one: one.column, fit=Fit(width=22)),
    Column("Meant to travel", lambda one: "yes" if one.travels else "no", fit=Fit(width=16)),
    Column("Cells of B in A's interval", _counted, fit=Fit(width=36)),
)


def _notes(campaigns: Campaigns) -> Iterable[str]:
    yield "Meant to travel: round trips, durable writes, and shares."
    yield "A share is a system's cost ÷ the geometric mean cost of all compared systems in the same campaign."
    yield "Everything else depends on the host and the hour: a difference there shows nothing about the systems."
    yield "One campaign cannot show how campaigns vary: with one on each side, intervals come from its runs alone."
    for letter, cells in (("A", campaigns.only_a), ("B", campaigns.only_b)):
        if cells:
            yield f"Only in {letter}: {', '.join(cells)}."
    if campaigns.same:
        yield f"The same in both: {', '.join(campaigns.same)}."


def _flat(line: Line) -> dict[str, object]:
    flat: dict[str, object] = {
        "system": line.system,
        "workload": line.workload,
        "column": line.column,
        "meant_to_travel": line.travels,
    }
    for side, value in (("a", line.a), ("b", line.b), ("b_by_a", line.ratio)):
        known = None if value is None or isinstance(value, Absent) else value
        flat[side] = known.value if known else None
        flat[f"{side}_low"] = known.low if known else None
        flat[f"{side}_high"] = known.high if known else None
    flat["not_compared"] = ", ".join(line.bound)
    flat["b_in_interval_of_a"] = line.lies_within
    return flat
