"""Nothing that tests start outlives them: a process that waits for the end of a pytest, and kills what is left of it.

A session that ends in order leaves nothing. One that is interrupted may: servers have sessions of their own, so that a
terminal's Ctrl-C does not reach them, and a worker of `pytest -n` is killed ten seconds after its controller was
interrupted, or is on its own when the controller is killed.

    python -m tests.guardian FOLDER MARK PID [CONTROLLER]
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil

_ROOT = Path(__file__).parents[1]
_MARK = "PYTEST_WATCHED_AS"  # what tests start inherits it, wherever it works
_GONE_WITHIN_S = 30.0


def watch(folder: Path) -> "subprocess.Popen[bytes]":
    """Let this process be watched, whose tests work in `folder`: from now on, what they start ends with it."""
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "tests.guardian", str(folder), mark, str(os.getpid())]
    if "PYTEST_XDIST_WORKER" in os.environ:
        command.append(str(os.getppid()))
    nothing = subprocess.DEVNULL
    guardian = subprocess.Popen(
        command, cwd=_ROOT, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )
    os.environ[_MARK] = mark
    return guardian


def main(arguments: list[str]) -> None:
    folder, mark, pid, *controllers = arguments
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    pytest, *others = (_opened(int(one)) for one in (pid, *controllers))
    if pytest is not None and None not in others:
        ends = select.poll()
        for descriptor in (pytest, *others):
            ends.register(descriptor, select.POLLIN)
        ends.poll()
    if pytest is not None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pytest, signal.SIGKILL)  # a worker whose controller is gone works for nobody
    _sweep(f"{folder}/", mark)


def _opened(pid: int) -> int | None:
    with contextlib.suppress(ProcessLookupError):
        return os.pidfd_open(pid)
    return None


def _sweep(folder: str, mark: str) -> None:
    """Again and again, since what is killed may have been about to start another one."""
    give_up = time.monotonic() + _GONE_WITHIN_S
    while (left := _left(folder, mark)) and time.monotonic() < give_up:
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=1.0)


def _left(folder: str, mark: str) -> list[psutil.Process]:
    """By the mark; or, since Redis and Postgres write titles over their environment, orphans that work in the folder.

    Who took the orphans of the pytest took this process too.
    """
    found = []
    for process in psutil.process_iter(["cwd", "environ", "ppid", "status"]):
        known = process.info
        marked = (known["environ"] or {}).get(_MARK) == mark
        orphan = known["ppid"] == os.getppid() and f"{known['cwd']}/".startswith(folder)
        if (marked or orphan) and known["status"] != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
            found.append(process)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
