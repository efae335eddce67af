"""Locust's web page on the bench's servers, for people: the process behind `lockbench live`."""

import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.errors import LockbenchError
from bench.load.channel import FD_VARIABLE, Channel
from bench.load.child import locust_command, locust_running
from bench.servers.running.ports import PortTaken, claim_ports

LOOPBACK = "127.0.0.1"


class LiveFailed(LockbenchError):
    """The page could not be opened, or Locust ended by itself."""


def live_command(systems: Sequence[str], port: int = 8089, processes: int = 1, host: str = LOOPBACK) -> list[str]:
    """Locust's argument vector: the page, its form filled in for these systems, at least one. Anywhere but on loopback
    it asks for a login (bench/load/login.py)."""
    first, *beside = systems
    options = {"web-host": host, "web-port": port, "system": first, "beside": ",".join(beside)}
    return locust_command(options, processes=processes)


def require_port(port: int, host: str = LOOPBACK) -> None:
    """Raise LiveFailed when the page's port is taken, or its address is none of this machine's."""
    try:
        claim_ports((port,), host)
    except PortTaken as taken:
        if host == LOOPBACK:
            raise LiveFailed(f"port {port} on 127.0.0.1 is taken: choose another with --port") from None
        raise LiveFailed(f"--host {host}: {taken}") from None


@contextmanager
def live_running(
    systems: Sequence[str],
    port: int = 8089,
    processes: int = 1,
    surroundings: Mapping[str, str] | None = None,
    host: str = LOOPBACK,
) -> Iterator[tuple["subprocess.Popen[bytes]", Channel]]:
    """The page for the length of a block, and the channel to it. Afterwards no process of Locust is left.

    `surroundings` are further environment variables, such as where the servers are. Raises LiveFailed.
    """
    require_port(port, host)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        variables = {**(surroundings or {}), FD_VARIABLE: str(theirs.fileno())}
        command = live_command(systems, port, processes, host)
        with locust_running(command, variables, inherits=(theirs.fileno(),)) as process:
            theirs.close()  # the child has it: its end is then seen here
            # An end of its own, for whoever reads what the child still says as it ends, and then closes it.
            yield process, Channel(ours.dup())
