"""Writers of the file that are killed or stopped in the middle of a write hold up nobody, and undo nothing."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.hazards.resources.base import Attempt, Reading
from bench.hazards.resources.file import File, FileHost
from tests.hazards.resources.hosted import attempt

# A writer that halts at one of its system calls, before or after it: says so, and goes on when told to.
WRITER = """
import json, os, sys
from bench.hazards.resources.base import Attempt
from bench.hazards.resources.file import File
folder, call, when, sent = sys.argv[1:]
real = getattr(os, call)
def halting(*arguments):
    setattr(os, call, real)
    if when == "before":
        print("halted", flush=True); sys.stdin.readline()
    real(*arguments)
    if when == "after":
        print("halted", flush=True); sys.stdin.readline()
setattr(os, call, halting)
answer = File.open({"folder": folder}).write(Attempt.from_tree(json.loads(sent)))
print(json.dumps([answer.order, answer.accepted, answer.highest_before, answer.value_before]), flush=True)
"""
INSTANTS = [("fsync", "before"), ("link", "before"), ("link", "after")]


@pytest.fixture
def folder() -> Iterator[str]:
    with FileHost().hosted() as place:
        yield place["folder"]


@contextmanager
def halted(folder: str, call: str, when: str, sent: Attempt) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", WRITER, folder, call, when, json.dumps(sent.to_tree())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "halted\n"
            yield writer
        finally:
            writer.kill()


@pytest.mark.parametrize(("call", "when"), INSTANTS)
def test_a_killed_writer_is_in_nobodys_way(folder: str, call: str, when: str) -> None:
    other = File.open({"folder": folder})
    killed = attempt("k", 2, value=7)
    with halted(folder, call, when, killed) as writer:
        writer.send_signal(signal.SIGKILL)
        writer.wait(30)
    judged = when == "after"
    assert other.read("k") == (Reading(7, 2) if judged else Reading(0, 0))
    verdict = other.write(attempt("k", 3, value=8))
    assert verdict.accepted
    assert verdict.order == (2 if judged else 1)
    assert other.write(killed).order == (1 if judged else 2), "judged once: by the killed writer, or now"
    assert len(other.judged("k")) == 2


@pytest.mark.parametrize(("call", "when"), INSTANTS[:2])
def test_a_stopped_writer_is_judged_by_what_it_finds_on_waking(folder: str, call: str, when: str) -> None:
    """The whole point of a fence: this writer judged itself fit, was stopped, and wakes after its successor wrote."""
    other = File.open({"folder": folder})
    assert other.write(attempt("k", 1, value=1)).accepted
    with halted(folder, call, when, attempt("k", 2, value=99)) as writer:
        assert other.write(attempt("k", 3, value=2)).accepted
        answer, _ = writer.communicate("\n", timeout=60)
    assert json.loads(answer) == [3, False, 3, 2]
    assert other.read("k") == Reading(2, 3)


def test_nothing_but_versions_is_left_by_writers_that_live(folder: str) -> None:
    writer = File.open({"folder": folder})
    for token in (1, 3, 2):
        writer.write(attempt("k", token))
    assert [name.name.rpartition(".")[2] for name in sorted(Path(folder).iterdir())] == [
        "00000001",
        "00000002",
        "00000003",
    ]
