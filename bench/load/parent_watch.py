"""A load process ends when the lockbench that started it is gone, even by `kill -9`.

The parent keeps the writing end of a pipe and never writes. When it dies, for whatever reason, the kernel closes that
end and every load process reads end-of-file: master and workers alike, since a fork inherits the pipe. (prctl's
PR_SET_PDEATHSIG would follow the *thread* that started Locust, and would not reach Locust's own forks.)
"""

import os
import signal
from collections.abc import Callable
from typing import cast

from gevent import monkey

from bench.load.child import FD_VARIABLE

_END_WITHIN_S = 10.0
_EXIT_CODE = 70


def watch_parent() -> None:
    """Start watching, if a parent asked for it. Call it once in each process, after Locust has forked its workers."""
    fd = os.environ.get(FD_VARIABLE)
    if fd is None:
        return
    # A thread of the operating system, not a greenlet: a client library that blocks the event loop must not save the
    # process from its end.
    start_thread = cast(Callable[..., int], monkey.get_original("_thread", "start_new_thread"))
    start_thread(_end_with_parent, (int(fd),))


def _end_with_parent(fd: int) -> None:
    os.read(fd, 1)
    os.kill(os.getpid(), signal.SIGTERM)  # Locust shuts down in order: users stop, sessions close
    cast(Callable[[float], None], monkey.get_original("time", "sleep"))(_END_WITHIN_S)
    os._exit(_EXIT_CODE)
