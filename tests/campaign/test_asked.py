"""Cells of the user's own: every combination of what was asked for, in the seeded order, and every mistake at once."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.campaign.asked import BY_OPTION, CELLS_AT_MOST, BadWorkload, by_options, read_one
from bench.campaign.load_plans import plan_runs
from bench.campaign.modes import MODES, QUICK, WORKLOADS, Asked, Mode, choose_systems, workload_of
from bench.errors import LockbenchError
from bench.records.durations import duration_text
from bench.records.workload import Parameter, Workload
from bench.systems.registry import system

MEMORY = choose_systems(["memory"])


def cells(workload: str, given: Mapping[str, str], on: str = "memory") -> list[Workload]:
    entry = system(on)
    return [one.on(entry, QUICK) for one in by_options([workload], given, [entry], QUICK)]


_lists = {
    "clients": st.lists(st.integers(1, 500).map(str), min_size=1, max_size=4, unique=True),
    "keys": st.lists(st.integers(1, 50).map(str), min_size=1, max_size=3, unique=True),
    "hold": st.lists(st.integers(1, 50).map("{}ms".format), min_size=1, max_size=3, unique=True),
    "window": st.lists(st.integers(1, 50).map("{}s".format), min_size=1, max_size=2, unique=True),
}


@settings(deadline=None)  # the first example imports the clients
@given(st.fixed_dictionaries({}, optional=_lists), st.integers(1, 3), st.integers(0, 2**31))
def test_a_sweep_is_every_combination_in_the_seeded_order(
    asked: dict[str, list[str]], repetitions: int, seed: int
) -> None:
    texts = {option: ",".join(values) for option, values in asked.items()}
    systems = choose_systems(["memory", "redis"])
    found = by_options(["contended"], texts, systems, QUICK)
    count = 1
    for values in asked.values():
        count *= len(values)
    assert len(found) == count
    runs = plan_runs("c", systems, found, QUICK, repetitions, seed)
    assert len(runs) == count * len(systems) * repetitions
    assert len({run.run_id for run in runs}) == len(runs)
    for block in range(repetitions):
        part = runs[block * count * 2 : (block + 1) * count * 2]
        assert max(Counter((run.system, run.workload.digest) for run in part).values()) == 1, "each cell once a block"
    assert runs == plan_runs("c", systems, found, QUICK, repetitions, seed)


def test_the_seed_decides_the_order_of_a_sweep() -> None:
    found = by_options(["contended"], {"clients": "1,2,3,4,5,6"}, MEMORY, QUICK)
    orders = {tuple(run.run_id for run in plan_runs("c", MEMORY, found, QUICK, 2, seed)) for seed in range(5)}
    assert len(orders) == 5


@pytest.mark.parametrize("mode", MODES.values())
@pytest.mark.parametrize("name", WORKLOADS)
def test_without_changes_a_cell_is_the_modes_own(name: str, mode: Mode) -> None:
    entry = system("etcd")
    assert Asked(name).on(entry, mode) == workload_of(name, entry, mode)


@pytest.mark.parametrize(
    ("workload", "given", "titles"),
    [
        ("contended", {"clients": "32", "hold": "10ms"}, ["contended, 32 clients, hold 10 ms"]),
        ("contended", {"clients": "8,32"}, ["contended", "contended, 32 clients"]),  # 8 is the mode's own
        ("contended", {"ttl": "10s", "timeout": "5s", "wait": "block"}, ["contended"]),
        ("contended", {"wait": "auto"}, ["contended"]),
        ("contended", {"clients": "9,9, 9"}, ["contended, 9 clients"]),
        ("contended", {"clients": "1", "keys": "1"}, ["contended, 1 client"]),
        ("rate", {"rate": "250", "arrivals": "uniform"}, ["rate, 250 arrivals a second, uniform arrivals"]),
        (
            "contended",
            {"strangers": "1,4", "pool": "4"},
            [f"contended, {n}, pool of 4" for n in ("1 stranger", "4 strangers")],
        ),
        ("hot-cold", {"zipf": "0,1.2"}, ["hot-cold, Zipf 0", "hot-cold, Zipf 1.2"]),
        ("saturation", {"step": "0s", "window": "60s"}, ["saturation, step 0 ms, window 60 s"]),
        ("uncontended", {"clients": "2", "processes": "2"}, ["uncontended, 2 clients, 2 processes"]),
    ],
)
def test_a_cell_is_called_after_what_was_changed(workload: str, given: dict[str, str], titles: list[str]) -> None:
    assert [cell.title for cell in cells(workload, given)] == titles


def test_every_parameter_is_set_as_it_was_asked_for() -> None:
    (found,) = cells(
        "contended",
        {
            "clients": "32",
            "keys": "4",
            "hold": "10ms",
            "ttl": "5s",
            "wait": "poll-20ms",
            "timeout": "2s",
            "window": "1min",
            "warm-up": "2.5s",
            "processes": "2",
        },
    )
    asked = (found.clients, found.keys, found.hold_ms, found.ttl_ms, found.wait, found.timeout_ms)
    assert asked == (32, 4, 10.0, 5_000, "poll-20ms", 2_000)
    assert (found.measure_s, found.warmup_s, found.processes) == (60.0, 2.5, 2)


@pytest.mark.parametrize(
    ("workload", "given", "told"),
    [
        ("contended", {"hold": "10"}, "--hold: 10 has no unit: write 10ms, 10s or 10min"),
        ("contended", {"ttl": "0ms"}, "--ttl: 0ms is outside 10 ms to 1440 min"),
        ("contended", {"ttl": "9ms"}, "--ttl: 9ms is outside 10 ms to 1440 min"),
        ("contended", {"hold": "0.0001ms"}, "--hold: 0.0001ms is neither 0 nor within 0.1 ms to 60 min"),
        ("contended", {"warm-up": "1ms"}, "--warm-up: 1ms is neither 0 nor within 10 ms to 60 min"),
        ("saturation", {"step": "1ms"}, "--step: 1ms is neither 0 nor within 50 ms to 60 min"),
        (
            "contended",
            {"hold": "15s", "window": "60s"},
            "--hold: hold 15 s is not below TTL 10 s, so every grant would",
        ),
        ("uncontended", {"hold": "3s"}, "--hold: hold 3 s is not below window 3 s, so nothing would be measured"),
        ("saturation", {"hold": "1ms,2.3s"}, "--hold: hold 2.3 s is not below window 2.3 s"),
        ("contended", {"ttl": "15.5ms"}, "--ttl: 15.5ms is not a whole number of milliseconds"),
        ("contended", {"clients": "8,x,"}, "--clients: 'x' is not a whole number; --clients: '' is not a whole number"),
        ("contended", {"clients": "0"}, "--clients: 0 is outside 1..64000"),
        ("contended", {"clients": "1001"}, "--clients: 1,001 are more than 1,000 for each load process"),
        ("contended", {"processes": "9"}, "--processes: each of 9 load processes needs a client, and there is 8"),
        ("contended", {"keys": "0"}, "--keys: clients of contended share keys: ask for 1 or more"),
        ("contended", {"window": "0s"}, "--window: 0s is outside 100 ms to 1440 min"),
        ("contended", {"window": "0.0001ms"}, "--window: 0.0001ms is outside 100 ms to 1440 min"),
        ("contended", {"wait": "soon"}, "--wait: no wait strategy 'soon'"),
        ("contended", {"wait": "watch"}, "--wait: memory cannot wait by watch; it knows try, poll, backoff, block"),
        ("rate", {"rate": "0"}, "--rate: 0 is outside 0.001..1e+06"),
        ("rate", {"arrivals": "bursty"}, "--arrivals: 'bursty' is none of poisson, uniform"),
        (
            "uncontended",
            {"keys": "4"},
            "--keys: only for the workloads contended, saturation, rate, hot-cold, contended-rate",
        ),
        (
            "contended",
            {"rate": "9"},
            "--rate: only for the workloads rate, contended-rate, not for contended",
        ),
        ("contended", {"zipf": "1"}, "--zipf: only for the workload hot-cold, not for contended"),
        ("uncontended", {"wait": "try"}, "--wait: only for the workloads contended,"),
        ("rate", {"step": "1s"}, "--step: only for the workload saturation, not for rate"),
        ("rate", {"strangers": "2"}, "--strangers: only for the workload contended, not for rate"),
        ("hot-cold", {"pool": "2"}, "--pool: only for the workload contended, not for hot-cold"),
        ("contended", {"strangers": "8"}, "--strangers: 8 of 8 clients leave none to meet at the key"),
        ("contended", {"strangers": "7", "processes": "2"}, "--strangers: 7 of 8 clients leave 1 to meet at the key"),
        ("contended", {"pool": "9"}, "--pool: 9 connections are more than the clients of a load process: 8"),
        ("contended", {"clients": "4,16", "pool": "8"}, "--pool: 8 connections are more than the clients of a load"),
    ],
)
def test_each_mistake_is_told(workload: str, given: dict[str, str], told: str) -> None:
    with pytest.raises(BadWorkload) as refused:
        cells(workload, given)
    assert told in str(refused.value)


@pytest.mark.parametrize("one", [one for one in BY_OPTION.values() if one.unit], ids=lambda one: one.option)
def test_every_duration_has_a_lower_limit_and_all_but_two_may_be_none(one: Parameter) -> None:
    read = partial(read_one, one)
    least = one.planned_from or 1.0
    assert read(duration_text(least, one.unit)) == least
    with pytest.raises(ValueError, match=r"is not a whole number|is outside|is neither 0 nor within"):
        read(f"{least / 2}{one.unit}")
    if one.option in ("ttl", "window"):
        with pytest.raises(ValueError, match="is outside"):
            read(f"0{one.unit}")
    else:
        assert read(f"0{one.unit}") == 0


@pytest.mark.parametrize(("name", "expires"), [("redis", True), ("redlock", True), ("etcd", False), ("null", False)])
def test_a_hold_beyond_the_ttl_is_refused_where_nobody_keeps_the_lease_alive(name: str, expires: bool) -> None:
    def ask() -> None:
        cells("uncontended", {"hold": "2s", "ttl": "2s", "window": "9s"}, name)

    if not expires:
        ask()
        return
    with pytest.raises(BadWorkload, match="--hold: hold 2 s is not below TTL 2 s, so every grant would expire"):
        ask()


def test_a_lease_that_a_system_cannot_keep_is_refused() -> None:
    with pytest.raises(BadWorkload, match="--ttl: etcd keeps no lease shorter than 1000 ms, not 999"):
        cells("contended", {"ttl": "999ms"}, "etcd")


def test_all_mistakes_are_in_one_message() -> None:
    with pytest.raises(BadWorkload) as refused:
        cells("uncontended", {"hold": "10", "ttl": "soon", "rate": "5", "clients": "-1"})
    assert all(option in str(refused.value) for option in ("--hold: ", "--ttl: ", "--rate: ", "--clients: "))


def test_a_sweep_without_end_is_refused() -> None:
    many = ",".join(map(str, range(1, 102)))
    with pytest.raises(BadWorkload, match=f"10,201 combinations of values are more than {CELLS_AT_MOST:,}"):
        cells("contended", {"clients": many, "keys": many})


def test_two_cells_never_have_one_folder() -> None:
    asked = [Asked("contended", {"clients": 2}, "a b"), Asked("contended", {"clients": 3}, "A-b")]
    with pytest.raises(LockbenchError, match=r"one folder, memory-a-b-01: give one of them another name"):
        plan_runs("c", MEMORY, asked, QUICK, 1, 1)


def test_one_cell_under_two_words_is_measured_once() -> None:
    found = by_options(["contended"], {"wait": "auto,block"}, MEMORY, QUICK)
    assert [run.run_id for run in plan_runs("c", MEMORY, found, QUICK, 1, 1)] == ["memory-contended-01"]


def test_a_network_is_for_servers_and_without_a_fault() -> None:
    found = by_options(["uncontended"], {"network": "none,zone,rtt=0.50ms"}, [system("redis")], QUICK)
    cells = [one for asked in found for one in asked.cells_on(system("redis"), QUICK)]
    assert [(one.network, one.title) for one in cells] == [
        ("none", "uncontended"),
        ("zone", "uncontended, network zone"),
        ("rtt=0.5ms", "uncontended, network rtt=0.5ms"),
    ]
    with pytest.raises(BadWorkload, match="--network: memory has no servers"):
        by_options(["uncontended"], {"network": "zone"}, MEMORY, QUICK)
    broken = {"network": "zone", "fault": "leader-killed", "keys": "1"}
    with pytest.raises(BadWorkload, match="--network: a fault of the servers is measured without a network"):
        by_options(["contended"], broken, [system("redis")], QUICK)
    (of_a_holder,) = by_options(["contended"], broken | {"fault": "holder-killed"}, [system("redis")], QUICK)
    assert [one.network for one in of_a_holder.cells_on(system("redis"), QUICK)] == ["zone"]
    with pytest.raises(BadWorkload, match="--network: 'near' is no network"):
        by_options(["contended"], {"network": "near"}, [system("redis")], QUICK)


def test_a_peer_network_is_for_servers_that_talk_to_each_other() -> None:
    both = {"network": "rtt=0ms", "peer-network": "rtt=1ms,wan"}
    found = by_options(["uncontended"], both, [system("etcd"), system("zookeeper")], QUICK)
    cells = [one for asked in found for one in asked.cells_on(system("etcd"), QUICK)]
    assert [(one.network, one.peer_network, one.title) for one in cells] == [
        ("rtt=0ms", "rtt=1ms", "uncontended, network rtt=0ms, peer network rtt=1ms"),
        ("rtt=0ms", "wan", "uncontended, network rtt=0ms, peer network wan"),
    ]
    for name in ("redis", "redlock", "postgres-row", "dynamodb"):
        with pytest.raises(BadWorkload, match=f"--peer-network: {name}'s servers do not talk to each other"):
            by_options(["uncontended"], {"peer-network": "zone"}, [system(name)], QUICK)
    with pytest.raises(BadWorkload, match="--peer-network: memory has no servers"):
        by_options(["uncontended"], {"peer-network": "zone"}, MEMORY, QUICK)
    with pytest.raises(BadWorkload, match=r"rtt=250ms is more than 200 ms: servers so far apart"):
        by_options(["uncontended"], {"peer-network": "rtt=250ms"}, [system("etcd")], QUICK)
    broken = {"peer-network": "zone", "fault": "holder-killed", "keys": "1"}
    with pytest.raises(BadWorkload, match="--peer-network: a fault is measured without a network"):
        by_options(["contended"], broken, [system("etcd")], QUICK)


def test_long_names_make_short_folders() -> None:
    everything = {one.option: one.example_text for one in BY_OPTION.values() if "contended" in one.of}
    redis = [system("redis")]  # it can have a fault, on one key
    own = {
        "wait": "poll-20ms",
        "clients": "5,6",
        "keys": "1",
        "strangers": "2",
        "pool": "2",
        "network": "none",
        "peer-network": "none",
    }
    found = by_options(["contended"], everything | own, redis, QUICK)
    ids = [run.run_id for run in plan_runs("c", redis, found, QUICK, 1, 1)]
    assert len(set(ids)) == 2
    assert max(map(len, ids)) < 120


def test_the_page_about_workloads_has_every_option() -> None:
    page = (Path(__file__).parents[2] / "docs/workloads.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `--")]
    told = {option.strip("| `").removeprefix("--"): row[1] for row in rows for option in row[0].split(",")}
    told = {option: of for option, of in told.items() if option in BY_OPTION}
    assert set(told) == set(BY_OPTION)
    for option, of in told.items():
        named = {name for name in WORKLOADS if f"`{name}`" in of}
        assert set(BY_OPTION[option].of) == (set(WORKLOADS) - named if of.startswith("all") else named)


def test_names_in_any_script_have_folders_of_their_own() -> None:
    asked = [Asked("contended", {"clients": clients}, name) for clients, name in ((3, "оплата 1"), (4, "заказ 1"))]
    ids = [run.run_id for run in plan_runs("c", MEMORY, asked, QUICK, 1, 1)]
    assert len(set(ids)) == 2
    assert all(run_id.isascii() and run_id.startswith("memory-") for run_id in ids)


def test_more_runs_than_anybody_would_wait_for_are_refused() -> None:
    with pytest.raises(LockbenchError, match=r"10,001 runs are more than 10,000: ask for fewer values or repetitions"):
        plan_runs("c", MEMORY, ["contended"], QUICK, 10_001, 1)
