"""Bringing a fault about on the lab's servers while a load waits for the lock, and undoing it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.analysis.contention.fault_kinds import majority, minority
from bench.campaign.faults.holder import Holder
from bench.hazards.faults.targets import leader_last
from bench.hazards.lab.disks import keeps_nothing
from bench.hazards.lab.servers import LabServers
from bench.hazards.timeline import now_ns
from bench.records.hazards import FaultWindow
from bench.records.schema import RunPlan, Struck
from bench.records.workload import HOLDER_KILLED
from bench.servers.running.pinning import pin


class Striking:
    """One run's fault: an `Interference` of bench/load. A context manager, whose end leaves no holder behind.

    `processors` are those of the servers, for one that is started again; none: it may run everywhere.
    """

    def __init__(self, plan: RunPlan, servers: LabServers, log_path: Path, processors: Collection[int] = ()) -> None:
        workload = plan.workload
        self.after_s, self.lasts_s = workload.fault_after_s, workload.fault_s
        self._kind, self._servers, self._processors = workload.fault, servers, processors
        self._windows: Sequence[FaultWindow] = ()
        self._began_ns = 0
        self._stack = ExitStack()
        nodes = len(servers.spec.node_names)
        stops = partial(self._stop, minority(nodes)), partial(self._stop, majority(nodes))
        strike: Mapping[str, tuple[Callable[[], None], Callable[[], None]]] = {
            "leader-killed": (self._kill_leader, self._start),
            "minority-stopped": (stops[0], self._resume),
            "majority-stopped": (stops[1], self._resume),
            HOLDER_KILLED: (self._kill_holder, lambda: None),
        }
        self.begin, self.end = strike[self._kind]
        self._holder = Holder(plan, servers.endpoint, log_path) if self._kind == HOLDER_KILLED else None

    def __enter__(self) -> "Striking":
        if self._holder is not None:
            self._stack.enter_context(self._holder)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def struck(self, window_opens_ns: int) -> tuple[Struck, ...]:
        """What was done, and confirmed."""
        return tuple(
            Struck(
                kind=self._kind,
                target=one.target,
                window_opens_ns=window_opens_ns,
                began_ns=self._began_ns,
                ended_ns=one.ended_ns,
                in_force_ns=max(window.began_ns for window in self._windows),
                confirmed=one.confirmed,
            )
            for one in self._windows
        )

    def _kill_leader(self) -> None:
        leader = self._servers.leader()
        self._began_ns = now_ns()
        self._windows = [self._servers.kill(leader)]

    def _start(self) -> None:
        keep_data = not keeps_nothing(self._servers.spec)
        self._windows = self._servers.start(*(one.target for one in self._windows), keep_data=keep_data)
        if self._processors:
            pin((self._servers.pid(one.target) for one in self._windows), self._processors)

    def _stop(self, count: int) -> None:
        # The leader last: what a missing minority costs is not what an election costs.
        nodes = leader_last(self._servers)[:count]
        self._began_ns = now_ns()
        self._windows = [self._servers.pause(node) for node in nodes]

    def _resume(self) -> None:
        self._windows = [self._servers.resume(one.target) for one in self._windows]
        self._servers.settled()

    def _kill_holder(self) -> None:
        assert self._holder is not None
        self._windows = [self._holder.kill_while_holding()]
        self._began_ns = self._windows[0].began_ns
