"""Where a key's queue lives in ZooKeeper, and who is before whom in it. Pure functions; nothing here asks a server."""

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

_SEQUENCE = re.compile(r"_(-?\d{9,10})$")  # printed as %010d


@lru_cache(maxsize=4_096)
def parent_path(root: str, key: str) -> str:
    """The node below `root` under which the contenders of `key` queue.

    Percent-encoded as a URL would be, because ZooKeeper refuses some Unicode ranges and splits at slashes. The dot is
    encoded too: `.` and `..` are not allowed as names. The encoding is one-to-one, so two keys never share a queue.
    """
    return f"{root}/{quote(key, safe='').replace('.', '%2E')}"


def node_prefix(owner: str) -> str:
    """The name that a contender asks for; the server appends the sequence number.

    The owner is in the name, so a create whose reply was lost is found again by listing the queue (the GUID of Apache
    Curator's protected creation serves the same end).
    """
    return f"{quote(owner, safe='').replace('.', '%2E')}_"


def sequence_of(name: str) -> int | None:
    """The number the server appended to a contender's name; None for a node that is none.

    It counts the creates under one parent, in a signed 32-bit number that turns negative after 2^31 of them. Names are
    never compared as text: owners differ in length and spelling.
    """
    match = _SEQUENCE.search(name)
    return int(match[1]) if match else None


def own_name(names: Iterable[str], prefix: str) -> str | None:
    """The contender that asked for `prefix`, if the server created it."""
    return next((name for name in names if name.startswith(prefix)), None)


def predecessor(names: Iterable[str], own: str) -> str | None:
    """The contender directly before `own`, the only one worth watching; None when `own` is first and holds the lock.

    Watching only the predecessor wakes one waiter per release instead of all of them. ValueError: `own` has no number.
    """
    limit = sequence_of(own)
    if limit is None:
        raise ValueError(f"{own!r} is not the name of a contender")
    ahead = ((number, name) for name in names if (number := sequence_of(name)) is not None and number < limit)
    return max(ahead, default=(0, None))[1]
