"""What the form refuses: numbers out of bounds, and whatever would not be done. A refusal changes nothing."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from bench.load.page import AS_TYPED, as_typed
from tests.load.pages import FORM, Page, page

GOOD = {**FORM, "system": "memory"}
# What each number field is called in a message, and the bounds that a message names.
FIELDS = {
    "user_count": ("Number of users", "1..1000"),
    "spawn_rate": ("Ramp up", "0.01..10000"),
    "keys": ("--keys", "0..1000000"),
    "ttl_ms": ("--ttl-ms", "1..86400000"),
    "hold_ms": ("--hold-ms", "0..3.6e+06"),
    "strangers": ("--strangers", "0..64000"),
    "pool": ("--pool", "0..1000"),
    "timeout_ms": ("--timeout-ms", "0..3600000"),
    "rate_per_s": ("--rate-per-s", "0.001..1e+06"),
    "zipf_exponent": ("--zipf-exponent", "0..10"),
    "lock_seed": ("--lock-seed", "0..9223372036854775807"),
    "warmup_s": ("--warmup-s", "0..3600"),
}
NO_NUMBERS = ("", "ten", "NaN1", "１２", "1_000", "0x1F", "true", "None", "1,5", "[1]", "<b>1</b>", "9" * 1_000)
OUTSIDE = ("-3", "-0.5", "nan", "inf", "-inf", "1e40", "1" + "0" * 30)


@pytest.fixture(scope="module")
def a_page() -> Iterator[Page]:
    with page() as found:
        yield found


@pytest.fixture
def idle(a_page: Page) -> Iterator[Page]:
    yield a_page
    a_page.stop()


def refused(asked: Page, form: dict[str, str]) -> str:
    answer = asked.post("/swarm", form)
    assert answer["success"] is False, form
    assert len(answer["message"]) < 400
    return str(answer["message"])


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("field", FIELDS)
def test_what_is_no_number_is_refused(a_page: Page, field: str, value: str) -> None:
    assert f"{FIELDS[field][0]}: " in (told := refused(a_page, {**GOOD, field: value}))
    assert "is not a" in told


@pytest.mark.parametrize("value", OUTSIDE)
@pytest.mark.parametrize("field", FIELDS)
def test_a_number_out_of_bounds_is_refused(a_page: Page, field: str, value: str) -> None:
    label, bounds = FIELDS[field]
    told = refused(a_page, {**GOOD, field: value})
    assert f"{label}: " in told
    assert bounds in told or "is not a whole number" in told


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user_count": "1000000000"}, "Number of users: 1000000000 is outside 1..1000"),
        ({"user_count": "1001"}, "Number of users: 1001 is outside 1..1000"),
        ({"user_count": "0"}, "Number of users: 0 is outside 1..1000"),
        ({"user_count": "-3"}, "Number of users: -3 is outside 1..1000"),
        ({"user_count": "2.5"}, "Number of users: '2.5' is not a whole number"),
        ({"spawn_rate": "0"}, "Ramp up: 0 is outside 0.01..10000"),
        ({"spawn_rate": "1e-9"}, "Ramp up: 1e-9 is outside 0.01..10000"),
        ({"run_time": "0"}, "Run time: 0 is outside 1s..24h"),
        ({"run_time": "-3"}, "Run time: '-3' is not a length of time"),
        ({"run_time": "１２"}, "Run time: '１２' is not a length of time"),
        ({"run_time": "1000000000"}, "Run time: 1000000000 is outside 1s..24h"),
        ({"run_time": "25h"}, "Run time: 25h is outside 1s..24h"),
        ({"rate_per_s": "0"}, "--rate-per-s: 0 is outside"),
        ({"profile": "x" * 101}, "Profile: longer than 100 characters"),
        ({"host": "https://staging.example"}, "--host: not used here"),
        ({"system": "redsi"}, "--system: 'redsi' is none of"),
        ({"system": "etcd"}, "etcd is not up: start it with `lockbench up etcd`"),
        ({"workload": "contendet"}, "--workload: 'contendet' is none of"),
        ({"ttl_ms": "0"}, "--ttl-ms: 0 is outside"),
        ({"ttl_ms": "999", "system": "etcd"}, "--ttl-ms: etcd keeps no lease shorter than 1000 ms, not 999"),
        ({"ttl_ms": "1", "system": "zookeeper"}, "--ttl-ms: zookeeper keeps no lease shorter than"),
        ({"wait": "watch"}, "memory cannot wait by watch"),
        ({"wait": "poll-0ms"}, "--wait: no wait strategy 'poll-0ms'"),
        ({"wait": "poll-1ms", "system": "zookeeper"}, "zookeeper cannot wait by poll-1ms"),
        ({"wait": "block", "system": "redis"}, "redis cannot wait by block"),
        ({"keys": "3"}, "in the uncontended workload each client has its own key"),
        ({"arrivals": "bursty"}, "--arrivals: 'bursty' is none of"),
        ({"workload": "contended", "strangers": "2"}, "--strangers: 2 of 2 clients leave none to meet at the key"),
        ({"workload": "contended", "pool": "3"}, "--pool: 3 connections are more than the clients of a load process"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(a_page: Page, changes: dict[str, str], message: str) -> None:
    assert message in refused(a_page, {**GOOD, **changes})
    assert a_page.stats()["state"] in ("ready", "stopped")
    assert a_page.stats()["user_count"] == 0


@pytest.mark.parametrize("missing", ["user_count", "spawn_rate"])
def test_a_number_that_is_missing_is_refused(a_page: Page, missing: str) -> None:
    form = {name: value for name, value in GOOD.items() if name != missing}
    assert f"{FIELDS[missing][0]}: '' is not a" in refused(a_page, form)


def test_all_mistakes_are_in_one_message(a_page: Page) -> None:
    told = refused(a_page, {**GOOD, "user_count": "0", "run_time": "soon", "ttl_ms": "ten", "wait": "long"})
    assert all(name in told for name in ("Number of users", "Run time", "--ttl-ms", "--wait"))


def test_a_refusal_leaves_the_form_as_it_was(a_page: Page) -> None:
    before = shown(a_page)
    refused(a_page, {**GOOD, "keys": "7", "hold_ms": "3", "user_count": "0"})
    assert shown(a_page) == before


def shown(asked: Page) -> Any:
    """What the page fills its form with."""
    import json

    source = asked.get("/")
    start = source.index("window.templateArgs = ") + len("window.templateArgs = ")
    return json.JSONDecoder().raw_decode(source[start:])[0]["extra_options"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"system": "null"}, "--system: cannot be changed while a test runs; stop it first"),
        ({"workload": "contended"}, "--workload: cannot be changed"),
        ({"ttl_ms": "9999"}, "--ttl-ms: cannot be changed"),
        ({"hold_ms": "1"}, "--hold-ms: cannot be changed"),
        ({"wait": "block"}, "--wait: cannot be changed"),
        ({"timeout_ms": "1"}, "--timeout-ms: cannot be changed"),
        ({"rate_per_s": "1"}, "--rate-per-s: cannot be changed"),
        ({"arrivals": "uniform"}, "--arrivals: cannot be changed"),
        ({"zipf_exponent": "1"}, "--zipf-exponent: cannot be changed"),
        ({"lock_seed": "2"}, "--lock-seed: cannot be changed"),
        ({"warmup_s": "7"}, "--warmup-s: cannot be changed"),
        ({"run_time": "60"}, "Run time: cannot be changed"),
        ({"profile": "mine"}, "Profile: cannot be changed"),
        ({"host": "http://staging.example"}, "--host: not used here"),
        ({"user_count": "0"}, "Number of users: 0 is outside 1..1000"),
        ({"user_count": "1000000000"}, "Number of users: 1000000000 is outside"),
        ({"user_count": "-3"}, "Number of users: -3 is outside"),
        ({"spawn_rate": "inf"}, "Ramp up: inf is outside"),
    ],
)
def test_a_running_test_changes_its_number_of_clients_only(
    running: Page, changes: dict[str, str], message: str
) -> None:
    assert message in refused(running, {**GOOD, **changes})
    assert running.stats()["user_count"] == 2
    assert {row["method"] for row in running.stats()["stats"]} <= {"memory", "locks"}


@pytest.fixture(scope="module")
def running() -> Iterator[Page]:
    with page() as found:
        assert found.post("/swarm", GOOD)["success"] is True
        found.until(lambda: found.stats()["user_count"] == 2)
        yield found


def test_a_running_test_gets_another_number_of_clients(idle: Page) -> None:
    assert idle.post("/swarm", {**GOOD, "hold_ms": "1.50"})["success"] is True
    assert idle.post("/swarm", {**GOOD, "hold_ms": "2"})["success"] is False, "already while it starts"
    idle.until(lambda: idle.stats()["user_count"] == 2)
    assert shown(idle)["hold_ms"]["default_value"] == 1.5, "the page shows what runs, also when it is loaded again"
    assert idle.post("/swarm", {**GOOD, "hold_ms": "1.5", "user_count": "4"})["success"] is True
    idle.until(lambda: idle.stats()["user_count"] == 4)


def test_a_run_time_ends_its_own_test_only(idle: Page) -> None:
    """A test of ten seconds that is over at once must not end the next one in ten seconds."""
    assert idle.post("/swarm", {**GOOD, "run_time": "4"})["success"] is True
    assert idle.post("/stop", {})["success"] is True
    idle.until(lambda: idle.stats()["state"] == "stopped")
    assert idle.post("/swarm", {**GOOD, "run_time": ""})["success"] is True
    idle.until_row("acquire", 100)
    time.sleep(5.0)  # pace: the first test's run time is the subject, and is over then
    count = idle.until_row("acquire", 100)["num_requests"]
    idle.until_row("acquire", count + 100)


def test_two_processes_have_room_for_twice_as_many() -> None:
    with page(processes=2) as two:
        two.until(lambda: two.stats().get("worker_count") == 2)
        assert "is outside 1..2000" in refused(two, {**GOOD, "user_count": "2001"})
        down = {**GOOD, "system": "redlock"}
        assert "lockbench up redlock" in refused(two, down), "its workers are here, and so would be their servers"


def test_a_class_of_its_own_system_leaves_no_choice_of_system() -> None:
    with page(more=("RedisLockUser", "EtcdLockUser")) as two_classes:
        source = two_classes.get("/")
        assert "system" not in shown(two_classes)
        assert "RedisLockUser, EtcdLockUser run side by side" in source or "EtcdLockUser, RedisLockUser run" in source


def test_the_picker_runs_what_it_shows() -> None:
    with page(more=("--class-picker",)) as picker:
        assert "User class: choose one" in refused(picker, GOOD)
        assert "User class: there is no 'Nobody'" in refused(picker, {**GOOD, "user_classes": "Nobody"})
        etcd = {**GOOD, "user_classes": "EtcdLockUser"}
        assert "--system: EtcdLockUser drives etcd, not memory" in refused(picker, etcd)
        assert picker.post("/swarm", {**GOOD, "user_classes": "SelectedLockUser"})["success"] is True
        picker.until_row("acquire", 100)


def test_number_fields_keep_what_is_typed(a_page: Page) -> None:
    """Locust's own script has one place that drops signs and letters, and one that reads nothing as 0."""
    path = "/assets/" + a_page.get("/").partition('src="./assets/')[2].partition('"')[0]
    mended = a_page.get(path)
    for place, _ in AS_TYPED:
        assert not place.search(mended), "mended as it is sent"
    assert as_typed(mended) == mended
    assert "Number of users (peak concurrency)" in mended


def test_locusts_script_still_has_the_places_that_are_mended() -> None:
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("locust")
    assert spec is not None
    assert spec.origin is not None
    (script,) = (Path(spec.origin).parent / "webui/dist/assets").glob("*.js")
    source = script.read_text(encoding="utf-8")
    assert [len(place.findall(source)) for place, _ in AS_TYPED] == [1, 1]
