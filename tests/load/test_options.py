"""Options are checked when a test starts: every mistake in one message, whether from a command line or a form."""

from typing import Any

import pytest

from bench.load.options import BadOptions, LoadSettings, crowd_misfits, misfits
from bench.records.workload import Behaviour
from bench.systems.registry import system

GOOD = {
    "system": "memory",
    "workload": "contended",
    "keys": 0,
    "ttl_ms": 10_000,
    "hold_ms": 0.0,
    "wait": "auto",
    "timeout_ms": 5_000,
    "rate_per_s": 100.0,
    "think_ms": "0",
    "thinking": "fixed",
    "strangers": "0",
    "pool": 0,
    "way": "lock",
    "compute_ms": "0",
    "arrivals": "poisson",
    "zipf_exponent": 0.99,
    "step_s": 0.0,
    "lock_seed": 1,
    "warmup_s": 1.0,
    "measure_s": 0.0,
    "record_into": "",
    "client_variant": "{}",
    "give_up_s": 2.0,
    "beside": "",
    "network": "none",
}


def read(**changes: Any) -> LoadSettings:
    return LoadSettings.read({**GOOD, **changes})


def test_a_form_sends_texts_and_they_count() -> None:
    settings = read(ttl_ms="2500", hold_ms="1.5", keys="3", warmup_s="0")
    assert (settings.ttl_ms, settings.hold_ms) == (2500, 1.5)
    assert (settings.workload.keys, settings.workload.warmup_s) == (3, 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"system": "redsi"}, "--system: 'redsi' is none of redis, "),
        ({"workload": ""}, "--workload: '' is none of uncontended, contended, saturation"),
        ({"network": "soon"}, "--network: 'soon' is no network"),
        ({"ttl_ms": "0"}, "--ttl-ms: 0 is outside 1"),
        ({"ttl_ms": "ten"}, "--ttl-ms: 'ten' is not a whole number"),
        ({"hold_ms": "nan"}, "--hold-ms: nan is outside 0"),
        ({"hold_ms": "-1"}, "--hold-ms: -1 is outside 0"),
        ({"timeout_ms": "1e9"}, "--timeout-ms: '1e9' is not a whole number"),
        ({"keys": "-2"}, "--keys: -2 is outside 0"),
        ({"rate_per_s": "0"}, "--rate-per-s: 0 is outside 0.001"),
        ({"arrivals": "bursty"}, "--arrivals: 'bursty' is none of poisson, uniform"),
        ({"zipf_exponent": "-1"}, "--zipf-exponent: -1 is outside 0"),
        ({"step_s": "long"}, "--step-s: 'long' is not a number"),
        ({"strangers": "-1"}, "--strangers: -1 is outside 0..64000"),
        ({"pool": "1001"}, "--pool: 1001 is outside 0..1000"),
        ({"wait": "poll"}, "--wait: no wait strategy 'poll'"),
        ({"warmup_s": "inf"}, "--warmup-s: inf is outside"),
        ({"client_variant": "[1]"}, "--client-variant: not a JSON object of texts"),
        ({"client_variant": "{"}, "--client-variant: "),
        ({"workload": "uncontended", "keys": "4"}, "--keys: in the uncontended workload each client has its own key"),
        ({"record_into": "x"}, "--record-into: needs --measure-s"),
    ],
)
def test_a_bad_value_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOptions) as refused:
        read(**changes)
    assert message in str(refused.value)


def test_all_mistakes_are_in_one_message() -> None:
    with pytest.raises(BadOptions) as refused:
        read(system="redsi", ttl_ms="-5", wait="soon")
    assert all(name in str(refused.value) for name in ("--system", "--ttl-ms", "--wait"))


@pytest.mark.parametrize(
    ("workload", "asked", "wait"),
    [
        ("contended", "auto", "block"),
        ("hot-cold", "auto", "block"),
        ("uncontended", "auto", "try"),
        ("rate", "auto", "try"),
        ("contended", "poll-5ms", "poll-5ms"),
    ],
)
def test_auto_waits_as_the_system_does_best(workload: str, asked: str, wait: str) -> None:
    assert str(read(workload=workload, wait=asked).wait(system("memory"))) == wait


def test_a_wait_that_the_system_does_not_know_is_refused() -> None:
    with pytest.raises(BadOptions, match="memory cannot wait by watch; it knows try, poll, backoff, block"):
        read(wait="watch").wait(system("memory"))


@pytest.mark.parametrize(
    ("workload", "keys", "shared"),
    [
        ("contended", 0, 1),
        ("contended", 4, 4),
        ("saturation", 0, 0),
        ("rate", 0, 0),
        ("rate", 9, 9),
        ("hot-cold", 0, 100),
    ],
)
def test_which_keys_are_shared(workload: str, keys: int, shared: int) -> None:
    assert read(workload=workload, keys=keys).workload.shared_keys == shared


def test_keys_of_two_runs_differ() -> None:
    assert read(lock_seed=1).key(0) != read(lock_seed=2).key(0)
    assert read().key(0) != read().key_of_probe(0)


@pytest.mark.parametrize(
    ("system_name", "workload", "way", "why"),
    [
        ("redis", "update", "lock", ""),
        ("postgres-row", "update", "version", ""),
        ("postgres-row", "consume", "idempotency-key", ""),
        ("postgres-row", "update", "idempotency-key", "idempotency-key is no way to update"),
        ("redis", "update", "for-update", "for-update takes no lock, so redis has no part in it: choose postgres-row"),
    ],
)
def test_a_way_suits_its_job_and_its_system(system_name: str, workload: str, way: str, why: str) -> None:
    asked = Behaviour(name=workload, keys=1, way=way, wait="try")
    assert list(misfits(asked, system(system_name))) == ([("way", why)] if why else [])


@pytest.mark.parametrize(
    ("changes", "clients", "processes", "wrong"),
    [
        ({"strangers": 8}, 9, 1, {}),
        ({"strangers": 9}, 9, 1, {"strangers": "9 of 9 clients leave none to meet at the key, and each load process"}),
        ({"strangers": 12}, 9, 1, {"strangers": "12 of 9 clients leave none to meet at the key"}),
        ({"strangers": 8}, 10, 2, {}),
        ({"strangers": 8}, 9, 2, {"strangers": "8 of 9 clients leave 1 to meet at the key"}),
        ({"pool": 9}, 9, 1, {}),
        ({"pool": 10}, 9, 1, {"pool": "10 connections are more than the clients of a load process: 9"}),
        ({"pool": 5}, 9, 2, {"pool": "5 connections are more than the clients of a load process: 4"}),
        ({"strangers": 9, "pool": 10}, 9, 1, {"strangers": "9 of 9 clients", "pool": "10 connections"}),
    ],
)
def test_strangers_and_a_pool_fit_the_clients(
    changes: dict[str, int], clients: int, processes: int, wrong: dict[str, str]
) -> None:
    found = dict(crowd_misfits(Behaviour(name="contended", keys=1, **changes), clients, processes))
    assert found.keys() == wrong.keys()
    assert all(found[name].startswith(words) for name, words in wrong.items())
    assert not list(crowd_misfits(Behaviour(name="hot-cold", keys=9, **changes), clients, processes)), "nobody asks"
