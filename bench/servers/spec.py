"""The server contract: how a system's own servers are found, started, proven and reached.

A system's `server.py` subclasses `ServerSpec`; the supervisor owns processes, ports and folders and calls these hooks.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.url import Secret, UrlRules


@dataclass(frozen=True, slots=True)
class Node:
    """One server of a topology: where it listens and where its files are. `ports` has one entry per `port_names`.

    The other servers of its set reach it at `reached_at`, on the same ports: not at its own address where delay lines
    lie between them.
    """

    name: str
    ports: Mapping[str, int]
    directory: Path
    host: str = "127.0.0.1"
    peer_host: str = ""  # "": its own

    @property
    def port(self) -> int:
        """The port that clients use."""
        return self.ports["client"]

    @property
    def reached_at(self) -> str:
        """The address at which the other servers of its set reach it."""
        return self.peer_host or self.host


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start one node: an argument vector without a shell, and the account to run it as (None: the caller's).

    It is started in the folder that has the node's own directory in it.
    `hidden` are the beginnings of the names of variables that the server would read and must not see: the settings are
    in `argv` and in its files, whatever is set around lockbench.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    run_as: str | None = None
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The native programs of a system, by the name the spec uses for them, with a version for people."""

    programs: Mapping[str, str]
    version: str


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not installed, and the exact command that installs it."""

    what: str
    install: str


@dataclass(frozen=True, slots=True)
class ToldTime:
    """What a server said of its own wall clock: it read `wall_ns`, or up to one grain later, at an instant after
    `asked_ns`, which is the machine's wall time as `time.time_ns` tells it."""

    asked_ns: int
    wall_ns: int
    grain_ns: int
    told_by: str


class NotReady(Exception):
    """The server does not answer yet; ask again until the deadline."""


class WrongServer(LockbenchError):
    """Something answers on the port, and it is not the server that was started. Never retried."""


class Replication(Protocol):
    """How a server of a set gets a copy that may take its place. Each raises NotReady until it is so."""

    @property
    def spec(self) -> "ServerSpec":
        """The copy, a set of one."""

    def follow(self, replica: Node, primary: tuple[str, int]) -> None:
        """Make `replica` copy the server that it reaches at the address `primary`."""

    def in_step(self, replica: Node, primary: Node) -> int:
        """How far both have come; NotReady while the replica is behind."""

    def promote(self, replica: Node) -> int:
        """Make the replica a primary; return how far it had come."""


