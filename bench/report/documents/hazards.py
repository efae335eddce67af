"""A hazard campaign as a document: verdicts, windows, every scenario, and what the campaign cannot say."""

from collections.abc import Callable, Iterable, Sequence

from bench.analysis import names
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.subjects import Line
from bench.analysis.hazards.tokens import TokenVerdict
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.analysis.hazards.window import WindowFit
from bench.records.numbers import MINUS, percent
from bench.report import formats
from bench.report.formats import NOTHING
from bench.report.hazard_rows import VOID, Row, ScenarioTable, label, median_words, on_one_line, scenario_tables
from bench.report.hazard_verdicts import (
    COUNTED,
    HELD,
    IN_ONE_RUN,
    Matrix,
    count_words,
    hazard_facts,
    hazard_limits,
    matrices,
    meanings,
    word_of,
)
from bench.report.model import (
    Block,
    Bullets,
    Column,
    Document,
    FactList,
    Figure,
    Fit,
    Heading,
    Look,
    Paragraph,
    Picture,
    Table,
    Text,
)

TITLE = "Distributed locks under faults"
_EXPLANATION = (
    "One line per system and set of parameters, all repetitions together: counts are sums, times are medians with "
    "their range. n is the number of trials."
)
_LOOKS = {
    str(HazardVerdict.SAFE): Look.HOLDS,
    str(HazardVerdict.WITH_FENCING): Look.CONDITION,
    str(HazardVerdict.UNSAFE): Look.FAILS,
    IN_ONE_RUN: Look.FAILS,
    str(HazardVerdict.UNAVAILABLE): Look.UNAVAILABLE,
    str(TokenVerdict.RISES): Look.HOLDS,
    str(TokenVerdict.LIES): Look.FAILS,
    "checks tokens": Look.HOLDS,
    "does not check": Look.FAILS,
}
_SHORT = {str(HazardVerdict.WITH_FENCING): "with fence", HELD: "fence held"}  # one line in a narrow column
_MEASURES_APART, _COLUMNS_APART = 5, 9  # more than that leave no room for each other on a terminal
_COLUMNS_ROOMY = 4  # up to that a system's name may be as long as it is
_FULL = 6  # systems beside each other: each gets what is left


def hazards_document(hazards: HazardEvidence, drawings: Sequence[Picture] = ()) -> Document:
    """The whole hazard campaign."""
    limits = (Heading("What these trials cannot show"), Bullets(hazard_limits(hazards)))
    return Document(TITLE, (*hazard_blocks(hazards, 2, drawings), *limits))


def hazard_blocks(
    hazards: HazardEvidence, level: int, drawings: Sequence[Picture] = (), folder: str = ""
) -> Iterable[Block]:
    """The parts of a document, with titles of this level and without its limits; `folder` has the drawings."""
    yield facts(hazards)
    yield Heading("Verdicts", level)
    yield from verdict_blocks(hazards)
    yield from (Figure(drawing, folder) for drawing in drawings if drawing.runs)
    if hazards.window_fits:
        yield from window_blocks(hazards, level)
    if hazards.verdicts:
        yield Heading("Reasons for the verdicts", level)
        yield reasons_table(hazards)
    yield Heading("Every scenario", level)
    yield from scenario_blocks(hazards, level + 1)


def hazard_terminal_blocks(hazards: HazardEvidence) -> Iterable[Block]:
    """Every scenario that was played, the hazard window where pauses were, and the verdicts last, to be read first."""
    tables = scenario_tables(hazards)
    if not tables:
        yield Paragraph("No run of this campaign has started.")
        return
    for one in tables:
        yield from _scenario(one, 2)
    yield from window_blocks(hazards)
    if any(len(row.overlap_s) > 1 for one in tables for row in one.rows):
        yield Paragraph("Times are medians; below them, the range of the trials.")
    if hazards.verdicts:
        yield Heading("Verdicts")
        yield from verdict_blocks(hazards)


def facts(hazards: HazardEvidence) -> Block:
    """What was played, and on what."""
    return FactList(hazard_facts(hazards))


