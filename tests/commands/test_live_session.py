"""`lockbench live` as people use it: real servers, two systems side by side, holders struck by button; nothing left."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.servers.running.ports import free_ports
from tests.commands.command import LOCKBENCH, environment_of
from tests.load.pages import FILL, FORM, Page, opened
from tests.load.test_locks_page import Moment, last
from tests.processes import ended_within, running_in, words_of
from tests.report.browser import Browser, browser

_SHOWN = "document.getElementById('now').innerText"
_TIMELINES = "document.getElementById('timelines').innerText"


@contextmanager
def live(tmp_path: Path, *options: str) -> Iterator[tuple[Page, "subprocess.Popen[bytes]"]]:
    """The command and its page. At the end of the block nothing of it is left, whatever ended it."""
    (port,) = free_ports(1)
    said = tmp_path / "said.txt"
    with said.open("w") as log:
        process = subprocess.Popen(
            [*LOCKBENCH, "live", *options, "--port", str(port)],
            cwd=tmp_path,
            env=environment_of(tmp_path),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        with opened(port, process, within_s=120) as page:
            yield page, process
        assert "Traceback" not in said.read_text()
        assert ended_within(tmp_path, 30), running_in(tmp_path)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(30)


def press(window: Browser, button: str) -> None:
    window.run(f"document.querySelector('{button}').click()")


def told(page: Page, system: str) -> Any:
    return json.loads(page.get("/locks/moments"))["staged"]["systems"].get(system)


def strike(window: Browser, seconds: float) -> None:
    """Pause a holder of the system that is chosen, by the page's own button."""
    window.wait_for("document.querySelector('[data-press=pause]')")
    window.run(f"document.querySelector('[data-press=pause] ~ label [data-field=seconds]').value = {seconds}")
    press(window, "[data-press=pause]")


def strike_for_a_minute(page: Page, system: str, what: str) -> None:
    """Press a button as the page's own script does, and wait until the fault is in force."""
    token = page.get("/locks").partition('const TOKEN = "')[2].partition('"')[0]
    own = {"Host": page.address.removeprefix("http://"), "Origin": page.address, "X-Lockbench-Token": token}
    asked = json.dumps({"system": system, "what": what, "seconds": 60})
    assert page.ask("POST", "/locks/press", {**own, "Content-Type": "application/json"}, asked).status == 202
    page.until(lambda: (told(page, system) or {}).get("fault_ends_in_s"))


@pytest.mark.servers
@pytest.mark.timeout(300)  # it starts every server
def test_two_systems_side_by_side_and_a_holder_that_is_paused(tmp_path: Path) -> None:
    with live(tmp_path, "-s", "redis", "-s", "etcd") as (page, process):
        with browser(tmp_path) as window:
            window.open(page.address)
            window.wait_for("document.querySelector('[name=holdMs]')")
            for name, value in {"userCount": "8", "spawnRate": "8", "workload": "contended", "holdMs": "2"}.items():
                window.run(FILL % (name, value))
            press(window, "form button[type=submit]")

            def both() -> Moment | None:
                moment = last(page)
                systems = moment["systems"].values()
                return moment if all("queue_wait_us_p50" in one and one["pairs_per_s"] for one in systems) else None

            moment = page.until(both)
            assert list(moment["systems"]) == ["redis", "etcd"]
            assert [one["double_holds"] for one in moment["systems"].values()] == [0, 0]
            assert moment["waiters"] + moment["holders"] <= 8
            window.open(f"{page.address}/locks")
            window.wait_for(f"{_SHOWN}.includes('Redis') && {_SHOWN}.includes('etcd')")
            strike(window, 4)
            window.wait_for(f"{_TIMELINES}.includes('holders now 2')")
            window.wait_for(f"{_TIMELINES}.includes('late writes accepted 1')")
            assert window.run("return document.querySelectorAll('svg .fault').length") > 0
            press(window, "#fence")
            page.until(lambda: told(page, "redis")["fence"])
            strike(window, 4)
            window.wait_for(f"{_TIMELINES}.includes('late writes refused 1')")
            assert told(page, "redis")["counts"]["stale_accepted"] == 1
            picture = Path(os.environ.get("LOCKBENCH_PICTURE", tmp_path / "live.png"))  # docs/live.png is made so
            window.screenshot(picture, 1280)
            assert picture.read_bytes().startswith(b"\x89PNG")
            (row, _) = page.stats()["extended_stats"][0]["data"]
            assert (row["system"], row["late"], row["fenced"]) == ("redis", 1, 1)
            page.stop()
            page.until(lambda: not told(page, "redis")["running"])
            assert window.errors() == []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.servers
@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_whatever_ends_it_nothing_stays_paused_or_running(tmp_path: Path, number: signal.Signals) -> None:
    """In the middle of a pause of a holder, of a stop of a server, and of a load over delay lines."""
    with live(tmp_path, "-s", "redis", "-s", "etcd") as (page, process):
        answer = page.post("/swarm", {**FORM, "system": "redis", "beside": "", "network": "rtt=2ms"})
        assert answer["success"] is True, answer["message"]
        assert [one for one in running_in(tmp_path) if "bench.servers.network.child" in words_of(one)]
        strike_for_a_minute(page, "redis", "pause")
        strike_for_a_minute(page, "etcd", "stop-leader")
        process.send_signal(number)
        process.wait(60)
