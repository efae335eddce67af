"""Locust's web page on the bench: the form has the options, bad values are refused, sub-millisecond values are true."""

import html
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bench.campaign.live.servers import Served
from bench.campaign.live.session import run_live
from bench.load.live import LiveFailed
from bench.servers.running.supervisor import Supervisor
from tests.load.pages import FORM, Page, page
from tests.load.runs import own_redis
from tests.thorough import case


@pytest.fixture(scope="module")
def memory_page() -> Iterator[Page]:
    with page() as opened:
        yield opened


@pytest.fixture
def fresh(memory_page: Page) -> Iterator[Page]:
    """The page with no test running."""
    yield memory_page
    memory_page.stop()


def test_the_form_offers_the_options_with_defaults_and_units(memory_page: Page) -> None:
    source = html.unescape(memory_page.get("/"))
    shown = ("system", "workload", "keys", "ttl_ms", "hold_ms", "wait", "timeout_ms", "lock_seed", "warmup_s")
    for name in (*shown, "rate_per_s", "arrivals", "zipf_exponent"):
        assert f'"{name}"' in source, name
    for name in ("record_into", "measure_s", "client_variant", "give_up_s", "step_s"):
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


@pytest.mark.parametrize("processes", [case(1, rare=True), 2])
def test_a_rate_is_kept_on_the_page_and_stops_at_once(processes: int) -> None:
    """Between two arrivals a client waits for up to half a minute here, and Locust's button does not wait for it."""
    with page(processes=processes) as opened:
        opened.until(lambda: processes == 1 or opened.stats().get("worker_count") == processes)
        form = {**FORM, "system": "memory", "workload": "rate", "arrivals": "uniform", "user_count": "4"}
        assert opened.post("/swarm", {**form, "rate_per_s": "100"})["success"] is True
        opened.until_row("acquire", 150)
        rate = opened.until(lambda: opened.stats()["total_rps"])
        assert rate < 150, "a lock counts once"
        opened.post("/stop", {})
        opened.until(lambda: opened.stats()["state"] == "stopped", within_s=5.0)
        if processes > 1:
            return  # a worker of Locust's lets the time to stop pass before it takes part in another test
        assert opened.post("/swarm", {**form, "rate_per_s": "0.03"})["success"] is True
        opened.until(lambda: opened.stats()["user_count"] == 4)
        opened.post("/stop", {})
        opened.until(lambda: opened.stats()["state"] == "stopped", within_s=5.0)


def test_servers_that_are_down_are_told_on_the_page(fresh: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    form = {**FORM, "system": "redlock"}
    with page({"LOCKBENCH_HOME": str(tmp_path_factory.mktemp("home"))}) as other:
        answer = other.post("/swarm", form)
        assert answer["success"] is False
        assert answer["message"] == "Redlock is not up: start it with `lockbench up redlock`"
        assert other.stats()["user_count"] == 0
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
        run_live(["memory"], port, 1, Served({}, {}, None, Supervisor.default()))