class ServerSpec(ABC):
    """Everything that is particular to one system's servers. Stateless: all state is in the nodes' folders."""

    name: ClassVar[str]  # of the server set: "redis", "redlock", "zookeeper", ...
    title: ClassVar[str]  # for people
    node_names: ClassVar[tuple[str, ...]]
    port_names: ClassVar[tuple[str, ...]] = ("client",)
    peer_port_names: ClassVar[tuple[str, ...]] = ()  # of these, where the nodes reach each other; (): they never do
    debian_packages: ClassVar[tuple[str, ...]] = ()
    npm_packages: ClassVar[tuple[str, ...]] = ()
    compose_services: ClassVar[tuple[str, ...]]  # the same nodes in docker-compose.yml, in node order
    compose_port: ClassVar[int]  # the client port inside the container
    url_rules: ClassVar[UrlRules]  # what is honoured of a URL of the user's own servers
    compose_secrets: ClassVar[frozenset[Secret]] = frozenset()  # those that docker-compose.yml reads as well
    program_variable: ClassVar[str] = ""  # LOCKBENCH_<SET>_…, where one says which programs to start
    ready_within_s: ClassVar[float] = 30.0
    stop_signal: ClassVar[str] = "SIGTERM"
    # What of a node's folder is lost with its disk; settings stay, a machine is set up anew from them. (): it keeps
    # nothing on its disk. None: it cannot be started with an empty one, for the reason beside.
    disk: ClassVar[tuple[str, ...] | None] = None
    why_no_empty_disk: ClassVar[str] = "its spec does not say what a node keeps on its disk"
    elects: ClassVar[bool] = False  # a majority of the nodes chooses the one that decides, and serves

    @abstractmethod
    def find(self) -> Found | Missing:
        """Look for the native programs. Starts nothing but `--version`."""

    def unprivileged_account(self) -> str | None:
        """The account that the servers must run as when lockbench is root; None: any will do.

        The supervisor gives it the nodes' folders before `prepare`; `prepare` names it again in each `Launch.run_as`.
        """
        return None

    @abstractmethod
    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        """Write configurations into the nodes' (existing, empty or kept) folders; say how to start each node."""

    def called_at(self, node: Node) -> tuple[str, int] | None:
        """Where a node must listen before the next one is started, which calls it only then; None: in any order."""
        return None

    @abstractmethod
    def prove(self, node: Node, pid: int | None) -> str:
        """Ask the server on `node` who it is and return its identity (run id, cluster id, data directory).

        `pid` is the process that was started (None: a container or a foreign server). Raises NotReady or WrongServer.
        """

    def identify(self, endpoint: Endpoint) -> str:
        """Ask servers of the user's own who they are, with the credentials that clients of theirs use.

        Raises ConnectionError or RuntimeError, with the address, where nothing or something else answers.
        """
        raise ValueError(f"{self.name} has no servers but those that lockbench starts")

    def settle(self, nodes: Sequence[Node]) -> None:  # noqa: B027 - most systems have nothing to do here
        """After every node is proven: wait for a quorum, create tables. Raises NotReady until it is so."""

    def configure(self, nodes: Sequence[Node], variant: Mapping[str, str]) -> None:
        """Bring running servers to a variant (`{}`: the default) before a run; read it back. ValueError if unknown."""
        if variant:
            raise ValueError(f"{self.name} has no server variant {dict(variant)}")

    @property
    def quorum(self) -> int:
        """How many nodes must run for any of them to serve."""
        return len(self.node_names) // 2 + 1 if self.elects else 1

    def leader(self, nodes: Sequence[Node]) -> str:
        """The name of the node that decides, asked of `nodes`. Raises NotReady while there is none."""
        raise ValueError(f"the nodes of {self.name} have no leader: they know nothing of each other")

    def replication(self) -> Replication | None:
        """How a node gets a copy that can take its place; None: it has none here."""
        return None

    def tell_time(self, node: Node, log_path: Path) -> ToldTime:
        """Ask one private server for its wall clock; its log is at `log_path`. Raises OSError or ValueError."""
        raise ValueError(f"servers of {self.name} have no way to tell their time")

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        """What the servers counted and timed of themselves since they started, summed over all nodes. `{}`: nothing.

        Every value only rises, so that two views make a difference (`bench.servers.counters`). Units stand last. Some
        mean the same of every system, and reports ask for them by name; all others are the system's own:

            execute_calls, execute_us   the requests that acquire a lock: the work itself, no waiting for disk or peers
            answer_calls, answer_us     the same from a request's arrival to its answer, disk and peers included
            fsync_calls, fsync_us       durable writes of the log
            requests                    everything that clients sent, a keep-alive as well as an acquire

        What a server does not tell, or rounds so that no duration can be had from it, is left out, never guessed. By
        endpoint, not by node: servers of the user's own are looked at too. Raises ConnectionError, with the address.
        """
        return {}

    def erase(self, endpoint: Endpoint, key: str) -> str:
        """Delete all that the servers keep for one lock alone, as an operator does, past every adapter; says what.

        What all locks share stays (a cluster's revision, a sequence). Raises ConnectionError, with the address.
        """
        raise ValueError(f"{self.name} has no entry of a lock that could be erased")

    def touch(self, endpoint: Endpoint, key: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Write over the entry of a lock's holder, and take nothing from the holder by it.

        Returns the numbers that the servers keep beside the entry, before and after. Raises ConnectionError, with the
        address, and LookupError where nobody holds the lock.
        """
        raise ValueError(f"{self.name} has no entry of a holder with numbers of its own")

    @abstractmethod
    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        """How clients reach these nodes."""

    @abstractmethod
    def native_durability(self) -> Mapping[str, str]:
        """The durability settings that `prepare` configures, in the words of docker-compose.yml's flags.

        A test holds the compose file against these, so that the two topologies cannot drift.
        """
