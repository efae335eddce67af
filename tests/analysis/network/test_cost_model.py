"""The cost model: made-up runs of known round trips, writes and fixed cost, carried to networks that they never had."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.intervals import Method
from bench.analysis.network.cost_model import CostModel, Network, cost_model
from bench.analysis.network.left_out import left_out
from bench.analysis.network.samples import Sample, Sampled

RTTS_US = (60.0, 260.0, 560.0, 1_060.0, 2_060.0, 5_060.0, 20_060.0)
LOOPBACK_US, FSYNC_US = 30.0, 110.0


def path(trips: int = 1, peers: int = 0, writes: int = 0) -> Mapping[str, str]:
    """What an adapter declares."""
    return {
        **{f"{operation}_round_trips": str(trips) for operation in ("acquire", "release")},
        "peer_round_trips": str(peers),
        **{f"{operation}_durable_writes": str(writes) for operation in ("acquire", "release")},
        "durable_when": "fsync=on",
    }


def made_up(
    declared: Mapping[str, str],
    trips: float = 1.0,
    peers: float = 0.0,
    writes: int = 0,
    fixed_us: float = 200.0,
    noise: float = 0.0,
    peer_rtts_us: Sequence[float] = (LOOPBACK_US,),
) -> Sampled:
    """Two runs over each network; `noise` is the spread of a run's fixed cost."""
    dice = random.Random(5)
    samples = []
    for peer_us in peer_rtts_us:
        for rtt_us in RTTS_US:
            for run in (1, 2):
                own_us = fixed_us * (1.0 + dice.gauss(0.0, noise))
                p50 = trips * rtt_us + peers * peer_us + writes * FSYNC_US + own_us
                name = "none" if peer_us == LOOPBACK_US else f"rtt={peer_us:g}"
                found = {"acquire": p50, "release": p50}
                samples.append(
                    Sample(f"{rtt_us}-{name}-{run}", f"rtt={rtt_us:g}", rtt_us, name, peer_us, FSYNC_US, found)
                )
    return Sampled("etcd", tuple(samples), declared, {"fsync": "on"})


def model_of(of: Sampled) -> CostModel:
    model = cost_model(of, "acquire")
    assert model is not None
    return model


@given(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2), st.floats(10.0, 5_000.0), st.floats(0.0, 100_000.0))
def test_a_network_that_was_never_measured_is_predicted_exactly(
    trips: int, peers: int, writes: int, fixed_us: float, rtt_us: float
) -> None:
    model = model_of(made_up(path(trips, peers, writes), trips, peers, writes, fixed_us))
    where = Network(rtt_us, 1_200.0, 900.0)
    expected = trips * rtt_us + peers * 1_200.0 + writes * 900.0 + fixed_us
    found = model.at(where).p50
    assert found.value == pytest.approx(expected)
    assert found.low <= found.value * (1 + 1e-9)
    assert model.fixed.value == pytest.approx(fixed_us)


def test_the_declared_integer_counts_where_the_slope_agrees_and_the_slope_where_it_does_not() -> None:
    near = model_of(made_up(path(1), trips=1.04))
    assert near.round_trips.number == 1.0
    assert near.round_trips.slope is not None
    assert near.round_trips.slope.round_trips == pytest.approx(1.04)
    wrong = model_of(made_up(path(1), trips=2.0))
    assert wrong.round_trips.number == pytest.approx(2.0)
    assert wrong.at(Network(100_000.0, 0.0, FSYNC_US)).p50.value == pytest.approx(200_200.0)


def test_round_trips_between_servers_are_as_declared_until_they_are_measured() -> None:
    declared = model_of(made_up(path(1, peers=1), peers=2.0))
    assert (declared.peer_round_trips.number, declared.peer_round_trips.measured) == (1.0, False)
    swept = model_of(made_up(path(1, peers=1), peers=2.0, peer_rtts_us=(LOOPBACK_US, 500.0, 1_000.0, 4_000.0)))
    assert swept.peer_round_trips.measured
    assert swept.peer_round_trips.number == pytest.approx(2.0)
    assert swept.round_trips.number == 1.0
    assert swept.at(Network(700.0, 3_000.0, FSYNC_US)).p50.value == pytest.approx(700.0 + 6_000.0 + 200.0)


