"""Which faults a run of load on a system can have, by what its servers are."""

from collections.abc import Callable, Mapping

from bench.records.workload import FAULTS, NO_FAULT
from bench.systems.registry import System

EVERY = "every"  # asked for instead of one fault: each that the system can have


def minority(nodes: int) -> int:
    """The most servers without which the others are still a majority."""
    return (nodes - 1) // 2


def majority(nodes: int) -> int:
    """The fewest servers without which the others are no majority."""
    return nodes - nodes // 2


def _several(nodes: int, elects: bool) -> str:
    return "" if minority(nodes) else "it has fewer than three servers, so no minority"


def _one_decides(nodes: int, elects: bool) -> str:
    return "" if elects or nodes == 1 else "its servers elect no leader"


_WHY_NOT: Mapping[str, Callable[[int, bool], str]] = {
    "leader-killed": _one_decides,
    "minority-stopped": _several,
    "majority-stopped": _several,
    "holder-killed": lambda nodes, elects: "",
}


def why_not(fault: str, entry: System) -> str:
    """Why a system cannot have a fault; empty where it can."""
    if fault == NO_FAULT:
        return ""
    if entry.servers is None:
        return "it has no servers"
    return _WHY_NOT[fault](len(entry.servers.node_names), entry.servers.elects)


def faults_of(entry: System) -> tuple[str, ...]:
    """Each fault that a system can have."""
    return tuple(fault for fault in FAULTS if fault != NO_FAULT and not why_not(fault, entry))