def verdict_blocks(hazards: HazardEvidence) -> Iterable[Block]:
    """What the words mean, and faults by systems."""
    words = meanings(hazards).items()
    yield FactList([(Text(word, measured=None, short=_SHORT.get(word, "")), meaning) for word, meaning in words])
    yield Paragraph(COUNTED)
    for matrix in matrices(hazards):
        yield _verdicts(matrix)
    if not hazards.verdicts:
        yield Paragraph("No run of this campaign says anything about a system under a fault.")


def window_blocks(hazards: HazardEvidence, level: int = 2) -> Iterable[Block]:
    """How each system keeps to pause - TTL."""
    if hazards.window_fits:
        yield Heading(f"The hazard window against pause {MINUS} TTL", level)
        yield Table(_WINDOW, hazards.window_fits, dense=True)


def reasons_table(hazards: HazardEvidence) -> Block:
    """One line a verdict."""
    return Table(_REASONS, hazards.verdicts)


def scenario_blocks(hazards: HazardEvidence, level: int, chosen: Sequence[str] = ()) -> Iterable[Block]:
    """Every scenario, or the chosen ones."""
    yield Paragraph(_EXPLANATION)
    for one in scenario_tables(hazards):
        if not chosen or one.scenario in chosen:
            yield from _scenario(one, level)


# Verdicts


def _verdicts(matrix: Matrix) -> Table[Line]:
    width = 13 if len(matrix.systems) < _FULL else 11
    fault: Column[Line] = Column("Fault", lambda line: line.words, fit=Fit(width=24))
    columns = [Column(names.title(one), _verdict_of(matrix, one), fit=Fit(width=width)) for one in matrix.systems]
    return Table([fault, *columns], matrix.lines, kind="matrix", dense=True)


def _verdict_of(matrix: Matrix, system: str) -> Callable[[Line], Text | str]:
    def cell(line: Line) -> Text | str:
        one = matrix.cells.get((line, system))
        return NOTHING if one is None else _verdict(one)

    return cell


def _verdict(one: FaultVerdict) -> Text:
    word = word_of(one)
    look = Look.UNDECIDED if one.counted.few else _LOOKS.get(word, Look.UNDECIDED)
    return Text(word, look=look, below=count_words(one), hint=one.reason, short=_SHORT.get(word, ""), runs=one.evidence)


_REASONS: Sequence[Column[FaultVerdict]] = (
    Column("Fault", lambda one: one.fault, fit=Fit(once=True)),
    Column("System", lambda one: names.title(one.system), fit=Fit()),
    Column("Verdict", lambda one: Text(word_of(one), runs=one.evidence), strong=False, fit=Fit()),
    Column("Shown", lambda one: Text(count_words(one) or NOTHING, runs=one.evidence), strong=False),
    Column("Late accepted, fence off", lambda one: _of(one.counted.late_without), strong=False),
    Column("Fence on", lambda one: _of(one.counted.late_with), strong=False),
    Column("Why", lambda one: one.reason or NOTHING, fit=Fit()),
    Column("Runs", lambda one: formats.run_list(one.evidence) or NOTHING, small=True),
)


def _of(count: Count) -> Text:
    if not count.of:
        return Text(NOTHING, measured=None)
    return Text(f"{count.seen} of {count.of}", runs=tuple(sorted(count.runs)))


# The hazard window


def _window_column(header: str, words: Callable[[WindowFit], str]) -> Column[WindowFit]:
    return Column(header, lambda fit: Text(words(fit), runs=fit.runs), strong=False, fit=Fit(most=15, right=True))


_WINDOW: Sequence[Column[WindowFit]] = (
    Column("System", lambda fit: names.title(fit.system), fit=Fit(most=15)),
    _window_column("Pauses beyond the TTL", lambda fit: str(fit.points)),
    _window_column("Slope", lambda fit: NOTHING if fit.slope is None else f"{fit.slope:.2f}"),
    _window_column(
        "Median off the line, ms",
        lambda fit: NOTHING if fit.median_difference_ms is None else formats.significant(fit.median_difference_ms),
    ),
    _window_column(
        "In TTLs",
        lambda fit: NOTHING if fit.median_difference_ttls is None else percent(fit.median_difference_ttls, 1),
    ),
    Column("Why it is off", lambda fit: fit.reason or NOTHING, fit=Fit()),
)


# Scenarios


