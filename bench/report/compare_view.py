"""Two campaigns side by side: for the terminal, as Markdown, and as CSV."""

from collections.abc import Iterable, Sequence

import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text as Styled

from bench.analysis.cells import Absent, Value
from bench.analysis.comparing import Campaigns, Line, Tally
from bench.analysis.evidence import Evidence
from bench.analysis.intervals import Method
from bench.report import formats
from bench.report.fitting import Fitting
from bench.report.formats import NOTHING, RANGE
from bench.report.markdown_table import joined, safe, table
from bench.report.tidy import to_csv

WIDTH = 80
_HEADER = ("Cell", "Column", "A", "B", "B / A", "B in A")
_WIDTHS = (12, 14, 19, 7, 17, 3)
_DIFFERS = ("", "A", "B")
_TALLY = ("Column", "Meant to travel", "Cells of B in A's interval")


def compare_terminal(campaigns: Campaigns, a: Evidence, b: Evidence) -> RenderableType:
    """All of it in 80 columns; narrower, one value below the other."""
    cells = _table("Cell by cell: A with its interval, B alone, and their ratio with its interval", _HEADER, _WIDTHS)
    for row in _rows(campaigns):
        cells.add_row(*row)
    differs = _table("What differs between the two", _DIFFERS, (20, 28, 28))
    for difference in campaigns.differences:
        differs.add_row(*difference)
    tally = _table("How much of B lies in A's interval", _TALLY, (22, 16, 36))
    for one in campaigns.tallies():
        tally.add_row(one.column, "yes" if one.travels else "no", _told(one))
    return Group(
        *(Styled(line) for line in _heads(a, b)),
        Fitting(differs, WIDTH),
        Fitting(cells, WIDTH),
        Fitting(tally, WIDTH),
        *(Styled(line, style="dim") for line in _notes(campaigns)),
    )


def compare_markdown(campaigns: Campaigns, a: Evidence, b: Evidence) -> str:
    """The same as one page."""
    return joined(
        "# Two campaigns",
        "\n".join(f"- {safe(line)}" for line in _heads(a, b)),
        "## What differs",
        table(("", "A", "B"), campaigns.differences) if campaigns.differences else "Nothing that is recorded.",
        "## Cell by cell",
        table(_HEADER, _rows(campaigns, repeat=True)),
        "## How much of B lies in A's interval",
        table(_TALLY, [(one.column, "yes" if one.travels else "no", _told(one)) for one in campaigns.tallies()]),
        "\n".join(f"- {safe(line)}" for line in _notes(campaigns)),
    )


def compare_csv(campaigns: Campaigns) -> str:
    """One row a cell and column, plain numbers."""
    return to_csv(pd.DataFrame([_flat(line) for line in campaigns.lines]))


def _heads(a: Evidence, b: Evidence) -> Iterable[str]:
    for letter, one in (("A", a), ("B", b)):
        runs = formats.counted([sum(not row.void for row in one.rows)], "run")
        yield f"{letter}: {one.campaign.campaign_id}, {runs} counted, {one.campaign.created_at}"


def _rows(campaigns: Campaigns, *, repeat: bool = False) -> Iterable[Sequence[str]]:
    before = ""
    for line in campaigns.lines:
        cell = f"{line.system} {line.workload}"
        yield (
            cell if repeat or cell != before else "",
            line.column,
            _value(line.a, bounds=True),
            _value(line.b, bounds=False),
            _ratio(line),
            {True: "yes", False: "no", None: NOTHING}[line.lies_within],
        )
        before = cell


def _value(value: Value, *, bounds: bool) -> str:
    if isinstance(value, Absent):
        return value.reason
    if value.method is Method.COUNT:
        return f"{value.value:g}"
    told = _number(value.value)
    return f"{told} [{_number(value.low)}{RANGE}{_number(value.high)}]" if bounds and value.runs > 1 else told


def _number(value: float) -> str:
    return formats.whole(value) if value >= 100.0 else formats.significant(value)


def _ratio(line: Line) -> str:
    if line.bound:
        return formats.bound_words(line.bound)
    return formats.times_value(line.ratio) if line.ratio is not None else NOTHING


def _told(one: Tally) -> str:
    share = f" ({one.within / one.compared:.0%})" if one.compared else ""
    bounds = f"; {one.bounds} not compared: a bound" if one.bounds else ""
    return f"{one.within} of {one.compared}{share}{bounds}"


def _notes(campaigns: Campaigns) -> Iterable[str]:
    yield "Meant to travel: round trips, durable writes, and shares."
    yield "A share is a system's cost by the geometric mean of the costs of all compared systems in the same campaign."
    yield "All else is of one host and its hour: nothing follows from a difference but that it is there."
    for letter, cells in (("A", campaigns.only_a), ("B", campaigns.only_b)):
        if cells:
            yield f"Only in {letter}: {', '.join(cells)}."
    if campaigns.same:
        yield f"The same in both: {', '.join(campaigns.same)}."


def _table(title: str, header: Sequence[str], widths: Sequence[int]) -> Table:
    made = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for name, width in zip(header, widths, strict=True):
        made.add_column(name, width=width, overflow="fold")
    return made


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
