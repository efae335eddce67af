"""Brings server sets up, proves them, reports on them and takes them down, wherever they come from."""

import errno
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.interruption import uninterrupted
from bench.servers.process import start, stop
from bench.servers.running import compose
from bench.servers.running.accounts import closed_to, hand_over, make_way, remedy
from bench.servers.running.ports import claim_ports, free_ports
from bench.servers.running.readiness import listens, until_ready
from bench.servers.running.settings import Settings, endpoint_from_url, load_settings, variable
from bench.servers.running.state import NodeState, RunningSet, StateFile, exclusive, home_named
from bench.servers.spec import Launch, Missing, Node, NotReady, ServerSpec, WrongServer

_STOP_WITHIN_S = 15.0
_SHOWN_MOST = 300  # characters of a stranger's words: a web server answers with a whole page
# Debian 12's docker-compose is version 1, another program that `docker compose` does not find.
_COMPOSE_INSTALL = "sudo apt-get install docker.io docker-compose-v2 (Ubuntu) or docker.io docker-compose (Debian 13)"
_SOURCES_ASKED = ("url", "compose", "native")
Progress = Callable[[str], None]
LayPeers = Callable[[ServerSpec, Sequence[Node]], Sequence[Node]]  # puts something between the nodes of a set


class ServersError(LockbenchError):
    """Servers could not be brought up or reached; the message names the server and what to do."""


class NotRunning(ServersError):
    """The servers of a system are not up."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One line of `lockbench status`. `problem` is None for a node that proved its identity just now."""

    set_name: str
    node: str
    source: str
    address: str
    pid: int | None
    identity: str
    problem: str | None


@dataclass(frozen=True, slots=True)
class Starting:
    """Native nodes of one set between their first process and their proof."""

    spec: ServerSpec
    nodes: tuple[NodeState, ...]
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)


