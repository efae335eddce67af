"""Loopback ports of private servers: free ones, and whether somebody listens at one."""

import random
import socket
from collections.abc import Iterable
from contextlib import ExitStack

from bench.errors import LockbenchError

# Below the kernel's usual range for outgoing connections (32768-60999): a client's own port can then never sit on a
# server's port while that server is being restarted.
_RANGE = range(20_000, 32_000)
_LET_IN_WITHIN_S = 1.0


class PortTaken(LockbenchError):
    """A port that the user asked for belongs to someone else."""


def free_ports(count: int) -> tuple[int, ...]:
    """`count` distinct TCP ports, drawn at random, that nobody listens on at 127.0.0.1 now.

    Between this call and the server's own bind another process may take one: the server then exits, and the supervisor
    says so.
    """
    found: list[int] = []
    with ExitStack() as held:
        for port in random.sample(_RANGE, len(_RANGE)):
            if len(found) == count:
                return tuple(found)
            if _bind(held, port) is None:
                found.append(port)
    raise PortTaken(f"no {count} free ports in {_RANGE.start}-{_RANGE.stop} on 127.0.0.1")


def claim_ports(ports: Iterable[int], host: str = "127.0.0.1") -> tuple[int, ...]:
    """The same ports, when nobody listens on any of them. Raises PortTaken with the first that is taken, or where the
    address is none of this machine's."""
    claimed = tuple(ports)
    with ExitStack() as held:
        for port in claimed:
            refusal = _bind(held, port, host)
            if refusal is not None and host != "127.0.0.1":
                raise PortTaken(f"port {port} cannot be had there ({refusal})")
            if refusal is not None:
                raise PortTaken(
                    f"port {port} on 127.0.0.1 is taken ({refusal}). Choose another first_port in lockbench.toml, "
                    "or leave it out and lockbench picks free ports"
                )
    return claimed


def lets_in(host: str, port: int) -> bool:
    """Is a connection let in there?"""
    try:
        socket.create_connection((host, port), timeout=_LET_IN_WITHIN_S).close()
    except OSError:
        return False
    return True


def _bind(held: ExitStack, port: int, host: str = "127.0.0.1") -> str | None:
    """Bind and hold a port; None when that worked, else the system's reason."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = held.enter_context(socket.socket(family, socket.SOCK_STREAM))
    try:
        listener.bind((host, port))
    except OSError as refused:
        return refused.strerror or str(refused)
    return None
