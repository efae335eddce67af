"""The comparison and the verdicts as HTML: fragments for notebooks, and one page that needs no other file."""

from collections.abc import Iterable, Sequence
from html import escape

from bench.analysis.evidence import Evidence
from bench.analysis.verdicts import Verdict
from bench.report import contention_table, costs, curve_table, workloads_table
from bench.report.claims_table import VerdictRow, tally, untested, verdict_rows
from bench.report.comparison import build_comparison
from bench.report.figures.drawing import Drawing
from bench.report.hazard_page import verdicts_html
from bench.report.html_parts import bullets, figure_element, page, table, table_cell, table_of, tagged
from bench.report.table_model import Column, Comparison, Text

_VERDICT_CLASSES = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "fails",
    Verdict.CONDITION: "condition",
    Verdict.CANNOT_SAY: "untestable",
    Verdict.NOT_TESTABLE: "untestable",
    Verdict.NOT_MEASURED: "untestable",
}


def comparison_page(evidence: Evidence, drawings: Sequence[Drawing], under_faults: Sequence[Drawing] = ()) -> str:
    """One self-contained page: the comparison, the figures and the verdicts; `under_faults` are a hazard campaign's."""
    comparison = build_comparison(evidence)
    body = [
        "<h1>Distributed locks: claimed and measured</h1>",
        '<div class="lockbench">',
        _facts(comparison),
        "<h2>At a glance</h2>",
        _twice(comparison),
        _glance(comparison),
        "<h2>Claimed beside measured, with bounds</h2>",
        _numbers(comparison),
        _costs(comparison),
        *(figure_element(drawing) for drawing in drawings),
        *_under_faults(evidence, under_faults),
        "<h2>What becomes of the claims</h2>",
        _claims(evidence),
        _workloads(comparison),
        _who_next(comparison),
        _climbs(comparison),
        "<h2>What each row was measured on</h2>",
        _settings(comparison),
        "<h2>How to read this</h2>",
        bullets(comparison.method),
        _notes(comparison),
        "</div>",
    ]
    return page("Distributed locks: claimed and measured", "\n".join(body))


def _under_faults(evidence: Evidence, drawings: Sequence[Drawing]) -> Iterable[str]:
    if evidence.hazards is not None:
        yield "<h2>Under faults</h2>"
        yield verdicts_html(evidence.hazards)
        yield from (figure_element(drawing) for drawing in drawings if drawing.runs)


def comparison_fragment(evidence: Evidence) -> str:
    """The glance, the numbers and their notes, without a document around them."""
    comparison = build_comparison(evidence)
    parts = (_twice(comparison), _glance(comparison), _numbers(comparison), _notes(comparison))
    return f'<div class="lockbench">{"".join(parts)}</div>'


def settings_fragment(evidence: Evidence) -> str:
    """What was measured on what, and how to read it."""
    comparison = build_comparison(evidence)
    return f'<div class="lockbench">{_facts(comparison)}{_settings(comparison)}{bullets(comparison.method)}</div>'


def claims_fragment(evidence: Evidence) -> str:
    """The verdicts, without a document around them."""
    return f'<div class="lockbench">{_claims(evidence)}</div>'


def claim_rows_fragment(rows: Sequence[VerdictRow]) -> str:
    """Verdicts on claims that were chosen already, without a document around them."""
    return f'<div class="lockbench"><p>Verdicts: {escape(tally(rows))}.</p>{_claim_rows(rows)}</div>'


def _facts(comparison: Comparison) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in comparison.facts)
    return f'<dl class="facts">{items}</dl>'


def _twice(comparison: Comparison) -> str:
    return f"<p>{escape(comparison.twice)}</p>"


def _glance(comparison: Comparison) -> str:
    """Systems side by side; on a phone, property by property with the claim beside the measurement."""
    head = "".join(f'<th scope="col">{_heading(column)}</th>' for column in comparison.columns)
    rows = []
    for one in comparison.properties:
        pairs = [one.pairs[column.system] for column in comparison.columns]
        claimed = "".join(f"<td>{escape(pair.claimed)}</td>" for pair in pairs)
        measured = "".join(table_cell(pair.measured) for pair in pairs)
        detail = f"measured: {one.detail}" if one.detail else "measured"
        rows.append(f'<tr class="claimed"><th scope="row">{escape(one.title)}, claimed</th>{claimed}</tr>')
        rows.append(f'<tr class="measured"><th scope="row">{escape(detail)}</th>{measured}</tr>')
    for context in comparison.contexts:
        cells = "".join(f"<td>{escape(context.texts[column.system])}</td>" for column in comparison.columns)
        rows.append(f'<tr class="context"><th scope="row">{escape(context.title)}</th>{cells}</tr>')
    wide = (
        f'<div class="wide scroll"><table class="glance"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return wide + f'<div class="narrow">{"".join(_narrow(comparison))}</div>'


def _narrow(comparison: Comparison) -> Iterable[str]:
    for one in comparison.properties:
        detail = f" <small>{escape(one.detail)}</small>" if one.detail else ""
        rows = "".join(
            f'<tr><th scope="row">{_heading(column)}</th><td>{escape(one.pairs[column.system].claimed)}</td>'
            f"{table_cell(one.pairs[column.system].measured)}</tr>"
            for column in comparison.columns
        )
        yield (
            f'<h3>{escape(one.title)}{detail}</h3><table><thead><tr><th scope="col">System</th>'
            f'<th scope="col">Claimed</th><th scope="col">Measured</th></tr></thead><tbody>{rows}</tbody></table>'
        )


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
        "Contention: p99 ratio",
        "Client CPU, µs/pair",
        "Runs of each",
    )
    rows = [
        (
            tagged(row.title, row.tags),
            row.claimed_latency_ms,
            row.acquire_ms_p50,
            row.acquire_ms_p99,
            row.acquire_ms_p999,
            row.costs.floor_ms,
            row.costs.p50_by_floor,
            row.claimed_throughput_per_s,
            row.throughput_pairs_per_s,
            row.contention_amplification,
            row.client_cpu_us_per_pair,
            row.runs_per_cell,
        )
        for row in comparison.rows
    ]
    return table(header, rows)


