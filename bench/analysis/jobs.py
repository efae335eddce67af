"""Whole jobs by the way they were done: what more contenders bring and cost, and from how many on optimism loses."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Cell
from bench.records.schema import JobsDone
from bench.records.workload import BY_LOCK, BY_ROW_LOCK, BY_VERSION, JOBS, Workload


@dataclass(frozen=True, slots=True)
class WayLine:
    """One way of doing one job: its cells differ in nothing but the number of contenders, and stand in its order."""

    system: str
    workload: Workload  # of the first cell
    cells: tuple[Cell, ...]

    @property
    def by_lock(self) -> bool:
        return self.workload.way == BY_LOCK

    @property
    def at_once(self) -> bool:
        """Does an optimist that was too late begin again without a pause?"""
        return not names.pauses(self.workload.wait)

    @property
    def fenced(self) -> bool:
        """Can the table refuse the writes of a holder whose lock has become another's?"""
        return any(run.capabilities.get("fencing_source") for cell in self.cells for run in cell.runs)

    @property
    def jobs(self) -> tuple[JobsDone, ...]:
        """What became of the jobs, run by run; a void run's too, since it may be void for that."""
        return tuple(run.jobs for cell in self.cells for run in cell.runs if run.jobs is not None)

    @property
    def harmed(self) -> int:
        """Jobs that were overwritten, that went missing, or that took effect twice."""
        return sum(one.lost_updates + one.missing + one.repeated for one in self.jobs)

    @property
    def lines_of_code(self) -> tuple[int, ...]:
        """Of the way, as it ran; more than one where it was changed in between."""
        return tuple(sorted({one.lines_of_code for one in self.jobs}))

    def at(self, clients: int) -> Cell | None:
        """The cell of so many contenders; None: not measured."""
        return next((cell for cell in self.cells if cell.workload.clients == clients), None)


@dataclass(frozen=True, slots=True)
class _Rate:
    """Jobs per second of one run."""

    value: float
    at_least: bool  # something else than the way of the job bound it


@dataclass(frozen=True, slots=True)
class Crossing:
    """From how many contenders on the row's lock does more jobs per second than optimism, run by run.

    `seen` has that number for each pair of runs that shows one; of the others it was not seen up to `up_to`, the most
    contenders with which both numbers tell (0: none). With so many as `hidden` names it cannot be told, and they are
    passed over: the lesser number is only a limit, and may be the larger one. With so many as `behind` names optimism
    was not seen to do as much, in half of the runs or more.
    """

    optimistic: WayLine
    locking: WayLine
    seen: tuple[int, ...]
    runs: int
    up_to: int
    hidden: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()

    @property
    def kept_up(self) -> bool:
        """Did optimism do as much with any number of contenders, and in no run less from some number on?"""
        return not (self.seen or self.hidden or self.behind)

    @property
    def clients(self) -> float | None:
        """The median of the runs; None where most of them show none."""
        unseen = self.runs - len(self.seen)
        middle = statistics.median([*self.seen, *([float("inf")] * unseen)])
        return None if middle == float("inf") else middle


def way_lines(cells: Iterable[Cell]) -> tuple[WayLine, ...]:
    """The lines of all jobs among some cells: by job, locks first, then the ways without one."""
    found: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        if cell.workload.name in JOBS:
            alike = cell.workload.model_copy(update={"clients": 1, "label": ""}).digest
            found.setdefault((cell.system, alike, cell.setting), []).append(cell)
    lines = []
    for (system, _, _), group in found.items():
        ordered = tuple(sorted(group, key=lambda cell: cell.workload.clients))
        lines.append(WayLine(str(system), ordered[0].workload, ordered))
    return tuple(sorted(lines, key=_order))


def crossings(lines: Sequence[WayLine]) -> tuple[Crossing, ...]:
    """Every optimistic way beside the row's lock on the same records."""
    return tuple(
        found
        for one in lines
        for other in lines
        if one.workload.way == BY_VERSION and other.workload.way == BY_ROW_LOCK and _same_job(one, other)
        if (found := _crossing(one, other)) is not None
    )


def _crossing(optimistic: WayLine, locking: WayLine) -> Crossing | None:
    mine, theirs = _rates_by_run(optimistic), _rates_by_run(locking)
    firsts: list[int | None] = []
    hidden: set[int] = set()
    behind: Counter[int] = Counter()
    up_to = 0
    for run in mine.keys() & theirs.keys():
        counts = sorted(mine[run].keys() & theirs[run].keys())
        if len(counts) < 2:
            continue
        first, hides, most = _first_above(counts, mine[run], theirs[run])
        firsts.append(first)
        hidden.update(hides)
        behind.update(n for n in counts if theirs[run][n].at_least or theirs[run][n].value > mine[run][n].value)
        up_to = max(up_to, most)
    if not firsts:
        return None
    seen = tuple(sorted(first for first in firsts if first is not None))
    often = tuple(sorted(clients for clients, runs in behind.items() if 2 * runs >= len(firsts)))
    return Crossing(optimistic, locking, seen, len(firsts), up_to, tuple(sorted(hidden)), often)


def _first_above(
    counts: Sequence[int], optimistic: Mapping[int, _Rate], locking: Mapping[int, _Rate]
) -> tuple[int | None, Sequence[int], int]:
    """The least number from which on locking does more wherever both numbers tell; where, on the way down to it, a
    limit hides which is larger; and the largest that tells."""
    first, hidden, most = None, [], 0
    for clients in reversed(counts):
        one, other = optimistic[clients], locking[clients]
        ahead = other.value > one.value
        if (one if ahead else other).at_least:
            hidden.append(clients)
            continue
        most = max(most, clients)
        if not ahead:
            break
        first = clients
    return first, hidden, most


def _rates_by_run(line: WayLine) -> Mapping[tuple[str, int], Mapping[int, _Rate]]:
    """Jobs per second by contenders; runs of one campaign and repetition stood near each other in its order."""
    found: dict[tuple[str, int], dict[int, _Rate]] = {}
    for cell in line.cells:
        for run in cell.used:
            if (rate := run.metrics.get("jobs_per_s")) is not None:
                by_clients = found.setdefault((run.campaign_id, run.repetition), {})
                by_clients[cell.workload.clients] = _Rate(rate, bool(run.bounds))
    return found


def _same_job(one: WayLine, other: WayLine) -> bool:
    said = ("name", "keys", "compute_ms", "processes")
    return one.system == other.system and all(
        getattr(one.workload, name) == getattr(other.workload, name) for name in said
    )


def _order(line: WayLine) -> tuple[object, ...]:
    does = line.workload
    place = names.position(line.system) if line.by_lock else 0
    return (JOBS.index(does.name), does.keys, does.compute_ms, not line.by_lock, place, does.way, does.wait)
