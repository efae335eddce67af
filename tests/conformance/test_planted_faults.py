"""The suite can fail: each planted fault is found by the checks named here, and each check finds some fault."""

import statistics
import time

import pytest

from bench.conformance.catalogue import CHECKS, applies, near
from bench.conformance.harness import TRY, Harness
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant
from bench.systems.faulty.faults import FAULTS, chosen, latency_us
from bench.systems.faulty.lock import FaultyLock
from bench.systems.registry import SYSTEMS

PLANTED: dict[str, tuple[str, ...]] = {
    "double-grant": ("threads_exclude_each_other", "timeout_is_kept"),
    "early-expiry": ("crashed_holder_keeps_its_lease_and_no_longer",),
    "never-expires": (
        "crashed_holder_keeps_its_lease_and_no_longer",
        "close_frees_in_time",
        "late_command_leaves_nothing",
    ),
    "token-falls": ("tokens_rise",),
    "token-repeats": ("tokens_rise",),
    "token-restarts": ("tokens_rise", "tokens_rise_across_expiry", "tokens_rise_after_idle_sessions"),
    "timeout-leaves-entry": ("timeouts_leave_nothing",),
    "interrupted-again-stays": ("acquire_interrupted_again_leaves_nothing",),
    "interrupted-stays": ("interrupted_acquire_leaves_nothing",),
    "queue-jump": ("queue_order_is_kept",),
    "acquire-hangs": ("timeout_is_kept",),
    "try-waits": ("try_on_a_held_key_is_busy_at_once",),
    "missed-wake": ("handoffs_are_prompt",),
    "lost-wake-up": ("lost_wake_up",),
    "contender-dies": ("eight_contenders_all_get_it", "waiters_all_wake"),
    "deadline-from-reply": ("deadline_counts_from_the_sending",),
    "loss-cried": ("fresh_grant_is_not_lost",),
    "release-frees-other": (
        "stale_grant_changes_nothing",
        "a_new_grant_is_not_the_old_one",
        "expired_holder_changes_nothing",
    ),
    "release-always-ok": ("release_twice_says_lost",),
    "renew-adds": ("renewal_replaces",),
    "renew-forgets": ("renewal_extends",),
    "renew-new-token": ("renewal_keeps_the_grant",),
    "renew-recreates": ("expired_grant_is_never_recreated",),
    "renew-takes-over": ("expired_holder_changes_nothing", "stale_grant_changes_nothing"),
    "zero-ttl": ("bad_ttl_is_refused",),
    "loss-untold": ("stopped_holder_is_told", "cut_off_holder_is_told", "suspended_holder_is_told"),
    "undo-by-name": ("clients_of_one_name_are_strangers",),
    "lost-reply-busy": ("lost_reply_is_never_busy", "silence_is_not_busy"),
    "late-grant": ("slow_acquire_is_not_stale",),
    "late-renewal": ("slow_renewal_is_not_stale",),
    "renew-unsent": ("one_cut_does_not_lose_the_lease_silently", "a_reset_does_not_cost_the_lease"),
    "broken-wait-hangs": ("severed_wait_ends_and_leaves_nothing", "silent_wait_ends_and_leaves_nothing"),
    "keys-truncated": ("alike_keys_are_distinct",),
    "keys-casefolded": ("alike_keys_are_distinct",),
    "keys-ascii": ("odd_keys_work",),
    "keys-unchecked": ("unusable_keys_are_refused",),
    "global-mutex": ("keys_are_independent",),
    "serial-client": ("calls_overlap",),
    "closed-client-hangs": ("closed_client_refuses",),
    "closed-client-grants": ("closed_client_refuses", "with_block_closes"),
    "closed-stays-connected": ("many_waiters_leave_nothing",),
    "close-twice-fails": ("close_may_be_repeated",),
    "idle-end-costs": ("a_connection_ended_while_idle_costs_nothing",),
    "silence-unnoticed": ("silent_connections_are_replaced", "silent_connections_do_not_cost_the_lease"),
    "recovers-only-nearby": (
        "clients_recover_from_a_reset_20_ms_away",
        "a_reset_does_not_cost_the_lease_20_ms_away",
        "silent_connections_are_replaced_20_ms_away",
    ),
    "no-facts": ("facts_come_from_the_server",),
    "extra-round-trip": ("hand_off_takes_its_round_trips",),
}
# Disturbances of known size for the recorder and the measures of contention, not violations of the contract.
FOR_THE_RECORDER = {"latency", "stall", "herd", "slow-hand-off"}
FAULTY = SYSTEMS["faulty"]


