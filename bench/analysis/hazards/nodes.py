"""How many servers of an ensemble may be down before nobody gets the lock, and how long an acquire takes meanwhile."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Value
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.intervals import across_runs
from bench.records.meaning import Role

KILL = "kill"
HANG = "hang"


@dataclass(frozen=True, slots=True)
class NodesRow:
    """One system, way of stopping, and number of servers down, over all runs."""

    system: str
    how: str  # kill: the process is gone; hang: it is stopped, and its port still takes connections
    nodes: int
    quorum: int
    nodes_down: int
    node_timeout_ms: int | None  # how long a client waits for one node, where it has such a limit
    acquired: Count
    acquire_ms: Value  # of the acquires that got the lock; one value a run
    evidence: tuple[str, ...]

    @property
    def minority(self) -> bool:
        """Are enough left for a quorum?"""
        return self.nodes - self.nodes_down >= self.quorum


def nodes_rows(trials: Iterable[TrialRow]) -> tuple[NodesRow, ...]:
    """One row for each combination, in table order."""
    groups: dict[tuple[str, str, int, int], list[TrialRow]] = {}
    for row in trials:
        if plays(row.scenario, Role.NODES_STOPPED) and row.measure("acquired") is not None:
            timeout_ms = int(row.parameter("node_timeout_ms", 0)) if _asks_each_node(row) else 0
            groups.setdefault((row.system, how_of(row), nodes_down_of(row), timeout_ms), []).append(row)
    ordered = sorted(groups, key=lambda key: (names.position(key[0]), key[0], key[1] == HANG, key[2:]))
    return tuple(_row(*key, groups[key]) for key in ordered)


def _asks_each_node(row: TrialRow) -> bool:
    """Does a client ask the nodes itself, with a limit for each? Else they ask each other."""
    return row.capability_ms("quorum") > 1 and not row.capability_ms("peer_round_trips")


def how_of(row: TrialRow) -> str:
    """How the servers were stopped: kill or hang."""
    return str(row.parameter("how", KILL))


def nodes_down_of(row: TrialRow) -> int:
    """How many servers were down, as measured, else as asked for."""
    measured = row.measure("nodes_down")
    return int(measured if measured is not None else row.parameter("nodes_down", 0))


def got_it(row: TrialRow) -> bool:
    """Did the client get the lock with these servers down?"""
    return bool(row.measure("acquired"))


def _row(system: str, how: str, down: int, timeout_ms: int, rows: list[TrialRow]) -> NodesRow:
    by_run: dict[str, list[float]] = {}
    for row in rows:
        took_ms = row.measure("acquire_ms")
        if got_it(row) and took_ms is not None and took_ms > 0.0:
            by_run.setdefault(row.run_id, []).append(took_ms)
    taken = [statistics.median(values) for values in by_run.values()]
    return NodesRow(
        system=system,
        how=how,
        nodes=int(rows[0].capability_ms("nodes")),
        quorum=int(rows[0].capability_ms("quorum")),
        nodes_down=down,
        node_timeout_ms=timeout_ms or None,
        acquired=Count.over(rows, got_it),
        acquire_ms=across_runs(taken) if taken else Absent("never acquired"),
        evidence=tuple(dict.fromkeys(row.run_id for row in rows)),
    )
