"""A server process of ours that lives exactly as long as a block of the stage.

The child says its port on standard output, and ends when its standard input does. The stage holds the only other end of
that pipe, so the kernel ends the child's input when the stage ends in whatever way, SIGKILL included.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from bench.errors import LockbenchError
from bench.servers.process import readable
from bench.servers.surroundings import environment_without

_READY_WITHIN_S = 60.0  # imports on a busy machine
_ENDS_WITHIN_S = 5.0


class ChildFailed(LockbenchError):
    """A resource's own process did not come up; the message has the end of what it printed."""


@contextmanager
def child_process(module: str, hidden: tuple[str, ...] = ()) -> Iterator[int]:
    """Run `python -m module` for a block; yields the port that it listens on, at 127.0.0.1. Raises ChildFailed.

    Variables whose names begin with one of `hidden` are not passed on.
    """
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment_without(hidden),
            start_new_session=True,  # Ctrl-C reaches the stage only, which still wants to read the log
        )
        try:
            yield _port(process, module, said)
        finally:
            _end(process)


def _port(process: "subprocess.Popen[bytes]", module: str, said: IO[bytes]) -> int:
    assert process.stdout is not None
    deadline = time.monotonic() + _READY_WITHIN_S
    line = b""
    while not line.endswith(b"\n"):
        ready = readable([process.stdout.fileno()], max(0.0, deadline - time.monotonic()))
        heard = os.read(process.stdout.fileno(), 64) if ready else b""
        if not heard:
            said.seek(0)
            words = said.read().decode("utf-8", "replace").strip()[-2_000:]
            raise ChildFailed(f"{module} did not tell its port: {words or 'it printed nothing'}")
        line += heard
    return int(line)


def _end(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:  # stopped, or stuck: it has nothing to save
        process.kill()
        process.wait()
    finally:
        process.stdout.close()


def listening(port: int) -> None:
    """In the child: tell the stage the port."""
    print(port, flush=True)
