"""One server set of the lab, and everything that breaks a server: every fault is confirmed before it is believed.

A fault is answered with the record of its window (`FaultWindow`). `began_ns` and `ended_ns` err to the inner side: the
fault was in force from the one to the other, without a doubt.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial

from bench.errors import LockbenchError
from bench.hazards.lab import disks
from bench.hazards.lab.replica import Replica
from bench.hazards.timeline import now_ns
from bench.records.hazards import FaultWindow
from bench.servers.breaking import freezing
from bench.servers.endpoint import Endpoint
from bench.servers.process import ProcessId
from bench.servers.running.readiness import until_ready
from bench.servers.running.state import NodeState, RunningSet
from bench.servers.running.supervisor import NotRunning, Supervisor
from bench.servers.spec import Node, NotReady, ServerSpec, WrongServer

_LEADER_WITHIN_S = 30.0
Turn = Callable[[], AbstractContextManager[None]]


class LabClosed(LockbenchError):
    """The lab is being taken down: nothing may be started or stopped in it any more."""


class ServerDown(LockbenchError):
    """A fault was to strike a server that has ended, by itself or by an earlier fault."""


class LabServers:
    """The nodes of one set. Used by one thread at a time. Nodes keep their names, ports and folders all along."""

    def __init__(self, supervisor: Supervisor, spec: ServerSpec, turn: Turn) -> None:
        self.spec = spec
        self.replica: Replica | None = None
        self.on_mend: list[Callable[[], object]] = []  # what else `mend` has to do, once: such as to set a clock back
        self._supervisor = supervisor
        self._turn = turn
        self._variant: Mapping[str, str] = {}
        self._windows: dict[str, FaultWindow] = {}  # open ones, by node

    # -- what there is -------------------------------------------------------------------------------------------

    @property
    def running(self) -> RunningSet:
        """The set as recorded, with every node's identity. Raises LabClosed."""
        try:
            return self._supervisor.running(self.spec)
        except NotRunning as gone:  # nobody else takes these servers down
            raise LabClosed("the hazard lab is closed") from gone

    @property
    def endpoint(self) -> Endpoint:
        """How clients reach the set, in node order; the same after any restart."""
        return self.running.endpoint

    @property
    def node_names(self) -> tuple[str, ...]:
        return self.spec.node_names

    def address(self, node: str) -> tuple[str, int]:
        """Where clients reach one node."""
        found = self.state(node).node
        return found.host, found.port

    def pid(self, node: str) -> int:
        """The node's first process. Raises ServerDown when it does not run."""
        return self._process(node).pid

    def leader(self) -> str:
        """The node that decides, asked of those that are not stopped; the only node of a set of one.

        Waits for an election. Raises TooLate, and ValueError for a set without leader (redlock).
        """
        if len(self.node_names) == 1:
            return self.node_names[0]
        ask = partial(self.spec.leader, self._serving())
        return until_ready(ask, time.monotonic() + _LEADER_WITHIN_S, self.spec.title)

    def configure(self, variant: Mapping[str, str]) -> None:
        """Bring all nodes to a server variant, which outlives kills; see `ServerSpec.configure`. Not a fault."""
        self._supervisor.configure(self.spec, variant)
        self._variant = dict(variant)

    # -- faults --------------------------------------------------------------------------------------------------

    def pause(self, node: str) -> FaultWindow:
        """Stop a server where it stands, all its processes. In force once every thread of each is in state T."""
        with self._turn():
            pids = freezing.freeze(self._process(node))
        began_ns = now_ns()
        confirmed = f"state T, all threads of {_listed(pids)}"
        window = FaultWindow(kind="pause", target=node, began_ns=began_ns, ended_ns=None, confirmed=confirmed)
        self._windows[node] = window
        return window

    def resume(self, node: str) -> FaultWindow:
        """Let a paused server go on. The window's end is the instant before the first of its processes could run."""
        with self._turn():
            process = self._process(node)
            ended_ns = now_ns()
            pids = freezing.thaw(process)
        window = self._windows.pop(node, None)
        if window is None or not pids:
            raise ValueError(f"{node} was not paused")
        confirmed = f"{window.confirmed}; none in state T afterwards"
        return window.model_copy(update={"ended_ns": ended_ns, "confirmed": confirmed})

    def kill(self, node: str) -> FaultWindow:
        """SIGKILL a server, paused or not, all its processes at once. In force once they are gone."""
        with self._turn():
            pids = freezing.kill(self._process(node))
        confirmed = f"SIGKILL, gone: {_listed(pids)}"
        window = FaultWindow(kind="kill", target=node, began_ns=now_ns(), ended_ns=None, confirmed=confirmed)
        self._windows[node] = window
        return window

    def start(self, *nodes: str, keep_data: bool = True) -> tuple[FaultWindow, ...]:
        """Start killed nodes again, as they were started first, on the same ports; wait until they serve.

        One window a node, from its end to its proof. With `keep_data` a node finds what its disk has, which for a
        Redis without an append-only file is nothing; without it, the disk is emptied first. Raises ValueError where
        that cannot be (see `disks`) or where too few nodes would run to serve, Died, and TooLate.
        """
        disks.check(self.spec, keep_data)
        self._check_quorum({node.name for node in self._serving()} | set(nodes))
        began_ns = now_ns()
        with self._turn():
            if not keep_data:
                for name in nodes:
                    disks.empty(self.spec, self.state(name).node)
            starting = self._supervisor.launch_again(self.spec, nodes)
        proven = self._supervisor.prove_again(starting, time.monotonic() + self.spec.ready_within_s)
        self.settled()
        ended_ns = now_ns()
        return tuple(self._restarted(state, began_ns, ended_ns, keep_data) for state in proven)

    def _restarted(self, state: NodeState, began_ns: int, ended_ns: int, keep_data: bool) -> FaultWindow:
        killed = self._windows.pop(state.node.name, None)
        restarted = f"{'disk kept' if keep_data else 'disk emptied'}; proven as {state.identity}"
        return FaultWindow(
            kind="restart",
            target=state.node.name,
            began_ns=began_ns if killed is None else killed.began_ns,
            ended_ns=ended_ns,
            confirmed=restarted if killed is None else f"{killed.confirmed}; {restarted}",
        )

    def replicate(self) -> Replica:
        """Give the server a replica, in step with it; `mend` takes it away. Raises ValueError where it has none."""
        replication = self.spec.replication()
        if replication is None:
            raise ValueError(f"{self.spec.name} has no replica in this lab")
        if self.replica is not None:
            raise ValueError("there is a replica already")
        primary = self.state(self.node_names[0]).node
        others = [node for node in self._serving() if node.name != primary.name]
        self.replica = Replica(replication, self._supervisor, self._turn, primary, others, self._variant)
        self.replica.attach()
        return self.replica

    # -- whole again ---------------------------------------------------------------------------------------------

    def settled(self, within_s: float | None = None) -> None:
        """Wait until all nodes that run, and are not paused, serve together. Raises TooLate, and ValueError if too few
        run for that."""
        deadline = time.monotonic() + (self.spec.ready_within_s if within_s is None else within_s)
        serving = self._serving()
        self._check_quorum({node.name for node in serving})
        until_ready(partial(self.spec.settle, serving), deadline, self.spec.title)

    def mend(self) -> None:
        """Make the set as it was: paused nodes resumed, the replica gone, what `on_mend` has done, dead nodes
        started, all in step. Data that was lost stays lost. Raises Died or TooLate.
        """
        with ExitStack() as every:  # each is tried, also after another has failed; the last pushed comes first
            every.callback(self._start_dead)
            while self.on_mend:
                every.callback(self.on_mend.pop(0))
            every.callback(self._drop_replica)
            every.callback(self._resume_paused)

    def _resume_paused(self) -> None:
        with self._turn():
            for state in self.running.nodes:
                process = state.process
                if process is not None and process.alive() and freezing.is_frozen(process):
                    freezing.thaw(process)

    def _start_dead(self) -> None:
        dead = [state.node.name for state in self.running.nodes if not _runs(state)]
        if dead:
            self.start(*dead, keep_data=not disks.keeps_nothing(self.spec))
        self.settled()
        self._windows.clear()

    def _drop_replica(self) -> None:
        if self.replica is not None:
            self.replica.remove()
            self.replica = None

    def let_go(self) -> None:
        """Close what is no process: the lab is going down."""
        if self.replica is not None:
            self.replica.let_go()

    def broken(self) -> list[str]:
        """What is not as it was, in words: nodes that are dead, stopped or not who they were."""
        found = [] if self.replica is None else [f"{self.replica.node_name} is still there"]
        found += [f"{self.spec.name}: {len(self.on_mend)} more to mend"] if self.on_mend else []
        for state in self.running.nodes:
            process, name = state.process, state.node.name
            if process is None or not process.alive():
                found.append(f"{name} does not run")
            elif freezing.is_frozen(process):
                found.append(f"{name} is stopped (state T)")
            else:
                found += self._unproven(state, process.pid)
        if not found:
            try:
                self.spec.settle([state.node for state in self.running.nodes])
            except NotReady as unsettled:
                found.append(f"{self.spec.name} is not settled: {unsettled}")
        return found

    def _unproven(self, state: NodeState, pid: int) -> list[str]:
        try:
            identity = self.spec.prove(state.node, pid)
        except (NotReady, WrongServer) as problem:
            return [f"{state.node.name} does not prove itself: {problem}"]
        if identity != state.identity:
            return [f"{state.node.name} is recorded as {state.identity}, and is {identity}"]
        return []

    # -- nodes ---------------------------------------------------------------------------------------------------

    def state(self, node: str) -> NodeState:
        """One node as recorded: its process, folder and identity. Raises ValueError with the names there are."""
        for state in self.running.nodes:
            if state.node.name == node:
                return state
        raise ValueError(f"{self.spec.name} has no node {node!r}: it has {', '.join(self.node_names)}")

    def _process(self, node: str) -> ProcessId:
        process = self.state(node).process
        if process is None or not process.alive():
            raise ServerDown(f"{node} does not run")
        return process

    def _serving(self) -> Sequence[Node]:
        return [state.node for state in self.running.nodes if _runs(state) and not _is_frozen(state)]

    def _check_quorum(self, serving: Collection[str]) -> None:
        if len(serving) < self.spec.quorum:
            raise ValueError(f"{self.spec.name} serves with {self.spec.quorum} nodes or more: start them together")


def _runs(state: NodeState) -> bool:
    process = state.process
    return process is not None and process.alive()


def _is_frozen(state: NodeState) -> bool:
    process = state.process
    return process is not None and freezing.is_frozen(process)


def _listed(pids: Sequence[int]) -> str:
    word = "process" if len(pids) == 1 else "processes"
    return f"{word} {', '.join(map(str, pids))}"