class Supervisor:
    """All servers of one home folder (`.lockbench`). Every method leaves the folder's records true at every instant."""

    def __init__(self, home: Path, settings: Settings | None = None, lay_peers: LayPeers | None = None) -> None:
        """`lay_peers` sees the nodes of each native set before it is started, and says where they reach each other."""
        self.home = Path(os.path.realpath(home))  # unlike `resolve`, this lets a link to itself be reported later
        self.settings = settings or Settings()
        self._lay_peers = lay_peers or (lambda _, nodes: nodes)
        self._launches: dict[tuple[str, str], Launch] = {}  # as started by this object, by names of set and node

    @classmethod
    def default(cls) -> "Supervisor":
        """The home of the current folder (or LOCKBENCH_HOME) with its lockbench.toml."""
        home = Path(os.environ.get("LOCKBENCH_HOME") or ".lockbench")
        with home_named(home):
            if home.exists() and not home.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "it is not a folder")
        return cls(home, load_settings())

    # -- where servers come from ---------------------------------------------------------------------------------

    def source(self, spec: ServerSpec) -> str | Missing:
        """native, compose or url: what `up` would use for this set. Missing: nothing here can serve it."""
        wanted = self.settings.of(spec.name)
        if wanted.url is not None or wanted.source == "url":
            return "url"
        found = spec.find()
        if wanted.source in ("auto", "native") and not isinstance(found, Missing):
            return "native"
        if wanted.source in ("auto", "compose") and compose.engine_answers():
            return "compose"
        if isinstance(found, Missing):
            return found
        return Missing("a Docker engine that answers `docker compose`", _COMPOSE_INSTALL)

    def require(self, specs: Sequence[ServerSpec]) -> None:
        """Raise ServersError, saying how to install it, for the first set that nothing here can serve."""
        for spec in specs:
            source = self.source(spec)
            if isinstance(source, Missing):
                raise _needs(spec, source)

    # -- up ------------------------------------------------------------------------------------------------------

    def up(self, specs: Sequence[ServerSpec], progress: Progress = lambda _: None) -> dict[str, RunningSet]:
        """Start what is not running, all sets side by side, and prove every node. All of them are up, or an exception.

        Sets that were up before stay up and are proven again. What this call started is stopped when it fails.
        """
        with exclusive(self.home, "supervisor"):
            running: dict[str, RunningSet] = {}
            started: list[Starting] = []
            composed: list[ServerSpec] = []
            try:
                missing: list[tuple[ServerSpec, str]] = []
                for spec in specs:
                    alive = self._still_up(spec)
                    if alive is not None:
                        running[spec.name] = alive
                    else:
                        missing.append((spec, self._served_by(spec)))
                self._claim_ports([spec for spec, source in missing if source == "native"])
                composed += [spec for spec, source in missing if source == "compose"]
                # What is not ours comes first: should it not answer, nothing was started in vain.
                for spec, source in sorted(missing, key=lambda entry: _SOURCES_ASKED.index(entry[1])):
                    progress(f"{'asking' if source == 'url' else 'starting'} {spec.title} ({source})")
                    if [spec] == composed[:1]:
                        self._start_containers(composed)  # all in one go: the wait is for their first health checks
                    if source == "native":
                        self._launch(spec, started)
                    else:
                        running[spec.name] = self._attach(spec, source)
                for starting in started:
                    progress(f"waiting for {starting.spec.title}")
                    running[starting.spec.name] = self._prove_all(starting)
            except BaseException:
                # Also on Ctrl-C: nothing that this call started may outlive it.
                with uninterrupted("stopping the servers that were just started"):
                    for starting in started:
                        self._stop_nodes(starting.spec, starting.nodes)
                    for spec in composed:
                        self._stop_containers(spec)
                raise
            return {spec.name: running[spec.name] for spec in specs}

    def _served_by(self, spec: ServerSpec) -> str:
        """Where the set will come from; what can be found wrong without asking anybody is reported here."""
        source = self.source(spec)
        if isinstance(source, Missing):
            raise _needs(spec, source)
        self._check_variables(spec, source)
        if source == "url":
            self._foreign_endpoint(spec)
        return source

    def check_variables(self, specs: Sequence[ServerSpec]) -> None:
        """Raise SettingsError for the first variable of one of these sets that nothing would make use of."""
        for spec in specs:
            source = self.source(spec)
            self._check_variables(spec, "native" if isinstance(source, Missing) else source)

    def _check_variables(self, spec: ServerSpec, source: str) -> None:
        """Raise SettingsError for a variable of this set of which servers from there make no use."""
        used = {spec.program_variable}
        if source == "compose":
            used |= {variable(spec.name, secret) for secret in spec.compose_secrets}
        self.settings.refuse_unused(spec.name, source, used)

    def _claim_ports(self, specs: Sequence[ServerSpec]) -> None:
        """Raise PortTaken for the first of all chosen ports that is taken, by one of these sets or by somebody else."""
        claim_ports(port for spec in specs for port in self._chosen_ports(spec) or ())

    def _chosen_ports(self, spec: ServerSpec) -> range | None:
        """The ports of a set, in the order of its nodes, where lockbench.toml has a first one."""
        first = self.settings.of(spec.name).first_port
        return None if first is None else range(first, first + len(spec.port_names) * len(spec.node_names))

    def _still_up(self, spec: ServerSpec) -> RunningSet | None:
        known = StateFile(self.home, spec.name).read()
        if known is None:
            return None
        source, states = known
        if "url" in (source, self.source(spec)):
            return None  # the user's own servers are looked at afresh each time
        if self.settings.of(spec.name).source not in ("auto", source):
            return None  # others are asked for by now
        self._check_variables(spec, source)
        try:
            proven = tuple(replace(state, identity=self._prove(spec, source, state)) for state in states)
        except (NotReady, WrongServer, compose.ComposeError):
            self._stop_strays(spec)  # half of a set is no use: start afresh
            return None
        return self._running(spec, source, proven)

    def _launch(self, spec: ServerSpec, started: list[Starting]) -> None:
        found = spec.find()
        if isinstance(found, Missing):
            raise _needs(spec, found)
        self._stop_strays(spec)
        starting = Starting(spec, self._lay_out(spec))
        started.append(starting)  # before the first process, so that a failure half-way stops what there is
        launches = spec.prepare([state.node for state in starting.nodes], found)
        StateFile(self.home, spec.name).write("native", starting.nodes)
        for state, launch in zip(starting.nodes, launches, strict=True):
            self._launches[spec.name, state.node.name] = launch
            starting.processes.append(start(launch, state.folder / "pid", state.log_path))
            if (address := spec.called_at(state.node)) is not None:
                deadline = time.monotonic() + spec.ready_within_s
                until_ready(
                    partial(listens, address), deadline, state.node.name, starting.processes[-1], state.log_path
                )

    def _lay_out(self, spec: ServerSpec) -> tuple[NodeState, ...]:
        """Fresh, empty folders and ports for every node."""
        per_node = len(spec.port_names)
        chosen = self._chosen_ports(spec)
        ports = free_ports(per_node * len(spec.node_names)) if chosen is None else claim_ports(chosen)
        states = []
        for index, name in enumerate(spec.node_names):
            folder = self._node_folder(spec, name)
            shutil.rmtree(folder, ignore_errors=True)
            account = spec.unprivileged_account()
            make_way(folder, account)
            (folder / "data").mkdir(parents=True)
            hand_over((folder, folder / "data"), account)
            if account is not None and (closed := closed_to(account, folder / "data")) is not None:
                raise ServersError(f"{spec.title} runs as {account}, {remedy(closed)}")
            mine = ports[index * per_node : (index + 1) * per_node]
            node = Node(name, dict(zip(spec.port_names, mine, strict=True)), folder / "data")
            states.append(NodeState(node, "", folder))
        laid = self._lay_peers(spec, [state.node for state in states])
        return tuple(replace(state, node=node) for state, node in zip(states, laid, strict=True))

    def _node_folder(self, spec: ServerSpec, node_name: str) -> Path:
        """Under the home; for a server that must not run as root, elsewhere if its account cannot enter the home."""
        inside = self.home / "servers" / spec.name / node_name
        account = spec.unprivileged_account()
        if account is None or closed_to(account, inside.parent) is None:
            return inside
        return self.outside / spec.name / node_name

    @property
    def outside(self) -> Path:
        """Where the folders of servers are whose account cannot enter the home."""
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]
        return Path("/var/tmp") / f"lockbench-{digest}"

    def _prove_all(self, starting: Starting) -> RunningSet:
        spec = starting.spec
        deadline = time.monotonic() + spec.ready_within_s
        proven = _prove_each(starting, deadline)
        settle = partial(spec.settle, [state.node for state in proven])
        until_ready(settle, deadline, spec.title, starting.processes[0], proven[0].log_path)
        StateFile(self.home, spec.name).write("native", proven)
        return self._running(spec, "native", proven)

    def _attach(self, spec: ServerSpec, source: str) -> RunningSet:
        """Servers that are not our processes: the user's own, or containers."""
        if source == "compose":
            addresses = tuple(compose.address(service, spec.compose_port) for service in spec.compose_services)
        else:
            addresses = self._foreign_endpoint(spec).addresses
        names = spec.compose_services if source == "compose" else [f"{host}:{port}" for host, port in addresses]
        nodes = tuple(
            Node(name, {"client": port}, Path(), host) for name, (host, port) in zip(names, addresses, strict=True)
        )
        states = tuple(NodeState(node, "", self.home / "servers" / spec.name / node.name) for node in nodes)
        if source == "url":
            # Asked once: nobody is starting them, so nothing is to be waited for.
            states = tuple(replace(state, identity=self._prove(spec, source, state)) for state in states)
            self._stop_strays(spec)  # private servers of before give way, and not before it is known to what
        else:
            deadline = time.monotonic() + spec.ready_within_s
            states = tuple(
                replace(
                    state, identity=until_ready(partial(self._prove, spec, source, state), deadline, state.node.name)
                )
                for state in states
            )
            until_ready(partial(spec.settle, nodes), deadline, spec.title)
        StateFile(self.home, spec.name).write(source, states)
        return self._running(spec, source, states)

    def _start_containers(self, specs: Sequence[ServerSpec]) -> None:
        """Have the containers up, and note those that did not run before: only they are ours to stop again."""
        for spec in specs:
            known = StateFile(self.home, spec.name).read()
            if known is not None and known[0] == "native":
                self._stop_strays(spec)
        before = {spec.name: compose.containers(spec.compose_services, running=True) for spec in specs}
        try:
            compose.up([service for spec in specs for service in spec.compose_services])
        finally:
            for spec in specs:
                note = self._containers_note(spec)
                note.parent.mkdir(parents=True, exist_ok=True)
                note.write_text("\n".join(compose.containers(spec.compose_services) - before[spec.name]))

    def _stop_containers(self, spec: ServerSpec) -> list[str]:
        """Remove the containers that a lockbench of this home started; those that somebody else had up stay."""
        note = self._containers_note(spec)
        ours = note.read_text().split() if note.exists() else []
        stopped = compose.stop(ours) if ours else []
        note.unlink(missing_ok=True)
        StateFile(self.home, spec.name).remove()
        return stopped

    def _containers_note(self, spec: ServerSpec) -> Path:
        return StateFile(self.home, spec.name).folder / "containers"

    def _foreign_endpoint(self, spec: ServerSpec) -> Endpoint:
        url = self.settings.of(spec.name).url
        if url is None:
            raise ServersError(f"{spec.title}: source is url, but there is none. Set {variable(spec.name, 'url')}")
        return endpoint_from_url(spec.name, url, spec.url_rules)

    def _prove(self, spec: ServerSpec, source: str, state: NodeState) -> str:
        """Who answers at a node now. A container's id is added to what the server in it says."""
        if source == "url":
            return self._identify(spec, state)
        if source == "native":
            return spec.prove(state.node, _pid(state))
        # First whose the address is: another service's server would give a good proof of itself.
        container = compose.container(state.node.name, spec.compose_port, (state.node.host, state.node.port))
        return f"{spec.prove(state.node, None)} in {container}"

    def _identify(self, spec: ServerSpec, state: NodeState) -> str:
        """Each node of the user's own is asked by itself: a client of several is content with some of them."""
        try:
            return spec.identify(self._foreign_endpoint(spec).at(((state.node.host, state.node.port),)))
        except (OSError, RuntimeError) as refused:
            why = " ".join(str(refused).split())[:_SHOWN_MOST]
            raise WrongServer(f"{state.node.name} does not answer as {spec.title} does: {why}") from refused

    def _running(self, spec: ServerSpec, source: str, states: tuple[NodeState, ...]) -> RunningSet:
        if source == "url":
            return RunningSet(spec.name, source, states, self._foreign_endpoint(spec))
        return RunningSet(spec.name, source, states, spec.endpoint([state.node for state in states]))

    # -- while up ------------------------------------------------------------------------------------------------

    def running(self, spec: ServerSpec) -> RunningSet:
        """The set as recorded, without asking the servers. Raises NotRunning with the command that starts them."""
        known = StateFile(self.home, spec.name).read()
        if known is None:
            raise NotRunning(f"{spec.title} is not up: start it with `lockbench up {spec.name}`")
        source, states = known
        self._check_variables(spec, source)
        self._check_named(spec, source, states)
        return self._running(spec, source, states)

    def _check_named(self, spec: ServerSpec, source: str, states: tuple[NodeState, ...]) -> None:
        """Raise NotRunning where the settings name others by now than those that were brought up."""
        settings = self.settings.of(spec.name)
        asked = "url" if settings.url is not None else settings.source
        same = asked == source or (asked == "auto" and source != "url")
        if same and source == "url":
            at = tuple((state.node.host, state.node.port) for state in states)
            same = self._foreign_endpoint(spec).addresses == at
        if not same:
            raise NotRunning(
                f"what is up of {spec.title} ({source}) is not what the settings name now: "
                f"`lockbench up {spec.name}` brings that up"
            )

    def endpoint(self, spec: ServerSpec) -> Endpoint:
        """How clients reach the running set."""
        return self.running(spec).endpoint

    def configure(self, spec: ServerSpec, variant: Mapping[str, str]) -> None:
        """Bring a running set to a server variant, before a run. Foreign servers are never reconfigured."""
        running = self.running(spec)
        if running.source != "url":
            try:
                spec.configure([state.node for state in running.nodes], variant)
            except NotReady as silent:
                raise ServersError(f"{spec.title} could not be brought to its settings: {silent}") from silent
        elif variant:
            raise ServersError(f"{spec.title} is yours ({running.endpoint}): lockbench does not change its settings")

    def status(self, specs: Sequence[ServerSpec]) -> list[NodeStatus]:
        """Prove every recorded node again. Sets that were never started are left out."""
        lines = []
        for spec in specs:
            known = StateFile(self.home, spec.name).read()
            if known is None:
                continue
            source, states = known
            for state in states:
                problem = None
                identity = state.identity
                try:
                    identity = self._prove(spec, source, state)
                except (NotReady, WrongServer, compose.ComposeError) as found:
                    problem = str(found) or "does not answer"
                address = f"{state.node.host}:{state.node.port}"
                lines.append(NodeStatus(spec.name, state.node.name, source, address, _pid(state), identity, problem))
        return lines

    def launch_again(self, spec: ServerSpec, node_names: Sequence[str]) -> Starting:
        """Start nodes that have ended, as `up` of this object started them: same command, ports and folders.

        Prove them with `prove_again`. What is in their folders is the caller's affair. Raises ServersError for a node
        that still runs, or that this object did not start.
        """
        states = {state.node.name: state for state in self.running(spec).nodes}
        starting = Starting(spec, tuple(states[name] for name in node_names))
        for state in starting.nodes:
            if (spec.name, state.node.name) not in self._launches:
                raise ServersError(f"{state.node.name} was not started here: it cannot be started again")
            if _pid(state) is not None:
                raise ServersError(f"{state.node.name} still runs")
        for state in starting.nodes:
            launch = self._launches[spec.name, state.node.name]
            starting.processes.append(start(launch, state.folder / "pid", state.log_path))
        return starting

    def prove_again(self, starting: Starting, deadline: float) -> tuple[NodeState, ...]:
        """Wait until nodes that were launched again have proven themselves, and record who they are now.

        `deadline` is on time.monotonic. Raises Died or TooLate.
        """
        proven = {state.node.name: state for state in _prove_each(starting, deadline)}
        every = self.running(starting.spec).nodes
        states = tuple(proven.get(state.node.name, state) for state in every)
        StateFile(self.home, starting.spec.name).write("native", states)
        return tuple(proven.values())

    # -- down ----------------------------------------------------------------------------------------------------

    def down(self, specs: Sequence[ServerSpec], progress: Progress = lambda _: None) -> list[str]:
        """Stop every node of these sets that a lockbench of this home started. Returns the names of those stopped."""
        with exclusive(self.home, "supervisor"), uninterrupted("stopping servers"):
            stopped = []
            for spec in specs:
                progress(f"stopping {spec.title}")
                stopped += self._stop_strays(spec)
                shutil.rmtree(self.outside / spec.name, ignore_errors=True)  # nobody would look for data out there
            return stopped

    def _stop_strays(self, spec: ServerSpec) -> list[str]:
        known = StateFile(self.home, spec.name).read()
        if (known is not None and known[0] == "compose") or self._containers_note(spec).exists():
            return self._stop_containers(spec)
        # The pid files are read, not only the state: after a crash in the middle of `up` they are the fuller record.
        folders = [self._node_folder(spec, name) for name in spec.node_names]
        placeholder = [NodeState(Node(folder.name, {"client": 0}, folder / "data"), "", folder) for folder in folders]
        return self._stop_nodes(spec, placeholder)

    def _stop_nodes(self, spec: ServerSpec, states: Sequence[NodeState]) -> list[str]:
        stopped = []
        for state in states:
            process = state.process
            if process is not None and stop(process, spec.stop_signal, _STOP_WITHIN_S):
                stopped.append(state.node.name)
            (state.folder / "pid").unlink(missing_ok=True)
        StateFile(self.home, spec.name).remove()
        return stopped


def _needs(spec: ServerSpec, missing: Missing) -> ServersError:
    return ServersError(f"{spec.title} needs {missing.what}. Install it with: {missing.install}")


def _prove_each(starting: Starting, deadline: float) -> tuple[NodeState, ...]:
    proven = []
    for state, process in zip(starting.nodes, starting.processes, strict=True):
        prove = partial(starting.spec.prove, state.node, process.pid)
        identity = until_ready(prove, deadline, state.node.name, process, state.log_path)
        proven.append(replace(state, identity=identity))
    return tuple(proven)


def _pid(state: NodeState) -> int | None:
    process = state.process
    return process.pid if process is not None and process.alive() else None
