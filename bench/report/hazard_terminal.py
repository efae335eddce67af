"""A hazard campaign on the terminal, in tables of 100 columns: each scenario, and then the verdicts."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text as Styled

from bench.analysis import names
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.tokens import TokenVerdict
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.analysis.hazards.window import SCENARIOS as WINDOW_SCENARIOS
from bench.report.fitting import Fitting
from bench.report.formats import NOTHING
from bench.report.hazard_rows import VOID, Row, ScenarioTable, label, median_words, on_one_line, scenario_tables
from bench.report.hazard_verdicts import (
    COUNTED,
    HELD,
    WINDOW_HEADER,
    Block,
    blocks,
    count_words,
    meanings,
    window_lines,
    word_of,
)
from bench.report.terminal import compact_table

_MEASURES_APART, _COLUMNS_APART = 5, 9  # more than that leave no room for each other
_COLUMNS_ROOMY = 4  # up to that a system's name may be as long as it is
_SHORT = {
    str(HazardVerdict.WITH_FENCING): "with fence",
    HELD: "fence held",
}  # one line where a column of verdicts is narrow
_SYSTEM_COLUMNS, _VERDICT_COLUMNS, _MEASURED_COLUMNS = 12, 13, 44
_MEASURED_LEAST = 18
_FULL_BLOCK = 6  # systems beside each other: each gets what is left
_STYLES = {
    str(HazardVerdict.SAFE): "green",
    str(HazardVerdict.WITH_FENCING): "yellow",
    str(HazardVerdict.UNSAFE): "red",
    str(HazardVerdict.UNAVAILABLE): "magenta",
    str(TokenVerdict.RISES): "green",
    str(TokenVerdict.LIES): "red",
    "checks tokens": "green",
    "does not check": "red",
}


def hazard_terminal(hazards: HazardEvidence) -> RenderableType:
    """Every scenario that was played, the hazard window where pauses were, and the verdicts."""
    return Group(*_parts(hazards))


def _parts(hazards: HazardEvidence) -> Iterable[RenderableType]:
    tables = scenario_tables(hazards)
    if not tables:
        yield Styled("No run of this campaign was started.", style="dim")
        return
    last_pause = next((one.scenario for one in reversed(tables) if one.scenario in WINDOW_SCENARIOS), None)
    for one in tables:
        yield from _scenario(one)
        if one.scenario == last_pause and hazards.window_fits:
            yield _window(hazards)
    if any(_repeated(one) for one in tables):
        yield Padding(Styled("Times are medians, with the range of the trials below.", style="dim"), (0, 0, 1, 1))
    for block in blocks(hazards):
        yield _verdicts(block)
    if hazards.verdicts:
        yield Padding(Styled(_explanation(hazards), style="dim"), (0, 0, 0, 1))


def _scenario(one: ScenarioTable) -> Iterable[RenderableType]:
    table = compact_table(f"{one.scenario}: {one.fault}" if one.fault != one.scenario else one.scenario, dense=True)
    longest = max((len(word) for row in one.rows for word in row.title.split()), default=1)
    crowded = _columns(one) > _COLUMNS_ROOMY
    table.add_column("System", min_width=longest, max_width=max(longest, _SYSTEM_COLUMNS) if crowded else None)
    for name in one.parameters:
        table.add_column(label(name), justify="right", max_width=22, overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    if one.has_overlaps:
        table.add_column("two holders, s", justify="right", max_width=11, overflow="fold")
    if one.has_late_writes:
        table.add_column("late accepted", justify="right", max_width=8)
        table.add_column("late refused", justify="right", max_width=7)
    if one.has_lost_updates:
        table.add_column("lost updates", justify="right", max_width=7)
    if one.has_tokens:
        table.add_column("token faults", justify="right", max_width=max(6, *(len(_tokens(row)) for row in one.rows)))
    if _apart(one):
        for name in one.measures:
            table.add_column(label(name), justify="right", max_width=13, overflow="fold")
    elif one.measures:
        table.add_column("measured", min_width=_MEASURED_LEAST, max_width=_MEASURED_COLUMNS, overflow="fold")
    table.add_column("verdict", max_width=_VERDICT_COLUMNS, no_wrap=True)
    notes: list[str] = []
    before = None
    for row in one.rows:
        if row.void:
            notes.append(row.void)
        first = before is None or before.system != row.system
        # A verdict is of a system: said once, and again only where it changes.
        told = bool(row.void) or before is None or first or before.verdict != row.verdict
        table.add_row(*_cells(one, row, len(notes), first=first, told=told))
        before = row
    yield Fitting(table)
    for number, note in enumerate(notes, 1):
        yield Padding(Styled(f"[{number}] {note}", style="dim"), (0, 0, 0, 1))


def _cells(one: ScenarioTable, row: Row, note: int, *, first: bool, told: bool) -> Iterable[RenderableType]:
    yield Styled(row.title if first else "", style="bold")
    for name in one.parameters:
        yield row.parameters[name]
    yield "" if row.void else str(row.trials)
    if one.has_overlaps:
        yield _below(*median_words(row.overlap_s, digits=3)) if row.overlap_s else ""
    if one.has_late_writes:
        yield _count(row, row.late_accepted, "red")
        yield _count(row, row.late_refused, "green")
    if one.has_lost_updates:
        yield _count(row, row.lost_updates, "red")
    if one.has_tokens:
        yield _tokens(row)
    if _apart(one):
        for name in one.measures:
            yield _below(*row.measures.get(name, ("", "")))
    elif one.measures:
        yield "; ".join(f"{label(name)} {on_one_line(*words)}" for name, words in row.measures.items())
    verdict = f"{VOID} [{note}]" if row.void else (_short(row.verdict) or NOTHING) if told else ""
    yield Styled(verdict, style="dim" if row.void else _STYLES.get(row.verdict, ""))


def _short(verdict: str) -> str:
    return next((short for word, short in _SHORT.items() if word == verdict), verdict)


def _explanation(hazards: HazardEvidence) -> str:
    """One line a word; a short form is told with the word that it stands for."""
    lines = [
        f"{_SHORT[word]} ({word}): {meaning}" if word in _SHORT else f"{word}: {meaning}"
        for word, meaning in meanings(hazards).items()
    ]
    return "\n".join([*lines, COUNTED])


def _tokens(row: Row) -> str:
    return f"{row.token_faults} of {row.token_pairs}" if row.token_pairs else ""


def _repeated(one: ScenarioTable) -> bool:
    return any(len(row.overlap_s) > 1 for row in one.rows)


def _columns(one: ScenarioTable) -> int:
    """How many columns there are beside system, n and verdict, where each measure has its own."""
    counted = one.has_overlaps + 2 * one.has_late_writes + one.has_lost_updates + one.has_tokens
    return len(one.parameters) + len(one.measures) + counted


def _apart(one: ScenarioTable) -> bool:
    """Has each measure room for a column of its own?"""
    return len(one.measures) <= _MEASURES_APART and _columns(one) <= _COLUMNS_APART


def _below(middle: str, spread: str) -> Styled:
    words = Styled(middle)
    if spread:
        words.append(f"\n{spread}", style="dim")
    return words


def _count(row: Row, count: int, style: str) -> Styled:
    return Styled("" if row.void else str(count), style=f"bold {style}" if count else "")


def _window(hazards: HazardEvidence) -> RenderableType:
    table = compact_table("The hazard window against pause \u2212 TTL", dense=True)
    for number, name in enumerate(WINDOW_HEADER):
        last = number == len(WINDOW_HEADER) - 1
        table.add_column(
            name,
            justify="right" if number > 0 and not last else "left",
            max_width=None if last else 15,
            overflow="fold",
        )
    for line in window_lines(hazards):
        table.add_row(*line)
    return Fitting(table)


def _verdicts(block: Block) -> RenderableType:
    table = compact_table("Verdicts", dense=True)
    table.add_column("Fault", width=24, overflow="fold")
    for system in block.systems:
        table.add_column(
            names.title(system), width=_VERDICT_COLUMNS if len(block.systems) < _FULL_BLOCK else 11, overflow="fold"
        )
    for fault in block.faults:
        cells = []
        for system in block.systems:
            one = block.cells.get((fault, system))
            if one is None:
                cells.append(Styled("\u00b7", style="dim"))
                continue
            words = Styled(_short(word_of(one)), style=_STYLES.get(word_of(one), "dim"))
            if count := count_words(one):
                words.append(f"\n{count}", style="dim")
            cells.append(words)
        table.add_row(fault, *cells)
    return Fitting(table)
