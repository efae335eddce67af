"""`lockbench run --resume` after kill -9: the same set of runs as planned, and none of the finished ones touched."""

import json
import signal
from pathlib import Path

import pytest

from bench.records.schema import RunState
from bench.records.store import CampaignFolder
from tests.commands.command import BRIEFLY, lockbench
from tests.commands.test_bad_luck import campaign_of, running, second_run_loads, states, until
from tests.processes import ended_within, running_in

NO_SERVERS = ("run", "-s", "memory", "-s", "null", "-w", "uncontended", "-n", "2", "--name", "c", *BRIEFLY)
ON_REDIS = ("run", "-s", "redis", "-w", "uncontended", "-n", "3", "--name", "c", *BRIEFLY)


def snapshot(folder: CampaignFolder) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of change of every file of the checked runs, and of their folders."""
    return {
        str(path.relative_to(folder.path)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for run in folder.runs()
        if run.state is RunState.CHECKED
        for path in (run.path, *run.path.iterdir())
    }


def kill_in_the_second_run(folder: Path, *arguments: str) -> None:
    """SIGKILL to lockbench itself while its second run is under load; its servers stay, as nobody stops them."""
    with running(folder, *arguments) as process:
        until(lambda: second_run_loads(folder))
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def resumed(folder: Path, *more: str) -> dict[str, str]:
    """What the command says of the runs, as JSON."""
    ended = lockbench(folder, "run", "--resume", *more, "--json", within_s=110)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, str] = json.loads(ended.stdout)["runs"]
    return told


def assert_complete(folder: Path, before: dict[str, tuple[bytes, int]], told: dict[str, str]) -> None:
    campaign = campaign_of(folder)
    planned = [plan.run_id for plan in campaign.campaign.runs]
    assert sorted(told) == sorted(planned)
    assert set(told.values()) == {"checked"}
    assert [run.plan.run_id for run in campaign.runs()] == planned
    assert states(folder) == [RunState.CHECKED] * len(planned)
    assert before
    assert before.items() <= snapshot(campaign).items()
    (aside,) = campaign.attempts_aside()
    assert aside == f"{planned[1]}.interrupted-1"
    assert (campaign.path / aside / "plan.json").exists()
    assert not (campaign.path / aside / "measured.json").exists()
    assert len(campaign.resumptions()) == 1


@pytest.mark.thorough
def test_after_kill_9_without_servers(tmp_path: Path) -> None:
    kill_in_the_second_run(tmp_path, *NO_SERVERS)
    assert states(tmp_path) == [RunState.CHECKED, RunState.INTERRUPTED]
    before = snapshot(campaign_of(tmp_path))
    assert_complete(tmp_path, before, resumed(tmp_path))
    again = lockbench(tmp_path, "run", "--resume", "c")
    assert again.returncode == 1
    assert "campaign c is complete, all 4 runs are checked" in " ".join(again.stderr.split())


@pytest.mark.servers
def test_after_kill_9_on_redis(tmp_path: Path) -> None:
    """The server that the killed campaign left is found, used, and stopped at the end like one of its own."""
    with running(tmp_path, *ON_REDIS) as process:
        until(lambda: second_run_loads(tmp_path))
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        assert states(tmp_path) == [RunState.CHECKED, RunState.INTERRUPTED]
        before = snapshot(campaign_of(tmp_path))
        until(lambda: len(running_in(tmp_path)) == 1, within_s=20)  # the load ends by itself, the server does not
        assert_complete(tmp_path, before, resumed(tmp_path, "c"))
        assert ended_within(tmp_path, 10), running_in(tmp_path)


@pytest.mark.servers
@pytest.mark.thorough
def test_a_server_that_the_user_started_stays_up(tmp_path: Path) -> None:
    with running(tmp_path, *ON_REDIS) as process:
        until(lambda: second_run_loads(tmp_path))
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        until(lambda: len(running_in(tmp_path)) == 1, within_s=20)
        assert lockbench(tmp_path, "down").returncode == 0
        assert lockbench(tmp_path, "up", "redis").returncode == 0
        resumed(tmp_path)
        assert len(running_in(tmp_path)) == 1


def test_an_interruption_says_how_to_go_on(tmp_path: Path) -> None:
    with running(tmp_path, *NO_SERVERS) as process:
        until(lambda: second_run_loads(tmp_path))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert "`lockbench run --resume c` resumes it" in " ".join(said.split())


def test_the_full_mode_says_at_once_how_to_go_on(tmp_path: Path) -> None:
    with running(tmp_path, "run", "--full", "-s", "null", "-w", "uncontended", "--name", "c") as process:
        until(lambda: bool(list((tmp_path / "runs/c").glob("*/log.txt"))))
        process.send_signal(signal.SIGKILL)  # which leaves no time to say anything
        said, _ = process.communicate(timeout=30)
    assert "if interrupted, `lockbench run --resume c`" in " ".join(said.split())
    assert len(campaign_of(tmp_path).campaign.runs) >= 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--resume"], "no campaign 'latest'"),
        (["--resume", "never"], "no campaign 'never'"),
        (["never"], "'never': resume that campaign with --resume, or name a new one with --name"),
        (["--resume", "-n", "3", "-s", "all"], "the campaign's own plan: leave out --system, --repetitions"),
        (["--resume", "c", "--full"], "leave out --full"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: list[str], told: str) -> None:
    ended = lockbench(tmp_path, "run", *arguments)
    assert ended.returncode == 1
    assert told in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "runs").exists()