def _scenario(one: ScenarioTable, level: int) -> Iterable[Block]:
    yield Heading(one.scenario, level, one.fault)
    yield Table(list(_columns(one)), one.rows, dense=True)


def _columns(one: ScenarioTable) -> Iterable[Column[Row]]:
    """Those that say something about this scenario; a terminal has the measures in one column where they are many."""
    longest = max((len(word) for row in one.rows for word in row.title.split()), default=1)
    most = max(longest, 12) if _count(one) > _COLUMNS_ROOMY else None
    yield Column("System", lambda row: row.title, fit=Fit(least=longest, most=most, once=True))
    for name in one.parameters:
        yield Column(label(name), _parameter(name), fit=Fit(most=22, right=True))
    yield _counted("n", lambda row: row.trials)
    if one.has_overlaps:
        yield Column("two holders, s", _overlap, strong=False, fit=Fit(most=11, right=True))
    if one.has_late_writes:
        yield _counted("late writes accepted", lambda row: row.late_accepted, 8, Look.FAILS, "late accepted")
        yield _counted("refused", lambda row: row.late_refused, 7, Look.HOLDS, "late refused")
    if one.has_lost_updates:
        yield _counted("lost updates", lambda row: row.lost_updates, 7, Look.FAILS)
    if one.has_tokens:
        widest = max(6, *(len(_tokens(row).words) for row in one.rows))
        yield Column("token faults", _tokens, strong=False, fit=Fit(most=widest, right=True))
    apart = len(one.measures) <= _MEASURES_APART and _count(one) <= _COLUMNS_APART
    for name in one.measures:
        fit = Fit(most=13, right=True) if apart else None
        yield Column(label(name), _measure(name), strong=False, fit=fit)
    if one.measures and not apart:
        yield Column("measured", _measured, strong=False, pages=False, fit=Fit(least=18, most=44))
    # A verdict is of a system: on a terminal said once, and again only where it changes.
    yield Column("Verdict", _verdict_of_row, strong=False, fit=Fit(header="verdict", most=13, whole=True, once=True))
    yield Column("Runs", lambda row: formats.run_list(row.evidence), small=True)


def _count(one: ScenarioTable) -> int:
    """How many columns there are beside system, n and verdict, where each measure has its own."""
    counted = one.has_overlaps + 2 * one.has_late_writes + one.has_lost_updates + one.has_tokens
    return len(one.parameters) + len(one.measures) + counted


def _parameter(name: str) -> Callable[[Row], str]:
    return lambda row: row.parameters[name]


def _counted(
    header: str, count: Callable[[Row], int], most: int | None = None, look: Look | None = None, short: str = ""
) -> Column[Row]:
    """A column of counts; `look` says how good or bad one is that is not 0."""

    def cell(row: Row) -> Text:
        if row.void:
            return Text(NOTHING, measured=None, runs=row.evidence)
        return Text(str(count(row)), look=look if count(row) else None, runs=row.evidence)

    return Column(header, cell, strong=False, fit=Fit(header=short, most=most, right=True, whole=most is None))


def _overlap(row: Row) -> Text:
    middle, spread = median_words(row.overlap_s, digits=3) if row.overlap_s else (NOTHING, "")
    return Text(middle, below=spread, runs=row.evidence)


def _tokens(row: Row) -> Text:
    return Text(f"{row.token_faults} of {row.token_pairs}" if row.token_pairs else NOTHING, runs=row.evidence)


def _measure(name: str) -> Callable[[Row], Text]:
    def cell(row: Row) -> Text:
        middle, spread = row.measures.get(name, (NOTHING, ""))
        return Text(middle, below=spread, runs=row.evidence)

    return cell


def _measured(row: Row) -> Text:
    measures = (f"{label(name)} {on_one_line(*words)}" for name, words in row.measures.items())
    return Text("; ".join(measures), runs=row.evidence)


def _verdict_of_row(row: Row) -> Text:
    """A void row has its reason for a verdict."""
    if row.void:
        return Text(f"void: {row.void}", look=Look.UNDECIDED, short=VOID, aside=row.void, runs=row.evidence)
    look = _LOOKS.get(row.verdict)
    return Text(row.verdict or NOTHING, look=look, short=_SHORT.get(row.verdict, ""), runs=row.evidence)
