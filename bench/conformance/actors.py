"""Actors as the checks see them: clients that can be asked, stopped, resumed, and killed without a goodbye."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from typing import Any, Protocol

from bench.conformance.bounds import PATIENCE_MS
from bench.conformance.script import Script

# Whatever this process can import, an adapter from outside among it, its actors can.
_PATH = {"PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)}


class Actor(Protocol):
    """What a check may do with an actor. `send` and `receive` are the two halves of `ask`."""

    def ask(self, do: str, **request: Any) -> dict[str, Any]: ...

    def send(self, do: str, **request: Any) -> None: ...

    def receive(self, within_ms: float = PATIENCE_MS) -> dict[str, Any]: ...

    def stop(self) -> None: ...

    def resume(self) -> None: ...

    def kill(self) -> None: ...

    def end(self) -> None: ...


class ProcessActor:
    """An actor in its own process. `stop` and `kill` are SIGSTOP and SIGKILL."""

    def __init__(self, module: str = "actor") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"bench.conformance.{module}"],
            env={**os.environ, **_PATH},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """One request and its answer."""
        self.send(do, **request)
        return self.receive()

    def send(self, do: str, **request: Any) -> None:
        """Only the request."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self._process.stdin.flush()

    def receive(self, within_ms: float = PATIENCE_MS) -> dict[str, Any]:
        """The next answer. AssertionError when none comes in time, or when the client raised."""
        try:
            answer: dict[str, Any] = json.loads(self._answers.get(timeout=within_ms / 1000))
        except queue.Empty:
            raise AssertionError(f"an actor gave no answer within {within_ms:.0f} ms") from None
        if answer["outcome"] == "raised":
            raise AssertionError(f"an actor's client raised {answer['reason']}")
        return answer

    def stop(self) -> None:
        """Stop the process where it stands: no heartbeat, no reply, sockets open."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a stopped process go on as if nothing had been."""
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once; the kernel closes its sockets."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Leave no process behind, whatever state it is in."""
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


class LocalActor:
    """For a system that lives in this process: same requests, no process. Dead and stopped both mean: not heard again.

    That is all that a lease can see of a dead client. It has no heartbeat thread, so there is nothing to stop.
    """

    def __init__(self) -> None:
        self._script = Script()
        self._answers: list[dict[str, Any]] = []

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """One request and its answer, by way of JSON like the other."""
        answer: dict[str, Any] = json.loads(
            json.dumps(self._script.answer(json.loads(json.dumps({"do": do, **request}))))
        )
        return answer

    def send(self, do: str, **request: Any) -> None:
        """The answer is kept for `receive`."""
        self._answers.append(self.ask(do, **request))

    def receive(self, within_ms: float = PATIENCE_MS) -> dict[str, Any]:
        """The first answer not yet received."""
        return self._answers.pop(0)

    def stop(self) -> None:
        """Not asked until it is resumed."""

    def resume(self) -> None:
        """May be asked again."""

    def kill(self) -> None:
        """Not asked again, and not closed either."""

    def end(self) -> None:
        """There is no process to end."""
