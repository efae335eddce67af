"""The floor of an acquire and the parts of its time, from made-up runs whose numbers are known."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.analysis.cells import Absent, Cell, cells_of
from bench.analysis.floor import (
    NO_SERVER,
    NOT_RECORDED,
    OTHER_NETWORK,
    CriticalPath,
    acquire_parts,
    client_cpu_us_of_acquire,
    client_cpu_us_per_pair,
    critical_path,
    floor_us,
    over_floor,
    server_mean_us,
    server_means_us,
)
from bench.analysis.intervals import Estimate
from bench.analysis.runs import run_rows
from bench.records.histogram import LatencyHistogram
from bench.systems.registry import SYSTEMS
from tests import campaigns

MACHINE = campaigns.environment()  # round trip 31 µs, fdatasync 850 µs
ACQUIRE_US, RELEASE_US, PAIRS, WINDOW_S = 200, 100, 10_000, 4.0
ALWAYS = {"appendonly": "yes", "appendfsync": "always"}
SOMETIMES = {"appendonly": "yes", "appendfsync": "everysec"}


def steady(value_us: int) -> str:
    return LatencyHistogram({value_us * 1_000: PAIRS}).encode()


def cell_of(folder: Path, system: str, runs: int = 1, **changes: object) -> Cell:
    """An uncontended cell of runs that are all alike: each acquire takes 200 µs, each release 100 µs."""
    plans = campaigns.plans((system,), ("uncontended",), runs)
    campaign = campaigns.start(folder, plans)
    exact = {
        "histograms": {"acquire/acquired": steady(ACQUIRE_US), "release/released": steady(RELEASE_US)},
        "counts": {"acquire/acquired": PAIRS, "release/released": PAIRS},
        "window_s": WINDOW_S,
        "generator_cpu_s": 2.0,
        "server_view": {},
    }
    for plan in plans:
        shape = campaigns.SHAPES.get(system, campaigns.SHAPES["redis"])
        campaigns.add_run(campaign, plan, campaigns.measured(plan, shape, operations=PAIRS, **(exact | changes)))
    (cell,) = cells_of(run_rows(campaign))
    return cell


def facts(durability: Mapping[str, str]) -> dict[str, object]:
    told = {"version": "1", "identity": "x", "durability": dict(durability), "nodes": 1}
    return {"facts_before": told, "facts_after": told}


def path(**told: str) -> dict[str, object]:
    return {"capabilities": campaigns.capabilities("made up", 1, 1, **told)}


def test_a_floor_is_trips_and_writes_at_the_machines_own_medians() -> None:
    assert CriticalPath(1, 0, 0).floor_us(MACHINE) == 31.0
    assert CriticalPath(2, 0, 2).floor_us(MACHINE) == 2 * 31.0 + 2 * 850.0
    assert CriticalPath(1, 1, 1).floor_us(MACHINE) == 2 * 31.0 + 850.0


@pytest.mark.parametrize(
    ("system", "expected_us"),
    [
        ("redis", 31.0),
        ("redis-aof", 31.0 + 850.0),
        ("redlock", 31.0),
        ("redlock-aof", 31.0 + 850.0),
        ("zookeeper", 62.0 + 850.0),
        ("etcd", 62.0 + 850.0),
        ("postgres-row", 31.0),
        ("dynamodb", 31.0),
    ],
)
def test_the_floor_of_every_real_adapter(tmp_path: Path, system: str, expected_us: float) -> None:
    """The adapters' own facts, as a run records them: a wrong count in an adapter fails here."""
    own = SYSTEMS[system].client_class.capabilities
    told = {name: getattr(own, name) for name in ("acquire_round_trips", "peer_round_trips", "acquire_durable_writes")}
    record = {name: str(value) for name, value in told.items()} | {"durable_when": ", ".join(own.durable_when)}
    cell = cell_of(tmp_path, system, **path(**record))
    assert floor_us(cell, MACHINE) == expected_us


@pytest.mark.parametrize(
    ("durability", "when", "writes"),
    [
        (ALWAYS, "appendonly=yes, appendfsync=always", 1),
        (SOMETIMES, "appendonly=yes, appendfsync=always", 0),
        ({}, "appendonly=yes, appendfsync=always", 0),
        ({"synchronous_commit": "local"}, "synchronous_commit=on|local", 1),
        ({"synchronous_commit": "off"}, "synchronous_commit=on|local", 0),
        ({"appendonly": "yes"}, "", 0),
    ],
)
def test_whether_a_write_is_waited_for_is_the_servers_word(
    tmp_path: Path, durability: Mapping[str, str], when: str, writes: int
) -> None:
    cell = cell_of(tmp_path, "redis", **facts(durability), **path(acquire_durable_writes="1", durable_when=when))
    assert critical_path(cell) == CriticalPath(1, 0, writes)


def test_how_far_above_the_floor_the_median_is(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, "redis", runs=3)
    times = over_floor(cell, MACHINE)
    assert isinstance(times, Estimate)
    assert times.value == pytest.approx(ACQUIRE_US / 31.0, rel=0.001)
    assert times.runs == 3


