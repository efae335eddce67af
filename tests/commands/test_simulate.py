"""`lockbench simulate`: its text, its drawing, and one message for each mistake."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.cli import app
from bench.errors import LockbenchError
from tests.commands.command import lockbench


def ran(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["simulate", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_scenario_as_text() -> None:
    said = ran("page-scenario", "-s", "redis", "--fence")
    assert re.search(r"\d\.\d{3} s +holder +holds the lock, token 1", said)
    assert "refused, below 2" in said
    assert "stale writes: 0 accepted, 1 refused" in said


def test_without_options_all_of_a_scenario_is_played() -> None:
    played = json.loads(ran("page-scenario", "-s", "redis", "--json"))
    assert [one["trial"]["parameters"]["fence"] for one in played] == [False, True]
    assert [one["findings"]["lost_updates"] for one in played] == [1, 0]


def test_a_value_that_is_searched_for() -> None:
    highest = json.loads(ran("redlock-clock", "-s", "redlock", "--set", "ttl_ms=1000", "--json"))
    assert {one["trial"]["parameters"]["jump_ms"] for one in highest} == {1100}
    small = json.loads(ran("redlock-clock", "-s", "redlock", "--set", "jump_ms=1", "--json"))
    assert not any(one["findings"]["overlaps"] for one in small)


def test_random_schedules_as_json() -> None:
    arguments = ("--random", "400", "-s", "redis", "--no-fence", "--seed", "7", "--json")
    found = json.loads(ran(*arguments))
    assert found["two holders"]["broken"] > 0
    assert found["two holders"]["findings"]["overlaps"]
    assert found == json.loads(ran(*arguments))


def test_a_drawing(tmp_path: Path) -> None:
    target = tmp_path / "pause.svg"
    ran("gc-pause", "-s", "etcd", "--set", "pause_ttls=4", "--svg", str(target))
    assert "two holders" in target.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-s", "redis"), r"name a scenario, or give --random N"),
        (("gc-pause", "--random", "5", "-s", "redis"), r"one of the two"),
        (("nosuch", "-s", "redis"), r"no scenario 'nosuch': choose from"),
        (("gc-pause", "-s", "nosuch"), r"no system 'nosuch': choose from"),
        (("--random", "5", "-s", "null"), r"null has no servers: there is nothing to model"),
        (("--random", "5", "-s", "nosuch"), r"no system 'nosuch': choose from"),
        (("fence-gap", "-s", "redlock"), r"fence-gap is not about redlock: choose from"),
        (("stalled-leader", "-s", "etcd"), r"not modelled: the fault server_stall"),
        (("gc-pause", "-s", "redis", "--presented", "never"), r"--presented is before_read or at_write"),
        (("gc-pause", "-s", "redis", "--set", "nosuch=1"), r"gc-pause has no parameter nosuch"),
        (("gc-pause", "-s", "redis", "--set", "ttl_ms=soon"), r"ttl_ms=soon does not fit: gc-pause has 1000 for it"),
        (("gc-pause", "-s", "redis", "--set", "ttl_ms=0"), r"ttl_ms=0 does not fit: gc-pause has 1000 for it"),
        (("gc-pause", "-s", "redis", "--set", "fence=7"), r"fence=7 does not fit: gc-pause has True for it"),
        (("gc-pause", "-s", "redis", "--set", "fence"), r"write it as name=value"),
        (("gc-pause", "-s", "redis", "--svg", "x.png"), r"a file that ends in .svg"),
        (("gc-pause", "-s", "redis", "--svg", "nosuch/x.svg"), r"nosuch/x.svg"),
        (("--random", "5", "-s", "zookeeper", "--faults", "clock_jump"), r"no fault clock_jump in random schedules"),
        (("redlock-clock", "-s", "redlock", "--fence"), r"redlock-clock has no parameter fence: it has ttl_ms"),
        (("gc-pause", "-s", "redis", "--faults", "pause"), r"--faults belongs to random schedules"),
        (("--random", "5", "-s", "redis", "--ttl-ms", "5"), r"belong to a scenario"),
    ],
)
def test_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["simulate", *arguments])
    assert done.exit_code == 1
    assert isinstance(done.exception, LockbenchError | OSError)
    assert re.search(message, str(done.exception))
    assert not list(tmp_path.iterdir())


def test_a_mistake_ends_the_command_with_its_message(tmp_path: Path) -> None:
    done = lockbench(tmp_path, "simulate", "nosuch", "-s", "redis")
    assert done.returncode == 1
    assert done.stderr.count("error:") == 1
    assert "no scenario 'nosuch'" in done.stderr
    assert "Traceback" not in done.stderr
