"""The comparison and the verdicts as Markdown: readable as text, and rendered by any forge."""

from collections.abc import Iterable, Sequence

from bench.analysis.evidence import Evidence
from bench.report import contention_table, costs, curve_table, workloads_table
from bench.report.claims_table import tally, untested, verdict_rows
from bench.report.comparison import build_comparison
from bench.report.figures import ALL, hazard_drawings
from bench.report.hazard_markdown import hazard_parts
from bench.report.limits import limits
from bench.report.markdown_table import GENERATED, joined, safe, table
from bench.report.table_model import Column, Comparison, LongRow, Text


def comparison_markdown(evidence: Evidence) -> str:
    """The whole comparison as one page."""
    comparison = build_comparison(evidence)
    return joined(GENERATED, "# Distributed locks: claimed and measured", *_comparison_parts(comparison))


def claims_markdown(evidence: Evidence) -> str:
    """The verdicts as one page."""
    return joined(GENERATED, "# Claims and verdicts", *_claims_parts(evidence))


def results_markdown(evidence: Evidence, figures: str) -> str:
    """Comparison, figures and verdicts as one page; `figures` is the path from the page to the figures' folder."""
    comparison = build_comparison(evidence)
    drawings = [draw(evidence) for draw in ALL]
    return joined(
        GENERATED,
        "# Results of the reference campaign",
        *_comparison_parts(comparison),
        "## Figures",
        *(f"![{safe(one.title)}]({figures}/{one.name}.svg)" for one in drawings),
        *_under_faults(evidence, figures),
        "## Claims and verdicts",
        *_claims_parts(evidence),
        "## Limits",
        "\n".join(f"- {safe(sentence)}" for sentence in limits(evidence)),
    )


def _under_faults(evidence: Evidence, figures: str) -> Iterable[str]:
    hazards = evidence.hazards
    if hazards is not None:
        yield "## Under faults"
        yield from hazard_parts(hazards, "###", hazard_drawings(hazards, evidence.claims), figures)


def _comparison_parts(comparison: Comparison) -> Iterable[str]:
    yield "\n".join(f"- **{name}:** {safe(value)}" for name, value in comparison.facts)
    yield "## At a glance"
    yield comparison.twice
    yield _glance(comparison)
    yield "## Claimed beside measured, with bounds"
    yield _numbers(comparison)
    yield f"## {costs.TITLE}"
    yield costs.EXPLANATION
    yield _costs(comparison)
    yield f"## {workloads_table.TITLE}"
    yield workloads_table.EXPLANATION
    yield _workloads(comparison)
    if who := contention_table.rows(comparison):
        yield f"## {contention_table.TITLE}"
        yield contention_table.EXPLANATION
        yield table(contention_table.HEADER, [_line(row, cells) for row, cells in who])
    if climbs := curve_table.rows(comparison):
        yield f"## {curve_table.TITLE}"
        yield curve_table.EXPLANATION
        yield table(curve_table.HEADER, [_line(row, cells) for row, cells in climbs])
    yield "## What each row was measured on"
    yield _settings(comparison)
    yield "## How to read this"
    yield "\n".join(f"- {safe(line)}" for line in comparison.method)
    if comparison.footnotes:
        yield "## Notes"
        yield "\n".join(f"- [{number}] {safe(note)}" for number, note in enumerate(comparison.footnotes, 1))


def _claims_parts(evidence: Evidence) -> Iterable[str]:
    rows = verdict_rows(evidence)
    header = ("Claim", "Source", "System", "Claimed", "Measured", "Verdict", "Why", "Runs")
    lines = [
        (row.id, row.source, row.system, row.claimed, row.measured, f"**{row.shown}**", row.why, row.evidence)
        for row in rows
    ]
    missing = untested(evidence)
    lab = f", hazard campaign {evidence.hazards.campaign.campaign_id}" if evidence.hazards is not None else ""
    yield (
        f"Campaign {evidence.campaign.campaign_id}{lab}. Latencies are p50 to p99 of an uncontended acquire; rates are "
        f"pairs of acquire and release. Verdicts: {tally(rows)}."
    )
    yield table(header, lines) if lines else "No claim was tested."
    if missing:
        yield (
            f"No experiment of this campaign is about the other {len(missing)} claims, which stay `not measured`: "
            f"{', '.join(missing)}."
        )


def _glance(comparison: Comparison) -> str:
    lines: list[Sequence[str]] = []
    for one in comparison.properties:
        detail = f": {one.detail}" if one.detail else ""
        claimed = [one.pairs[column.system].claimed for column in comparison.columns]
        measured = [_strong(one.pairs[column.system].measured) for column in comparison.columns]
        lines.append((f"{one.title}, claimed", *claimed))
        lines.append((f"measured{detail}", *measured))
    for context in comparison.contexts:
        lines.append((f"{context.title}", *(context.texts[column.system] for column in comparison.columns)))
    return table(("", *(_heading(column) for column in comparison.columns)), lines)


def _numbers(comparison: Comparison) -> str:
    header = (
        "System",
        "Claimed, ms",
        "p50, ms",
        "p99, ms",
        "p99.9, ms",
        "Floor, ms",
        "p50 / floor",
        "Claimed, per s",
        "Pairs/s",
        "Claimed contention",
        "Contention, p99 ratio",
        "Client CPU, µs/pair",
        "Runs of each",
    )
    lines = [
        (
            row.title,
            row.claimed_latency_ms,
            _strong(row.acquire_ms_p50),
            _strong(row.acquire_ms_p99),
            _strong(row.acquire_ms_p999),
            _plain(row.costs.floor_ms),
            _strong(row.costs.p50_by_floor),
            row.claimed_throughput_per_s,
            _strong(row.throughput_pairs_per_s),
            row.claimed_amplification,
            _strong(row.contention_amplification),
            _plain(row.client_cpu_us_per_pair),
            row.runs_per_cell,
        )
        for row in comparison.rows
    ]
    return table(header, lines)


def _workloads(comparison: Comparison) -> str:
    lines = [
        (row.title, name, asked, _strong(p50), _strong(p99), _strong(rate), load)
        for row, (name, asked, p50, p99, rate, load) in workloads_table.rows(comparison)
    ]
    return table(workloads_table.HEADER, lines) if lines else "No workload was measured."


def _line(row: LongRow, cells: Sequence[str | Text]) -> Sequence[str]:
    return (row.title, *(_strong(cell) if isinstance(cell, Text) else cell for cell in cells))


def _costs(comparison: Comparison) -> str:
    titles = [row.title for row in comparison.rows]
    cells = [[_plain(text) for text in texts] for texts in costs.rows(comparison)]
    return table(costs.HEADER, [(title, *row) for title, row in zip(titles, cells, strict=True)])


def _settings(comparison: Comparison) -> str:
    header = (
        "System",
        "Tags",
        "Durability, as the server says",
        "Servers",
        "Wait when contended",
        "Source",
        "Version",
        "Runs",
    )
    lines = [
        (
            row.title,
            ", ".join(row.tags),
            row.durability,
            row.nodes,
            row.wait,
            row.source,
            row.version,
            f"{row.runs} counted",
        )
        for row in comparison.rows
    ]
    return table(header, lines)


def _heading(column: Column) -> str:
    return f"{column.title} ({', '.join(column.tags)})" if column.tags else column.title


def _strong(text: Text) -> str:
    return (f"**{text.words}**" if text.measured else text.words) + _marks(text)


def _plain(text: Text) -> str:
    return text.words + _marks(text)


def _marks(text: Text) -> str:
    return "".join(f" [{mark}]" for mark in text.marks)
