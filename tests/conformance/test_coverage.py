"""Nothing vanishes silently: which checks do not apply to which system is written down here, and compared."""

from collections.abc import Set

import pytest

from bench.conformance.catalogue import CHECKS, LEASED, LINK_CHECKS, PER_GRANT, RECOVERY, near, why_not
from bench.conformance.coverage import OF_A_VARIANT, checks_of, pairs
from bench.systems.registry import HEADLINE, SYSTEMS

_ENDS_WITH_CONNECTION = {"crashed_holder_frees_at_once", "severed_holder_is_told"}
_IN_QUEUE = {"lease_lost_in_the_queue_is_no_grant"}
_TOKENS = {"tokens_rise", "tokens_rise_across_expiry", "tokens_rise_after_idle_sessions"}
_QUEUE_ORDER = {"queue_order_is_kept"}
_ONE_NODE = {"a_minority_may_be_unreachable"}
_NOBODY_IS_WOKEN = {"lost_wake_up"}
_BEYOND_THE_PROCESS = {
    "processes_exclude_each_other",
    "killed_at_any_moment_leaves_at_most_a_lease",
    "killed_greenlet_leaves_nothing",
    "open_names_who_does_not_answer",
}

INAPPLICABLE: dict[str, Set[str]] = {
    "redis": _ENDS_WITH_CONNECTION | _IN_QUEUE | _ONE_NODE | _QUEUE_ORDER,
    "redis-replicated": _ENDS_WITH_CONNECTION | _IN_QUEUE | _ONE_NODE | _QUEUE_ORDER,
    "redis-aof": set(),
    "redis-naive-fence": {"tokens_rise"},
    "redis-plain-delete": set(),
    "redlock": _ENDS_WITH_CONNECTION | _IN_QUEUE | _TOKENS | _QUEUE_ORDER | _NOBODY_IS_WOKEN,
    "redlock-aof": {"tokens_rise"},
    "zookeeper": _ENDS_WITH_CONNECTION | PER_GRANT,
    "zookeeper-sequence-token": {"tokens_rise"},
    "etcd": _ENDS_WITH_CONNECTION | PER_GRANT,
    "postgres-row": LEASED | PER_GRANT | _IN_QUEUE | _ONE_NODE | _QUEUE_ORDER,
    "postgres-row-unguarded": {"tokens_rise"},
    "postgres-row-counter": {"tokens_rise"},
    "postgres-row-xid": {"tokens_rise"},
    "postgres-advisory": LEASED | PER_GRANT | _IN_QUEUE | _ONE_NODE,
    "dynamodb": _ENDS_WITH_CONNECTION
    | _IN_QUEUE
    | _ONE_NODE
    | _QUEUE_ORDER
    | _NOBODY_IS_WOKEN
    | {"expired_grant_is_never_recreated"},
    "dynamodb-client-clock": set(),
    "memory": _ENDS_WITH_CONNECTION | _IN_QUEUE | _BEYOND_THE_PROCESS | LINK_CHECKS,
    "faulty": _ENDS_WITH_CONNECTION | _IN_QUEUE | _BEYOND_THE_PROCESS | _ONE_NODE,
}


@pytest.mark.parametrize("name", INAPPLICABLE)
def test_what_does_not_apply_is_as_written_here(name: str) -> None:
    reasons = {check: why_not(check, SYSTEMS[name]) for check in checks_of(name)}
    assert {near(check) for check, reason in reasons.items() if reason} == INAPPLICABLE[name], reasons


def test_every_system_is_in_the_matrix_or_named_as_no_lock() -> None:
    assert {*INAPPLICABLE, "null"} == set(SYSTEMS)
    assert not SYSTEMS["null"].is_lock
    assert {name for name, _ in pairs()} == set(INAPPLICABLE)


def test_every_check_runs_on_a_headline_system() -> None:
    assert {check for name, check in pairs() if name in HEADLINE} == set(CHECKS)


def test_the_rules_name_checks_that_exist() -> None:
    named = LEASED | PER_GRANT | RECOVERY | set(OF_A_VARIANT) | set().union(*INAPPLICABLE.values())
    assert named <= set(CHECKS), f"no such check: {named - set(CHECKS)}"
