"""Arrivals are seeded, keep their rate, and are claimed once each or counted as unsent, whatever clients do when."""

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.load import schedule as schedule_module
from bench.load.schedule import ClosedLoop, OpenLoop, Share, count_between, offsets_ns
from bench.load.window import NEVER_NS, Window
from bench.records.workload import ARRIVALS

_KINDS = st.sampled_from(ARRIVALS)
_RATES = st.floats(0.01, 100_000)
_SEEDS = st.integers(0, 2**63 - 1)


def take(arrivals: str, rate_per_s: float, seed: int, count: int) -> list[int]:
    return list(islice(offsets_ns(arrivals, rate_per_s, seed), count))


@given(_KINDS, _RATES, _SEEDS)
def test_a_seed_gives_one_schedule_and_another_seed_another(arrivals: str, rate_per_s: float, seed: int) -> None:
    first = take(arrivals, rate_per_s, seed, 50)
    assert first == take(arrivals, rate_per_s, seed, 50)
    assert first != take(arrivals, rate_per_s, seed ^ 1, 50)
    assert first == sorted(first)
    assert first[0] >= 0


@given(_RATES, _SEEDS)
def test_poisson_arrivals_keep_their_rate_under_every_seed(rate_per_s: float, seed: int) -> None:
    """The sum of n exponential gaps has the mean n and the standard deviation sqrt(n), in units of the mean gap."""
    count = 400
    last_ns = take("poisson", rate_per_s, seed, count)[-1]
    assert abs(last_ns * rate_per_s / 1e9 - count) < 6 * math.sqrt(count)


def test_poisson_gaps_are_exponential_and_independent() -> None:
    gaps = np.diff(take("poisson", 1000.0, 5, 100_000)) / 1e6
    assert gaps.mean() == pytest.approx(1.0, rel=0.02)
    assert gaps.std() == pytest.approx(1.0, rel=0.02), "an exponential's deviation is its mean"
    assert (gaps > 1.0).mean() == pytest.approx(math.exp(-1), abs=0.01)
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.02


@given(_RATES, _SEEDS)
def test_uniform_arrivals_have_equal_gaps_and_a_phase(rate_per_s: float, seed: int) -> None:
    offsets = take("uniform", rate_per_s, seed, 100)
    gap_ns = 1e9 / rate_per_s
    assert 0 <= offsets[0] <= gap_ns + 1
    assert np.abs(np.diff(offsets) - gap_ns).max() <= 1 + gap_ns * 1e-9, "rounding to whole nanoseconds, and no drift"


def test_uniform_phases_of_many_seeds_are_uniform() -> None:
    phases = np.array([take("uniform", 1.0, seed, 1)[0] for seed in range(2000)]) / 1e9
    counts, _ = np.histogram(phases, bins=10, range=(0, 1))
    assert counts.min() > 140
    assert counts.max() < 260


@given(_KINDS, st.floats(1, 1000), _SEEDS, st.floats(0, 2), st.floats(0, 2))
def test_counting_is_what_the_schedule_has(
    arrivals: str, rate_per_s: float, seed: int, start_s: float, length_s: float
) -> None:
    from_ns, until_ns = round(start_s * 1e9), round((start_s + length_s) * 1e9)
    offsets = take(arrivals, rate_per_s, seed, 6000)
    assume(offsets[-1] >= until_ns)
    expected = len([offset for offset in offsets if from_ns <= offset < until_ns])
    assert count_between(offsets_ns(arrivals, rate_per_s, seed), from_ns, until_ns) == expected


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 5), min_size=1, max_size=5), st.integers(0, 200))
def test_each_arrival_belongs_to_one_process_in_proportion_to_its_clients(clients: dict[str, int], number: int) -> None:
    total = sum(clients.values())
    assume(total)
    shares = {node: Share.by_clients(clients, node) for node in clients}
    assert sum(share.owns(number) for share in shares.values()) == 1
    for node, share in shares.items():
        assert sum(share.owns(one) for one in range(total)) == clients[node]
    assert not Share.by_clients(clients, "a process that came later").owns(number)


class Hand:
    """A clock that stands where the test put it."""

    now_ns = 0


@pytest.fixture(autouse=True)
def hand(monkeypatch: pytest.MonkeyPatch) -> type[Hand]:
    Hand.now_ns = 0
    monkeypatch.setattr(schedule_module, "monotonic_ns", lambda: Hand.now_ns)
    return Hand


@given(st.lists(st.integers(0, 300), max_size=40), st.lists(st.integers(0, 350), max_size=60), st.data())
def test_every_arrival_of_the_window_is_claimed_once_or_unsent(
    offsets: list[int], instants: list[int], data: st.DataObject
) -> None:
    """Clients ask at any instants; the window is [100, 200)."""
    offsets.sort()
    window = Window()
    window.open(100, 100)
    loop = OpenLoop(iter(offsets), Share(), 0, window)
    claimed = []
    for Hand.now_ns in sorted(instants):
        claimed.append(loop.claim_ns())
    Hand.now_ns = max(200, *instants, 200)
    unsent = loop.take_unsent()
    sent = [due for due in claimed if due != NEVER_NS]
    due = [offset for offset in offsets if 100 <= offset < 200]
    assert len([one for one in sent if 100 <= one < 200]) + unsent == len(due)
    assert sent == sorted(sent), "the earliest goes first"
    assert loop.take_unsent() == 0, "and each is counted once"
    left = list(offsets)
    for one in sent:
        left.remove(one)  # each was in the schedule, as often as it was claimed


def test_what_the_warm_up_left_is_dropped_when_the_window_opens() -> None:
    window = Window()
    window.open(100, 100)
    loop = OpenLoop(iter([10, 50, 99, 120, 250]), Share(), 0, window)
    Hand.now_ns = 20
    assert loop.claim_ns() == 10
    Hand.now_ns = 110
    assert loop.claim_ns() == 120
    assert loop.take_unsent() == 0


def test_arrivals_after_the_window_keep_the_load_up() -> None:
    window = Window()
    window.open(100, 100)
    loop = OpenLoop(iter([150, 160, 205, 210]), Share(), 0, window)
    Hand.now_ns = 201
    assert loop.claim_ns() == 205
    assert loop.take_unsent() == 2


def test_a_process_without_a_share_has_nothing_to_send() -> None:
    window = Window()
    window.open(0, None)
    loop = OpenLoop(offsets_ns("poisson", 10.0, 1), Share(0, 0, 4), 0, window)
    assert loop.claim_ns() == NEVER_NS
    assert loop.take_unsent() == 0


def test_a_closed_loop_has_no_instants() -> None:
    assert ClosedLoop().claim_ns() is None
