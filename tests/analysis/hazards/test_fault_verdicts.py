"""Verdicts a system and fault: which counts make which word, and that more harm never makes a better one."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.exposed import decide
from bench.analysis.hazards.rows import HazardRun
from bench.analysis.hazards.verdicts import FaultVerdict, fault_verdicts
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.hazards import EndOfBelief
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, pause, two_holders, window

_RANK = {HazardVerdict.SAFE: 0, HazardVerdict.WITH_FENCING: 1, HazardVerdict.UNSAFE: 2}


def verdict_of(*runs: HazardRun) -> FaultVerdict:
    (verdict,) = fault_verdicts(runs)
    return verdict


def paused(system: str, *trials: Staged) -> FaultVerdict:
    return verdict_of(records.runs("gc-pause", system, *trials))


def test_a_fence_that_refused_every_late_write() -> None:
    got = paused("redis", two_holders(False), two_holders(True), pause(500.0))
    assert got.verdict is HazardVerdict.WITH_FENCING
    assert (got.shown, got.counted.late_without, got.counted.late_with) == (Count(2, 2), Count(1, 1), Count(0, 1))
    assert "with it 0 of 1 in 1 run, ≤ 95 % of runs at 95 % confidence" in got.reason
    assert got.overlap_ms_max == 600.0


def test_without_a_token_a_fence_on_does_not_help() -> None:
    got = paused("redlock", two_holders(False, token=False), two_holders(True, token=False))
    assert got.verdict is HazardVerdict.UNSAFE
    assert "no token" in got.reason
    assert "1 of 1" in got.reason


def test_a_refusal_without_a_token_is_no_fence() -> None:
    refused = Count(0, 1)
    assert decide(1, refused, True, Count(1, 1), Count(0, 1)) is HazardVerdict.WITH_FENCING
    assert decide(1, refused, False, Count(1, 1), Count(0, 1)) is HazardVerdict.UNSAFE


def test_one_late_write_accepted_with_the_fence_on_is_unsafe() -> None:
    slipped = pause(fence=True, overlap_ms=600.0, accepted=1, by_token=False)
    got = paused("redis", two_holders(True), two_holders(True), slipped)
    assert got.verdict is HazardVerdict.UNSAFE
    assert got.counted.late_with == Count(1, 3)


def test_one_that_came_before_the_new_holder_showed_its_token_counts_and_the_reason_says_what_closes_the_gap() -> None:
    early = pause(fence=True, overlap_ms=600.0, ahead=1, by_token=False)
    got = paused("redis", two_holders(True), two_holders(True), early)
    assert got.verdict is HazardVerdict.UNSAFE
    assert got.counted.late_with == Count(1, 3)
    assert "1 of these arrived before the resource saw the new holder's token" in got.reason
    assert "present it before the first read" in got.reason
    tokenless = paused("redlock", pause(fence=True, overlap_ms=600.0, ahead=1, token=False))
    assert tokenless.verdict is HazardVerdict.UNSAFE
    assert "first write" not in tokenless.reason


def test_a_late_write_that_the_new_holder_read_did_no_harm_and_is_told_apart() -> None:
    read = pause(fence=True, overlap_ms=600.0, ahead=1, by_token=False, read_by_next=True)
    got = paused("redis", two_holders(True), two_holders(True), read)
    assert got.verdict is HazardVerdict.WITH_FENCING
    assert got.counted.late_with == Count(0, 2)
    assert "1 more arrived before the new holder's first read, which saw it" in got.reason
    assert "present it" not in got.reason


def test_a_fence_that_nothing_met_proves_nothing() -> None:
    got = paused("redis", two_holders(False))
    assert got.verdict is HazardVerdict.UNSAFE
    assert "no late write met a fence" in got.reason


def test_a_lock_without_a_ttl_pins_and_says_so() -> None:
    got = paused("postgres-row", pause(), pause(fence=True))
    assert got.verdict is HazardVerdict.SAFE
    assert got.shown.words == "0 of 2 in 1 run, ≤ 95 % of runs at 95 % confidence"
    assert "no TTL" in got.reason
    assert "1,000 ms" in got.reason
    assert got.evidence == ("gc-pause-postgres-row-01",)


def test_a_pause_that_a_lease_may_outlive_proves_no_safety() -> None:
    assert paused("redis", pause(900.0)).verdict is HazardVerdict.NOT_MEASURED
    assert paused("etcd", pause(1600.0)).verdict is HazardVerdict.NOT_MEASURED, "1000 ms and 1750 ms of granularity"
    assert paused("etcd", pause(2900.0)).verdict is HazardVerdict.SAFE


def test_a_late_write_that_its_own_database_refused_is_no_harm() -> None:
    stopped = Staged(
        {"idle_timeout": "on"},
        {"late_write_accepted": 0.0, "pinned_ms": 601.0},
        overlap_ms=600.0,
        unanswered=1,
        faults=(window(),),
    )
    got = verdict_of(records.runs("idle-in-transaction", "postgres-row", stopped, fence=False))
    assert got.verdict is HazardVerdict.SAFE
    assert got.id == "idle-in-transaction/idle-timeout-on"
    assert "could both write in 0 of 1" in got.reason
    assert "in 1 of these the stopped holder believed it held the lock for up to 600 ms" in got.reason


@pytest.mark.parametrize(("down", "verdict"), [(1, HazardVerdict.SAFE), (2, HazardVerdict.UNAVAILABLE)])
def test_nobody_gets_the_lock_without_a_quorum(down: int, verdict: HazardVerdict) -> None:
    staged = Staged({"nodes_down": down}, {"nodes_down": float(down), "acquired": float(down < 2)})
    got = verdict_of(records.runs("nodes-down", "etcd", staged))
    assert got.verdict is verdict
    assert got.id == ("nodes-down/minority-killed" if down == 1 else "nodes-down/majority-killed")
    if down == 2:
        assert got.counted.unavailable == Count(1, 1)
        assert "2 of 3 servers stopped, 2 must answer" in got.reason


def test_a_minority_of_servers_is_judged_by_who_was_served() -> None:
    down = {"nodes_down": 1.0}
    got = verdict_of(
        records.runs(
            "nodes-down",
            "etcd",
            Staged({"nodes_down": 1}, {**down, "acquired": 1.0}),
            Staged({"nodes_down": 1}, {**down, "acquired": 0.0}),
        )
    )
    assert (got.verdict, got.telling) == (HazardVerdict.UNAVAILABLE, Count(1, 2))


def test_a_crash_threatens_that_nobody_gets_the_lock_since_the_dead_hold_nothing() -> None:
    got = verdict_of(records.runs("crash-recovery", "redis", records.crash(1004.0), records.crash(990.0)))
    assert (got.verdict, got.telling) == (HazardVerdict.SAFE, Count(0, 2))
    assert "two holders" not in got.reason
    assert "the next client got the lock after 990 to 1,004 ms" in got.reason
    lost = verdict_of(records.runs("crash-recovery", "redis", records.crash(1004.0), records.crash(-1.0)))
    assert lost.verdict is HazardVerdict.UNAVAILABLE
    assert "nobody got the lock in 1 of 2" in lost.reason


def test_a_quorum_in_time_says_nothing_of_a_late_one() -> None:
    in_time = Staged({"late_ttls": 0.5}, {"granted": 1.0, "elapsed_ms": 500.0, "validity_ms": 488.0, "drift_ms": 12.0})
    late = Staged({"late_ttls": 1.2}, {"granted": 0.0, "elapsed_ms": 1200.0})
    too_late = Staged({"late_ttls": 1.2}, {"granted": 1.0, "elapsed_ms": 1200.0, "validity_ms": -200.0})
    assert verdict_of(records.runs("late-quorum", "redlock", in_time)).verdict is HazardVerdict.NOT_MEASURED
    assert verdict_of(records.runs("late-quorum", "redlock", in_time, late)).shown == Count(0, 1)
    granted = verdict_of(records.runs("late-quorum", "redlock", in_time, late, too_late))
    assert (granted.verdict, granted.shown) == (HazardVerdict.UNSAFE, Count(1, 2))


def test_a_release_in_time_says_nothing_of_a_late_one() -> None:
    early = Staged(measures={"stolen": 0.0}, faults=(window(length_ms=600.0),))
    late = Staged(measures={"stolen": 0.0}, faults=(window(length_ms=1600.0),))
    beside = Staged(measures={"stolen": 1.0}, faults=(window(length_ms=1100.0),), overlap_ms=1.0)
    assert verdict_of(records.runs("late-release", "redis", early)).verdict is HazardVerdict.NOT_MEASURED
    assert verdict_of(records.runs("late-release", "redis", early, late)).shown == Count(0, 1)
    got = verdict_of(records.runs("late-release", "redis-plain-delete", beside))
    assert got.reason == "another client's lock was freed in 1 of 1", "no fence is about that"


def test_a_lost_reply_may_block_the_key_for_a_lease_and_no_longer() -> None:
    def lost(blocked_ms: float) -> FaultVerdict:
        return verdict_of(records.runs("swallowed-reply", "redis", Staged(measures={"blocked_ms": blocked_ms})))

    assert lost(1099.0).verdict is HazardVerdict.SAFE
    assert "waited at most 1,099 ms of the 1,100 ms a lease allows" in lost(1099.0).reason
    assert lost(1101.0).verdict is HazardVerdict.UNAVAILABLE
    assert "blocked for longer than a lease in 1 of 1" in lost(1101.0).reason


def test_that_a_holder_was_told_of_its_loss_is_counted_and_not_supposed() -> None:
    lost = records.runs("restart", "postgres-row", Staged(measures={"still_held": 0.0}), durability="own")
    assert verdict_of(lost).reason.endswith(
        "the lock survived 0 of 1 trials, and its holder was notified of 0 of 1 losses"
    )
    (row,) = lost.trials
    holder, *others = row.trial.beliefs
    told = row.trial.model_copy(update={"beliefs": (holder.model_copy(update={"ended_by": EndOfBelief.LOST}), *others)})
    knew = replace(lost, trials=(replace(row, trial=told),))
    assert verdict_of(knew).reason.endswith("notified of 1 of 1 losses")


def test_a_control_belongs_to_no_fault() -> None:
    none = Staged({"nodes_down": 0}, {"nodes_down": 0.0, "acquired": 1.0})
    still = Staged({"step": "0 ms"}, {"granted": 0.0}, faults=(window("clock_jump", amount=0.0),))
    assert fault_verdicts([records.runs("nodes-down", "etcd", none)]) == ()
    assert fault_verdicts([records.runs("server-clock", "redis", still)]) == ()


def test_what_counts_is_how_long_a_holder_believes_on_and_not_how_soon_the_next_lets_go() -> None:
    brief = records.runs("stalled-leader", "zookeeper", Staged({"who": "leader"}, overlap_ms=0.1), ttl_ms=1000)
    assert verdict_of(brief).verdict is HazardVerdict.SAFE
    (row,) = brief.trials
    holder, *others = row.trial.beliefs
    believing = row.trial.model_copy(
        update={"beliefs": (holder.model_copy(update={"until_ns": 900 * records.NS_PER_MS}), *others)}
    )
    stubborn = replace(brief, trials=(replace(row, trial=believing),))
    assert verdict_of(stubborn).verdict is HazardVerdict.UNSAFE
    assert "notified at most 0 ms" in verdict_of(brief).reason


def test_a_cut_off_holder_that_looks_late_by_milliseconds_is_told_in_time() -> None:
    looking = verdict_of(records.runs("cable-pulled", "redis", Staged(overlap_ms=6.0), fence=False))
    believing = verdict_of(records.runs("cable-pulled", "redis", Staged(overlap_ms=600.0), fence=False))
    assert (looking.verdict, believing.verdict) == (HazardVerdict.SAFE, HazardVerdict.UNSAFE)


def test_scenarios_of_one_fault_share_a_line_and_other_tables_have_none() -> None:
    got = fault_verdicts(
        [
            records.runs("page-scenario", "redis", two_holders(True)),
            records.runs("gc-pause", "redis", two_holders(False)),
            records.runs("second-write", "redis", Staged()),
            records.runs("gc-pause", "etcd", two_holders(False)),
            records.runs("restart", "redis", Staged(overlap_ms=1.0), durability="none"),
            records.runs("restart", "etcd", Staged(measures={"still_held": 1.0}), durability="own"),
        ]
    )
    assert [(one.system, one.id, one.fault) for one in got] == [
        ("redis", "gc-pause", "pause of the holder"),
        ("etcd", "gc-pause", "pause of the holder"),
        ("etcd", "restart", "restart of all servers"),
        ("redis", "restart/durability-none", "restart of all servers (durability none)"),
    ]
    assert got[0].shown == Count(2, 2)
    assert "the lock survived 1 of 1 trials" in got[2].reason


def test_an_unknown_scenario_is_judged_by_two_holders_under_its_own_name() -> None:
    got = verdict_of(records.runs("meteor", "redis", Staged(overlap_ms=3.0)))
    assert (got.id, got.fault, got.verdict) == ("meteor", "meteor", HazardVerdict.UNSAFE)


def test_only_void_runs_make_no_verdict_but_a_reason() -> None:
    got = verdict_of(records.run(records.plan("gc-pause", "redis"), two_holders(False), void="the holder died"))
    assert got.verdict is HazardVerdict.NOT_MEASURED
    assert got.reason == "void: not as staged"
    assert [one.reason for one in got.void] == ["the holder died"]
    assert got.evidence == ()


_TRIALS = st.builds(
    lambda fence, overlap, accepted, refused, pause_ms, never: pause(
        pause_ms, fence, overlap_ms=overlap, accepted=accepted, refused=refused, never_served=never
    ),
    st.booleans(),
    st.sampled_from([0.0, 5.0, 600.0]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from([500.0, 1600.0, 4000.0]),
    st.integers(0, 1),
)
_RUNS = st.lists(st.lists(_TRIALS, min_size=1, max_size=4), max_size=5)
_SYSTEMS = st.sampled_from(["redis", "etcd", "postgres-row"])


def campaign_of(system: str, trials: list[list[Staged]]) -> list[HazardRun]:
    return [records.run(records.plan("gc-pause", system, number), *staged) for number, staged in enumerate(trials, 1)]


def word(runs: list[HazardRun]) -> HazardVerdict:
    return verdict_of(*runs).verdict if runs else HazardVerdict.NOT_MEASURED


@given(system=_SYSTEMS, trials=_RUNS, fence=st.booleans(), token=st.booleans())
def test_a_run_with_an_accepted_late_write_never_improves_a_verdict(
    system: str, trials: list[list[Staged]], fence: bool, token: bool
) -> None:
    runs = campaign_of(system, trials)
    before = word(runs)
    harm = pause(fence=fence, overlap_ms=600.0, accepted=1, token=token)
    after = word([*runs, records.run(records.plan("gc-pause", system, 99), harm)])
    assert after in (HazardVerdict.WITH_FENCING, HazardVerdict.UNSAFE)
    if before in _RANK:
        assert _RANK[after] >= _RANK[before]
    if fence:
        assert after is HazardVerdict.UNSAFE


@given(system=_SYSTEMS, trials=_RUNS, seed=st.integers(0, 99))
def test_order_and_void_runs_change_nothing(system: str, trials: list[list[Staged]], seed: int) -> None:
    runs = campaign_of(system, trials)
    if not runs:
        return
    void = records.run(records.plan("gc-pause", system, 99), two_holders(False), two_holders(True), void="broken")
    shuffled = [*runs, void]
    random.Random(seed).shuffle(shuffled)
    one, other = verdict_of(*runs), verdict_of(*shuffled)
    assert (one.verdict, one.shown, one.counted.outside, one.counted.late_with) == (
        other.verdict,
        other.shown,
        other.counted.outside,
        other.counted.late_with,
    )
    assert "gc-pause" in other.void[0].run_id
    assert void.run_id not in other.runs


@given(shown=st.integers(0, 5), of=st.integers(0, 5), accepted=st.integers(0, 5), stale=st.integers(0, 5))
def test_safe_means_that_nothing_was_seen(shown: int, of: int, accepted: int, stale: int) -> None:
    seen = Count(min(shown, of), of)
    verdict = decide(seen.seen, Count(min(accepted, stale), stale), True, seen, Count(0, of))
    assert (verdict is HazardVerdict.SAFE) == (seen.seen == 0 and of > 0)


@pytest.mark.parametrize(
    ("slept_ms", "overlap_ms", "accepted", "verdict", "shown"),
    [
        (
            1600.0,
            600.0,
            0,
            HazardVerdict.SAFE,
            Count(0, 1),
        ),  # over as it wakes; before, it could do nothing
        (1600.0, 1600.0 + 49.0, 0, HazardVerdict.SAFE, Count(0, 1)),
        (1600.0, 1600.0 + 51.0, 0, HazardVerdict.UNSAFE, Count(1, 1)),  # awake, and still the holder
        (1600.0, 600.0, 1, HazardVerdict.UNSAFE, Count(1, 1)),  # it wrote first of all
        (900.0, 0.0, 0, HazardVerdict.NOT_MEASURED, Count(0, 0)),  # a sleep shorter than the lease shows nothing
    ],
)
def test_a_suspended_holder_is_judged_from_its_waking(
    slept_ms: float, overlap_ms: float, accepted: int, verdict: HazardVerdict, shown: Count
) -> None:
    slept = pause(slept_ms, overlap_ms=overlap_ms, accepted=accepted)
    slept = replace(slept, faults=(window("suspend", slept_ms),))
    got = verdict_of(records.runs("suspended-client", "redis", slept))
    assert (got.verdict, got.shown) == (verdict, shown)


@pytest.mark.parametrize(
    ("recovery_ms", "blocked"), [(2_010.0, False), (3_700.0, False), (3_800.0, True), (-1.0, True)]
)
def test_a_dead_holders_lock_that_a_new_leader_keeps_for_longer_than_a_lease_is_blocked(
    recovery_ms: float, blocked: bool
) -> None:
    """etcd's leases of 2 s may last 1.75 s longer by design."""
    lost = Staged(
        {"failover": "half a TTL later"},
        {"recovery_ms": recovery_ms},
        ttl_ms=2000,
        faults=(window("kill"), window("failover")),
    )
    (got,) = fault_verdicts([records.runs("crash-and-failover", "etcd", lost)])
    assert got.id == "crash-and-failover/half-a-ttl-later"
    assert got.fault == "crash of the holder, then a failover (half a TTL later)"
    assert (got.counted.unavailable.seen, got.counted.unavailable.of) == (int(blocked), 1)
