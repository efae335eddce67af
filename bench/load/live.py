"""Locust's web page on the bench's servers, for people: the process behind `lockbench live`."""

import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.errors import LockbenchError
from bench.load.channel import FD_VARIABLE, Channel
from bench.load.child import locust_command, locust_running
from bench.servers.running.ports import PortTaken, claim_ports


class LiveFailed(LockbenchError):
    """The page could not be opened, or Locust ended by itself."""


def live_command(systems: Sequence[str], port: int = 8089, processes: int = 1) -> list[str]:
    """Locust's argument vector: the page on 127.0.0.1 only, its form filled in for these systems, at least one."""
    first, *beside = systems
    options = {"web-host": "127.0.0.1", "web-port": port, "system": first, "beside": ",".join(beside)}
    return locust_command(options, processes=processes)


def require_port(port: int) -> None:
    """Raise LiveFailed when the page's port is taken."""
    try:
        claim_ports((port,))
    except PortTaken:
        raise LiveFailed(f"port {port} on 127.0.0.1 is taken: choose another with --port") from None


@contextmanager
def live_running(
    systems: Sequence[str], port: int = 8089, processes: int = 1, surroundings: Mapping[str, str] | None = None
) -> Iterator[tuple["subprocess.Popen[bytes]", Channel]]:
    """The page for the length of a block, and the channel to it. Afterwards no process of Locust is left.

    `surroundings` are further environment variables, such as where the servers are. Raises LiveFailed.
    """
    require_port(port)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        variables = {**(surroundings or {}), FD_VARIABLE: str(theirs.fileno())}
        command = live_command(systems, port, processes)
        with locust_running(command, variables, inherits=(theirs.fileno(),)) as process:
            theirs.close()  # the child has it: its end is then seen here
            # An end of its own, for whoever reads what the child still says as it ends, and then closes it.
            yield process, Channel(ours.dup())
