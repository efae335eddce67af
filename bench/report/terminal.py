"""The comparison on the terminal, in tables of 100 columns, or one cell below the other where there is less room."""

import re
from collections.abc import Iterable
from dataclasses import replace

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Styled

from bench.analysis.evidence import Evidence
from bench.analysis.verdicts import Verdict
from bench.report import workloads_table
from bench.report.claims_table import tally, untested, verdict_rows
from bench.report.comparison import build_comparison
from bench.report.fitting import WIDTH, Fitting
from bench.report.table_model import Comparison, Text

_VERDICT_STYLES = {
    Verdict.HOLDS: "green",
    Verdict.FAILS: "red",
    Verdict.CONDITION: "yellow",
    Verdict.CANNOT_SAY: "dim",
    Verdict.NOT_TESTABLE: "dim",
    Verdict.NOT_MEASURED: "dim",
}


def comparison_terminal(evidence: Evidence) -> RenderableType:
    """The glance, the numbers with their bounds, the settings and the notes, one below the other."""
    comparison = build_comparison(evidence)
    return Group(*_parts(comparison))


def numbers_terminal(evidence: Evidence) -> RenderableType:
    """The numbers alone with their notes, for the end of a campaign."""
    return Group(*_parts(replace(build_comparison(evidence), columns=(), method=())))


def claims_terminal(evidence: Evidence) -> RenderableType:
    """The verdicts."""
    rows = verdict_rows(evidence)
    table = compact_table("Claims and verdicts")
    for header, width in (
        ("Claim", 6),
        ("System", 19),
        ("Claimed", 14),
        ("Measured", 16),
        ("Verdict", 14),
        ("Why", 26),
    ):
        table.add_column(header, width=width, overflow="fold")
    for row in rows:
        verdict = Styled(row.shown, style="" if row.favourable else _VERDICT_STYLES[row.verdict])
        table.add_row(row.id, row.system, row.claimed, row.measured, verdict, row.why)
    missing = len(untested(evidence))
    return Group(Fitting(table), Styled(f"{tally(rows)}; {missing} claims not measured by this campaign."))


def _parts(comparison: Comparison) -> Iterable[RenderableType]:
    own = workloads_table.has_own(comparison)
    if not own or workloads_table.has_usual(comparison):
        if comparison.columns:
            yield Fitting(_glance(comparison))
        yield Fitting(_numbers(comparison))
    if own:
        yield Fitting(_workloads(comparison))
    for number, note in enumerate(comparison.footnotes, 1):
        yield Padding(Styled(f"[{number}] {note}", style="dim"), (0, 0, 0, 1))
    for line in comparison.method:
        yield Padding(Styled(line, style="dim"), (0, 0, 0, 1))


def compact_table(title: str, *, dense: bool = False) -> Table:
    """An empty table of our width, without lines between its columns; `dense`: as narrow as it can be."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        width=None if dense else WIDTH,
        pad_edge=False,
        padding=(0, 0) if dense else (0, 1, 0, 0),
    )


def _glance(comparison: Comparison) -> Table:
    table = compact_table("Claimed and measured")
    table.add_column("", width=13, overflow="fold")
    for column in comparison.columns:
        heading = Styled(column.title)
        if column.tags:
            heading.append("\n" + ", ".join(column.tags), style="yellow")
        table.add_column(heading, overflow="fold", ratio=1)
    for one in comparison.properties:
        table.add_row(
            Styled(f"{one.title}\nclaimed", style="bold"),
            *(Styled(one.pairs[column.system].claimed, style="dim") for column in comparison.columns),
        )
        table.add_row(
            f"measured: {one.detail}" if one.detail else "measured",
            *(_measured(one.pairs[column.system].measured) for column in comparison.columns),
            end_section=True,
        )
    for context in comparison.contexts:
        table.add_row(context.title, *(context.texts[column.system] for column in comparison.columns))
    return table


def _numbers(comparison: Comparison) -> Table:
    table = compact_table("Every row, with the bounds of its runs (CPU: of the load generator, for one pair)")
    table.add_column("System", width=18, overflow="fold")
    for header in ("p50, ms", "p99, ms", "Pairs/s", "Contention"):
        table.add_column(header, overflow="fold", ratio=1)
    table.add_column("p50 / floor", justify="right", width=7, overflow="fold")
    table.add_column("CPU µs", justify="right", width=6, overflow="fold")
    table.add_column("Runs", width=5, overflow="fold")
    for row in comparison.rows:
        name = Styled(row.title)
        if row.tags:
            name.append(f" ({', '.join(row.tags)})", style="yellow")
        table.add_row(
            name,
            _measured(row.acquire_ms_p50),
            _measured(row.acquire_ms_p99),
            _measured(row.throughput_pairs_per_s),
            _measured(row.contention_amplification),
            row.costs.p50_by_floor.words.partition(" [")[0],
            row.client_cpu_us_per_pair.words.partition(" [")[0],  # its bounds would not fit
            row.runs_per_cell,
        )
    return table


def _workloads(comparison: Comparison) -> Table:
    table = compact_table(workloads_table.TITLE)
    for header, ratio in zip(workloads_table.HEADER, (2, 4, 5, 2, 2, 2, 2), strict=True):
        table.add_column(header, overflow="fold", ratio=ratio)
    for row, cells in workloads_table.rows(comparison):
        table.add_row(row.title, *(_measured(cell) if isinstance(cell, Text) else cell for cell in cells))
    return table


def _measured(text: Text) -> Styled:
    # The table would break these long words anywhere.
    words = re.sub(r"(generator|machine|client)-bound", "\\1-\nbound", text.words)
    styled = Styled(words, style="bold" if text.measured else "dim italic")
    for mark in text.marks:
        styled.append(f" [{mark}]", style="dim")
    return styled
