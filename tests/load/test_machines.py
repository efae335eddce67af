"""Load from another machine: a master, workers and servers with an address each, in network namespaces of the test's
own, and a clock of its own for each worker. Totals are the sums of the workers'; one that is lost is told."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.load.child import locust_running
from tests.load.pages import FORM, Page, opened
from tests.machines import Machine, Refused, machines

LOCUSTFILE = Path(__file__).with_name("scripts") / "counting_locustfile.py"
PAGE_PORT, MASTER_PORT, REDIS_PORT = 8089, 5557, 6379  # each machine has all of its ports
AHEAD_S = (0, 500_000)  # of each worker's monotonic clock
CONTENDED = {**FORM, "system": "redis", "beside": "", "workload": "contended", "user_count": "8", "spawn_rate": "8"}
Moment = Mapping[str, Any]


class Farm(NamedTuple):
    page: Page
    workers: list["subprocess.Popen[bytes]"]
    counted: Path


@contextmanager
def redis_on(machine: Machine, folder: Path) -> Iterator[None]:
    argv = ["redis-server", "--bind", machine.address, "--port", str(REDIS_PORT), "--protected-mode", "no"]
    with machine.inside():
        server = subprocess.Popen([*argv, "--save", "", "--dir", str(folder)], stdout=subprocess.PIPE)
    with server:
        try:
            assert server.stdout is not None
            assert any(b"Ready to accept connections" in line for line in server.stdout)
            yield
        finally:
            server.kill()


@contextmanager
def farm(folder: Path) -> Iterator[Farm]:
    """As docs/machines.md says it. The test itself is on the master's machine."""
    counted = folder / "counted"
    counted.mkdir()
    locust = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE)]
    with ExitStack() as up:
        try:
            at_master, at_workers, at_servers = up.enter_context(machines(3))
        except Refused as refused:
            pytest.skip(f"the kernel gives this account no network namespaces: {refused}")
        up.enter_context(redis_on(at_servers, folder))
        up.enter_context(at_master.inside())
        master = [*locust, "--master", "--master-bind-host", at_master.address, "--web-port", str(PAGE_PORT)]
        master += ["--stop-timeout", "1"]  # so long after its stop a worker is ready again
        environment = {"LOCKBENCH_ENDPOINT_REDIS": f"{at_servers.address}:{REDIS_PORT}", "COUNTED": str(counted)}
        process = up.enter_context(locust_running(master, {}))
        workers = []
        for ahead_s in AHEAD_S:
            argv = [*locust, "--worker", "--master-host", at_master.address, "--master-port", str(MASTER_PORT)]
            with at_workers.inside():
                worker = locust_running(["unshare", "-T", "--monotonic", str(ahead_s), *argv], environment)
                workers.append(up.enter_context(worker))
        page = up.enter_context(opened(PAGE_PORT, process))
        page.until(lambda: page.stats().get("worker_count") == len(workers))
        yield Farm(page, workers, counted)


def told(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.get("/locks/moments"))
    return found


def last(page: Page) -> Moment:
    moment: Moment = page.until(lambda: told(page)["moments"][-1:])[0]
    return moment


def outcomes(page: Page) -> Counter[str]:
    """As the tab shows them, by the names of Locust's rows."""
    words = {"acquire/acquired": "acquire", "release/released": "release"}
    shown = last(page)["systems"]["redis"]["outcomes"]
    return Counter(
        {words.get(name, f"{name.partition('/')[0]} ({name.partition('/')[2]})"): n for name, n in shown.items()}
    )


def in_locust(page: Page) -> Counter[str]:
    return Counter({row["name"]: row["num_requests"] for row in page.stats()["stats"] if row["name"] != "Aggregated"})


@pytest.mark.timeout(180)
def test_three_machines(tmp_path: Path) -> None:
    with farm(tmp_path) as (page, workers, counted):
        answer = page.post("/swarm", {**CONTENDED, "warmup_s": "0"})
        assert answer["success"] is True, answer["message"]

        def both() -> Moment | None:
            moment = last(page)
            return moment if moment["processes"] == 2 and moment["systems"]["redis"].get("acquire_us_p99") else None

        moment = page.until(both)
        shown = moment["systems"]["redis"]
        assert 0 < shown["acquire_us_p50"] <= shown["acquire_us_p99"] < 5_000_000, "of no two clocks"
        assert shown["double_holds"] is None
        assert "hand_off_us_p50" not in shown
        assert "longest_streak" not in shown
        assert any("clocks are not compared" in warning for warning in moment["warnings"])
        assert moment["holders"] + moment["waiters"] <= 8
        page.stop()
        page.until(lambda: len(list(counted.iterdir())) == 2)
        own = [Counter(json.loads(file.read_text())) for file in counted.iterdir()]
        assert all(one["acquire"] > 50 for one in own)
        page.until(lambda: outcomes(page) == own[0] + own[1] == in_locust(page), within_s=10)
        assert told(page)["trouble"] == ""

        page.until(lambda: page.stats().get("worker_count") == len(workers))
        assert page.post("/swarm", {**CONTENDED, "warmup_s": "0"})["success"] is True
        page.until(both)
        workers[0].kill()
        trouble = page.until(lambda: told(page)["trouble"])
        assert trouble == "1 load process is lost: the numbers are of the others since."
        moment = page.until(lambda: (one := last(page))["processes"] == 1 and one)
        page.until(lambda: page.stats()["user_count"] == 4)  # Locust gives its clients to the others after a minute
        moment = page.until(lambda: (one := last(page))["at_s"] > moment["at_s"] + 1 and one)
        assert moment["holders"] + moment["waiters"] <= 4
        assert 0 < moment["systems"]["redis"]["acquire_us_p50"] < 5_000_000
        page.stop()
        page.until(lambda: outcomes(page) == in_locust(page), within_s=10)
        assert told(page)["trouble"] == trouble, "it is told until the next test begins"
