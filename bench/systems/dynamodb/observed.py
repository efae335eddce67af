"""How long each held record has been seen unchanged: what tells a dead holder from a living one without its clock."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.systems.dynamodb.item import Item

KEYS_MAX = 10_000  # then the oldest observation is forgotten, and would have to begin again


@dataclass(frozen=True, slots=True)
class _Seen:
    version: str
    since_ns: int
    lease_ns: int


class Observed:
    """What one client has seen of the records that it wants, kept from one acquire to the next.

    A holder writes a new version with every renewal, and believes in its lease from before it wrote. Whoever sees one
    version for as long as the lease that is written beside it, counted from *after* the first reading, knows that the
    holder has given up its grant by now. Both count on monotonic clocks of their own; only the rates must agree.
    """

    def __init__(self, monotonic_ns: Callable[[], int]) -> None:
        self._now_ns = monotonic_ns
        self._seen: dict[str, _Seen] = {}

    def note(self, key: str, item: Item) -> None:
        """After reading a held item."""
        now_ns = self._now_ns()
        version, seen = item["version"], self._seen.get(key)
        if version is None or item["holder"] is None:
            self._seen.pop(key, None)
        elif seen is None or seen.version != version:
            if len(self._seen) >= KEYS_MAX:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = _Seen(version, now_ns, int(item["lease_ms"] or 0) * 1_000_000)

    def lapsed(self, key: str) -> str | None:
        """The version that has been there for its whole lease, as far as is known: take the key if it still is."""
        seen = self._seen.get(key)
        over = seen is not None and self._now_ns() - seen.since_ns >= seen.lease_ns
        return seen.version if seen is not None and over else None

    def forget(self, key: str) -> None:
        """The key is ours now."""
        self._seen.pop(key, None)
