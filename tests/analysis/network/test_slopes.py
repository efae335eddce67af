"""Round trips counted by the clock: made-up runs whose number is known, whatever disturbs one of them."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import theilslopes

from bench.analysis.network.slopes import AGREES_WITHIN, CLIENTS, HAND_OFF, PEERS, RECOVERY, counted, theil_sen
from bench.analysis.runs import RunRow
from bench.records.workload import Workload
from tests.analysis.network.made_up import network, peer_network
from tests.run_rows import run_row

RTTS_US = (60.0, 210.0, 510.0, 1_010.0, 2_010.0, 5_020.0)
UNCONTENDED = Workload(name="uncontended", clients=1, keys=0)


def made_up(trips: float, fixed_us: float, noise_us: Sequence[float]) -> list[tuple[float, float, str]]:
    runs = len(noise_us) // len(RTTS_US)
    return [
        (rtt_us + run, fixed_us + trips * (rtt_us + run) + noise_us[place * runs + run], f"rtt={rtt_us}")
        for place, rtt_us in enumerate(RTTS_US)
        for run in range(runs)
    ]


@given(
    st.integers(0, 6), st.floats(0, 20_000), st.lists(st.floats(-12.0, 12.0), min_size=6, max_size=24),
    st.integers(0, 1_000),
)  # fmt: skip
def test_the_number_is_found_within_noise(trips: int, fixed_us: float, noise_us: list[float], seed: int) -> None:
    """In any order of the runs."""
    measured = made_up(trips, fixed_us, noise_us[: len(noise_us) // 6 * 6])
    slope = theil_sen(measured)
    random.Random(seed).shuffle(measured)
    assert theil_sen(measured) == slope
    assert slope is not None
    assert slope.low <= slope.round_trips <= slope.high
    assert abs(slope.round_trips - trips) < 0.1
    assert abs(slope.fixed_us - fixed_us) < 60.0 + 24.0


@pytest.mark.parametrize("trips", [1, 2, 3])
@pytest.mark.parametrize("place", range(len(RTTS_US)))
def test_one_disturbed_run_changes_little(trips: int, place: int) -> None:
    noise_us = [0.0] * len(RTTS_US)
    noise_us[place] = 3_000.0
    slope = theil_sen(made_up(trips, 400.0, noise_us))
    assert slope is not None
    assert abs(slope.round_trips - trips) < AGREES_WITHIN


def test_it_is_what_scipy_finds_where_no_network_has_two_runs() -> None:
    dice = random.Random(4)
    measured = made_up(2, 300.0, [dice.gauss(0.0, 40.0) for _ in RTTS_US])
    xs, ys, _ = zip(*measured, strict=True)
    expected = theilslopes(ys, xs)
    slope = theil_sen(measured)
    assert slope is not None
    assert slope.round_trips == pytest.approx(expected.slope)
    assert (slope.low, slope.high) == pytest.approx((expected.low_slope, expected.high_slope), abs=0.1)


def test_the_interval_covers_the_truth() -> None:
    dice = random.Random(11)
    covered = 0
    for _ in range(400):
        slope = theil_sen(made_up(1, 300.0, [dice.gauss(0.0, 50.0) for _ in range(2 * len(RTTS_US))]))
        assert slope is not None
        covered += slope.low <= 1.0 <= slope.high
    assert covered > 0.92 * 400


def test_two_networks_do_not_tell() -> None:
    assert theil_sen(made_up(1, 0.0, [0.0] * 24)[:8]) is None
    assert theil_sen([]) is None


def rows(system: str, trips: int, declared: int | None, **changes: object) -> list[RunRow]:
    told = {} if declared is None else {"acquire_round_trips": str(declared), "release_round_trips": "1"}
    found = []
    for rtt_us in RTTS_US:
        workload = UNCONTENDED.model_copy(update={"network": f"rtt={rtt_us}", "label": f"net {rtt_us}"})
        metrics = {"acquire_us_p50": 100.0 + trips * rtt_us, "release_us_p50": 90.0 + rtt_us}
        more: dict[str, object] = {"metrics": metrics, "capabilities": told, "network": network(rtt_us)}
        found.append(replace(run_row(f"{system}-{rtt_us}", system, workload, 1, **more), **changes))  # type: ignore[arg-type]
    return found


def test_a_round_trip_too_many_is_found_and_named() -> None:
    right, wrong, silent = rows("redis", 1, 1), rows("etcd", 2, 1), rows("zookeeper", 3, None)
    found = {(one.system, one.operation): one for one in counted([*right, *wrong, *silent])}
    assert {key: one.agrees for key, one in found.items()} == {
        ("redis", "acquire"): True,
        ("redis", "release"): True,
        ("etcd", "acquire"): False,
        ("etcd", "release"): True,
        ("zookeeper", "acquire"): None,
        ("zookeeper", "release"): None,
    }
    assert found["etcd", "acquire"].slope.round_trips == pytest.approx(2.0)
    assert found["etcd", "acquire"].slope.fixed_us == pytest.approx(100.0)
    assert len(found["etcd", "acquire"].points()) == len(RTTS_US)


def between(system: str, trips: int, declared: int, client_rtt_us: float, peers_us: Sequence[float]) -> list[RunRow]:
    found = []
    for rtt_us in peers_us:
        names = {
            "network": f"rtt={client_rtt_us}",
            "peer_network": f"rtt={rtt_us}",
            "label": f"{client_rtt_us} {rtt_us}",
        }
        latency_us = 100.0 + client_rtt_us + trips * rtt_us
        more: dict[str, object] = {
            "metrics": {"acquire_us_p50": latency_us, "release_us_p50": latency_us},
            "capabilities": {"acquire_round_trips": "1", "release_round_trips": "1", "peer_round_trips": str(declared)},
            "network": network(client_rtt_us),
            "peer_network": peer_network(rtt_us),
        }
        workload = UNCONTENDED.model_copy(update=names)
        found.append(run_row(f"{system}-{client_rtt_us}-{rtt_us}", system, workload, 1, **more))  # type: ignore[arg-type]
    return found


def test_round_trips_between_servers_are_counted_where_only_they_vary() -> None:
    """Settings that mix both networks count for neither; a trip too many between servers is found."""
    mixed = [*between("etcd", 1, 1, 510.0, [1_010.0]), *between("etcd", 1, 1, 2_010.0, [510.0])]
    apart = rows("etcd", 1, 1)
    right, wrong = between("etcd", 1, 1, 60.0, RTTS_US), between("zookeeper", 2, 1, 60.0, RTTS_US)
    found = {(one.system, one.between, one.operation): one for one in counted([*apart, *mixed, *right, *wrong])}
    assert {key: (one.agrees, len(one.runs)) for key, one in found.items() if key[2] == "acquire"} == {
        ("etcd", CLIENTS, "acquire"): (True, len(RTTS_US)),
        ("etcd", PEERS, "acquire"): (True, len(RTTS_US)),
        ("zookeeper", PEERS, "acquire"): (False, len(RTTS_US)),
    }
    assert found["zookeeper", PEERS, "release"].slope.round_trips == pytest.approx(2.0)
    assert found["etcd", PEERS, "acquire"].points()[-1][0] == pytest.approx(RTTS_US[-1])


MEET = Workload(name="contended", clients=4, keys=1, hold_ms=5.0)


def met(system: str, wait: str, trips: int, peer_trips: int = 0, **changes: object) -> list[RunRow]:
    """Clients that meet at one key, over networks between them and the servers, and over others between servers."""
    found = []
    for rtt_us in RTTS_US:
        metrics = {"hand_off_us_p50": 40.0 + trips * rtt_us, "acquire_us_p50": 9_000.0 + 5 * rtt_us}
        met_at = {"wait": wait, "network": f"rtt={rtt_us}", "label": f"met {rtt_us}", **changes}
        found.append(
            run_row(
                f"{system}-{rtt_us}", system, MEET.model_copy(update=met_at), 1,
                metrics=metrics, capabilities={"acquire_round_trips": "1"}, network=network(rtt_us),
            )
        )  # fmt: skip
        if peer_trips:
            near = {"wait": wait, "network": "rtt=0ms", "peer_network": f"rtt={rtt_us}", "label": f"near {rtt_us}"}
            found.append(
                run_row(
                    f"{system}-peers-{rtt_us}", system, MEET.model_copy(update=near), 1,
                    metrics={"hand_off_us_p50": 90.0 + peer_trips * rtt_us}, peer_network=peer_network(rtt_us),
                    network=network(60.0),
                )
            )  # fmt: skip
    return found


def test_the_round_trips_of_a_hand_off_are_held_against_what_the_system_states() -> None:
    """Handed over by the server: none. Woken by a message: an acquire. Woken by a watch: a look."""
    rows = [
        *met("postgres-row", "block", 0),
        *met("redis", "pubsub-500ms", 1),
        *met("etcd", "watch", 1, peer_trips=2),
        *met("zookeeper", "watch", 2),
    ]
    found = {(one.system, one.between): one for one in counted(rows)}
    assert {one.operation for one in found.values()} == {HAND_OFF}
    assert {key: (one.declared, one.agrees) for key, one in found.items()} == {
        ("postgres-row", CLIENTS): (0, True),
        ("redis", CLIENTS): (1, True),
        ("etcd", CLIENTS): (1, True),
        ("etcd", PEERS): (2, True),
        ("zookeeper", CLIENTS): (1, False),
    }
    assert found["zookeeper", CLIENTS].slope.round_trips == pytest.approx(2.0)


@pytest.mark.parametrize(
    "changes", [{"wait": "poll-5ms"}, {"keys": 2}, {"think_ms": 3.0}, {"pool": 2}, {"fault": "leader-killed"}]
)
def test_where_clients_poll_or_do_more_than_meet_no_hand_off_is_counted(changes: dict[str, object]) -> None:
    assert not counted(met("redis", **{"wait": "pubsub-500ms", "trips": 1, **changes}))  # type: ignore[arg-type]


def test_the_crash_recovery_is_counted_where_grants_came_again() -> None:
    killed = [
        replace(row, availability={"without_grant_s": 2.0 + 2 * us / 1e6, "grants_again": 1.0})
        for row, us in zip(met("redis", "poll-5ms", 0, fault="holder-killed"), RTTS_US, strict=True)
    ]
    (one,) = counted(killed)
    assert (one.operation, one.declared, one.agrees) == (RECOVERY, None, None)
    assert one.slope.round_trips == pytest.approx(2.0)
    assert one.slope.fixed_us == pytest.approx(2e6)
    never = [replace(row, availability={"without_grant_s": 5.0, "grants_again": 0.0}) for row in killed]
    assert not counted(never)


def test_void_runs_other_workloads_and_runs_without_a_network_do_not_count() -> None:
    assert not counted(rows("redis", 1, 1, void_cause="delay lines busy"))
    assert not counted(rows("redis", 1, 1, network=None))
    assert not counted(rows("redis", 1, 1, workload=UNCONTENDED.model_copy(update={"clients": 2})))
    assert not counted(rows("redis", 1, 1, metrics={}))
