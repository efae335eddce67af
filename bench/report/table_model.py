"""The comparison as plain text cells with footnotes: what every format renders, so that no two can disagree."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Cell


@dataclass(frozen=True, slots=True)
class Text:
    """One cell: words, the numbers of its footnotes, and whether it holds a measurement."""

    words: str
    marks: tuple[int, ...] = ()
    measured: bool = True


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


@dataclass(frozen=True, slots=True)
class Context:
    """What the numbers of a column depend on; nobody claims it. `texts` by system."""

    title: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Column:
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

    `cells` are the cells behind the numbers, by workload name.
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole table. `facts` says what it was measured on, `method` how to read a number."""

    facts: tuple[tuple[str, str], ...]
    twice: str  # what stands beside what in the glance
    method: tuple[str, ...]
    columns: tuple[Column, ...]
    properties: tuple[Property, ...]
    contexts: tuple[Context, ...]
    rows: tuple[LongRow, ...]
    footnotes: tuple[str, ...]  # number 1 first


ABSENT = Text(NOT_MEASURED, measured=False)
UNLIKE = Text("unlike runs, not pooled: see the long form", measured=False)


class Footnotes:
    """Numbers footnotes in the order in which a reader meets them; the same sentence keeps its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    def of(self, *cells: Cell | None) -> tuple[int, ...]:
        """The numbers of all notes of some cells."""
        marks = []
        for cell in filter(None, cells):
            for note in cell.notes():
                marks.append(self.number(f"{names.title(cell.system)}, {cell.workload.name}: {note}."))
        return tuple(dict.fromkeys(marks))

    def number(self, sentence: str) -> int:
        """The number of one sentence."""
        return self._numbers.setdefault(sentence, len(self._numbers) + 1)
