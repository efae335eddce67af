"""What is set around lockbench and is no setting of its own: how much of it our connections and our servers see."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bench.errors import LockbenchError

READ_BY_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# With one of these, a name leads elsewhere than in other programs: hostname(7) and resolver(5) of the C library, and
# gevent's own resolvers ("gevent.config" in its documentation). By beginnings.
_DECIDE_NAMES = ("HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "GEVENT_RESOLVER", "GEVENTARES_")
_hiding = threading.Lock()


class NameInDoubt(LockbenchError):
    """A variable decides where the name of a server leads; the message says which, and what to do."""


def environment_without(hidden: tuple[str, ...]) -> dict[str, str]:
    """Our environment, less the variables whose names begin with one of `hidden`."""
    return {name: value for name, value in os.environ.items() if not name.startswith(hidden)}


@contextmanager
def unseen(hidden: tuple[str, ...]) -> Iterator[None]:
    """Hide such variables from the calls in the block, and no longer: the environment is the user's. Never waits in it.

    The lock keeps one thread from putting back what another's call must not see, and from finding nothing to hide only
    because another hides it. It is let go where nothing is set.
    """
    with _hiding:
        before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(hidden)}
        if before:
            try:
                yield
            finally:
                os.environ.update(before)
    if not before:
        yield


def check_names(addresses: tuple[tuple[str, int], ...], environment: Mapping[str, str] = os.environ) -> None:
    """Raise NameInDoubt where an address is a name, and a variable would decide where it leads.

    The C library reads them in whichever thread looks a name up, some of them once a thread: they cannot be hidden.
    """
    named = [host for host, _ in addresses if not (":" in host or host.replace(".", "").isdecimal())]
    deciding = sorted(name for name, value in environment.items() if name.startswith(_DECIDE_NAMES) and value)
    if named and deciding:
        raise NameInDoubt(f"{deciding[0]} decides where {named[0]!r} leads: unset it, or write the server's address")
