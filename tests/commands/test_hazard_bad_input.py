"""A mistake in a `hazard` command gets one message, a non-zero exit and no traceback, and nothing is started for it."""

import re
import subprocess
from pathlib import Path

import pytest

from bench.servers.running.state import exclusive
from tests.commands.command import lockbench

ONE = ("hazard", "run", "second-write", "-s", "redis")


def is_told(ended: "subprocess.CompletedProcess[str]", told: str, folder: Path) -> None:
    assert ended.returncode == 1, ended.stderr
    assert re.search(told, " ".join(ended.stderr.split())), ended.stderr
    assert ended.stderr.count("error:") == 1
    assert "Traceback" not in ended.stderr
    assert not (folder / "home/lab").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], r"name a scenario, or all: `lockbench hazard list` shows them"),
        (["nosuch"], r"no scenario 'nosuch': choose from .*gc-pause, .* or all"),
        (["../gc-pause"], r"no scenario '../gc-pause': choose from"),
        (["gc-pause", "--system", "nosuch"], r"no system 'nosuch': choose from redis, .* or all"),
        (["gc-pause", "--system", ""], r"no selected scenario supports no system: these scenarios are about redis, "),
        (["gc-pause", "--system", " , "], r"no selected scenario supports no system"),
        (
            ["gc-pause", "--system", "redis,memory"],
            r"no selected scenario supports memory: these scenarios are about redis, ",
        ),
        (["gc-pause", "--quick", "--full"], r"--quick and --full exclude each other"),
        (["--resume", "nosuch"], r"no campaign 'nosuch'.* there is none yet; `lockbench hazard run all` makes one"),
        (["--resume", "../home"], r"no campaign '../home'"),
        (["gc-pause", "--resume", "c", "-n", "2"], r"the campaign's own plan: leave out scenarios, --repetitions$"),
        (["--resume", "c", "--seed", "3", "-s", "redis"], r"own plan: leave out --system, --seed$"),
        (["gc-pause", "--name", "a/b"], r"'a/b' cannot name a campaign"),
        (["gc-pause", "--name", ".."], r"'\.\.' cannot name a campaign"),
    ],
)
def test_one_message(tmp_path: Path, arguments: list[str], told: str) -> None:
    is_told(lockbench(tmp_path, "hazard", "run", *arguments), told, tmp_path)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments", [["-n", "-1"], ["--seed", "-1"], ["--seed", "x"], ["--nosuch"]])
def test_wrong_usage_is_told_apart(tmp_path: Path, arguments: list[str]) -> None:
    ended = lockbench(tmp_path, *ONE, *arguments)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "runs/mine").mkdir(parents=True)
    is_told(lockbench(tmp_path, *ONE, "--name", "mine"), r"runs/mine exists already: .* --name", tmp_path)
    assert not list((tmp_path / "runs/mine").iterdir())


def test_an_unwritable_data_folder(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    is_told(lockbench(tmp_path, *ONE), r"is not a folder: .*LOCKBENCH_DATA", tmp_path)


def test_no_server_programs(tmp_path: Path) -> None:
    """Told before a campaign is begun: there would be nothing to go on with."""
    ended = lockbench(tmp_path, *ONE, more={"PATH": str(tmp_path)})
    is_told(ended, r"needs redis-server.* Install it with: ", tmp_path)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("lock", ["campaign", "lab"])
def test_two_at_once(tmp_path: Path, lock: str) -> None:
    with exclusive(tmp_path / "home", lock):
        is_told(lockbench(tmp_path, *ONE), r"another lockbench holds", tmp_path)


@pytest.mark.parametrize("command", ["list", "run"])
def test_every_help_has_an_example(tmp_path: Path, command: str) -> None:
    ended = lockbench(tmp_path, "hazard", command, "--help")
    assert ended.returncode == 0
    assert re.search(rf"Examples?: lockbench hazard {command}", ended.stdout), ended.stdout
