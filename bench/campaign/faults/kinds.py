"""Which faults a run of load on a system can have, by what its servers are."""

from collections.abc import Callable, Mapping

from bench.records.workload import FAULTS, NO_FAULT
from bench.servers.spec import ServerSpec
from bench.systems.registry import System

EVERY = "every"  # asked for instead of one fault: each that the system can have


def minority(spec: ServerSpec) -> int:
    """The most servers without which the others are still a majority."""
    return (len(spec.node_names) - 1) // 2


def majority(spec: ServerSpec) -> int:
    """The fewest servers without which the others are no majority."""
    return len(spec.node_names) - len(spec.node_names) // 2


def _several(spec: ServerSpec) -> str:
    return "" if minority(spec) else f"{len(spec.node_names)} server has neither a minority nor a majority"


def _one_decides(spec: ServerSpec) -> str:
    return "" if spec.elects or len(spec.node_names) == 1 else "its servers know nothing of each other: none leads"


_WHY_NOT: Mapping[str, Callable[[ServerSpec], str]] = {
    "leader-killed": _one_decides,
    "minority-stopped": _several,
    "majority-stopped": _several,
    "holder-killed": lambda _: "",
}


def why_not(fault: str, entry: System) -> str:
    """Why a system cannot have a fault; empty where it can."""
    if fault == NO_FAULT:
        return ""
    if entry.servers is None:
        return "it has no servers"
    return _WHY_NOT[fault](entry.servers)


def faults_of(entry: System) -> tuple[str, ...]:
    """Each fault that a system can have."""
    return tuple(fault for fault in FAULTS if fault != NO_FAULT and not why_not(fault, entry))
