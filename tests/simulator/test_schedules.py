"""Random schedules: what breaks is found and made small, what cannot break is never seen to, and the checker agrees."""

from random import Random
from time import process_time

import pytest

from bench.hazards.checker import check_trial
from bench.simulator.kinds import kind_of
from bench.simulator.schedules import Setting, Step, carried_out, drawn, faults_of, setting_of
from bench.simulator.search import RULES, search, shown

SCHEDULES = 1_500
FENCED = ("redis", "zookeeper", "etcd", "postgres-row", "dynamodb")


def setting(system: str, *, fence: bool = True, presents: bool = True, faults: tuple[str, ...] = ()) -> Setting:
    return setting_of(kind_of(system), fence, presents, faults)


@pytest.mark.parametrize(
    ("system", "fault"),
    [
        ("redis", "pause"),
        ("redis", "clock_jump"),
        ("redlock", "pause"),
        ("zookeeper", "pause"),
        ("etcd", "pause"),
        ("dynamodb", "pause"),
        ("dynamodb-client-clock", "client_clock"),
    ],
)
def test_two_holders_are_found(system: str, fault: str) -> None:
    of = setting(system, faults=(fault,))
    found = search(of, SCHEDULES, seed=3)["two holders"]
    assert found.smallest is not None
    trial, checked = shown(found.smallest, of)
    assert checked.overlap_ns > 0
    assert {one.kind for one in trial.faults} == {fault}
    assert len(found.smallest) <= 4


def test_one_clock_of_five_is_enough_for_redlock() -> None:
    of = setting("redlock", faults=("partition_nodes", "clock_jump"))
    found = search(of, 6_000, seed=3)["two holders"]
    assert found.smallest is not None
    assert [step.do for step in found.smallest].count("clock_jump") == 1
    assert shown(found.smallest, of)[1].overlap_ns > 0


@pytest.mark.parametrize("system", ["redis", "zookeeper", "etcd", "dynamodb", "postgres-row"])
def test_a_cable_alone_makes_no_two_holders(system: str) -> None:
    found = search(setting(system, faults=("partition",)), SCHEDULES, seed=3)["two holders"]
    assert found.broken == 0


@pytest.mark.parametrize("system", FENCED)
def test_no_update_is_lost_behind_a_fence_that_knows_the_token(system: str) -> None:
    found = search(setting(system), SCHEDULES, seed=3)
    assert {rule: one.broken for rule, one in found.items() if rule != "two holders"} == dict.fromkeys(
        ("stale write", "lost update", "falling token", "misjudged write"), 0
    )


@pytest.mark.parametrize(("fence", "presents"), [(False, True), (True, False)])
def test_an_update_is_lost_without_a_fence_and_with_one_that_learns_late(fence: bool, presents: bool) -> None:
    of = setting("redis", fence=fence, presents=presents)
    found = search(of, 6_000, seed=3)["lost update"]
    assert found.smallest is not None
    assert shown(found.smallest, of)[1].lost_updates > 0


def test_a_lock_without_a_token_cannot_be_fenced() -> None:
    found = search(setting("redlock"), 6_000, seed=3)
    assert found["lost update"].broken > 0
    assert found["stale write"].broken > 0


def test_a_stale_write_is_found() -> None:
    of = setting("redis", fence=False)
    found = search(of, 6_000, seed=3)["stale write"]
    assert found.smallest is not None
    assert shown(found.smallest, of)[1].stale_accepted > 0


@pytest.mark.parametrize(("system", "fault"), [("redis-naive-fence", "slow_link"), ("redis", "restart")])
def test_a_token_falls(system: str, fault: str) -> None:
    of = setting(system, faults=(fault,))
    found = search(of, 4_000, seed=3)["falling token"]
    assert found.smallest is not None
    assert shown(found.smallest, of)[1].token_faults


def test_the_same_seed_finds_the_same() -> None:
    of = setting("redis")
    assert search(of, 300, seed=5) == search(of, 300, seed=5)
    assert search(of, 300, seed=5) != search(of, 300, seed=6)


@pytest.mark.parametrize("system", ["redis", "redlock", "etcd", "postgres-row", "dynamodb"])
@pytest.mark.parametrize("fence", [False, True])
def test_the_quick_rules_agree_with_the_checker(system: str, fence: bool) -> None:
    of, random = setting(system, fence=fence, presents=False), Random(11)
    for _ in range(150):
        steps = drawn(random, of)
        history = carried_out(steps, of, tells_faults=True)
        checked = check_trial(history.trial(fence, 2_000_000_000, _late(history.beliefs), of.parameters))
        assert RULES["two holders"](history) == bool(checked.overlaps), steps
        late = checked.stale_accepted + checked.overtaken_accepted
        assert not RULES["stale write"](history) or late, steps
        assert RULES["lost update"](history) == (checked.lost_updates > 0), steps
        assert RULES["falling token"](history) == bool(checked.token_faults), steps
        assert RULES["misjudged write"](history) == (checked.fence_faults > 0), steps


def _late(_: object) -> int:
    return 10**12


def test_what_a_smallest_schedule_has_is_needed() -> None:
    of = setting("redis")
    breaks = RULES["two holders"]
    smallest = search(of, SCHEDULES, seed=3)["two holders"].smallest
    assert smallest is not None
    for number in range(len(smallest)):
        assert not breaks(carried_out(smallest[:number] + smallest[number + 1 :], of))


@pytest.mark.measures
def test_a_hundred_thousand_take_less_than_half_a_minute() -> None:
    of, schedules, took_s = setting("redlock"), 1_000, []
    for seed in range(5):  # what else the machine does can only add to the time
        began_s = process_time()
        search(of, schedules, seed)
        took_s.append(process_time() - began_s)
    assert min(took_s) * 100_000 / schedules < 30


def test_a_schedule_by_hand() -> None:
    steps = [Step(0.1, "take", "A"), Step(0.1, "pause", "A", 3.0), Step(1.3, "take", "B")]
    of = setting("redis")
    assert RULES["two holders"](carried_out(steps, of))
    assert not RULES["two holders"](carried_out(steps[:1] + steps[2:], of))


@pytest.mark.parametrize(
    ("system", "faults"),
    [
        ("redis", ("pause", "partition", "slow_link", "clock_jump")),
        ("redlock", ("pause", "partition", "slow_link", "partition_nodes", "clock_jump")),
        ("zookeeper", ("pause", "partition", "slow_link")),
        ("dynamodb-client-clock", ("pause", "partition", "slow_link", "client_clock")),
    ],
)
def test_only_faults_that_mean_something(system: str, faults: tuple[str, ...]) -> None:
    assert faults_of(kind_of(system)) == faults
