"""Recovery, Redlock's tolerance, tokens, servers that are down, kinds of resource."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.cells import Absent
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.drift import drift_rows
from bench.analysis.hazards.nodes import nodes_rows
from bench.analysis.hazards.recovery import recovery_points, recovery_rows
from bench.analysis.hazards.resources import resource_rows
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.tokens import TokenVerdict, token_rows
from bench.analysis.hazards.tolerance import ClockRule, clock_rule, fewest_clocks, tolerance_rows
from bench.records.hazards import Scalar
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, crash, jump


def test_recovery_by_system_and_ttl_over_runs() -> None:
    rows: list[TrialRow] = []
    for number in range(1, 4):
        run = records.run(records.plan("crash-recovery", "redis", number), crash(1000.0 + number), crash(2004.0, 2000))
        rows += run.trials
    rows += records.runs("crash-recovery", "etcd", crash(1350.0), crash(-1.0)).trials
    short, long, never = recovery_rows(recovery_points(rows))
    assert (short.system, short.ttl_ms, short.trials, short.never) == ("redis", 1000, 3, 0)
    assert not isinstance(short.recovery_ms, Absent)
    assert (short.recovery_ms.value, short.recovery_ms.runs) == (1002.0, 3)
    assert short.by_ttl == pytest.approx(1.002)
    assert long.ttl_ms == 2000
    assert isinstance(never.recovery_ms, Absent)
    assert "1 of 2" in never.recovery_ms.reason
    assert never.longest_ms == 1350.0


def test_recovery_with_a_failover_stands_beside_that_without() -> None:
    def lost(recovery_ms: float, failover: str) -> Staged:
        return Staged({"failover": failover}, {"recovery_ms": recovery_ms}, ttl_ms=2000)

    runs = [
        records.runs("crash-recovery", "etcd", crash(2_900.0, 2000)),
        records.runs("crash-and-failover", "etcd", lost(3_100.0, "at once"), lost(4_400.0, "half a TTL later")),
    ]
    rows = records.evidence(*runs).recovery
    assert [(row.failover, row.by_ttl) for row in rows] == [("", 1.45), ("at once", 1.55), ("half a TTL later", 2.2)]
    alone = records.evidence(*runs).recovery_points
    assert [point.recovery_ms for point in alone] == [2_900.0], "what a claim about crashes is judged by"


def test_the_tolerance_is_bracketed_by_what_broke_and_what_did_not() -> None:
    run = records.runs(
        "redlock-clock",
        "redlock",
        jump(550.0, True),
        jump(9.0, False),
        jump(14.0, True),
        jump(13.0, False),
        jump(20.0, False),  # a contender that asked too late: above the edge it proves nothing
        jump(550.0, False, nodes=2),
        jump(305.0, True, ttl_ms=30_000),
    )
    two, three, half_a_minute = tolerance_rows(run.trials)
    assert (two.nodes_jumped, two.broke, two.largest_survived_ms) == (2, False, 550.0)
    assert (three.smallest_breaking_ms, three.largest_survived_ms, three.tried) == (14.0, 13.0, 5)
    assert three.drift_ms == pytest.approx(7.0)
    assert (half_a_minute.ttl_ms, half_a_minute.largest_survived_ms) == (30_000, None)


def test_of_k_nodes_held_two_fewer_suffice() -> None:
    found = [jump(550.0, jumped >= held - 2, jumped, held=held) for held in (3, 4, 5) for jumped in range(1, held + 1)]
    rows = tolerance_rows(records.runs("redlock-clock", "redlock", *found).trials)
    assert fewest_clocks(rows) == {3: (1, 0), 4: (2, 1), 5: (3, 2)}
    assert {row.nodes_needed for row in rows} == {3}


def test_a_record_that_does_not_say_is_of_a_holder_who_reached_all() -> None:
    old = jump(14.0, True)
    old = replace(old, parameters={name: value for name, value in old.parameters.items() if name != "nodes_held"})
    (row,) = tolerance_rows(records.runs("redlock-clock", "redlock", old).trials)
    assert row.nodes_held == 5


def rule_of(*jumps: Staged, system: str = "redlock") -> ClockRule | Absent:
    return clock_rule(tolerance_rows(records.runs("redlock-clock", system, *jumps).trials))


def test_the_rule_is_what_is_left_and_what_is_set_aside() -> None:
    """5.5 ms are left in each of these trials; 7, 12 and 302 ms are set aside."""
    rule = rule_of(
        *(jump(by, by > 12.5, nodes=1, held=3) for by in (12.0, 13.0, 550.0)),
        *(jump(by, by > 17.5, nodes=1, held=3, ttl_ms=1_000) for by in (17.0, 18.0)),
        *(jump(by, by > 310.0, nodes=1, held=3, ttl_ms=30_000) for by in (310.0, 325.0)),
        *(jump(by, by > 12.5, nodes=3, held=5) for by in (12.0, 13.0)),
        jump(550.0, False, nodes=2),
    )
    assert isinstance(rule, ClockRule)
    assert rule.words == (
        "what is left of the holder's validity plus the drift term (1 % of the TTL + 2 ms), on 1 of the 3 nodes held"
    )
    assert rule.fit_words == "brackets within 2.5 ms of that in 4 searches, at TTLs of 0.5 to 30 s"
    whole = rule_of(jump(13.0, True), jump(12.0, False))
    assert isinstance(whole, ClockRule)
    assert whole.words.endswith("on 3 of the 5 nodes held")
    assert whole.fit_words == "brackets around that in 1 search, at a TTL of 0.5 s"


def test_one_redis_sets_nothing_aside() -> None:
    found = [jump(by, by > 5.5, nodes=1, held=1, drift=False) for by in (5.0, 6.0)]
    rule = rule_of(*found, system="redis")
    assert isinstance(rule, ClockRule)
    assert rule.words == "what is left of the holder's validity, on one node"


def test_a_bracket_off_the_rule_is_no_rule() -> None:
    off = rule_of(jump(13.0, True), jump(12.0, False), jump(60.0, False, ttl_ms=1_000), jump(61.0, True, ttl_ms=1_000))
    assert isinstance(off, Absent)
    assert off.reason == "at a TTL of 1,000 ms the edge lies 42 ms off the rule"
    assert isinstance(rule_of(jump(550.0, False)), Absent)


def test_rates_that_broke_and_those_that_never_did() -> None:
    def drift(percent: float, broke: bool, left_ms: float = 5.0) -> Staged:
        named = {"rate_percent": percent, "nodes_held": 3, "nodes_drifting": 1}
        return Staged(named, {"remaining_validity_ms": left_ms}, ttl_ms=10_000, overlap_ms=4.0 * broke)

    found = [drift(rate, rate > 1.0) for rate in (0.1, 0.9, 1.5, 5.0)]
    (row,) = drift_rows(
        records.runs("redlock-drift", "redlock", *found, drift(1.5, False), drift(2.0, False, -1.0)).trials
    )
    assert (row.nodes_held, row.nodes_drifting) == (3, 1)
    assert (row.largest_survived_percent, row.smallest_breaking_percent) == (0.9, 1.5)
    assert dict(row.rates)[1.5] == Count(1, 2)
    assert row.words == "0.9 % (90 ms over a lease) broke nothing and 1.5 % (150 ms over a lease) gave two holders"


@given(st.integers(1, 500), st.sets(st.integers(1, 550), min_size=1))
def test_a_sharp_edge_is_found(edge: int, tried: set[int]) -> None:
    run = records.runs("redlock-clock", "redlock", *(jump(float(by), by >= edge) for by in sorted(tried)))
    (row,) = tolerance_rows(run.trials)
    breaking = [by for by in tried if by >= edge]
    assert row.smallest_breaking_ms == (min(breaking) if breaking else None)
    assert row.largest_survived_ms == max((by for by in tried if by < edge), default=None)


def test_token_sources_by_event() -> None:
    rows = [
        *records.runs(
            "token-sources",
            "redis",
            Staged({"event": "contended"}, pairs=359),
            Staged({"event": "entry_deleted"}, pairs=39, fell=39),
        ).trials,
        *records.runs("token-sources", "redlock", Staged({"event": "contended"}, token=False, grants=30)).trials,
        *records.runs("token-sources", "etcd", Staged({"event": "contended"}, grants=1)).trials,
        *records.runs("naive-fence", "redis-naive-fence", Staged(pairs=29, fell=10)).trials,
    ]
    got = {(row.system, row.event): row for row in token_rows(rows)}
    assert got["redis", "contended"].verdict is TokenVerdict.RISES
    assert got["redis", "contended"].faults.words == "0 of 359 in 1 run, ≤ 95 % of runs at 95 % confidence"
    assert got["redis", "entry_deleted"].verdict is TokenVerdict.LIES
    assert got["redis", "entry_deleted"].example is not None
    assert got["redlock", "contended"].verdict is TokenVerdict.NONE
    assert got["redlock", "contended"].source == ""
    assert got["etcd", "contended"].verdict is TokenVerdict.NO_PAIRS
    assert got["redis-naive-fence", "interleaved"].faults == Count(10, 29)


def test_nodes_down_keep_limits_and_ways_apart() -> None:
    def down(count: int, how: str, acquired: float, limit: int = 50, took_ms: float = 1.0) -> Staged:
        parameters: dict[str, Scalar] = {"nodes_down": count, "how": how, "node_timeout_ms": limit}
        return Staged(parameters, {"nodes_down": float(count), "acquired": acquired, "acquire_ms": took_ms})

    rows = nodes_rows(
        [
            *records.runs(
                "nodes-down",
                "redlock",
                down(0, "kill", 1.0),
                down(3, "kill", 0.0),
                down(1, "hang", 1.0, 5, 5.4),
                down(1, "hang", 1.0, 50, 50.5),
            ).trials,
            *records.runs("nodes-down", "etcd", down(1, "kill", 1.0)).trials,
        ]
    )
    assert [(row.system, row.how, row.nodes_down, row.node_timeout_ms, row.acquired.seen) for row in rows] == [
        ("redlock", "kill", 0, 50, 1),
        ("redlock", "kill", 3, 50, 0),
        ("redlock", "hang", 1, 5, 1),
        ("redlock", "hang", 1, 50, 1),
        ("etcd", "kill", 1, None, 1),
    ]
    assert [row.minority for row in rows] == [True, False, True, True, True]
    assert isinstance(rows[1].acquire_ms, Absent)


def test_a_resource_fences_if_it_refused_all_that_it_was_to_refuse() -> None:
    rows = {
        row.kind: row
        for row in resource_rows(
            [
                *records.runs(
                    "resources", "redis", Staged({"fence": True}, refused=1), Staged(accepted=1), resource="file"
                ).trials,
                *records.runs("resources", "redis", Staged({"fence": True}, accepted=1), resource="s3-object").trials,
                *records.runs(
                    "resources", "redis", Staged({"fence": True}, refused=1, fence_faults=1), resource="etcd-txn"
                ).trials,
            ]
        )
    }
    assert {kind: row.fences for kind, row in rows.items()} == {"file": True, "s3-object": False, "etcd-txn": False}
    assert rows["file"].accepted_without == Count(1, 1)
