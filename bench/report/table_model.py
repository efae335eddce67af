"""What the comparison says, as cells with footnotes; `documents.comparison` has its tables."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Cell
from bench.report import formats
from bench.report.model import Column, Fit, Row, Table, Text


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim beside its measurement."""

    claimed: str
    measured: Text


@dataclass(frozen=True, slots=True)
class Property:
    """One line of the comparison: `pairs` by system."""

    key: str
    title: str
    detail: str  # unit and how it was measured
    pairs: Mapping[str, Pair]
    of_runs: bool = True  # False: any run tells it, whatever its clients did


@dataclass(frozen=True, slots=True)
class Context:
    """What the numbers of a column depend on; nobody claims it. `texts` by system."""

    title: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SystemColumn:
    """One system of the comparison."""

    system: str
    title: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """What an acquire without contention cannot do without, and what the servers say of themselves."""

    floor_ms: Text
    p50_by_floor: Text
    round_trips: Text  # one after another
    durable_writes: Text  # that the answer waits for
    server_means_us: Text


@dataclass(frozen=True, slots=True)
class LongRow:
    """One system in one setting, with everything that a number of its row depends on.

    `cells` are the cells behind the numbers, by what tables call their workload; with the user's own come their notes.
    """

    system: str
    title: str
    tags: tuple[str, ...]
    wait: str
    durability: str
    nodes: str
    source: str
    version: str
    runs: str  # all workloads together: counted of those started
    runs_per_cell: str  # behind each number of the row
    claimed_latency_ms: str
    acquire_ms_p50: Text
    acquire_ms_p99: Text
    acquire_ms_p999: Text
    costs: Costs
    claimed_throughput_per_s: str
    throughput_pairs_per_s: Text
    claimed_amplification: str
    contention_amplification: Text
    client_cpu_us_per_pair: Text
    cells: Mapping[str, Cell] = field(repr=False, compare=False)
    own_marks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole table. `facts` says what it was measured on, `method` how to read a number."""

    facts: tuple[tuple[str, str], ...]
    twice: str  # what stands beside what in the glance
    method: tuple[str, ...]
    columns: tuple[SystemColumn, ...]
    properties: tuple[Property, ...]
    contexts: tuple[Context, ...]
    rows: tuple[LongRow, ...]
    footnotes: tuple[str, ...]  # number 1 first

    @property
    def has_own(self) -> bool:
        """Are there cells of the user's own? They stand in the tables of workloads alone."""
        return any(row.own_marks for row in self.rows)

    @property
    def only_own(self) -> bool:
        """Is there no cell of a mode's own parameters, which the other tables are about?"""
        return self.has_own and all(cell.workload.label for row in self.rows for cell in row.cells.values())


@dataclass(frozen=True, slots=True)
class CellRow:
    """One cell of the campaign, with the row of the comparison that it belongs to."""

    row: LongRow
    cell: Cell

    @property
    def own_marks(self) -> tuple[int, ...]:
        """The numbers of a user's own cell's notes; those of the others stand at their numbers in the long form."""
        return self.row.own_marks.get(self.cell.workload.title, ())


def cell_rows(comparison: Comparison) -> list[CellRow]:
    """Every cell, by row and workload."""
    return [
        CellRow(row, row.cells[title]) for row in comparison.rows for title in sorted(row.cells, key=names.in_order)
    ]


def system_column(of: Callable[[Row], LongRow]) -> Column[Row]:
    """The heading of a line: its system, with its tags."""
    return Column("System", lambda row: Text(of(row).title, measured=None, tags=of(row).tags), fit=Fit(width=18))


ABSENT = Text(NOT_MEASURED, measured=False)
_UNTRIED = (ABSENT.words, formats.NOTHING)


def tried(texts: Iterable[Text]) -> bool:
    """Was what one of these cells is about measured at all? Then it has a number, or says why it has none."""
    return any(text.measured or (text.measured is False and text.words not in _UNTRIED) for text in texts)


def tried_in(table: Table[Any]) -> bool:
    """The same of all cells of a table."""
    return tried(column.text(row) for row in table.rows for column in table.columns)


NOTE_WORDS = 20  # at most: a note that is longer is not read
UNLIKE = Text("different runs, not pooled: see the long form", measured=False)


class Footnotes:
    """Numbers footnotes in the order in which a reader meets them: one a cause, with all systems that it concerns."""

    def __init__(self, systems: Iterable[str] = ()) -> None:
        self._all = tuple(systems)  # those of the tables: so few words may name most of them
        self._found: dict[str, dict[str, None]] = {}  # cause -> the systems that it concerns

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._text(cause, tuple(systems)) for cause, systems in self._found.items())

    def of(self, *cells: Cell | None) -> tuple[int, ...]:
        """The numbers of all notes of some cells."""
        marks = [self.number(note.cause, cell.system) for cell in cells if cell is not None for note in cell.notes()]
        return tuple(sorted(set(marks)))

    def number(self, cause: str, *systems: str) -> int:
        """The number of one cause, which concerns these systems as well."""
        self._found.setdefault(cause, {}).update(dict.fromkeys(systems))
        return list(self._found).index(cause) + 1

    def _text(self, cause: str, systems: tuple[str, ...]) -> str:
        if not systems:
            return f"{cause}."
        ways = [self._named(systems)]
        others = [system for system in self._all if system not in systems]
        if len(systems) > 1 and self._all and len(others) < len(systems):
            ways.append(f"all systems but {self._named(others)}" if others else "all systems")
        ways.append(formats.counted([len(systems)], "system"))
        for way in ways[:-1]:
            if len(f"{cause} {way}".split()) <= NOTE_WORDS:
                return f"{cause}: {way}."
        kept = cause.split()[: NOTE_WORDS - 2]
        return f"{' '.join(kept)}{'' if len(kept) == len(cause.split()) else formats.ELLIPSIS}: {ways[-1]}."

    @staticmethod
    def _named(systems: Iterable[str]) -> str:
        return "; ".join(names.title(system) for system in systems)
