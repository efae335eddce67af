"""The process that computes what the page of plain `locust` shows of locks: `lockbench live` is one itself.

It is a room of its own (bench/campaign/live), which this one knows by its name alone: nothing of it may be computed,
nor even imported, in a process that drives load. It ends when Locust does, in whatever way, as its channel ends then.
"""

import os
import socket
import subprocess
import sys

from bench.load.channel import FD_VARIABLE, Channel

_MODULE = "bench.campaign.live"
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # as for the load: others would spin on the processors that it needs


def console_beside() -> Channel:
    """Start it. Returns this process's end of the channel."""
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD, FD_VARIABLE: str(theirs.fileno())},
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # Ctrl-C ends Locust, and Locust's end this
        )
    return Channel(ours)
