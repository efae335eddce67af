"""What is running, on disk: enough to find, prove and stop every server that some lockbench started here."""

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.process import ProcessId
from bench.servers.spec import Node

SOURCES = ("native", "compose", "url")


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node as started, and who it proved to be."""

    node: Node
    identity: str
    folder: Path  # holds `pid`, `log.txt` and the node's own data folder

    @property
    def process(self) -> ProcessId | None:
        return ProcessId.read(self.folder / "pid")

    @property
    def log_path(self) -> Path:
        return self.folder / "log.txt"


@dataclass(frozen=True, slots=True)
class RunningSet:
    """One system's servers, up and proven. `source` is native, compose or url."""

    name: str
    source: str
    nodes: tuple[NodeState, ...]
    endpoint: Endpoint = field(repr=False)

    @property
    def identity(self) -> str:
        """All nodes' identities in one string: unlike before and after a run, the servers changed under it."""
        return "; ".join(state.identity for state in self.nodes)

    @property
    def pids(self) -> dict[str, int]:
        """Each node's process by the node's name; empty for servers that are no processes of ours."""
        if self.source != "native":
            return {}
        found = {state.node.name: state.process for state in self.nodes}
        return {name: process.pid for name, process in found.items() if process is not None and process.alive()}


class StateFile:
    """`<home>/servers/<set>/state.json`. No secrets: they stay in the nodes' own folders or the environment."""

    def __init__(self, home: Path, name: str) -> None:
        self.folder = home / "servers" / name
        self.path = self.folder / "state.json"

    def write(self, source: str, nodes: tuple[NodeState, ...]) -> None:
        tree = {
            "source": source,
            "nodes": [
                {
                    "name": state.node.name,
                    "host": state.node.host,
                    "peer_host": state.node.peer_host,
                    "ports": dict(state.node.ports),
                    "directory": str(state.node.directory),
                    "folder": str(state.folder),
                    "identity": state.identity,
                }
                for state in nodes
            ],
        }
        aside = self.path.with_suffix(".new")
        self.folder.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")
        aside.replace(self.path)

    def read(self) -> tuple[str, tuple[NodeState, ...]] | None:
        """The source and nodes last written; None where nothing was started (or the file was cut short by a crash)."""
        try:
            tree: Mapping[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
            return tree["source"], tuple(_node_state(entry) for entry in tree["nodes"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _node_state(entry: Mapping[str, Any]) -> NodeState:
    peer_host = entry.get("peer_host", "")  # servers of an older lockbench may still be up
    node = Node(entry["name"], entry["ports"], Path(entry["directory"]), entry["host"], peer_host)
    return NodeState(node, entry["identity"], Path(entry["folder"]))


class HomeUnusable(LockbenchError):
    """The home folder cannot be had; the message says why, and what to do."""


@contextmanager
def home_named(home: Path) -> Iterator[None]:
    """Turn what the operating system refuses in the home folder into HomeUnusable."""
    try:
        yield
    except OSError as refused:
        raise HomeUnusable(
            f"{home} cannot be used: {refused.strerror}. Set LOCKBENCH_HOME to a folder that you may write to"
        ) from refused


class HomeBusy(LockbenchError):
    """Another lockbench is at work on the same servers."""


@contextmanager
def exclusive(home: Path, what: str) -> Iterator[None]:
    """Hold `<home>/<what>.lock` for a block. The kernel frees it when this process ends in any way, `kill -9` included.

    Raises HomeUnusable; HomeBusy at once when someone else holds it: two campaigns on one machine would measure each
    other.
    """
    with home_named(home):
        home.mkdir(parents=True, exist_ok=True)
        opened = (home / f"{what}.lock").open("w")
    with opened as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as busy:
            raise HomeBusy(
                f"another lockbench holds {home / what}.lock: wait for it, or set LOCKBENCH_HOME for servers apart"
            ) from busy
        yield
