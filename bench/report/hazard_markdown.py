"""A hazard campaign as Markdown: verdicts, windows, every scenario, and what the campaign cannot say."""

from collections.abc import Iterable, Sequence

from bench.analysis import names
from bench.analysis.hazards.evidence import HazardEvidence
from bench.report import formats
from bench.report.figures.drawing import Drawing
from bench.report.formats import NOTHING
from bench.report.hazard_rows import Row, ScenarioTable, label, median_words, on_one_line, scenario_tables
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
from bench.report.markdown_table import GENERATED, joined, safe, table

TITLE = "Distributed locks under faults"


def hazards_markdown(hazards: HazardEvidence) -> str:
    """The whole hazard campaign as one page, without its figures."""
    return joined(
        GENERATED,
        f"# {TITLE}",
        *hazard_parts(hazards, "##"),
        "## What these trials cannot say",
        "\n".join(f"- {safe(sentence)}" for sentence in hazard_limits(hazards)),
    )


def hazard_parts(
    hazards: HazardEvidence, heading: str, drawings: Sequence[Drawing] = (), figures: str = ""
) -> Iterable[str]:
    """The parts of a page, without its limits.

    `heading` is the marks before a part's title, `figures` the path to the drawings' folder.
    """
    yield "\n".join(f"- **{name}:** {safe(value)}" for name, value in hazard_facts(hazards))
    yield f"{heading} Verdicts"
    yield "\n".join(f"- **{word}:** {meaning}" for word, meaning in meanings(hazards).items())
    yield COUNTED
    for block in blocks(hazards):
        yield _verdicts(block)
    if not hazards.verdicts:
        yield "No run of this campaign says anything about a system under a fault."
    for drawing in drawings:
        if drawing.runs:
            yield f"![{safe(drawing.title)}]({figures}/{drawing.name}.svg)"
    if hazards.window_fits:
        yield f"{heading} The hazard window against pause {formats.MINUS} TTL"
        yield table(WINDOW_HEADER, window_lines(hazards))
    if hazards.verdicts:
        yield f"{heading} Why the verdicts are what they are"
        yield table(REASONS_HEADER, reason_lines(hazards))
    yield f"{heading} Every scenario"
    yield (
        "One line for each system and set of parameters, repetitions together: counts are added, times are medians "
        "with their range. n is the number of trials."
    )
    for one in scenario_tables(hazards):
        yield f"{heading}# {one.scenario}" + (f": {one.fault}" if one.fault != one.scenario else "")
        yield _scenario(one)


def _verdicts(block: Block) -> str:
    lines = []
    for fault in block.faults:
        cells = []
        for system in block.systems:
            one = block.cells.get((fault, system))
            count = count_words(one) if one else ""
            cells.append(NOTHING if one is None else f"**{word_of(one)}**{f' ({count})' if count else ''}")
        lines.append((fault, *cells))
    return table(("Fault", *(names.title(system) for system in block.systems)), lines)


def _scenario(one: ScenarioTable) -> str:
    return table(scenario_header(one), [scenario_cells(one, row) for row in one.rows])


def scenario_header(one: ScenarioTable) -> tuple[str, ...]:
    """The columns of a scenario's table where there is room for all of them."""
    return (
        "System",
        *(label(name) for name in one.parameters),
        "n",
        *(["two holders, s"] if one.has_overlaps else []),
        *(["late writes accepted", "refused"] if one.has_late_writes else []),
        *(["lost updates"] if one.has_lost_updates else []),
        *(["token faults"] if one.has_tokens else []),
        *(label(name) for name in one.measures),
        "Verdict",
        "Runs",
    )


def scenario_cells(one: ScenarioTable, row: Row) -> tuple[str, ...]:
    """The cells of one row; a void one has its reason for a verdict."""
    overlap = on_one_line(*median_words(row.overlap_s, digits=3)) if row.overlap_s else NOTHING

    def count(value: int) -> str:
        return NOTHING if row.void else str(value)

    return (
        row.title,
        *(row.parameters[name] for name in one.parameters),
        count(row.trials),
        *([overlap] if one.has_overlaps else []),
        *([count(row.late_accepted), count(row.late_refused)] if one.has_late_writes else []),
        *([count(row.lost_updates)] if one.has_lost_updates else []),
        *([f"{row.token_faults} of {row.token_pairs}" if row.token_pairs else NOTHING] if one.has_tokens else []),
        *(on_one_line(*row.measures[name]) if name in row.measures else NOTHING for name in one.measures),
        f"void: {row.void}" if row.void else row.verdict or NOTHING,
        formats.run_list(row.evidence),
    )
