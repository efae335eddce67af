"""The real command, on real servers: every line, no process left, and one message for what goes wrong."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bench.calibrate.comparison import COST_MS, WANTED
from bench.calibrate.rounds import QUORUM
from bench.records.calibration import read_calibration
from bench.servers.running.state import exclusive
from tests.commands.command import LOCKBENCH, environment_of, lockbench
from tests.processes import ended_within, running_in, words_of


@pytest.mark.thorough
@pytest.mark.servers
@pytest.mark.timeout(300)
def test_every_line_is_measured_and_every_miss_explained(tmp_path: Path) -> None:
    ended = lockbench(tmp_path, "calibrate", "--pairs", "1", "--json", "--save", "saved.json", within_s=290)
    assert ended.returncode == 0, ended.stderr
    tree = json.loads(ended.stdout)
    lines = {line["name"]: line for line in tree["lines"]}
    assert set(lines) == {wanted.name for wanted in WANTED} | {f"floor-{name}" for name in QUORUM}
    for line in lines.values():
        assert line["pairs"] == 1
        assert 0 < line["min"] <= line["median"] <= line["max"]
        assert line["met"] is not False or line["explanation"]
    assert {f"cpu-{name}" for name in COST_MS} <= set(lines)
    assert [line.name for line in read_calibration(tmp_path / "saved.json").lines] == [*lines]
    assert not running_in(tmp_path)


@pytest.mark.servers
@pytest.mark.timeout(300)  # it starts every server that calibrating needs
def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*LOCKBENCH, "calibrate", "--pairs", "1"],
        cwd=tmp_path,
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 180
        while not any("locust" in words_of(one) for one in running_in(tmp_path)):
            assert time.monotonic() < deadline, "no load was started"
            time.sleep(0.05)  # poll: the event is in other processes
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in said
        assert ended_within(tmp_path, 5), running_in(tmp_path)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate(timeout=30)
        lockbench(tmp_path, "down")


def test_a_record_that_cannot_be_written_is_told_before_the_measurement(tmp_path: Path) -> None:
    ended = lockbench(tmp_path, "calibrate", "--save", "nowhere/calibration.json")
    assert ended.returncode == 1
    assert "no folder nowhere" in " ".join(ended.stderr.split())
    assert not (tmp_path / "home").exists()


def test_not_beside_a_campaign(tmp_path: Path) -> None:
    with exclusive(tmp_path / "home", "campaign"):
        ended = lockbench(tmp_path, "calibrate", "--pairs", "1")
    assert ended.returncode == 1
    assert "another lockbench holds" in ended.stderr


def test_never_on_servers_of_the_user(tmp_path: Path) -> None:
    more = {"LOCKBENCH_REDIS_URL": "redis://127.0.0.1:25999"}
    ended = lockbench(tmp_path, "calibrate", "--pairs", "1", more=more)
    assert ended.returncode == 1
    assert "is yours, and calibrating would empty it" in " ".join(ended.stderr.split())
