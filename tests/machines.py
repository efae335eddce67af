"""Machines of a test's own: network namespaces with an address each, on one wire. They end with whoever holds them.

They have no name that the kernel would keep: a test that is killed leaves none behind.
"""

import ctypes
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_OWN = "/proc/thread-self/ns/net"


class Refused(Exception):
    """The kernel makes no namespaces for this account."""


class Machine:
    """One of them; `address` on the wire that they share."""

    def __init__(self, descriptor: int, address: str) -> None:
        self._descriptor, self.address = descriptor, address

    @contextmanager
    def inside(self) -> Iterator[None]:
        """This thread, its new sockets and its new processes are on this machine for a block."""
        outside = os.open(_OWN, os.O_RDONLY)
        try:
            _call(_LIBC.setns(self._descriptor, _CLONE_NEWNET))
            try:
                yield
            finally:
                _call(_LIBC.setns(outside, _CLONE_NEWNET))
        finally:
            os.close(outside)

    @property
    def path(self) -> str:
        """By which `ip` finds it."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"


@contextmanager
def machines(count: int) -> Iterator[Sequence[Machine]]:
    """So many, 10.77.0.1 and following. The first has the switch. Raises Refused, OSError."""
    with ExitStack() as held:
        found = [Machine(_namespace(held), f"10.77.0.{number}") for number in range(1, count + 1)]
        switch, *others = found
        with switch.inside():
            _ip("link add wire type bridge")
            _ip(f"addr add {switch.address}/24 dev wire")
            _ip("link set wire up")
            _ip("link set lo up")
            for number, other in enumerate(others):
                _ip(f"link add port{number} type veth peer name wire netns {other.path}")
                _ip(f"link set port{number} master wire up")
        for other in others:
            with other.inside():
                _ip(f"addr add {other.address}/24 dev wire")
                _ip("link set wire up")
                _ip("link set lo up")
        yield found


def _namespace(held: ExitStack) -> int:
    """A new one, as a descriptor."""
    outside = os.open(_OWN, os.O_RDONLY)
    try:
        if _LIBC.unshare(_CLONE_NEWNET) < 0:
            raise Refused(os.strerror(ctypes.get_errno()))
        descriptor = os.open(_OWN, os.O_RDONLY)
        held.callback(os.close, descriptor)
        _call(_LIBC.setns(outside, _CLONE_NEWNET))
        return descriptor
    finally:
        os.close(outside)


def _call(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _ip(words: str) -> None:
    done = subprocess.run(["ip", *words.split()], capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise OSError(f"ip {words}: {done.stderr.strip()}")
