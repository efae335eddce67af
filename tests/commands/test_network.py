"""`lockbench run --network` on real servers: clients alone use the lines, which are measured and end with it."""

import contextlib
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bench.analysis.network.traffic import sent
from bench.analysis.runs import run_rows
from bench.records.processor_time import LINES, PEER_LINES
from bench.records.schema import RunState
from tests.commands.command import environment_of, lockbench
from tests.commands.test_bad_luck import campaign_of
from tests.thorough import case

BRIEF = ("--warm-up", "100ms", "--window", "1s", "-n", "1", "--name", "c")


def line_processes(folder: Path) -> list[int]:
    """Those of this folder's campaigns, whoever is their parent by now."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = one.environ().get("LOCKBENCH_HOME") == environment_of(folder)["LOCKBENCH_HOME"]
            if ours and "bench.servers.network.child" in one.cmdline():
                found.append(one.pid)
    return found


@pytest.mark.servers
@pytest.mark.parametrize(("system", "addresses"), [case("redlock", 5, rare=True), ("etcd", 3)])
def test_each_run_has_the_network_that_it_asks_for(tmp_path: Path, system: str, addresses: int) -> None:
    """Redlock has five addresses; a client of etcd or ZooKeeper has one connection to any of three."""
    asked = ("-s", system, "-w", "uncontended", "--network", "rtt=5ms")
    ended = lockbench(tmp_path, "run", *asked, *BRIEF, within_s=150)
    assert ended.returncode == 0, ended.stderr
    (row,) = run_rows(campaign_of(tmp_path))
    assert row.state is RunState.CHECKED
    assert row.network is not None
    assert len(row.network.before) == len(row.network.after) == addresses
    assert row.network.rtt_us > 4_700
    assert row.network.messages > 20
    assert row.cpu_s_by_process.keys() >= {LINES}
    assert (row.metrics["acquire_us_p50"] or 0.0) > 4_500, "no message is held for less, but for the trim"
    assert row.workload.title.endswith(", network rtt=5ms")
    assert not line_processes(tmp_path)


@pytest.mark.servers
@pytest.mark.thorough
def test_what_a_lock_sends_is_counted_at_lines_without_a_delay(tmp_path: Path) -> None:
    """Redis: a command and its answer for the acquire, and again for the release; nothing keeps its lease alive."""
    ended = lockbench(tmp_path, "run", "-s", "redis", "-w", "uncontended", "--network", "rtt=0ms", *BRIEF, within_s=150)
    assert ended.returncode == 0, ended.stderr
    (row,) = run_rows(campaign_of(tmp_path))
    (found,) = sent([replace(row, void_cause=None)])  # as on a machine without other work
    assert found.numbers["pair"]["messages"] == pytest.approx(4.0, abs=0.2)
    assert 100 < found.numbers["pair"]["bytes"] < 1_000
    assert found.numbers["holder_s"]["messages"] == 0.0
    assert found.numbers["hand_off"]["messages"] >= 2.0
    assert "peers_pair" not in found.numbers
    assert row.metrics["server_cpu_us_per_pair"] or row.operations == 0


@pytest.mark.servers
@pytest.mark.parametrize("system", [case("etcd", rare=True), "zookeeper", "redis-replicated"])
def test_servers_reach_each_other_over_the_network_that_is_asked_for(tmp_path: Path, system: str) -> None:
    """Each acquire and each release needs a round trip between servers, which nothing but the lines can carry."""
    asked = ("-s", system, "-w", "uncontended", "--peer-network", "rtt=5ms")
    ended = lockbench(tmp_path, "run", *asked, *BRIEF, within_s=150)
    assert ended.returncode == 0, ended.stderr
    (row,) = run_rows(campaign_of(tmp_path))
    assert row.state is RunState.CHECKED
    found = row.peer_network
    assert found is not None
    assert found.rtt_us > 4_700
    assert not found.past_lines
    assert found.leader == found.leader_after
    assert found.messages > 4 * row.operations, "a proposal and its acknowledgement, twice a pair"
    assert row.cpu_s_by_process.keys() >= {PEER_LINES}
    assert (row.metrics["acquire_us_p50"] or 0.0) > 4_500, "no answer without another server's"
    assert "server_identity" in row.passed_checks
    assert row.workload.title.endswith(", peer network rtt=5ms")
    assert not line_processes(tmp_path)
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(one.info["cmdline"] or ())]


def test_servers_of_the_users_own_have_a_network(tmp_path: Path) -> None:
    own = {"LOCKBENCH_REDIS_URL": "redis://127.0.0.1:1"}
    ended = lockbench(tmp_path, "run", "-s", "redis", "-w", "uncontended", "--network", "zone", *BRIEF, more=own)
    assert ended.returncode != 0
    assert "the servers of redis are your own, and have a network" in " ".join(ended.stderr.split())
    own = {"LOCKBENCH_ETCD_URL": "http://127.0.0.1:1"}
    ended = lockbench(tmp_path, "run", "-s", "etcd", "-w", "uncontended", "--peer-network", "zone", *BRIEF, more=own)
    assert ended.returncode != 0
    assert "the servers of etcd are your own" in (said := " ".join(ended.stderr.split()))
    assert "leave out --peer-network" in said
    assert not (tmp_path / "runs").exists()
