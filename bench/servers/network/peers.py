"""Delay lines between the servers of a set: each reaches the others through them, from its start to its end.

A line has the port of the server behind it, at another address of loopback. The servers are told that address instead
of each other's own (`Node.peer_host`), so that nothing leads past the lines, and `past_lines` looks whether it is so.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import psutil

from bench.servers.network.lines import Lines, open_lines
from bench.servers.spec import Node, ServerSpec

Address = tuple[str, int]
PEER_HOST = "127.0.0.2"  # of the lines: every address of 127.0.0.0/8 is this machine
_LOOKS = 3


class PeerLines:
    """The lines of every set that a supervisor starts (its `lay_peers`). `peer_lines` makes it."""

    def __init__(self, echo: Address) -> None:
        """`echo` answers the probe; each process of lines has a line before it, to measure what the others do."""
        self.echo = echo
        self._open: dict[str, tuple[ExitStack, Lines]] = {}

    def lay(self, spec: ServerSpec, nodes: Sequence[Node]) -> Sequence[Node]:
        """Open lines before all addresses at which these nodes will reach each other; say where the lines are.

        Nodes that never do stay as they are. Those of a set that is started anew get new lines. Raises LinesFailed.
        """
        self._close(spec.name)
        targets = peer_addresses(spec, nodes)
        if not targets:
            return nodes
        with ExitStack() as opening:
            at = {(host, port): (PEER_HOST, port) for host, port in targets}
            lines = opening.enter_context(open_lines([*targets, self.echo], at=at))
            self._open[spec.name] = (opening.pop_all(), lines)
        return [replace(node, peer_host=PEER_HOST) for node in nodes]

    def of(self, set_name: str) -> Lines:
        """The lines between the servers of one set. Raises KeyError where there are none."""
        return self._open[set_name][1]

    def close(self) -> None:
        """End all lines. Idempotent."""
        for name in list(self._open):
            self._close(name)

    def _close(self, set_name: str) -> None:
        if set_name in self._open:
            self._open.pop(set_name)[0].close()


@contextmanager
def peer_lines(echo: Address) -> Iterator[PeerLines]:
    """Have lines for sets that are started within a block; they end with it, and so must the servers before."""
    lines = PeerLines(echo)
    try:
        yield lines
    finally:
        lines.close()


def peer_addresses(spec: ServerSpec, nodes: Sequence[Node]) -> tuple[Address, ...]:
    """Where these nodes listen for each other."""
    return tuple((node.host, node.ports[name]) for node in nodes for name in spec.peer_port_names)


def past_lines(spec: ServerSpec, nodes: Sequence[Node], pids: Mapping[str, int]) -> tuple[str, ...]:
    """Connections of these nodes to each other, in words: what comes out of a line is one of the lines' process.

    `pids` by the nodes' names. Looked for a few times: a connection may end between the looks at its two ends. What is
    there each time stays.
    """
    found = _past_lines(spec, nodes, pids)
    for _ in range(_LOOKS - 1):
        if not found:
            break
        found &= _past_lines(spec, nodes, pids)
    return tuple(sorted(found))


def _past_lines(spec: ServerSpec, nodes: Sequence[Node], pids: Mapping[str, int]) -> set[str]:
    ours = {node.name: _established(pids[node.name]) for node in nodes if node.name in pids}
    went_out = {(one.raddr.port, one.laddr.port) for connections in ours.values() for one in connections}
    return {
        f"{node.name}, port {one.laddr.port} from port {one.raddr.port}"
        for node in nodes
        for one in ours.get(node.name, ())
        if one.laddr.port in {node.ports[name] for name in spec.peer_port_names}
        and (one.laddr.port, one.raddr.port) in went_out
    }


def _established(pid: int) -> Sequence[Any]:
    """Connections as psutil tells them; none of a process that has ended."""
    try:
        every = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return ()
    return [one for one in every if one.status == psutil.CONN_ESTABLISHED]
