"""A test on the real page is kept when it ends, whoever ended it, and its files are handed out at fixed addresses."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow.parquet as pq
import pytest

from bench.campaign.live.keeper import Keeper
from bench.campaign.live.session import attend
from bench.commands.live_keeping import _draw
from bench.load.live import live_running
from bench.records.schema import Check
from bench.records.store import CampaignFolder, RunFolder, Store
from bench.servers.running.ports import free_ports
from bench.servers.running.supervisor import Supervisor
from tests.campaigns import environment
from tests.load.pages import Page, opened
from tests.load.test_locks_page import CONTENDED, moments, start
from tests.report.browser import browser

SECONDS = 2.5  # in which locks were taken: a session of less than two is not kept
FORM = {**CONTENDED, "spawn_rate": "100"}


@dataclass
class Live:
    """As `lockbench live` serves it."""

    page: Page
    store: Store
    said: list[str] = field(default_factory=list)

    def play(self, **form: str) -> None:
        """A test of a few seconds, ended by Locust's own button."""
        start(self.page, {**FORM, **form})
        self.until_counted(SECONDS)
        self.page.stop()

    def until_counted(self, seconds: float) -> None:
        def counted() -> bool:
            at_s = [one["at_s"] for one in moments(self.page) if any(map(_pairs, one["systems"].values()))]
            return bool(at_s) and at_s[-1] - at_s[0] > seconds

        self.page.until(counted)

    def kept(self, number: int = 1) -> CampaignFolder:
        self.page.until(lambda: len(self.said) >= number)
        name = self.said[-1].rpartition(" ")[2]
        self.page.until(lambda: (json.loads(self.page.get("/locks/moments"))["kept"] or {}).get("campaign") == name)
        return self.store.open(CampaignFolder, name)


def _pairs(facts: Mapping[str, Any]) -> float:
    return float(facts["pairs_per_s"] or 0.0)


@contextmanager
def live(root: Path, processes: int = 1) -> Iterator[Live]:
    (port,) = free_ports(1)
    said: list[str] = []
    store = Store(root / "runs")
    supervisor = Supervisor(root / "home")
    keeper = Keeper(lambda _: supervisor, store, environment(), said.append, _draw)
    with live_running(["memory"], port, processes) as (process, channel):
        attending = threading.Thread(target=attend, args=(channel, None, keeper))
        attending.start()
        with opened(port, process) as page:
            page.until(lambda: processes == 1 or page.stats().get("worker_count") == processes)
            yield Live(page, store, said)
    attending.join(20)
    assert not attending.is_alive(), "it ends with the page"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("live")) as found:
        yield found


@pytest.fixture(scope="module")
def folder(served: Live) -> CampaignFolder:
    """Of two systems, whose clients hold for a while."""
    served.play(system="memory", beside="null", user_count="8")
    return served.kept()


def run_of(folder: CampaignFolder, system: str) -> RunFolder:
    return next(run for run in folder.runs() if run.plan.system == system)


def failed(run: RunFolder) -> dict[str, Check]:
    return {check.name: check for check in run.checked.checks if not check.passed}


def test_what_the_processes_counted_is_what_the_rows_say(folder: CampaignFolder) -> None:
    for run in folder.runs():
        assert not failed(run).keys() & {"counts_agree", "locust_agrees", "littles_law", "server_identity", "overlap"}
        assert run.measured.window_s >= 2
        assert run.measured.counts["acquire/acquired"] == pq.read_table(run.events_path).num_rows
    assert "mutual_exclusion" in failed(run_of(folder, "null")), "the null lock keeps nobody out"
    assert "mutual_exclusion" not in failed(run_of(folder, "memory"))
    assert run_of(folder, "memory").plan.workload.clients == 4


def test_the_files_are_handed_out(served: Live, folder: CampaignFolder) -> None:
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "csv": b"at_s,", "parquet": b"PAR1"}
    for ending, first in begins.items():
        with urlopen(f"{served.page.address}/locks/kept.{ending}", timeout=10) as answer:
            assert answer.read().startswith(first)
            assert f"{folder.path.name}.{ending}" in answer.headers["Content-Disposition"]
            assert answer.headers["Cache-Control"] == "no-store"


def test_the_page_says_under_which_name_it_was_kept(served: Live, folder: CampaignFolder, tmp_path: Path) -> None:
    with browser(tmp_path) as window:
        window.open(f"{served.page.address}/locks")
        window.wait_for(f"document.getElementById('kept').innerText.includes('{folder.path.name}')")
        assert window.run("return document.querySelectorAll('#kept a').length") == 4


@pytest.mark.parametrize("ending", ["svg", "png", "csv", "parquet"])
def test_another_page_cannot_read_them(served: Live, ending: str) -> None:
    path, host = f"/locks/kept.{ending}", served.page.address.removeprefix("http://")
    assert served.page.ask("GET", path, {"Host": "evil.example"}).status == 403
    assert served.page.ask("GET", path, {"Host": host, "Origin": "http://evil.example"}).status == 403
    assert served.page.ask("GET", path, {"Host": host, "Sec-Fetch-Site": "cross-site"}).status == 403
    assert served.page.ask("POST", path, {"Host": host}).status in (403, 405)


@pytest.mark.parametrize("path", ["/locks/kept.json", "/locks/kept", "/locks/kept.csv/../../etc/hostname"])
def test_no_request_names_a_file(served: Live, path: str) -> None:
    assert served.page.ask("GET", path, {"Host": served.page.address.removeprefix("http://")}).status == 404


def test_arrivals_are_all_accounted_for(served: Live, folder: CampaignFolder) -> None:
    before = len(served.said)
    served.play(workload="rate", rate_per_s="200", hold_ms="0")
    (run,) = served.kept(before + 1).runs()
    assert run.measured.arrivals > 200
    assert "arrivals" not in failed(run), failed(run)["arrivals"].observed


def test_a_test_of_a_moment_is_not_kept(served: Live, folder: CampaignFolder) -> None:
    before = len(served.said)
    start(served.page, FORM)
    served.page.until_row("acquire", 1)
    served.page.stop()
    served.page.until(lambda: len(served.said) > before)
    assert "not kept" in served.said[-1]


def test_of_several_load_processes_all_is_kept(tmp_path: Path) -> None:
    with live(tmp_path, processes=2) as found:
        assert found.page.ask("GET", "/locks/kept.svg", {"Host": found.page.address[7:]}).status == 404
        found.play()
        (run,) = found.kept().runs()
    assert not failed(run).keys() & {"counts_agree", "locust_agrees", "live_whole"}
    assert (run.plan.workload.processes, run.plan.workload.clients) == (2, 4)


def test_neither_a_reset_of_locusts_numbers_nor_the_end_of_the_page_loses_anything(tmp_path: Path) -> None:
    with live(tmp_path) as found:
        start(found.page, FORM)
        found.until_counted(0.5)
        with urlopen(f"{found.page.address}/stats/reset", data=b"", timeout=10):
            pass
        found.until_counted(SECONDS)
    (name,) = found.store.names(CampaignFolder)
    (run,) = found.store.open(CampaignFolder, name).runs()
    assert not failed(run).keys() & {"counts_agree", "locust_agrees", "live_whole"}