def test_the_writes_of_an_operation_are_its_own() -> None:
    """A lock that writes when it is released, and not when it is acquired."""
    declared = {**path(), "acquire_durable_writes": "0", "release_durable_writes": "1"}
    of = made_up(declared, writes=1)
    release = cost_model(of, "release")
    assert release is not None
    assert (model_of(of).durable_writes, release.durable_writes) == (0, 1)
    assert model_of(replace(of, durability={"fsync": "off"})).durable_writes == 0


def test_two_networks_or_an_older_record_make_no_model() -> None:
    of = made_up(path())
    assert cost_model(replace(of, samples=of.samples[:4]), "acquire") is None
    assert cost_model(replace(of, capabilities={}), "acquire") is None


def test_the_interval_is_of_one_more_run_and_covers_it() -> None:
    covered = 0
    dice = random.Random(2)
    for seed in range(200):
        noisy = replace(made_up(path()), samples=tuple(_with_noise(random.Random(seed))))
        predicted = model_of(noisy).at(Network(1_060.0, LOOPBACK_US, FSYNC_US)).p50
        assert predicted.method is Method.ONE_MORE
        covered += predicted.contains(1_060.0 + 200.0 * (1.0 + dice.gauss(0.0, 0.3)))
    assert covered >= 180


def _with_noise(dice: random.Random) -> Sequence[Sample]:
    return [
        replace(one, p50_us={"acquire": one.rtt_us + 200.0 * (1.0 + dice.gauss(0.0, 0.3))})
        for one in made_up(path()).samples
    ]


def test_a_run_whose_model_takes_too_much_off_leaves_a_range() -> None:
    of = made_up(path())
    low = [replace(one, p50_us={"acquire": 10.0}) if one.rtt_us == RTTS_US[1] else one for one in of.samples]
    found = model_of(replace(of, samples=tuple(low))).at(Network(0.0, 0.0, FSYNC_US)).p50
    assert found.method is Method.RANGE
    assert found.low < 0.0 < found.value


def test_a_tail_is_carried_from_networks_where_every_run_has_one() -> None:
    of = made_up(path())
    assert model_of(of).at(Network(500.0, 0.0, FSYNC_US)).p99 is None
    tails = {RTTS_US[0]: 300.0, RTTS_US[1]: 500.0}
    some = tuple(
        replace(one, p99_us={"acquire": one.p50_us["acquire"] + tails[one.rtt_us]})
        if one.rtt_us in tails and not (one.rtt_us == RTTS_US[1] and one.run_id.endswith("2"))
        else one
        for one in of.samples
    )
    found = model_of(replace(of, samples=some)).at(Network(500.0, 0.0, FSYNC_US))
    assert found.p99 is not None
    assert found.p99.value - found.p50.value == pytest.approx(300.0)


def test_each_network_is_predicted_without_itself() -> None:
    exact = left_out(made_up(path(2), trips=2.0), "acquire")
    assert exact is not None
    assert len(exact.misses) == len(RTTS_US)
    assert exact.worst.error == pytest.approx(0.0, abs=1e-9)
    assert left_out(replace(made_up(path(2)), samples=made_up(path(2)).samples[:6]), "acquire") is None  # two are left
    noisy = left_out(made_up(path(2), trips=2.0, noise=0.1), "acquire")
    assert noisy is not None
    assert noisy.inside_share > 0.8
    of = made_up(path(2), trips=2.0)
    odd = tuple(
        replace(one, p50_us={"acquire": 3.0 * one.p50_us["acquire"]}) if one.rtt_us == 1_060.0 else one
        for one in of.samples
    )
    found = left_out(replace(of, samples=odd), "acquire")
    assert found is not None
    assert found.worst.network == "rtt=1060"
    assert found.worst.error == pytest.approx(-2.0 / 3.0, abs=0.01)
    assert found.median_error < 0.01


def test_a_fixed_cost_that_rises_with_the_round_trip_is_taken_from_nearby() -> None:
    """As where a processor sleeps deeper the longer it waits: runs over other networks know nothing of it."""
    of = made_up(path())
    rising = tuple(
        replace(one, p50_us={"acquire": one.p50_us["acquire"] + (150.0 if one.rtt_us > 1_500.0 else 0.0)})
        for one in of.samples
    )
    model = model_of(replace(of, samples=rising))
    assert model.at(Network(0.0, 0.0, FSYNC_US)).p50.value == pytest.approx(200.0)
    assert model.at(Network(10_000.0, 0.0, FSYNC_US)).p50.value == pytest.approx(10_350.0)
