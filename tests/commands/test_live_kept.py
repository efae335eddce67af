"""What somebody saw on the page of `lockbench live` can be shown again: kept at its end, and rendered as a report."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from bench.analysis.evidence import Evidence
from bench.analysis.places import find_campaign
from bench.records.schema import Severity
from bench.records.store import CampaignFolder, Store
from tests.commands.command import lockbench
from tests.commands.test_live_session import live, strike_for_a_minute
from tests.load.pages import FORM, Page
from tests.load.test_locks_page import moments

NETWORKS = ("none", "rtt=20ms")  # of one test after the other


def sessions(page: Page) -> set[object]:
    return {moment["session"] for moment in moments(page)}


def lasts(page: Page, earlier: set[object], at_least_s: float) -> bool:
    """Has a session that was not there earlier lasted so long?"""
    return any(one["at_s"] > at_least_s for one in moments(page) if one["session"] not in earlier)


@pytest.mark.servers
@pytest.mark.timeout(240)  # it starts every server
def test_a_session_on_real_servers_is_kept_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "said.txt"
    form = {**FORM, "system": "redis", "beside": "etcd", "workload": "contended", "hold_ms": "2"}
    with live(tmp_path, "-s", "redis", "-s", "etcd") as (page, process):
        for network in NETWORKS:
            form = {**form, "user_count": "8", "spawn_rate": "8", "network": network}
            earlier = sessions(page)
            assert page.post("/swarm", form)["success"] is True
            page.until(partial(lasts, page, earlier, 6))
            strike_for_a_minute(page, "etcd", "stop-node")  # whatever ends the test ends the fault
            if not list(Store(tmp_path / "runs").names(CampaignFolder)):
                page.stop()
                page.until(lambda: "kept as live-" in said.read_text())
        process.send_signal(signal.SIGINT)  # in the middle of the second test
        assert process.wait(60) == 130
    names = sorted(Store(tmp_path / "runs").names(CampaignFolder))
    assert len(names) == 2, said.read_text()
    assert said.read_text().count("kept as live-") == 2
    for name, network in zip(names, NETWORKS, strict=True):
        folder = Store(tmp_path / "runs").open(CampaignFolder, name)
        assert [run.plan.system for run in folder.runs()] == ["redis", "etcd"]
        for run in folder.runs():
            failed = {check.name: check.observed for check in run.checked.checks if not check.passed}
            void = {check.name for check in run.checked.checks if not check.passed and check.severity is Severity.VOID}
            # On a machine that does other work the lines are late, which is for that check to say.
            assert void <= ({"network_lines"} if network != "none" else set()), failed
            assert "live_session" in failed
            assert run.measured.facts_before.version
            assert run.plan.workload.network == network
            crossed = run.measured.network
            assert (crossed is None) == (network == "none")
            if crossed is not None:
                assert len(crossed.before) == len(crossed.after) == run.measured.facts_before.nodes
                assert crossed.rtt_us > 19_000
            ends_ns = [fault.ended_ns for fault in run.measured.faults]
            assert len(ends_ns) == (1 if run.plan.system == "etcd" else 0), (name, run.measured.faults)
            assert None not in ends_ns
    report = lockbench(tmp_path, "report", "--campaign", names[0], "--no-notebook", "--no-hazards", within_s=120)
    assert report.returncode == 0, report.stderr
    assert "live contended, 4" in " ".join(report.stdout.split())
    drawn = tmp_path / "runs" / names[0] / "report" / "live_session.svg"
    assert drawn.is_file()
    monkeypatch.setitem(os.environ, "LOCKBENCH_DATA", str(tmp_path / "runs"))
    monkeypatch.setitem(os.environ, "LOCKBENCH_CAMPAIGN", names[0])
    assert Evidence.load(find_campaign()).systems == ("redis", "etcd"), "as the notebooks open it"
