"""Locust's web page on the bench: the form has the options, bad values are refused, sub-millisecond values are true."""

import html
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import psutil
import pytest

from bench.load.child import locust_running
from bench.load.live import LiveFailed, live_command, run_live
from bench.servers.ports import free_ports
from tests.load.runs import own_redis

FORM = {"user_count": "2", "spawn_rate": "2", "host": "", "workload": "uncontended", "warmup_s": "0.2"}
Stats = Mapping[str, Any]


class Page:
    """What a browser would ask of the page."""

    def __init__(self, port: int, process: "subprocess.Popen[bytes]") -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.process = process

    def get(self, path: str) -> str:
        with urlopen(self.address + path, timeout=10) as answer:
            return str(answer.read().decode())

    def post(self, path: str, form: Mapping[str, str]) -> Any:
        with urlopen(self.address + path, data=urlencode(form).encode(), timeout=30) as answer:
            return json.loads(answer.read())

    def stats(self) -> Stats:
        found: Stats = json.loads(self.get("/stats/requests"))
        return found

    def row(self, name: str) -> Stats | None:
        return next((row for row in self.stats()["stats"] if row["name"] == name), None)

    def until(self, what: Callable[[], Any], within_s: float = 30.0) -> Any:
        deadline = time.monotonic() + within_s
        while not (found := what()):
            assert self.process.poll() is None, "Locust ended"
            assert time.monotonic() < deadline, self.get("/logs")
            time.sleep(0.1)
        return found

    def until_row(self, name: str, requests: int) -> Stats:
        def enough() -> Stats | None:
            row = self.row(name)
            return row if row is not None and row["num_requests"] >= requests else None

        found: Stats = self.until(enough)
        return found


@contextmanager
def page(environment: Mapping[str, str] | None = None, processes: int = 1) -> Iterator[Page]:
    (port,) = free_ports(1)
    with locust_running(live_command("memory", port, processes), environment or {}) as process:
        opened = Page(port, process)

        def answers() -> bool:
            try:
                return "<html" in opened.get("/")
            except (URLError, ConnectionError):
                return False

        deadline = time.monotonic() + 30
        while not answers():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield opened


@pytest.fixture(scope="module")
def memory_page() -> Iterator[Page]:
    with page() as opened:
        yield opened


@pytest.fixture
def fresh(memory_page: Page) -> Iterator[Page]:
    """The page with no test running."""
    yield memory_page
    memory_page.post("/stop", {})
    memory_page.until(lambda: memory_page.stats()["state"] in ("ready", "stopped"))


def test_the_form_offers_the_options_with_defaults_and_units(memory_page: Page) -> None:
    source = html.unescape(memory_page.get("/"))
    shown = ("system", "workload", "keys", "ttl_ms", "hold_ms", "wait", "timeout_ms", "lock_seed", "warmup_s")
    for name in (*shown, "rate_per_s", "arrivals", "zipf_exponent"):
        assert f'"{name}"' in source, name
    for name in ("record_into", "measure_s", "client_variant", "step_s"):
        assert f'"{name}"' not in source, f"{name} is no business of the form"
    assert "in milliseconds. Example: 10000" in source
    assert "postgres-row" in source


def test_values_below_a_millisecond_are_shown_as_they_are(fresh: Page) -> None:
    assert fresh.post("/swarm", {**FORM, "system": "memory"})["success"] is True
    acquire = fresh.until_row("acquire", 2000)
    assert acquire["method"] == "memory"
    assert 0 < acquire["median_response_time"] < 1
    assert 0 < acquire["response_time_percentile_0.5"] <= acquire["response_time_percentile_0.99"]
    charted = fresh.until(lambda: fresh.stats()["current_response_time_percentiles"]["response_time_percentile_0.5"])
    assert 0 < charted < 1
    release = fresh.until_row("release", 1000)
    assert 0 < release["median_response_time"] < 1
    assert fresh.stats()["fail_ratio"] == 0


def test_a_busy_lock_has_a_row_of_its_own_and_is_no_failure(fresh: Page) -> None:
    form = {**FORM, "system": "memory", "workload": "contended", "wait": "try", "hold_ms": "2"}
    assert fresh.post("/swarm", form)["success"] is True
    fresh.until_row("acquire (busy)", 100)
    assert fresh.stats()["fail_ratio"] == 0
    assert fresh.stats()["errors"] == []


