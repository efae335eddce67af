"""A mistake gets one clear message, a non-zero exit and no traceback, and nothing is started for it."""

import json
import re
from pathlib import Path

import pytest

from bench.servers.running.state import exclusive
from tests.commands.command import lockbench


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--system", "mongo"], r"no system 'mongo': choose from redis, redis-aof, .* or all"),
        (["run", "-s", "redis", "-w", "fast"], r"no workload 'fast': choose from uncontended, contended, saturation"),
        (["run", "--quick", "--full"], r"--quick, --full and --reference exclude each other"),
        (["run", "--add-to", "never", "-w", "rate"], r"no campaign 'never'"),
        (["run", "--add-to", "latest", "--full", "--no-pin"], r"leave out --full, --pin/--no-pin"),
        (["run", "monday", "--add-to", "latest"], r"--add-to names the campaign, .latest.: leave out .monday."),
        (["run", "-s", "memory", "--name", "../x"], r"cannot name a campaign"),
        (["up", "mongo"], r"no servers 'mongo': choose from redis, redispair, redlock"),
        (["report", "--campaign", "never"], r"no campaign 'never'.*lockbench run --quick"),
        (["export", "out", "--campaign", "never"], r"no campaign 'never'"),
    ],
)
def test_one_message(tmp_path: Path, arguments: list[str], told: str) -> None:
    ended = lockbench(tmp_path, *arguments)
    assert ended.returncode == 1, ended.stderr
    assert re.search(told, " ".join(ended.stderr.split())), ended.stderr
    assert ended.stderr.count("error:") == 1
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "home/servers").exists()


@pytest.mark.parametrize("text", ["[servers", '[servers.redis]\nport = "x"\n', "[servers.mongo]\n"])
@pytest.mark.parametrize("command", [["doctor"], ["up"], ["status"], ["down"], ["run", "-s", "memory"]])
def test_a_malformed_configuration(tmp_path: Path, text: str, command: list[str]) -> None:
    (tmp_path / "lockbench.toml").write_text(text)
    ended = lockbench(tmp_path, *command)
    assert ended.returncode == 1
    assert "error: lockbench.toml" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_wrong_usage_is_told_apart(tmp_path: Path) -> None:
    ended = lockbench(tmp_path, "run", "--repetitions", "-3")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_two_campaigns_at_once(tmp_path: Path) -> None:
    with exclusive(tmp_path / "home", "campaign"):
        ended = lockbench(tmp_path, "run", "-s", "memory", "-w", "uncontended", "-n", "1")
    assert ended.returncode == 1
    assert "another lockbench holds" in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_an_unwritable_data_folder(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    ended = lockbench(tmp_path, "run", "-s", "memory", "-w", "uncontended", "-n", "1")
    assert ended.returncode == 1
    assert "LOCKBENCH_DATA" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "command",
    ["doctor", "servers", "up", "status", "down", "run", "conform", "calibrate", "report", "export", "live"],
)
def test_every_help_has_an_example(tmp_path: Path, command: str) -> None:
    ended = lockbench(tmp_path, command, "--help")
    assert ended.returncode == 0
    assert re.search(rf"Examples?: lockbench {command}", ended.stdout), ended.stdout


def test_status_and_down_with_nothing_up(tmp_path: Path) -> None:
    assert json.loads(lockbench(tmp_path, "status", "--json").stdout) == []
    assert "nothing was running" in lockbench(tmp_path, "down").stdout
