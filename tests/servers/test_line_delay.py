"""The arithmetic of a line: holds, jitter and lives are as asked, seeded, and never change the order."""

import statistics

from hypothesis import given
from hypothesis import strategies as st

from bench.servers.network.delay import Delay

ARRIVALS = st.lists(st.tuples(st.integers(0, 10**7), st.booleans(), st.floats(0, 5_000)), min_size=1, max_size=60)


@given(ARRIVALS, st.floats(0, 2_000), st.integers(0, 1_000))
def test_nothing_overtakes_and_nothing_goes_on_early(
    steps: list[tuple[int, bool, float]], jitter_us: float, seed: int
) -> None:
    """Also while the hold changes between two messages."""
    delay = Delay(jitter_us=jitter_us, seed=seed)
    now_ns, latest_ns = 0, {True: 0, False: 0}
    for after_ns, onward, hold_us in steps:
        now_ns += after_ns
        delay.hold(hold_us, hold_us)
        due_ns = delay.due_ns(now_ns, onward, latest_ns[onward])
        held_ns = due_ns - now_ns
        assert due_ns >= latest_ns[onward]
        assert held_ns >= round(hold_us * 1_000)
        assert due_ns <= max(latest_ns[onward], now_ns + round(hold_us * 1_000) + round(jitter_us * 1_000) + 1)
        latest_ns[onward] = due_ns


def test_each_direction_has_its_own_hold_and_none_is_negative() -> None:
    delay = Delay()
    delay.hold(250.0, 1_000.5)
    assert delay.due_ns(7, True, 0) == 250_007
    assert delay.due_ns(7, False, 0) == 1_000_507
    delay.hold(-3.0, 0.0)
    assert delay.due_ns(7, True, 0) == 7


def test_jitter_is_uniform_and_seeded() -> None:
    one, same, other = (Delay(jitter_us=100.0, seed=seed) for seed in (5, 5, 6))
    assert one.due_ns(7, True, 0) == 7, "not before the first hold"
    for delay in (one, same, other):
        delay.hold(0.0, 0.0)
    drawn = [one.due_ns(0, True, 0) / 1_000 for _ in range(4_000)]
    assert drawn == [same.due_ns(0, True, 0) / 1_000 for _ in range(4_000)]
    assert drawn != [other.due_ns(0, True, 0) / 1_000 for _ in range(4_000)]
    assert 0.0 <= min(drawn) < 2.0 < 98.0 < max(drawn) <= 100.0
    assert 46.0 < statistics.median(drawn) < 54.0


def test_connections_live_for_the_mean_that_was_asked_for() -> None:
    delay = Delay(reset_after_s=2.0, seed=1)
    lives_s = [(delay.life_ns() or 0) / 1e9 for _ in range(4_000)]
    assert 1.85 < statistics.fmean(lives_s) < 2.15
    assert min(lives_s) < 0.05
    assert Delay().life_ns() is None
