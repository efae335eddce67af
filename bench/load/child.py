"""Starting Locust as a child that cannot outlive its parent, and ending it in order.

Locust is never run inside this process: importing it patches sockets and threads for good, and hangs a Jupyter kernel.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench.servers.interruption import uninterrupted
from bench.servers.running.ports import free_ports

FD_VARIABLE = "LOCKBENCH_PARENT_FD"  # in the child's environment: the pipe by which it notices its parent's end
LOCUSTFILE = Path(__file__).with_name("locustfile.py")
_STOP_WITHIN_S = 12.0
# The threads of numpy spin for a while after its import, on processors that the servers need.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def locust_command(options: Mapping[str, object], flags: Sequence[str] = (), processes: int = 1) -> list[str]:
    """Locust's argument vector. Several processes talk over loopback, by ports of their own.

    Locust's default ports would be shared by two tests on one machine: the second master fails, and its workers join
    the first one's test.
    """
    argv = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), *flags]
    for name, value in options.items():
        argv += [f"--{name}", str(value)]
    if processes > 1:
        (port,) = free_ports(1)
        argv += ["--processes", str(processes), "--master-bind-host", "127.0.0.1"]
        argv += ["--master-bind-port", str(port), "--master-port", str(port)]
    return [*argv, "SelectedLockUser"]


@contextmanager
def locust_running(
    argv: Sequence[str],
    environment: Mapping[str, str],
    isolated_in: Path | None = None,
    output: IO[bytes] | None = None,
    processors: Collection[int] = (),
    inherits: Collection[int] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """Run Locust for the length of a block; at its end, whatever ended it, no process of it is left.

    `environment` is laid over this process's own. With a folder in `isolated_in` the child sees no other setting of
    Locust: it starts in that folder and takes it for its home, so that no locust.conf is found, and nothing that
    somebody exported for another test reaches it. With `processors` it stays on these. It `inherits` these open files.
    """
    inherited = dict(os.environ)
    if isolated_in is not None:
        inherited = {name: value for name, value in inherited.items() if not name.startswith("LOCUST_")}
        inherited["HOME"] = str(isolated_in)
    pipe_out, pipe_in = os.pipe()
    allowed = os.sched_getaffinity(0)  # of this thread, which the child inherits: so from its first instruction
    try:
        os.sched_setaffinity(0, processors or allowed)
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output is not None else None,
            env={**_ONE_THREAD, **inherited, **environment, FD_VARIABLE: str(pipe_out)},
            cwd=isolated_in,
            pass_fds=(pipe_out, *inherits),
            start_new_session=True,  # Ctrl-C at the terminal reaches this process only, which then ends Locust in order
        )
    except BaseException:
        os.close(pipe_in)
        raise
    finally:
        os.sched_setaffinity(0, allowed)
        os.close(pipe_out)
    try:
        yield process
    finally:
        with uninterrupted("stopping the load"):
            os.close(pipe_in)  # the same end-of-file that a crash of this process would give to master and workers
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the child, and kill its process group when it takes too long.

    The group is named by the leader's pid, which nobody else can have before the leader is reaped by `wait`.
    """
    try:
        process.wait(_STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
