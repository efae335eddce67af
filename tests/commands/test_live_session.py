"""`lockbench live` as people use it: real servers, two systems side by side, curves in a browser; and nothing left."""

import signal
import subprocess
from pathlib import Path

import pytest

from bench.servers.running.ports import free_ports
from tests.commands.command import LOCKBENCH, environment_of
from tests.load.pages import FORM, opened
from tests.load.test_locks_page import Moment, last
from tests.processes import ended_within, running_in
from tests.report.browser import browser

_SHOWN = "document.getElementById('now').innerText"


@pytest.mark.servers
@pytest.mark.timeout(240)  # it starts every server
def test_two_systems_side_by_side_on_real_servers(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    command = [*LOCKBENCH, "live", "-s", "redis", "-s", "etcd", "--port", str(port)]
    said = tmp_path / "said.txt"
    with said.open("w") as log:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment_of(tmp_path), stdout=log, stderr=subprocess.STDOUT
        )
    try:
        with opened(port, process, within_s=120) as page:
            form = {"system": "redis", "beside": "etcd", "workload": "contended", "hold_ms": "2"}
            assert page.post("/swarm", {**FORM, **form, "user_count": "8", "spawn_rate": "8"})["success"] is True

            def both() -> Moment | None:
                moment = last(page)
                systems = moment["systems"].values()
                return moment if all("queue_wait_us_p50" in one and one["pairs_per_s"] for one in systems) else None

            moment = page.until(both)
            assert list(moment["systems"]) == ["redis", "etcd"]
            assert [one["double_holds"] for one in moment["systems"].values()] == [0, 0]
            assert moment["waiters"] + moment["holders"] <= 8
            with browser(tmp_path) as window:
                window.open(f"{page.address}/locks")
                window.wait_for(f"{_SHOWN}.includes('Redis') && {_SHOWN}.includes('etcd')")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "Traceback" not in said.read_text()
        assert ended_within(tmp_path, 10), running_in(tmp_path)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(30)
