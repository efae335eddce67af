"""Makes gRPC wait in gevent's way, where gevent has taken over this process; a no-op everywhere else.

gRPC waits in C. Unless it knows of gevent, each call blocks the whole event loop: greenlets then run one after another,
and the latencies look better than they are. Once it does, each wait for an answer occupies one thread of gevent's pool,
whose default of ten is a deadlock as soon as ten clients wait for a lock and no thread is left for the release.

gevent itself is never imported here: when nobody has done so, there is nothing to do.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from bench.systems.apart import Job
from bench.systems.etcd.grpc_alone import grpc
from bench.systems.gevent_patches import gevent_patches

# Threads are made on demand. Two for each client (its call, its keepalive) and one for each channel's streams must fit.
_POOL_THREADS_MAX = 2_000

_told_in_process: list[int] = []


def cooperate() -> None:
    """Call before each channel is opened; repeats cost nothing. Raises RuntimeError where a call could only hang."""
    if gevent_patches() is None:
        return
    if not _told_in_process:
        pool = sys.modules["gevent"].get_hub().threadpool
        pool.maxsize = max(pool.maxsize, _POOL_THREADS_MAX)
        grpc.experimental.gevent.init_gevent()
        _told_in_process.append(os.getpid())
    elif _told_in_process[0] != os.getpid():
        raise RuntimeError(
            "gRPC was used under gevent before this process was forked, and cannot work on: open etcd clients only "
            "after the fork (with Locust's --processes: in a user's on_start)"
        )


def opened(open_stream: Callable[[], Any]) -> Any:
    """The stream that `open_stream` opens; cancelled where gevent ends the caller meanwhile.

    gRPC waits for threads of its own while it opens one. A caller killed at that point would never have the stream,
    and the member would keep it until its deadline. So a greenlet that nobody kills opens it.
    """
    if gevent_patches() is None:
        return open_stream()
    gevent, job = sys.modules["gevent"], Job(open_stream)
    opening = gevent.spawn(job.run)
    try:
        return job.result()
    except BaseException:
        opening.link(lambda _: gevent.spawn(_cancel, job))  # not in the hub, where nothing may wait
        raise


def _cancel(opening: Job[Any]) -> None:
    stream = opening.settled(0)
    if stream is not None:
        stream.cancel()
