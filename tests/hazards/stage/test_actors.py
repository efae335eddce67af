"""Actors are processes: stopped means stopped, killed means gone, and none outlives its stage."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import psutil
import pytest

from bench.hazards.actor import Actor
from bench.hazards.actor_process import ActorFailed, ActorProcess, Interrupted
from bench.hazards.resources.base import Attempt, Place, Rule
from bench.hazards.resources.referee import Referee, RefereeHost
from bench.systems.base import Grant

WITHIN_S = 10.0


def never() -> bool:
    return False


@pytest.fixture
def log(tmp_path: Path) -> Iterator[TextIO]:
    with (tmp_path / "log.txt").open("w") as opened:
        yield opened


@pytest.fixture
def actor(log: TextIO) -> Iterator[ActorProcess]:
    started = ActorProcess("one", log)
    try:
        started.wait_ready()
        yield started
    finally:
        started.end()
    assert not psutil.pid_exists(started.pid)


@pytest.fixture
def place() -> Iterator[Place]:
    with RefereeHost().hosted() as hosted:
        yield hosted


def opened(actor: ActorProcess, place: Place, system_name: str = "null") -> None:
    """With a system that needs no server: null grants everything, memory has tokens."""
    request = {"ttl_ms": 500, "call_timeout_ms": 500, "variant": {}, "resource_kind": "referee", "place": dict(place)}
    endpoint = {"addresses": [["in-process", 0]], "options": {}, "secrets": {}, "tls": False}
    number = actor.send("open", system_name=system_name, endpoint=endpoint, **request)
    actor.answer(number, WITHIN_S, never, "opened")
    number = actor.send("begin", key="k", fence=True, rule="below", presented="at_write")
    actor.answer(number, WITHIN_S, never, "begun")


def test_what_is_sent_while_stopped_is_done_on_going_on(actor: ActorProcess, place: Place) -> None:
    opened(actor, place)
    stopped_ns = actor.pause()
    number = actor.send("facts")
    with pytest.raises(ActorFailed, match="gave no answer"):
        actor.answer(number, 0.3, never)
    resumed_ns = actor.resume()
    answer = actor.answer(number, WITHIN_S, never, "told")
    assert stopped_ns < resumed_ns <= answer["answered_ns"]


def test_a_refused_presentation_ends_the_belief_as_a_refused_write_does(actor: ActorProcess, place: Place) -> None:
    opened(actor, place, "memory")
    number = actor.send("begin", key="k", fence=True, rule="below", presented="before_read")
    actor.answer(number, WITHIN_S, never, "begun")
    number = actor.send("acquire", ttl_ms=60_000, timeout_ms=0, wait="try")
    token = actor.answer(number, WITHIN_S, never, "acquired")["token"]
    answers = [actor.answer(actor.send("read"), WITHIN_S, never, "read")]
    with closing(Referee.open(place)) as other:
        newer = Attempt("newer", "other", "k", "g", token + 1, True, Rule.BELOW, 0, 5)
        assert other.write(newer).accepted
    answers.append(actor.answer(actor.send("read"), WITHIN_S, never, "refused"))
    assert (answers[0]["value"], answers[0]["highest"]) == (0, token)
    assert answers[1]["reason"] == f"token {token} is below {token + 1}"
    messages = actor.take_messages()
    shown = [message for message in messages if message["say"] == "presented"]
    assert [one["accepted"] for one in shown] == [True, False]
    (ended,) = [message for message in messages if message["say"] == "ended"]
    assert (ended["by"], ended["reason"]) == ("refused", f"the resource has seen token {token + 1}")


def test_a_stopped_actor_can_be_killed_and_told_before_what_it_knew(actor: ActorProcess, place: Place) -> None:
    opened(actor, place)
    number = actor.send("acquire", ttl_ms=500, timeout_ms=0, wait="try")
    actor.answer(number, WITHIN_S, never, "acquired")
    actor.pause()
    actor.kill()
    assert [message["say"] for message in actor.take_messages()][:3] == ["asking", "asked", "held"]
    assert not actor.alive


def test_a_stopped_actor_ends_politely(log: TextIO) -> None:
    actor = ActorProcess("one", log)
    actor.wait_ready()
    actor.pause()
    actor.end()
    assert not psutil.pid_exists(actor.pid)


def test_an_end_by_itself_is_told(actor: ActorProcess) -> None:
    number = actor.send("acquire", ttl_ms=1, timeout_ms=0, wait="try")  # not opened: a mistake of the stage
    with pytest.raises(ActorFailed, match=r"one ended; see .*log\.txt"):
        actor.answer(number, WITHIN_S, never)
    with pytest.raises(ActorFailed, match="one is gone"):
        actor.send("facts")


def test_waiting_ends_when_someone_asks_for_an_end(actor: ActorProcess) -> None:
    with pytest.raises(Interrupted):
        actor.answer(99, WITHIN_S, lambda: True)


def test_no_actor_outlives_a_killed_stage(tmp_path: Path) -> None:
    """Not even a stopped one, which could not see that its standard input has closed."""
    script = (
        "import sys, time\n"
        "from bench.hazards.actor_process import ActorProcess\n"
        "actor = ActorProcess('one', open(sys.argv[1], 'w'))\n"
        "actor.wait_ready(); actor.pause()\n"
        "print(actor.pid, flush=True); time.sleep(60)\n"
    )
    stage = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "log.txt")], stdout=subprocess.PIPE, text=True
    )
    assert stage.stdout is not None
    pid = int(stage.stdout.readline())
    assert psutil.Process(pid).status() == psutil.STATUS_STOPPED
    os.kill(stage.pid, signal.SIGKILL)
    stage.wait()
    stage.stdout.close()
    assert gone(pid, WITHIN_S)


def gone(pid: int, within_s: float, look: Callable[[float], None] = time.sleep) -> bool:
    deadline = time.monotonic() + within_s
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() >= deadline:
            return False
        look(0.01)
    return True


def test_a_monitor_or_watchdog_that_fails_ends_the_actor() -> None:
    """Else its beliefs would have no end, or its lease nobody to renew it, and the history would blame the lock."""
    script = (
        "import sys, threading, time\n"
        "from bench.hazards import actor\n"
        "threading.excepthook = actor._end_with_ours\n"
        "thread = threading.Thread(target=lambda: 1 / 0, name=sys.argv[1]); thread.start(); thread.join()\n"
        "print('went on')\n"
    )

    def ended(name: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, timeout=60)

    ours, library = ended("actor's monitor"), ended("a library's own")
    assert (ours.returncode, ours.stdout) == (1, "")
    assert "ZeroDivisionError" in ours.stderr
    assert (library.returncode, library.stdout) == (0, "went on\n")


def test_no_renewal_comes_between_the_question_and_the_loss() -> None:
    """The answer would be of a lease that is not the last, and a belief that ends too early hides an overlap."""
    said: list[str] = []
    actor = Actor("one", lambda what, **_: said.append(what))
    renewals: list[threading.Thread] = []

    class Client:
        def acquire(self, key: str, ttl_ms: int, *_: object) -> Grant:
            return Grant(key, "owner", 1, ttl_ms, deadline_ns=0)

        def renew(self, grant: Grant) -> Grant:
            return replace(grant, deadline_ns=2**62)

        def lost(self, grant: Grant) -> str | None:
            if grant.deadline_ns == 0 and not renewals:
                renewals.append(threading.Thread(target=actor.do_renew))
                renewals[0].start()
                renewals[0].join(0.3)
            return "it ran out" if grant.deadline_ns == 0 else None

    actor._client = Client()  # type: ignore[assignment]
    actor.do_begin(key="k", fence=True, rule="below")
    actor.do_acquire(ttl_ms=1000, timeout_ms=0, wait="try")
    actor.do_check()
    for renewal in renewals:
        renewal.join()
    assert "renewed" in said
    assert "ended" not in said[said.index("renewed") :]