def test_an_old_record_has_no_floor_and_says_so(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, "redis", capabilities={"fencing_source": "x", "nodes": "1"})
    for answer in (critical_path(cell), floor_us(cell, MACHINE), over_floor(cell, MACHINE)):
        assert answer == Absent(NOT_RECORDED)
    assert acquire_parts(cell, MACHINE) == Absent(NOT_RECORDED)


def test_the_users_own_servers_have_no_floor_of_this_machine(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, "redis", source="url")
    assert floor_us(cell, MACHINE) == Absent(OTHER_NETWORK)
    assert acquire_parts(cell, MACHINE) == Absent(OTHER_NETWORK)


def test_without_a_server_there_is_no_floor(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, "null", **path(acquire_round_trips="0"))
    assert floor_us(cell, MACHINE) == Absent(NO_SERVER)
    assert over_floor(cell, MACHINE) == Absent(NO_SERVER)


def test_the_clients_processor_time_leaves_out_what_lies_between_two_pairs(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, "redis")
    (run,) = cell.used
    # 4 s / 10 000 pairs is 400 µs, of which 300 µs are within acquire and release: 100 µs of the 200 µs CPU are not.
    per_pair = client_cpu_us_per_pair(cell)
    assert isinstance(per_pair, Estimate)
    assert per_pair.value == pytest.approx(200.0)
    assert client_cpu_us_of_acquire(run) == pytest.approx(50.0, rel=0.01)
    # With other clients about, the time between two pairs is somebody else's: nothing may be taken off.
    crowd = dataclasses.replace(run, workload=run.workload.model_copy(update={"clients": 2}))
    assert client_cpu_us_of_acquire(crowd) == pytest.approx(100.0)
    assert client_cpu_us_of_acquire(dataclasses.replace(run, metrics={})) is None


def test_parts_add_up_to_the_median(tmp_path: Path) -> None:
    view = {"execute_calls": 20_000.0, "execute_us": 60_000.0}
    parts = acquire_parts(cell_of(tmp_path, "redis", server_view=view), MACHINE)
    assert not isinstance(parts, Absent)
    assert (parts.network_us, parts.durable_us, parts.server_us) == (31.0, 0.0, 3.0)
    assert parts.client_us == pytest.approx(50.0, rel=0.01)
    assert parts.rest_us == pytest.approx(ACQUIRE_US - 84.0, rel=0.01)
    assert parts.excess_us == 0.0
    assert parts.mean_us == pytest.approx(ACQUIRE_US, rel=0.001)


def test_an_answers_time_is_told_apart_from_the_durable_write_within_it(tmp_path: Path) -> None:
    view = {"answer_calls": 10.0, "answer_us": 1_500.0, "fsync_calls": 60.0, "fsync_us": 3_600.0}
    parts = acquire_parts(cell_of(tmp_path, "etcd", server_view=view), MACHINE)
    assert not isinstance(parts, Absent)
    assert parts.network_us == 31.0, "the trip between servers is within the answer: counted twice otherwise"
    assert (parts.durable_us, parts.server_us) == (60.0, 90.0)
    assert (parts.durable_by_server, parts.server_with_peers) == (True, True)


def test_without_the_servers_word_the_machines_disk_stands_in(tmp_path: Path) -> None:
    parts = acquire_parts(cell_of(tmp_path, "etcd"), MACHINE)
    assert not isinstance(parts, Absent)
    assert (parts.network_us, parts.durable_us, parts.server_us) == (62.0, 850.0, None)
    assert (parts.durable_by_server, parts.server_with_peers) == (False, False)


def test_parts_beyond_the_median_are_told_and_not_cut(tmp_path: Path) -> None:
    parts = acquire_parts(cell_of(tmp_path, "etcd"), MACHINE)
    assert not isinstance(parts, Absent)
    assert parts.rest_us == 0.0
    assert parts.excess_us == pytest.approx(parts.client_us + 62.0 + 850.0 - ACQUIRE_US, rel=0.01)


def test_a_mean_is_of_all_runs_together(tmp_path: Path) -> None:
    """One run with few slow calls and one with many fast ones: the calls count, not the runs."""
    cell = cell_of(tmp_path, "redis", runs=2)
    few, many = cell.used
    runs = (
        dataclasses.replace(few, server_view={"execute_calls": 1.0, "execute_us": 100.0}),
        dataclasses.replace(many, server_view={"execute_calls": 99.0, "execute_us": 100.0}),
    )
    assert server_mean_us(runs, "execute") == pytest.approx(2.0)
    assert server_mean_us(runs, "fsync") is None
    # A run that counted calls without timing them must not dilute those that were timed.
    counted = dataclasses.replace(many, server_view={"execute_calls": 1_000.0})
    assert server_mean_us((runs[0], counted), "execute") == pytest.approx(100.0)
    assert server_means_us(dataclasses.replace(cell, runs=runs)) == {"execute": pytest.approx(2.0)}


def test_a_counter_without_calls_has_no_mean(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, "redis", server_view={"execute_calls": 0.0, "execute_us": 0.0})
    assert server_means_us(cell) == {}
