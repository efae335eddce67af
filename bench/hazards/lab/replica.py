"""A replica in the lab, and the failover that loses what was not yet replicated.

The instant between a primary's answer and its replication is made as long as a scenario wants: the link between the two
goes through a fault proxy, which is cut as a pulled cable is. What was written before the cut is in both, what is
written after it is in the primary alone: no chance decides.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial

from bench.hazards.timeline import now_ns
from bench.records.hazards import FaultWindow
from bench.servers.breaking import freezing
from bench.servers.breaking.proxy import FaultProxy
from bench.servers.endpoint import Endpoint
from bench.servers.running.readiness import until_ready
from bench.servers.running.supervisor import NotRunning, Supervisor
from bench.servers.spec import Node, NotReady, Replication

_IN_STEP_WITHIN_S = 20.0


class Replica:
    """A second server beside the primary, attached to it. Made and removed by `LabServers`."""

    def __init__(
        self,
        replication: Replication,
        supervisor: Supervisor,
        turn: Callable[[], AbstractContextManager[None]],
        primary: Node,
        others: Sequence[Node],
        variant: Mapping[str, str],
    ) -> None:
        self._replication = replication
        self._spec = replication.spec
        self.node_name = self._spec.node_names[0]
        self.primary = primary
        self._others = others
        self._variant = variant
        self._supervisor = supervisor
        self._turn = turn
        self._link = FaultProxy((primary.host, primary.port))

    @property
    def endpoint(self) -> Endpoint:
        """How clients reach the replica, once it is promoted."""
        return self._supervisor.endpoint(self._spec)

    def attach(self) -> None:
        """Start it, as durable as its primary, and wait until it has all that the primary has. Raises TooLate."""
        with self._turn():
            self._supervisor.up([self._spec])
        self._replication.follow(self._node, self._link.address)
        self.in_step()
        self._supervisor.configure(
            self._spec, self._variant
        )  # waits until what was copied is on disk, where it is to be

    def in_step(self) -> int:
        """Wait until the replica has all that the primary has; the offset of both. Raises TooLate."""
        return self._until_in_step(self._node, self.primary)

    def cut(self) -> FaultWindow:
        """Cut the link between primary and replica, once in step. Neither is notified; `promote` or `mend` ends it."""
        offset = self.in_step()
        self._link.drop()
        confirmed = f"both at offset {offset}; then the proxy between them forwards nothing"
        began_ns = now_ns()
        return FaultWindow(
            kind="partition", target=self.node_name, began_ns=began_ns, ended_ns=None, confirmed=confirmed
        )

    def promote(self) -> FaultWindow:
        """Make the replica a primary of its own. An instant: from here on it takes writes, at `endpoint`.

        What the proxy held back is lost, as it is with a primary that died. The other servers of the set follow the new
        primary, and lose what it does not have.
        """
        offset = self._replication.promote(self._node)
        began_ns = now_ns()
        self._link.close()
        for other in self._others:
            self._replication.follow(other, (self._node.host, self._node.port))
            self._until_in_step(other, self._node)
        confirmed = f"role master, at offset {offset}"
        return FaultWindow(
            kind="failover", target=self.node_name, began_ns=began_ns, ended_ns=None, confirmed=confirmed
        )

    def let_go(self) -> None:
        """Close the link. Idempotent."""
        self._link.close()

    def remove(self) -> None:
        """Stop the replica; the others follow the primary that they had. Idempotent."""
        self._link.close()
        for other in self._others:
            with suppress(NotReady):  # one that is dead by now is started with the settings that it had
                self._replication.follow(other, (self.primary.reached_at, self.primary.port))
        with self._turn(), suppress(NotRunning):
            for state in self._supervisor.running(self._spec).nodes:
                # Not politely: a redis-server that is about to write its append-only file refuses to end for a while.
                if state.process is not None:
                    freezing.kill_if_alive(state.process)
            self._supervisor.down([self._spec])

    def _until_in_step(self, replica: Node, primary: Node) -> int:
        ask = partial(self._replication.in_step, replica, primary)
        return until_ready(ask, time.monotonic() + _IN_STEP_WITHIN_S, replica.name)

    @property
    def _node(self) -> Node:
        (state,) = self._supervisor.running(self._spec).nodes
        return state.node