def _endpoint(name: str) -> Endpoint:
    return Endpoint(((name, 0),))


@pytest.mark.parametrize(
    ("fault", "check"),
    [pytest.param(fault, check, id=f"{fault}-{check}") for fault in PLANTED for check in PLANTED[fault]],
)
def test_planted_fault_is_found(fault: str, check: str) -> None:
    with (
        Harness(FAULTY, _endpoint(f"{fault}-{check}"), {"fault": fault}) as bench,
        pytest.raises(AssertionError) as found,
    ):
        CHECKS[check](bench)
    assert str(found.value), "the check failed without saying what is wrong"


def test_every_fault_is_planted() -> None:
    assert set(PLANTED) | FOR_THE_RECORDER == set(FAULTS)


def test_every_check_that_applies_finds_some_fault() -> None:
    finding = {near(check) for checks in PLANTED.values() for check in checks}
    assert finding == {near(check) for check in CHECKS if applies(check, FAULTY)}


def test_unknown_faults_and_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="no fault 'double-grnat'"):
        chosen({"fault": "double-grnat"})
    with pytest.raises(ValueError, match="no parameter 'evry'"):
        chosen({"fault": "double-grant", "evry": "3"})
    for text in ("uniform:1:2", "constant", "constant:x", "constant:-1", "two-point:1:2:1.5", "lognormal:0:1"):
        with pytest.raises(ValueError, match="no latency"):
            latency_us(text, "1")


def test_latency_draws_are_seeded_and_as_asked() -> None:
    lognormal = latency_us("lognormal:400:0.5", "7")
    draws = [lognormal() for _ in range(20_000)]
    again = latency_us("lognormal:400:0.5", "7")
    assert draws[:100] == [again() for _ in range(100)]
    assert statistics.median(draws) == pytest.approx(400, rel=0.03)
    p90_of_median = 1.898  # exp(0.5 * 1.2816), the 90th percentile of this lognormal over its median
    assert statistics.quantiles(draws, n=10)[8] == pytest.approx(400 * p90_of_median, rel=0.03)
    two_point = latency_us("two-point:100:5000:0.1", "7")
    slow = sum(two_point() == 5000 for _ in range(20_000))
    assert slow == pytest.approx(2_000, rel=0.1)
    assert latency_us("constant:250", "7")() == 250


def test_planted_latency_is_in_the_acquire() -> None:
    options = ClientOptions(variant={"fault": "latency", "latency": "constant:20000"})
    with FaultyLock.open(_endpoint("latency"), options) as client:
        for turn in range(5):
            began_ns = time.monotonic_ns()
            assert isinstance(client.acquire(f"k{turn}", 1_000, 0, TRY), Grant)
            assert time.monotonic_ns() - began_ns >= 20_000_000


def test_planted_stall_strikes_once_at_its_operation() -> None:
    variant = {"fault": "stall", "stall_at": "6", "stall_ms": "200"}
    clients = [FaultyLock.open(_endpoint("stall"), ClientOptions(variant=variant)) for _ in range(2)]
    took_ms = []
    for turn in range(10):
        began_ns = time.monotonic_ns()
        assert isinstance(clients[turn % 2].acquire(f"k{turn}", 10_000, 0, TRY), Grant)
        took_ms.append((time.monotonic_ns() - began_ns) / 1e6)
    assert took_ms[5] >= 200
    assert sum(took_ms) - took_ms[5] < 200, f"more than one operation stood still: {took_ms}"
