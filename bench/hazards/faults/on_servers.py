"""Faults of the lock's servers, and of what they keep: restarted, and the lock's own entry erased or written over.

How a target is named: see `targets`.
"""

from collections.abc import Mapping
from typing import Any

from bench.errors import LockbenchError
from bench.hazards.faults.base import InForce, Scene
from bench.hazards.faults.targets import nodes_of, servers_of
from bench.hazards.timeline import now_ns


class NotStruck(LockbenchError):
    """A fault could not be brought about; the message says why."""


def restart(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Kill servers at once, and start them again when the fault ends. In force once every process of them is gone.

    Argument: `keep_data` false empties their disks in between. True (the default) leaves what is there, which for a
    Redis without an append-only file is nothing.
    """
    servers = servers_of(scene)
    keep_data = bool(arguments.get("keep_data", True))
    windows = [servers.kill(node) for node in nodes_of(servers, target, arguments)]
    nodes = [window.target for window in windows]

    def over() -> int:
        ended = servers.start(*nodes, keep_data=keep_data)
        return max(window.ended_ns or 0 for window in ended)

    confirmed = f"{'; '.join(window.confirmed for window in windows)}; disk {'kept' if keep_data else 'emptied'}"
    return InForce(windows[-1].began_ns, confirmed, over, target=", ".join(nodes))


def erase(scene: Scene, _: str, __: Mapping[str, Any]) -> InForce:
    """Delete all that the servers keep for this lock, as an operator's clean-up or a job that ends old entries does.

    To be staged while nobody holds the key: what is tested is whether tokens still rise afterwards.
    """
    servers = servers_of(scene)
    try:
        confirmed = servers.spec.erase(servers.endpoint, scene.key)
    except ConnectionError as failed:
        raise NotStruck(f"the entry of {scene.key} could not be erased: {failed}") from failed
    return InForce(now_ns(), confirmed)


def touch(scene: Scene, _: str, __: Mapping[str, Any]) -> InForce:
    """Write over the entry of the lock's holder, its lease and place in the queue left as they are.

    Every number that the servers keep beside the entry becomes a measure twice: `<number>_before` and `_after`.
    """
    servers = servers_of(scene)
    try:
        before, after = servers.spec.touch(servers.endpoint, scene.key)
    except (ConnectionError, LookupError) as failed:
        raise NotStruck(f"the entry of {scene.key} could not be written over: {failed}") from failed
    for moment, numbers in (("before", before), ("after", after)):
        scene.measures.update({f"{name}_{moment}": float(value) for name, value in numbers.items()})
    return InForce(now_ns(), f"written, and read back: {dict(after)}")
