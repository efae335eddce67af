"""Which systems the runs cannot tell apart, and which may be compared at all.

Compared are cells of one class only: the same workload with the same parameters, servers from the same source, equally
many of them, and the same answers (to an acquire, to a release) that wait for a disk. An emulator belongs to no class,
and neither does a cell whose servers did not say whether they wait for their disk.

Within a class, a group is the best cell left and every cell whose ratio to that best one has an interval that contains
1. Being indistinguishable is not transitive (a and b, b and c, yet not a and c), so a group promises nothing about two
of its members other than the best; the next group begins with the best cell that the first one left out. Each interval
stands for itself: no allowance is made for there being several.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analysis.cells import Absent, Cell
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL, Estimate, ratio_of_campaigns
from bench.analysis.metrics import Direction, metric

_ANSWERS = ("acquire", "release")
_NOT_REPORTED = ("not reported", "not told")  # of a setting, by an adapter; the second in older records


@dataclass(frozen=True, slots=True)
class CellClass:
    """What two cells must share before one may be called faster than the other."""

    workload_digest: str
    durable_answers: tuple[str, ...]  # of acquire and release, those that wait for a disk
    nodes: int
    source: str

    @property
    def words(self) -> str:
        """For a footnote: 3 servers, native, acquire and release durable."""
        servers = f"{self.nodes} server{'' if self.nodes == 1 else 's'}, {self.source}"
        return f"{servers}, {' and '.join(self.durable_answers) or 'nothing'} durable"


@dataclass(frozen=True, slots=True)
class Group:
    """The best cell, and each that is indistinguishable from it with the ratio of its values to those of the best."""

    cell_class: CellClass
    best: Cell
    others: tuple[tuple[Cell, Estimate], ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        return (self.best, *(cell for cell, _ in self.others))


def groups(cells: Iterable[Cell], metric_name: str) -> tuple[Group, ...]:
    """The groups of all classes for one metric, best first within a class; a group of one cell stands apart.

    Cells are left out that have no number, whose number is only a bound, or that have too few runs for an interval.
    Raises KeyError for a name that is no metric.
    """
    higher = metric(metric_name).direction is Direction.HIGHER
    by_class: dict[CellClass, list[tuple[float, Cell]]] = {}
    for cell in cells:
        cell_class = class_of(cell)
        value = cell.value(metric_name)
        if cell_class is None or isinstance(value, Absent) or cell.bounds_of(metric_name):
            continue
        if value.has_confidence:
            by_class.setdefault(cell_class, []).append((value.value, cell))
    found = []
    for cell_class, valued in by_class.items():
        ordered = [cell for _, cell in sorted(valued, key=lambda one: one[0], reverse=higher)]
        while ordered:
            group = _around(cell_class, ordered[0], ordered[1:], metric_name)
            found.append(group)
            ordered = [cell for cell in ordered if not any(cell is one for one in group.cells)]
    return tuple(found)


def too_few(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Cells that could be compared with another of their class, had they the runs that an interval needs."""
    by_class: dict[CellClass, list[Cell]] = {}
    for cell in cells:
        cell_class = class_of(cell)
        if cell_class is not None and cell.used:
            by_class.setdefault(cell_class, []).append(cell)
    return tuple(
        cell
        for members in by_class.values()
        if len(members) > 1
        for cell in members
        if len(cell.used) < RUNS_FOR_AN_INTERVAL
    )


def class_of(cell: Cell) -> CellClass | None:
    """The class of a cell; None for an emulator, and where something that the class rests on is not known."""
    durable = durable_answers(cell)
    if cell.setting is None or cell.setting.nodes is None or cell.emulator or durable is None:
        return None
    return CellClass(cell.workload.digest, durable, cell.setting.nodes, cell.setting.source)


def durable_answers(cell: Cell) -> tuple[str, ...] | None:
    """Which of acquire and release the servers answered only after a durable write. None: the runs do not say.

    The adapter says which answers a durable write comes before, and which settings make its server wait for its disk
    (`durable_when` of its capabilities, "name=value|value"); the server said how it is set.
    """
    capabilities = next((run.capabilities for run in cell.used if "durable_when" in run.capabilities), None)
    if capabilities is None or cell.setting is None:
        return None
    writing = tuple(name for name in _ANSWERS if capabilities.get(f"{name}_durable_writes", "0") != "0")
    settings = dict(cell.setting.durability)
    wanted = [condition.partition("=") for condition in capabilities["durable_when"].split(", ") if condition]
    if writing and any(settings.get(name, _NOT_REPORTED[0]) in _NOT_REPORTED for name, _, _ in wanted):
        return None
    waits = all(settings.get(name) in values.split("|") for name, _, values in wanted)
    return writing if waits else ()


def _around(cell_class: CellClass, best: Cell, rest: Sequence[Cell], metric_name: str) -> Group:
    others = []
    for cell in rest:
        times = ratio_of_campaigns(cell.by_campaign(metric_name), best.by_campaign(metric_name))
        if times.contains(1.0):
            others.append((cell, times))
    return Group(cell_class, best, tuple(others))
