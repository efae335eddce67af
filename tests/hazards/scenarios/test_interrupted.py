"""Whatever ends lockbench in the middle of a fault: nothing is left of it, stopped or running, and it can go on."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bench.records.schema import RunState
from bench.records.store import HazardFolder, Store
from tests.commands.command import LOCKBENCH, environment_of, lockbench
from tests.processes import ended_within, running_in, status_of
from tests.thorough import case

pytestmark = pytest.mark.servers
RUN = ("hazard", "run", "failover", "stalled-leader", "server-clock", "-s", "redis,etcd", "--seed", "7", "--name", "c")


class Running:
    """A `lockbench hazard run` at work, with what its runs log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*LOCKBENCH, *RUN],
            cwd=folder,
            env=environment_of(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_in_force(self, fault: str) -> None:
        """Until such a fault is in force, and no other trial line has followed it."""
        give_up = time.monotonic() + 90
        while not any(f": {fault} of " in said and said.endswith("in force") for said in self._last_lines()):
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < give_up, f"{fault} never was in force"
            time.sleep(0.005)  # poll: the event is in another process's files

    def _last_lines(self) -> Iterator[str]:
        """The last line that each log has of a fault, up to its colon."""
        for log in (self.folder / "runs/c").glob("*/log.txt"):
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("trial ")]
            if lines:
                yield lines[-1].partition(" in force: ")[0] + " in force" * (" in force: " in lines[-1])

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=30)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    one = Running(tmp_path)
    yield one
    one.end()
    for stray in running_in(tmp_path):
        stray.kill()


def folder_of(path: Path) -> HazardFolder:
    return Store(path / "runs").open(HazardFolder, "c")


def states(path: Path) -> set[RunState | None]:
    folder = folder_of(path)
    return {folder.state_of(plan) for plan in folder.campaign.runs}


@pytest.mark.parametrize(
    ("number", "code", "fault"),
    [
        case(signal.SIGINT, 130, "server_stall", rare=True),
        (signal.SIGTERM, 143, "failover"),
        (signal.SIGKILL, -9, "clock_jump"),
        (signal.SIGKILL, -9, "server_stall"),
    ],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else str(value),
)
def test_nothing_is_left_and_the_campaign_goes_on(
    running: Running, tmp_path: Path, number: signal.Signals, code: int, fault: str
) -> None:
    running.wait_in_force(fault)
    before = running_in(tmp_path)
    if fault == "server_stall":
        assert psutil.STATUS_STOPPED in {status_of(process) for process in before}
    running.process.send_signal(number)
    said, _ = running.process.communicate(timeout=60)
    assert running.process.returncode == code, said
    assert "Traceback" not in said
    if number is not signal.SIGKILL:
        assert not running_in(tmp_path), "everything is gone before lockbench is"
        assert "--resume c" in said
    assert ended_within(tmp_path, 20), running_in(tmp_path)
    assert not [
        one for one in before if one.is_running() and status_of(one) not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    ]
    assert states(tmp_path) != {RunState.CHECKED}

    if fault != "server_stall":
        return  # how it goes on does not depend on the fault that it was ended in
    resumed = lockbench(tmp_path, "hazard", "run", "--resume", "c", within_s=150)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert states(tmp_path) == {RunState.CHECKED}
    assert not [run.plan.run_id for run in folder_of(tmp_path).runs() if run.checked.staging]
    assert not running_in(tmp_path)
