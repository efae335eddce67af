"""The tab of locks and the page of curves, in Locust's own page: true numbers, every second, of one process or two."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.campaign.live.session import attend
from bench.load.live import live_running
from bench.servers.running.ports import free_ports
from tests.load.pages import FORM, Page, fill_in, opened, told_beside
from tests.report.browser import browser
from tests.thorough import case

CONTENDED = {**FORM, "system": "memory", "beside": "", "workload": "contended", "user_count": "4", "hold_ms": "2"}
Moment = Mapping[str, Any]


@contextmanager
def live(processes: int = 1) -> Iterator[Page]:
    """As `lockbench live` serves it."""
    (port,) = free_ports(1)
    with live_running(["memory"], port, processes) as (process, channel):
        attending = threading.Thread(target=attend, args=(channel,))
        attending.start()
        with opened(port, process) as page:
            page.until(lambda: processes == 1 or page.stats().get("worker_count") == processes)
            yield page
    attending.join(10)
    assert not attending.is_alive(), "it ends with the page"


@pytest.fixture(scope="module")
def served() -> Iterator[Page]:
    with live() as page:
        yield page


@pytest.fixture
def fresh(served: Page) -> Iterator[Page]:
    yield served
    served.stop()


def start(page: Page, form: Mapping[str, str]) -> None:
    answer = page.post("/swarm", form)
    assert answer["success"] is True, answer["message"]


def moments(page: Page, after: int = 0) -> list[Moment]:
    found: list[Moment] = json.loads(page.get(f"/locks/moments?after={after}"))["moments"]
    return found


def last(page: Page) -> Moment:
    moment: Moment = page.until(lambda: moments(page)[-1:])[0]
    return moment


def test_the_front_page_has_the_tab(served: Page) -> None:
    source = served.get("/")
    assert '"extended_tabs"' in source or "extendedTabs" in source
    assert "Hand-off p50" in source


def test_moments_come_while_a_test_runs_and_say_what_its_locks_do(fresh: Page) -> None:
    start(fresh, CONTENDED)
    moment = fresh.until(lambda: [one for one in moments(fresh) if one["systems"]["memory"].get("hand_off_us_p99")])[-1]
    told = moment["systems"]["memory"]
    assert told["pairs_per_s"] > 50
    assert told["hand_off_us_p50"] > 0
    assert told["queue_wait_us_p50"] > 2_000, "others hold for 2 ms"
    assert told["double_holds"] == 0
    assert moment["waiters"] + moment["holders"] > 0
    (row,) = fresh.stats()["extended_stats"][0]["data"]
    assert row["system"] == "memory"
    assert row["p50"] > 2_000
    newest = json.loads(fresh.get("/locks/moments"))["newest"]
    later = fresh.until(lambda: moments(fresh, newest))
    assert all(one["number"] > newest for one in later)


def test_another_test_begins_anew(fresh: Page) -> None:
    start(fresh, CONTENDED)
    first = last(fresh)
    fresh.stop()
    start(fresh, {**CONTENDED, "system": "null", "workload": "uncontended"})
    second = last(fresh)
    assert second["session"] == first["session"] + 1
    assert list(second["systems"]) == ["null"]


def test_systems_side_by_side_have_a_row_each(fresh: Page) -> None:
    """Half of the clients each. The null lock keeps nobody out, and that is seen."""
    answer = fresh.post("/swarm", {**CONTENDED, "system": "null", "beside": "memory", "user_count": "8"})
    assert answer["success"] is True
    assert answer["notice"].startswith("null, memory run side by side")

    def both() -> Moment | None:
        moment = last(fresh)
        return moment if all(one.get("hand_off_us_p50") for one in moment["systems"].values()) else None

    moment = fresh.until(both)
    assert list(moment["systems"]) == ["null", "memory"], "as they were chosen"
    assert moment["systems"]["memory"]["double_holds"] == 0
    assert moment["systems"]["null"]["double_holds"] > 0
    assert [row["system"] for row in fresh.stats()["extended_stats"][0]["data"]] == ["null", "memory"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"beside": "nosuch"}, "'nosuch' is none of"),
        ({"beside": "null, null"}, "named twice"),
        ({"beside": "memory"}, "memory is the first system already"),
        ({"beside": "null", "user_count": "5"}, "5 clients cannot be shared evenly by 2 systems"),
        ({"beside": "null", "workload": "rate"}, "need a closed loop"),
        ({"beside": "null", "strangers": "1"}, "without strangers"),
    ],
)
def test_systems_that_do_not_go_side_by_side_are_refused(served: Page, more: dict[str, str], message: str) -> None:
    answer = served.post("/swarm", {**CONTENDED, **more})
    assert answer["success"] is False
    assert message in answer["message"]


@pytest.mark.parametrize("processes", [case(1, rare=True), 2])
def test_the_sums_are_those_of_all_processes(processes: int) -> None:
    """Locust counts each lock by itself: at the end both have counted the same, of one process and of two."""
    with live(processes) as page:
        start(page, CONTENDED)
        page.until_row("acquire", 500)
        page.stop()

        def counted() -> bool:
            told = last(page)["systems"]["memory"]["outcomes"]
            rows = [row for row in (page.row("acquire"), page.row("release")) if row is not None]
            return [told.get("acquire/acquired"), told.get("release/released")] == [row["num_requests"] for row in rows]

        page.until(counted, within_s=10)
        assert last(page)["processes"] == processes


@pytest.mark.parametrize("after", ["-1", "1e9", "", "x", "99999999999"])
def test_a_number_that_is_none_is_refused(served: Page, after: str) -> None:
    answer = served.ask("GET", f"/locks/moments?after={after}", {"Host": served.address.removeprefix("http://")})
    assert answer.status == 400


@pytest.mark.parametrize("path", ["/locks", "/locks/moments"])
def test_another_page_cannot_read_it(served: Page, path: str) -> None:
    host = served.address.removeprefix("http://")
    assert served.ask("GET", path, {"Host": "evil.example"}).status == 403
    assert served.ask("GET", path, {"Host": host, "Origin": "http://evil.example"}).status == 403
    assert served.ask("POST", path, {"Host": host}).status in (403, 405)


def test_the_page_draws_curves_in_a_browser(fresh: Page, tmp_path: Path) -> None:
    start(fresh, CONTENDED)
    fresh.until(lambda: len(moments(fresh)) >= 3)
    with browser(tmp_path) as window:
        window.open(f"{fresh.address}/locks")
        window.wait_for("document.querySelectorAll('#charts path').length > 6")
        assert "µs" in window.run("return document.getElementById('now').innerText")
        assert window.run("return document.getElementById('warnings').innerText.includes('answer')") is False
        window.open(f"{fresh.address}/?tab=locks")
        window.wait_for("document.body.innerText.toLowerCase().includes('hand-off p50')")


def test_what_is_refused_is_told_beside_its_field(tmp_path: Path) -> None:
    with live() as page, browser(tmp_path) as window:  # a page without a test yet: it shows its form
        window.open(page.address)
        window.wait_for("document.querySelector('[name=holdMs]')")
        fill_in(window, {"holdMs": "-3", "ttlMs": "x", "userCount": "0"}, mistakes=3)
        assert "-3" in told_beside(window, "holdMs")
        fill_in(window, {"holdMs": "1"}, mistakes=2)


def test_a_lost_worker_is_told() -> None:
    with live(processes=2) as page:
        start(page, CONTENDED)
        page.until_row("acquire", 100)
        worker = psutil.Process(page.process.pid).children()[0]
        worker.kill()
        trouble = page.until(lambda: json.loads(page.get("/locks/moments"))["trouble"])
        assert trouble.startswith("1 load process is lost")
