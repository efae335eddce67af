"""How far a server's wall clock is off, asked of the server itself: the confirmation of a step."""

import time
from dataclasses import dataclass

from bench.errors import LockbenchError
from bench.servers.running.state import NodeState
from bench.systems.registry import system

_MS = 1_000_000


class NotTold(LockbenchError):
    """The server did not tell its time."""


@dataclass(frozen=True, slots=True)
class SeenOffset:
    """The server's wall clock is `least_ms` to `most_ms` ahead of the machine's (negative: behind).

    The width is the time that asking took, and the grain of what the server tells.
    """

    least_ms: float
    most_ms: float
    told_by: str

    def agrees_with(self, offset_ms: float) -> bool:
        return self.least_ms <= offset_ms <= self.most_ms

    def __str__(self) -> str:
        return f"{self.least_ms:+.3f} to {self.most_ms:+.3f} ms from the machine's clock, by {self.told_by}"


def seen_offset(name: str, node: NodeState) -> SeenOffset:
    """Ask one node of a system's private servers. Takes up to a second where only whole seconds are reported.

    Raises NotTold if the server does not answer as expected.
    """
    servers = system(name).servers
    if servers is None:
        raise NotTold(f"{name} has no server that could tell its time")
    try:
        answer = servers.tell_time(node.node, node.log_path)
    except (OSError, ValueError) as failed:
        raise NotTold(f"{node.node.name} did not tell its time: {failed}") from failed
    answered_ns = time.time_ns()
    earliest, latest = answer.wall_ns - answered_ns, answer.wall_ns + answer.grain_ns - answer.asked_ns
    return SeenOffset(earliest / _MS, latest / _MS, answer.told_by)
