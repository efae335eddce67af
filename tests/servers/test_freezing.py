"""A tree of processes is stopped, resumed and killed whole, also while it grows."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bench.servers.breaking import freezing
from bench.servers.process import ProcessId, stop

# Starts a child in a session of its own every few milliseconds, and each child starts one more; with threads besides.
GROWING = """
import subprocess, sys, threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
child = "import subprocess, sys, time; subprocess.Popen(['sleep', '61'], cwd=sys.argv[1]); time.sleep(60)"
print("growing", flush=True)
for _ in range(60):
    subprocess.Popen([sys.executable, "-S", "-c", child, sys.argv[1]], start_new_session=True, cwd=sys.argv[1])
time.sleep(60)
"""


class Tree:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = subprocess.Popen(
            [sys.executable, "-c", GROWING, str(folder)], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        assert self.root.stdout is not None
        assert self.root.stdout.readline() == "growing\n"
        process = ProcessId.of(self.root.pid)
        assert process is not None
        self.process = process

    def members(self) -> list[psutil.Process]:
        """By their folder, not by parentage: that is what the code goes by."""
        found = []
        for process in psutil.process_iter(["cwd", "status"]):
            if process.info["cwd"] == str(self.folder) and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    one = Tree(tmp_path)
    yield one
    for process in one.members():
        process.kill()
    one.root.kill()
    one.root.wait()


def statuses(processes: list[psutil.Process]) -> set[str]:
    return {process.status() for process in processes}


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.2])
def test_a_growing_tree_is_frozen_whole_goes_on_and_is_killed_whole(tree: Tree, after_s: float) -> None:
    threading.Event().wait(after_s)
    pids = freezing.freeze(tree.process)
    found = tree.members()
    assert {process.pid for process in found} == set(pids)
    assert statuses(found) == {psutil.STATUS_STOPPED}
    for pid in pids:
        assert freezing.thread_states(pid) == {"T"}
    assert freezing.is_frozen(tree.process)
    assert freezing.freeze(tree.process) == pids, "frozen twice is frozen"
    assert set(freezing.thaw(tree.process)) == set(pids)
    assert freezing.thaw(tree.process) == ()
    assert not freezing.is_frozen(tree.process)
    assert freezing.kill(tree.process)
    assert not tree.members()
    for act in (freezing.freeze, freezing.thaw, freezing.kill):
        with pytest.raises(freezing.ProcessGone):
            act(tree.process)


def test_a_number_that_belongs_to_another_is_left_alone(tree: Tree) -> None:
    other = ProcessId(tree.process.pid, tree.process.start_ticks - 1, tree.process.boot_id)
    for act in (freezing.freeze, freezing.kill):
        with pytest.raises(freezing.ProcessGone):
            act(other)
    assert not freezing.is_frozen(tree.process)
    assert tree.process.alive()


def test_one_stopped_process_below_is_seen(tree: Tree) -> None:
    threading.Event().wait(0.1)
    child = psutil.Process(tree.root.pid).children()[0]
    os.kill(child.pid, signal.SIGSTOP)
    give_up = time.monotonic() + 5
    while child.status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < give_up
    assert freezing.is_frozen(tree.process)
    assert freezing.thaw(tree.process) == (child.pid,)


def test_a_polite_stop_resumes_what_is_below(tree: Tree) -> None:
    give_up = time.monotonic() + 10.0
    while len(tree.members()) < 2:  # there must be something below
        assert time.monotonic() < give_up
        time.sleep(0.005)  # poll: the kernel tells nobody of grandchildren
    frozen = freezing.freeze(tree.process)
    assert stop(tree.process, "SIGTERM", 10.0)
    left = [process for process in tree.members() if process.pid in frozen]
    assert left, "a polite signal is for the first process only"
    assert psutil.STATUS_STOPPED not in statuses(left)
