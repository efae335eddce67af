"""An actor (see `actor.py`) under gevent, whose acquires can be ended by the kill of their greenlet.

Run as `python -m bench.conformance.greenlet_actor`.
"""

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from gevent.fileobject import FileObject  # noqa: E402

from bench.conformance.bounds import PATIENCE_MS  # noqa: E402
from bench.conformance.crowd import Task, Tasks  # noqa: E402
from bench.conformance.script import Script  # noqa: E402


class Greenlets(Tasks):
    """Functions that can be killed."""

    def start(self, function: Callable[[], None]) -> Task:
        started: Task = gevent.spawn(function)
        return started

    def kill(self, tasks: Sequence[Task]) -> None:
        gevent.killall(list(tasks), timeout=PATIENCE_MS / 1000)


def main() -> None:
    """Answer one line at a time until the input ends. Other greenlets run while the next line is awaited."""
    script = Script(Greenlets())
    for line in FileObject(sys.stdin.fileno(), "r", closefd=False):
        request = json.loads(line)
        try:
            answer = _kill(script, request) if request["do"] == "kill" else script.answer(request)
        except Exception as error:  # noqa: BLE001 - reported to the parent, which fails the check with it
            answer = {"outcome": "raised", "reason": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _kill(script: Script, request: dict[str, Any]) -> dict[str, Any]:
    """Kill the acquire's greenlet after a while, and wait until it is dead: its clean-up is part of it."""
    acquiring = gevent.spawn(script.answer, {**request, "do": "acquire"})
    gevent.sleep(request["after_ms"] / 1000)
    acquiring.kill(timeout=PATIENCE_MS / 1000)
    if not acquiring.dead:
        raise TimeoutError(f"the killed acquire of {request['key']!r} has not ended after {PATIENCE_MS} ms")
    answer = acquiring.get()  # raises what the greenlet raised
    return {"outcome": "killed"} if isinstance(answer, gevent.GreenletExit) else answer


if __name__ == "__main__":
    main()
