"""A hazard campaign as HTML: fragments for notebooks and for the comparison's page, and a page of its own."""

from collections.abc import Iterable, Sequence
from html import escape

from bench.analysis import names
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.report.figures.drawing import Drawing
from bench.report.formats import MINUS, NOTHING
from bench.report.hazard_markdown import TITLE, scenario_cells, scenario_header
from bench.report.hazard_rows import scenario_tables
from bench.report.hazard_verdicts import (
    COUNTED,
    REASONS_HEADER,
    WINDOW_HEADER,
    Block,
    blocks,
    count_words,
    hazard_facts,
    hazard_limits,
    meanings,
    reason_lines,
    window_lines,
    word_of,
)
from bench.report.html_parts import bullets, figure_element, page, style_element, table, table_of

_UNDECIDED = "untestable"  # neither green nor red
_CLASSES = {
    HazardVerdict.SAFE: "holds",
    HazardVerdict.WITH_FENCING: "condition",
    HazardVerdict.UNSAFE: "fails",
    HazardVerdict.UNAVAILABLE: "unavailable",
    HazardVerdict.NOT_MEASURED: _UNDECIDED,
}


def hazards_page(hazards: HazardEvidence, drawings: Sequence[Drawing]) -> str:
    """One self-contained page: verdicts, figures, and every scenario."""
    body = [
        f"<h1>{TITLE}</h1>",
        '<div class="lockbench">',
        _facts(hazards),
        "<h2>Verdicts</h2>",
        verdicts_html(hazards),
        *(figure_element(drawing) for drawing in drawings if drawing.runs),
        *_window(hazards),
        "<h2>Why the verdicts are what they are</h2>",
        _reasons(hazards),
        "<h2>Every scenario</h2>",
        _scenarios(hazards),
        "<h2>What these trials cannot say</h2>",
        bullets(hazard_limits(hazards)),
        "</div>",
    ]
    return page(TITLE, "\n".join(body))


def facts_fragment(hazards: HazardEvidence) -> str:
    """What was played, and on what, without a document around it."""
    return f'<div class="lockbench">{_facts(hazards)}</div>'


def verdicts_fragment(hazards: HazardEvidence) -> str:
    """Faults by systems, and the reasons, without a document around them."""
    return f'<div class="lockbench">{verdicts_html(hazards)}{_reasons(hazards)}</div>'


def window_fragment(hazards: HazardEvidence) -> str:
    """How each system keeps to pause - TTL, without a document around it."""
    return f'<div class="lockbench">{"".join(_window(hazards))}</div>'


def scenarios_fragment(hazards: HazardEvidence, chosen: Sequence[str] = ()) -> str:
    """Every scenario, or the chosen ones, without a document around them."""
    return f'<div class="lockbench">{_scenarios(hazards, chosen)}</div>'


def verdicts_html(hazards: HazardEvidence) -> str:
    """Faults by systems."""
    told = "".join(_block(block) for block in blocks(hazards))
    if not told:
        return "<p>No run of this campaign says anything about a system under a fault.</p>"
    words = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in meanings(hazards).items())
    return f'{_style()}<dl class="facts">{words}</dl><p>{escape(COUNTED)}</p>{told}'


def _style() -> str:
    """What only these tables need: beside the common style, so that pages without hazards stay as they are."""
    return style_element("hazard_style.html")


def _block(block: Block) -> str:
    rows = []
    for fault in block.faults:
        cells = []
        for system in block.systems:
            one = block.cells.get((fault, system))
            if one is None:
                cells.append(f'<td class="absent"><span>{NOTHING}</span></td>')
                continue
            count = count_words(one)
            small = f" <small>{escape(count)}</small>" if count else ""
            why = escape(one.reason, quote=True)
            kind = _UNDECIDED if one.counted.few else _CLASSES[one.verdict]
            cells.append(f'<td class="verdict {kind}" title="{why}"><span>{escape(word_of(one))}{small}</span></td>')
        rows.append(f'<tr><th scope="row">{escape(fault)}</th>{"".join(cells)}</tr>')
    return table_of(("Fault", *map(names.title, block.systems)), rows, "matrix")


def _facts(hazards: HazardEvidence) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in hazard_facts(hazards))
    return f'<dl class="facts">{items}</dl>'


def _window(hazards: HazardEvidence) -> Iterable[str]:
    if hazards.window_fits:
        yield f"<h2>The hazard window against pause {MINUS} TTL</h2>"
        yield table(WINDOW_HEADER, [(escape(first), *rest) for first, *rest in window_lines(hazards)])


def _reasons(hazards: HazardEvidence) -> str:
    return table(REASONS_HEADER, [(escape(first), *rest) for first, *rest in reason_lines(hazards)])


def _scenarios(hazards: HazardEvidence, chosen: Sequence[str] = ()) -> str:
    told = [
        "<p>One line for each system and set of parameters, repetitions together: counts are added, times are medians "
        "with their range. n is the number of trials.</p>"
    ]
    for one in scenario_tables(hazards):
        if chosen and one.scenario not in chosen:
            continue
        about = f" <small>{escape(one.fault)}</small>" if one.fault != one.scenario else ""
        told.append(f"<h3>{escape(one.scenario)}{about}</h3>")
        lines = [scenario_cells(one, row) for row in one.rows]
        told.append(table(scenario_header(one), [(escape(first), *rest) for first, *rest in lines]))
    return "".join(told)
