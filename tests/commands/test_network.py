"""`lockbench run --network` on real servers: clients alone use the lines, which are measured and end with it."""

import contextlib
from pathlib import Path

import psutil
import pytest

from bench.analysis.runs import run_rows
from bench.records.processor_time import LINES
from bench.records.schema import RunState
from tests.commands.command import environment_of, lockbench
from tests.commands.test_bad_luck import campaign_of

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
def test_each_run_has_the_network_that_it_asks_for(tmp_path: Path) -> None:
    """Redlock has five addresses; a client of etcd or ZooKeeper has one connection to any of three."""
    systems = ("-s", "redlock", "-s", "etcd")
    ended = lockbench(tmp_path, "run", *systems, "-w", "uncontended", "--network", "rtt=5ms", *BRIEF, within_s=110)
    assert ended.returncode == 0, ended.stderr
    rows = {row.system: row for row in run_rows(campaign_of(tmp_path))}
    for system, addresses in (("redlock", 5), ("etcd", 3)):
        row = rows[system]
        assert row.state is RunState.CHECKED
        assert row.network is not None
        assert len(row.network.before) == len(row.network.after) == addresses
        assert row.network.rtt_us > 4_700
        assert row.network.messages > 20
        assert row.cpu_s_by_process.keys() >= {LINES}
        assert (row.metrics["acquire_us_p50"] or 0.0) > 4_500, "no message is held for less, but for the trim"
        assert row.workload.title.endswith(", network rtt=5ms")
    assert not line_processes(tmp_path)


def test_servers_of_the_users_own_have_a_network(tmp_path: Path) -> None:
    own = {"LOCKBENCH_REDIS_URL": "redis://127.0.0.1:1"}
    ended = lockbench(tmp_path, "run", "-s", "redis", "-w", "uncontended", "--network", "zone", *BRIEF, more=own)
    assert ended.returncode != 0
    assert "the servers of redis are your own, and have a network" in " ".join(ended.stderr.split())
    assert not (tmp_path / "runs").exists()