@pytest.mark.parametrize("processes", [1, 2])
def test_a_rate_is_kept_on_the_page_and_stops_at_once(processes: int) -> None:
    """Between two arrivals a client waits for up to half a minute here, and Locust's button does not wait for it."""
    with page(processes=processes) as opened:
        opened.until(lambda: processes == 1 or opened.stats().get("worker_count") == processes)
        form = {**FORM, "system": "memory", "workload": "rate", "arrivals": "uniform", "user_count": "4"}
        assert opened.post("/swarm", {**form, "rate_per_s": "100"})["success"] is True
        opened.until_row("acquire", 150)
        rate = opened.until(lambda: opened.stats()["total_rps"])
        assert rate < 300, "acquires and releases together are 200 a second"
        opened.post("/stop", {})
        opened.until(lambda: opened.stats()["state"] == "stopped", within_s=5.0)
        if processes > 1:
            return  # a worker of Locust's lets the time to stop pass before it takes part in another test
        assert opened.post("/swarm", {**form, "rate_per_s": "0.03"})["success"] is True
        opened.until(lambda: opened.stats()["user_count"] == 4)
        opened.post("/stop", {})
        opened.until(lambda: opened.stats()["state"] == "stopped", within_s=5.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate_per_s": "0"}, "--rate-per-s: 0 is outside"),
        ({"system": "redsi"}, "--system: 'redsi' is none of"),
        ({"workload": "contendet"}, "--workload: 'contendet' is none of"),
        ({"ttl_ms": "-5"}, "--ttl-ms: -5 is outside"),
        ({"ttl_ms": "ten"}, "--ttl-ms: 'ten' is not a whole number"),
        ({"wait": "watch"}, "memory cannot wait by watch"),
        ({"keys": "3"}, "in the uncontended workload each client has its own key"),
    ],
)
def test_a_bad_form_is_refused_with_one_message_and_starts_nothing(
    fresh: Page, changes: dict[str, str], message: str
) -> None:
    answer = fresh.post("/swarm", {**FORM, "system": "memory", **changes})
    assert answer["success"] is False
    assert message in answer["message"]
    assert fresh.stats()["state"] in ("ready", "stopped")
    assert fresh.stats()["user_count"] == 0


def test_servers_that_are_down_are_told_on_the_page(fresh: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    form = {**FORM, "system": "redlock"}
    with page({"LOCKBENCH_HOME": str(tmp_path_factory.mktemp("home"))}) as other:
        assert other.post("/swarm", form)["success"] is True
        told = other.until(lambda: json.loads(other.get("/exceptions"))["exceptions"])
        assert [one["msg"] for one in told] == ["Redlock is not up: start it with `lockbench up redlock`"]
        other.until(lambda: other.stats()["state"] == "stopped" and other.stats()["user_count"] == 0)
        again = other.post("/swarm", {**FORM, "system": "memory"})
        assert again["success"] is True, "the page goes on working"
        other.until_row("acquire", 100)


def test_two_processes_serve_the_page_too() -> None:
    with page(processes=2) as opened:
        opened.until(lambda: opened.stats().get("worker_count") == 2)
        assert opened.post("/swarm", {**FORM, "system": "null"})["success"] is True
        acquire = opened.until_row("acquire", 1000)
        assert 0 < acquire["response_time_percentile_0.5"] < 1


@pytest.mark.servers
def test_ten_seconds_of_redis_show_a_true_median(tmp_path: Path) -> None:
    with own_redis(tmp_path) as (endpoint, _), page({"LOCKBENCH_ENDPOINT_REDIS": str(endpoint)}) as opened:
        assert opened.post("/swarm", {**FORM, "system": "redis", "user_count": "1"})["success"] is True
        acquire = opened.until_row("acquire", 1000)
        assert acquire["method"] == "redis"
        assert 0 < acquire["median_response_time"] < 1
        assert opened.post("/stop", {})["success"] is True
        os.kill(opened.process.pid, signal.SIGTERM)
        assert opened.process.wait(20) == 0


def test_the_page_listens_on_loopback_only(memory_page: Page) -> None:
    listening = [
        one.laddr.ip for one in psutil.Process(memory_page.process.pid).net_connections() if one.status == "LISTEN"
    ]
    assert listening
    assert set(listening) == {"127.0.0.1"}


def test_a_port_that_is_taken_is_told(memory_page: Page) -> None:
    port = int(memory_page.address.rpartition(":")[2])
    with pytest.raises(LiveFailed, match=f"port {port} on 127.0.0.1 is taken: choose another with --port"):
        run_live("memory", port)
