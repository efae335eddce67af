"""All checks by name, and which of them a system's own statement puts out of its reach."""

from collections.abc import Callable, Iterable
from types import ModuleType

from bench.conformance import (
    crowds,
    ended_connections,
    exclusion,
    finality,
    hand_offs,
    interruptions,
    leases,
    lifecycle,
    links,
    names,
    ownership,
    silent_connections,
    slow_links,
    tokens,
    waiting,
    wake_ups,
)
from bench.conformance.bounds import FAR_ROUND_TRIP_MS
from bench.conformance.harness import Harness
from bench.systems.base import Capabilities
from bench.systems.registry import System

Check = Callable[[Harness], None]
_ENDINGS: tuple[ModuleType, ...] = (links, ended_connections, silent_connections)
_MODULES: tuple[ModuleType, ...] = (
    exclusion, waiting, crowds, interruptions, ownership, leases, finality, tokens, *_ENDINGS, slow_links, wake_ups,
    hand_offs, names, lifecycle,
)  # fmt: skip
_FAR = f"_{FAR_ROUND_TRIP_MS}_ms_away"


def _found(modules: Iterable[ModuleType]) -> dict[str, Check]:
    return {
        name.removeprefix("check_"): value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("check_")
    }


def _far(check: Check) -> Check:
    def at_a_distance(bench: Harness) -> None:
        bench.round_trip_ms = FAR_ROUND_TRIP_MS
        check(bench)

    return at_a_distance


def near(check: str) -> str:
    """The name of the same check without a distance to the servers."""
    return check.removesuffix(_FAR)


_NEAR: dict[str, Check] = _found(_MODULES)
# A client that recovers spends round trips on it, and may have set itself a limit that they do not fit in: loopback,
# where they cost nothing, would not show it. So these run at a distance as well.
RECOVERY = frozenset(_found(_ENDINGS)) | {
    "late_command_leaves_nothing",
    "a_minority_may_be_unreachable",
    "silence_is_not_busy",
}
CHECKS: dict[str, Check] = _NEAR | {name + _FAR: _far(check) for name, check in _NEAR.items() if name in RECOVERY}
LINK_CHECKS = frozenset(_found([*_ENDINGS, slow_links, wake_ups, hand_offs])) | {"clients_of_one_name_are_strangers"}

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
        "a_reset_does_not_cost_the_lease",
        "silent_connections_do_not_cost_the_lease",
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
    return system.servers_path is not None or "planted" in system.tags


def why_not(check: str, system: System) -> str | None:
    """The reason why a check does not apply to a system, from its capabilities; None: it applies and must pass."""
    able: Capabilities = system.client_class.capabilities
    check = near(check)
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
    if check == "lost_wake_up" and not wake_ups.BY_A_MESSAGE & set(able.wait_strategies):
        return f"wakes nobody by a message: wait_strategies are {', '.join(able.wait_strategies)}"
    if check.startswith("tokens_rise") and not able.token_rises:
        return "claims no rising token: token_rises is False"
    if check == "a_minority_may_be_unreachable" and able.nodes <= able.quorum:
        return f"has no minority to lose: {able.nodes} nodes, quorum {able.quorum}"
    return None


def applies(check: str, system: System) -> bool:
    """Whether a check applies."""
    return why_not(check, system) is None
