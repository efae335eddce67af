"""All checks by name, and which of them a system's own statement puts out of its reach."""

from collections.abc import Callable, Iterable
from types import ModuleType

from bench.systems.base import Capabilities
from bench.systems.registry import System
from tests.conformance import (
    exclusion,
    finality,
    interruptions,
    leases,
    lifecycle,
    links,
    names,
    ownership,
    slow_links,
    tokens,
    waiting,
)
from tests.conformance.harness import Harness

Check = Callable[[Harness], None]
_MODULES: tuple[ModuleType, ...] = (
    exclusion,
    waiting,
    interruptions,
    ownership,
    leases,
    finality,
    tokens,
    links,
    slow_links,
    names,
    lifecycle,
)


def _found(modules: Iterable[ModuleType]) -> dict[str, Check]:
    return {
        name.removeprefix("check_"): value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("check_")
    }


CHECKS: dict[str, Check] = _found(_MODULES)
LINK_CHECKS = frozenset(_found([links, slow_links])) | {"clients_of_one_name_are_strangers"}

# Checks whose subject is a lease: what ends a grant although its holder did not.
LEASED = frozenset(
    {
        "crashed_holder_keeps_its_lease_and_no_longer",
        "stopped_holder_is_told",
        "suspended_holder_is_told",
        "expired_holder_changes_nothing",
        "expired_grant_is_never_recreated",
        "renewal_extends",
        "renewal_replaces",
        "cut_off_holder_is_told",
        "tokens_rise_across_expiry",
    }
)
_OF_PROCESSES = (
    "processes_exclude_each_other",
    "killed_at_any_moment_leaves_at_most_a_lease",
    "killed_greenlet_leaves_nothing",
)
# Checks in which the lease is asked for by each request, so that a slow request eats into it.
PER_GRANT = frozenset(
    {
        "slow_acquire_is_not_stale",
        "slow_renewal_is_not_stale",
        "deadline_counts_from_the_sending",
        "late_command_leaves_nothing",
    }
)


def has_wire(system: System) -> bool:
    """Whether there is a wire to its store: a network, or the in-process stand-in of `faulty`."""
    return system.servers_path is not None or system.folder == "faulty"


def why_not(check: str, system: System) -> str | None:
    """The reason why a check does not apply to a system, from its capabilities; None: it applies and must pass."""
    able: Capabilities = system.client_class.capabilities
    if able.nodes == 0 and check in _OF_PROCESSES:
        return "lives within one process: nodes is 0"
    if check in LINK_CHECKS and not has_wire(system):
        return "has no network: its store is in the client's process"
    if check == "open_names_who_does_not_answer" and able.nodes == 0:
        return "has no server that could be absent"
    if check in LEASED and able.lease_scope == "none":
        return "has no lease: lease_scope is none"
    if check in ("crashed_holder_frees_at_once", "severed_holder_is_told") and able.lease_scope != "none":
        return f"a lease outlives its connection: lease_scope is {able.lease_scope}"
    if check in PER_GRANT and able.lease_scope != "grant":
        return f"requests do not start a lease: lease_scope is {able.lease_scope}"
    if check == "lease_lost_in_the_queue_is_no_grant" and able.lease_scope != "session":
        return f"a waiter has no lease to lose: lease_scope is {able.lease_scope}"
    if check == "expired_grant_is_never_recreated" and able.expiry_judge == "client":
        return "a lease that nobody contests never ends: expiry_judge is client"
    if check == "queue_order_is_kept" and able.queue_order != "fifo":
        return f"claims no order: queue_order is {able.queue_order}"
    if check.startswith("tokens_rise") and not able.token_rises:
        return "claims no rising token: token_rises is False"
    if check == "a_minority_may_be_unreachable" and able.nodes <= able.quorum:
        return f"has no minority to lose: {able.nodes} nodes, quorum {able.quorum}"
    return None


def applies(check: str, system: System) -> bool:
    """Whether a check applies."""
    return why_not(check, system) is None
