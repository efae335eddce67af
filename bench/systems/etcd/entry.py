"""Where a client's key lies in a lock's queue, and how lock keys become etcd keys."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Entry:
    """One client's own key in a queue. `lease_id` is the session's; `owner` makes the key unlike any other, ever."""

    lock_key: str
    lease_id: int
    owner: str

    @property
    def queue(self) -> bytes:
        """The prefix of the whole queue. A slash within the lock's key is encoded, so no queue lies inside another."""
        return f"lockbench/{quote(self.lock_key, safe='')}/".encode()

    @property
    def queue_end(self) -> bytes:
        """The first key after all keys of the queue."""
        return self.queue[:-1] + bytes([self.queue[-1] + 1])

    @property
    def key(self) -> bytes:
        return self.queue + self._name

    @property
    def void(self) -> bytes:
        """Where a mark is left when the join must never take effect any more. Beside the queues, not in one."""
        return b"lockbench-void/" + self._name

    @property
    def _name(self) -> bytes:
        return f"{self.lease_id:x}-{quote(self.owner, safe='')}".encode()
