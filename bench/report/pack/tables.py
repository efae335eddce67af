"""The tables of a pack's first page: systems down, a few properties across, at most 600 px wide."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.report.comparison import build_comparison
from bench.report.files import ReportError
from bench.report.formats import NOTHING
from bench.report.model import Column, Table, Text
from bench.report.pack.sentences import RECOVERY, recovery_text, verdict_words
from bench.report.run_ranges import run_ranges
from bench.report.table_model import ABSENT, Pair, Property, SystemColumn
from bench.report.writers.csv import csv_table

ACROSS = 3  # properties beside each other in one table
ROWS = (  # of the whole table, in this order
    *("acquire_latency", "throughput", "contention"),
    *("pause_safety", "clock_skew", "fencing"),
    *(RECOVERY, "consensus", "operational_cost"),
)


@dataclass(frozen=True, slots=True)
class _Line:
    """One cell of the table, for CSV."""

    column: SystemColumn
    property: Property


def chosen_properties(evidence: Evidence, rows: Sequence[str] = ()) -> Sequence[Property]:
    """The properties of a table by their names; all where none is named. Raises ReportError for a name of none."""
    known: Mapping[str, Property] = {
        one.key: one for one in (*build_comparison(evidence).properties, _recovery(evidence))
    }
    unknown = [name for name in rows if name not in known]
    if unknown:
        raise ReportError(f"no row {', '.join(unknown)}: choose from {', '.join(ROWS)}")
    return [known[name] for name in dict.fromkeys(rows or ROWS)]


def decision_tables(evidence: Evidence, properties: Sequence[Property]) -> Sequence[Table[SystemColumn]]:
    """As many tables as it takes, each with the same systems."""
    groups = [properties[at : at + ACROSS] for at in range(0, len(properties), ACROSS)]
    columns = build_comparison(evidence).columns
    return [Table([_system(), *map(_property, group)], columns, kind="sheet") for group in groups]


def decision_csv(evidence: Evidence, properties: Sequence[Property]) -> str:
    """One row a system and property: claimed, measured, and the runs behind it."""
    columns: Mapping[str, Callable[[_Line], object]] = {
        "system": lambda line: line.column.system,
        "property": lambda line: line.property.key,
        "unit": lambda line: line.property.detail,
        "claimed": lambda line: _pair(line).claimed.replace(NOTHING, ""),
        "measured": lambda line: _pair(line).measured.words,
        "is_measured": lambda line: bool(_pair(line).measured.measured),
        "runs": lambda line: " ".join(run_ranges(_pair(line).measured.runs)),
    }
    lines = [_Line(column, one) for column in build_comparison(evidence).columns for one in properties]
    return csv_table(columns, lines)


def verdict_table(evidence: Evidence) -> Table[SystemColumn] | None:
    """Systems down, verdicts across: under which faults each of them was given. None without a hazard campaign."""
    hazards = evidence.hazards
    if hazards is None or not hazards.verdicts:
        return None
    given = {one.verdict for one in hazards.verdicts}

    def of(verdict: HazardVerdict) -> Callable[[SystemColumn], Text | str]:
        return lambda column: verdict_words([one for one in hazards.verdicts if one.system == column.system], verdict)

    columns = [Column(str(one).capitalize(), of(one), strong=False) for one in _VERDICTS if one in given]
    return Table([_system(), *columns], build_comparison(evidence).columns, kind="sheet")


_VERDICTS = (HazardVerdict.SAFE, HazardVerdict.WITH_FENCING, HazardVerdict.UNSAFE, HazardVerdict.UNAVAILABLE)


def _system() -> Column[SystemColumn]:
    return Column("System", lambda column: Text(column.title, measured=None, tags=column.tags))


def _property(one: Property) -> Column[SystemColumn]:
    def cell(column: SystemColumn) -> Text:
        pair = one.pairs[column.system]
        below = "" if pair.claimed == NOTHING else f"claimed: {pair.claimed}"
        found = pair.measured
        return Text(found.words, found.marks, found.measured, found.runs, below=below)

    return Column(one.title, cell, unit=one.detail)


def _pair(line: _Line) -> Pair:
    return line.property.pairs[line.column.system]


def _recovery(evidence: Evidence) -> Property:
    """How long after a crash of its holder somebody else has the lock; nobody's page has it in this form."""
    pairs = {
        column.system: Pair(NOTHING, recovery_text(evidence.hazards, column.system) or ABSENT)
        for column in build_comparison(evidence).columns
    }
    return Property(RECOVERY, "After a crash of the holder", "the next grant, from the crash", pairs)