def _costs(comparison: Comparison) -> str:
    titles = [tagged(row.title, row.tags) for row in comparison.rows]
    cells = table(costs.HEADER, [(title, *texts) for title, texts in zip(titles, costs.rows(comparison), strict=True)])
    words = escape(costs.EXPLANATION).replace("`answer`", "<em>answer</em>").replace("`execute`", "<em>execute</em>")
    return f"<h2>{escape(costs.TITLE)}</h2><p>{words.replace('`fsync`', '<em>fsync</em>')}</p>{cells}"


def _workloads(comparison: Comparison) -> str:
    lines = [(tagged(row.title, row.tags), *rest) for row, rest in workloads_table.rows(comparison)]
    words = escape(workloads_table.EXPLANATION).replace("`rate`", "<em>rate</em>")
    return f"<h2>{escape(workloads_table.TITLE)}</h2><p>{words}</p>{table(workloads_table.HEADER, lines)}"


def _who_next(comparison: Comparison) -> str:
    lines = [(tagged(row.title, row.tags), *rest) for row, rest in contention_table.rows(comparison)]
    return _section(contention_table.TITLE, contention_table.EXPLANATION, contention_table.HEADER, lines)


def _climbs(comparison: Comparison) -> str:
    lines = [(tagged(row.title, row.tags), *rest) for row, rest in curve_table.rows(comparison)]
    return _section(curve_table.TITLE, curve_table.EXPLANATION, curve_table.HEADER, lines)


def _section(title: str, words: str, header: Sequence[str], lines: Sequence[Sequence[str | Text]]) -> str:
    return f"<h2>{escape(title)}</h2><p>{escape(words)}</p>{table(header, lines)}" if lines else ""


def costs_fragment(evidence: Evidence) -> str:
    """What an acquire needs, and what the servers time themselves, without a document around it."""
    return f'<div class="lockbench">{_costs(build_comparison(evidence))}</div>'


def _settings(comparison: Comparison) -> str:
    header = (
        "System",
        "Durability, as the server says",
        "Servers",
        "Wait when contended",
        "Source",
        "Version",
        "Runs counted",
    )
    rows = [
        (tagged(row.title, row.tags), row.durability, row.nodes, row.wait, row.source, row.version, row.runs)
        for row in comparison.rows
    ]
    return table(header, rows)


def _claims(evidence: Evidence) -> str:
    rows = verdict_rows(evidence)
    missing = untested(evidence)
    told = f"<p>Verdicts: {escape(tally(rows))}. Latencies are p50 to p99 of an uncontended acquire.</p>"
    rest = (
        f"<p>No experiment of this campaign is about the other {len(missing)} claims, which stay <em>not measured</em>:"
        f' <span class="runs">{", ".join(missing)}</span>.</p>'
        if missing
        else ""
    )
    return told + _claim_rows(rows) + rest


def _claim_rows(rows: Iterable[VerdictRow]) -> str:
    lines = []
    for row in rows:
        kind = "favourable" if row.favourable else _VERDICT_CLASSES[row.verdict]
        lines.append(
            f'<tr><th scope="row">{escape(row.id)} <span class="runs">{escape(row.source)}</span></th>'
            f"<td>{escape(row.system)}</td><td>{escape(row.claimed)}</td>"
            f'<td class="value">{escape(row.measured)}</td>'
            f'<td class="verdict {kind}">{escape(row.shown)}</td>'
            f"<td>{escape(row.why)}</td>"
            f'<td class="runs">{escape(row.evidence)}</td></tr>'
        )
    return table_of(("Claim", "System", "Claimed", "Measured", "Verdict", "Why", "Runs"), lines)


def _heading(column: Column) -> str:
    return tagged(column.title, column.tags)


def _notes(comparison: Comparison) -> str:
    if not comparison.footnotes:
        return ""
    items = "".join(
        f'<li id="note-{number}">{escape(note)}</li>' for number, note in enumerate(comparison.footnotes, 1)
    )
    return f"<h2>Notes</h2><ol>{items}</ol>"
