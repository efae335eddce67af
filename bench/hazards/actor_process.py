"""Actors as the stage sees them: asked, stopped, resumed, killed, and always brought to an end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from bench.errors import LockbenchError
from bench.hazards.timeline import now_ns
from bench.servers.breaking.freezing import thread_states

STARTS_WITHIN_S = 30.0
CONFIRMED_WITHIN_S = 5.0
ENDS_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.0002
_LOOK_FOR_END_EVERY_S = 0.1

Message = dict[str, Any]


class ActorFailed(LockbenchError):
    """An actor ended by itself, did not answer in time, or would not be stopped: the staging is void."""


class Interrupted(Exception):
    """Someone asked for an end; everything on the way out is put right."""


class ActorProcess:
    """One actor's process. It is our child and not yet waited for, so its pid can be no other's."""

    def __init__(self, name: str, log: TextIO) -> None:
        self.name = name
        self.alive = True
        self._log = log
        self._next_id = 0
        self._sending = threading.Lock()
        self._answered_id = 0  # requests are answered in their order
        self._answers: dict[int, Message] = {}
        self._arrived = threading.Condition()
        self._messages: list[Message] = []
        self._failure = ""
        self._ready = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.hazards.actor", name, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C at the terminal reaches the stage only
        )
        self._reader = threading.Thread(target=self._read, name=f"actor {name}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def idle(self) -> bool:
        """Does it live, with every request answered?"""
        with self._arrived:
            return self.alive and not self._failure and self._answered_id == self._next_id

    def wait_ready(self) -> None:
        """Raises ActorFailed when the process does not come up."""
        if not self._ready.wait(STARTS_WITHIN_S) or self._failure:
            raise ActorFailed(f"actor {self.name} did not start; see {self._log.name}")

    def send(self, do: str, **request: Any) -> int:
        """Ask for something; the answer is fetched by `answer`. Returns the request's number."""
        assert self._process.stdin is not None
        with self._sending:  # who leads it and who breaks it may be two threads
            number = self._next_id = self._next_id + 1
            try:
                if self._failure:
                    raise BrokenPipeError  # its end was seen before the pipe's
                self._process.stdin.write(json.dumps({"id": number, "do": do, **request}) + "\n")
                self._process.stdin.flush()
            except BrokenPipeError as gone:
                raise ActorFailed(f"actor {self.name} is gone; see {self._log.name}") from gone
        return number

    def answer(self, number: int, within_s: float, stopped: Callable[[], bool], expected: str | None = None) -> Message:
        """The answer to one request. Raises ActorFailed when there is none in time, or another than `expected`;
        Interrupted when `stopped` says so."""
        deadline = time.monotonic() + within_s
        with self._arrived:
            while number not in self._answers:
                left_s = deadline - time.monotonic()
                if stopped():
                    raise Interrupted
                if self._failure or left_s <= 0:
                    why = self._failure or f"gave no answer to request {number} within {within_s:.1f} s"
                    raise ActorFailed(f"actor {self.name} {why}; see {self._log.name}")
                self._arrived.wait(min(left_s, _LOOK_FOR_END_EVERY_S))
            answer = self._answers.pop(number)
        if expected is not None and answer["outcome"] != expected:
            raise ActorFailed(f"actor {self.name} answered {answer['outcome']} ({answer.get('reason', '')})")
        return answer

    @property
    def heard(self) -> list[Message]:
        """What the actor has said since `take_messages` was last called, which this leaves to it."""
        with self._arrived:
            return self._messages.copy()

    def said(self, what: str) -> list[Message]:
        """The same, of one sort."""
        return [message for message in self.heard if message["say"] == what]

    def wait_said(self, what: str, count: int, within_s: float, stopped: Callable[[], bool]) -> Message | None:
        """The `count`-th message of one sort since `take_messages`, from 1; None when it does not come in time.

        Raises ActorFailed when the actor ends before, Interrupted when `stopped` says so.
        """
        deadline = time.monotonic() + within_s
        with self._arrived:
            while len(said := [message for message in self._messages if message["say"] == what]) < count:
                left_s = deadline - time.monotonic()
                if stopped():
                    raise Interrupted
                if self._failure:
                    raise ActorFailed(f"actor {self.name} {self._failure}; see {self._log.name}")
                if left_s <= 0:
                    return None
                self._arrived.wait(min(left_s, _LOOK_FOR_END_EVERY_S))
            return said[count - 1]

    def take_messages(self) -> list[Message]:
        """What the actor said since the last call, in its order, answers excepted."""
        with self._arrived:
            taken, self._messages = self._messages, []
        return taken

    def pause(self) -> int:
        """SIGSTOP; returns the instant at which every thread of the process was seen to be stopped."""
        if self._process.poll() is not None:
            raise ActorFailed(f"actor {self.name} is gone; see {self._log.name}")
        os.kill(self.pid, signal.SIGSTOP)
        try:
            return _confirmed(f"actor {self.name} to stop", lambda: thread_states(self.pid) == {"T"})
        except ActorFailed:
            os.kill(self.pid, signal.SIGCONT)  # half stopped is no fault that anyone would end
            raise

    def resume(self) -> int:
        """SIGCONT; returns the instant just before it was sent: what was stopped can run from there on.

        Of an actor that was killed meanwhile nothing is stopped any more, and its pid may be another's.
        """
        resumed_ns = now_ns()
        if self._process.poll() is None:
            os.kill(self.pid, signal.SIGCONT)
            _confirmed(f"actor {self.name} to go on", lambda: "T" not in thread_states(self.pid))
        return resumed_ns

    def kill(self) -> int:
        """SIGKILL; returns the instant before it was sent, once the process is gone. What it had said is still read.

        Not the instant at which it was seen to be gone: the kernel closes its sockets before it tells the parent, and a
        server that frees a lock by the end of a connection would seem to have freed it before the crash.
        """
        self.alive = False
        killed_ns = now_ns()
        self._process.kill()
        try:
            self._process.wait(CONFIRMED_WITHIN_S)
        except subprocess.TimeoutExpired as still_there:
            raise ActorFailed(f"actor {self.name} is not gone {CONFIRMED_WITHIN_S:g} s after SIGKILL") from still_there
        self._reader.join(CONFIRMED_WITHIN_S)
        return killed_ns

    def end(self) -> None:
        """Leave no process behind, whatever state it is in: politely where it listens, so that its sessions end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        running, listens = self._process.poll() is None, self.idle
        if running:
            os.kill(self.pid, signal.SIGCONT)
        with contextlib.suppress(BrokenPipeError):  # it had ended, or did this very moment, which is what is wanted
            self._process.stdin.close()
        if running:
            try:
                self._process.wait(ENDS_WITHIN_S if listens else 0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self.alive = False
        self._reader.join(CONFIRMED_WITHIN_S)
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue  # the last line of a killed process may be cut short
            with self._arrived:
                if message["say"] == "answer":
                    self._answered_id = message["id"]
                    self._answers[message["id"]] = message
                elif message["say"] == "ready":
                    self._ready.set()
                else:
                    self._messages.append(message)
                self._arrived.notify_all()
        with self._arrived:
            self._failure = "ended"
            self._ready.set()
            self._arrived.notify_all()


def _confirmed(what: str, seen: Callable[[], bool]) -> int:
    """Wait until something is seen to be so; returns when. Raises ActorFailed past the deadline."""
    deadline = time.monotonic() + CONFIRMED_WITHIN_S
    while not seen():
        if time.monotonic() >= deadline:
            raise ActorFailed(f"waited {CONFIRMED_WITHIN_S:g} s in vain for {what}")
        time.sleep(_LOOK_EVERY_S)  # pace: the kernel tells nobody when a process has stopped
    return now_ns()
