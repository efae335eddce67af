"""The lock service behind `memory`: leases, fencing tokens and one first-in-first-out queue a key, in one process.

Instants are nanoseconds of the calling client's monotonic clock; all clients of one store must read the same clock.
"""

import threading
from collections import deque
from dataclasses import dataclass, field

from bench.servers.endpoint import Endpoint

NS_PER_MS = 1_000_000


@dataclass(slots=True)
class Waiter:
    """A queued request. `token` and `leased_ns`, the instant the lease began, are set when the lock is handed over."""

    owner: str
    ttl_ms: int
    handed_over: threading.Event = field(default_factory=threading.Event)
    token: int | None = None
    leased_ns: int = 0


@dataclass(slots=True)
class _Lock:
    owner: str | None = None
    ends_ns: int = 0
    queue: deque[Waiter] = field(default_factory=deque)


class Store:
    """Every operation first ends the leases that have run out, so expiry needs no thread of its own.

    `requests` counts what clients asked, as a server does; `holder` and `entries` are looks from outside.
    """

    def __init__(self) -> None:
        self.requests = 0
        self._mutex = threading.Lock()
        self._locks: dict[str, _Lock] = {}
        self._tokens: dict[str, int] = {}  # outlives the locks: a count that restarts would hand out a token twice

    def take(self, key: str, owner: str, ttl_ms: int, now_ns: int) -> int | None:
        """Grant a free key and return its token; None when it is held. Nobody overtakes the queue."""
        with self._mutex:
            lock = self._asked(key, now_ns)
            if lock.owner is not None:
                return None
            return self._grant(key, lock, owner, ttl_ms, now_ns)

    def enqueue(self, key: str, owner: str, ttl_ms: int, now_ns: int, jump: bool = False) -> Waiter:
        """Join the queue, at its end; the key is handed over at once when it is free. `jump` is for planted faults."""
        waiter = Waiter(owner, ttl_ms)
        with self._mutex:
            queue = self._asked(key, now_ns).queue
            queue.insert(0 if jump else len(queue), waiter)
            self._settled(key, now_ns)
        return waiter

    def next_change_ns(self, key: str, now_ns: int) -> int:
        """Hand the key over if its lease has run out; return the end of the present one: a waiter sleeps till then."""
        with self._mutex:
            return self._asked(key, now_ns).ends_ns

    def withdraw(self, key: str, waiter: Waiter, now_ns: int) -> bool:
        """Leave the queue. False: the key was handed over in the meantime, and the waiter holds it."""
        with self._mutex:
            lock = self._asked(key, now_ns)
            if waiter.token is not None:
                return False
            lock.queue.remove(waiter)
            self._forget_if_idle(key, lock)
            return True

    def forget(self, key: str, owner: str, now_ns: int) -> None:
        """Leave nothing of `owner`, whether it waits, holds, or neither."""
        with self._mutex:
            lock = self._asked(key, now_ns)
            lock.queue = deque(waiter for waiter in lock.queue if waiter.owner != owner)
            if lock.owner == owner:
                lock.owner = None
                self._settled(key, now_ns)
            self._forget_if_idle(key, lock)

    def renew(self, key: str, owner: str, ttl_ms: int, now_ns: int) -> bool:
        """Replace what remains of the lease by `ttl_ms`. False: `owner` does not hold the key."""
        with self._mutex:
            lock = self._asked(key, now_ns)
            if lock.owner != owner:
                self._forget_if_idle(key, lock)
                return False
            lock.ends_ns = now_ns + ttl_ms * NS_PER_MS
            return True

    def release(self, key: str, owner: str, now_ns: int) -> bool:
        """Free the key and hand it to the first in the queue. False: `owner` does not hold it, and nothing changed."""
        with self._mutex:
            lock = self._asked(key, now_ns)
            held = lock.owner == owner
            if held:
                lock.owner = None
                self._settled(key, now_ns)
            self._forget_if_idle(key, lock)
            return held

    def wake_all(self, key: str) -> None:
        """Wake everybody in the queue, whose turn it is or not. For planted faults."""
        with self._mutex:
            for waiter in self._locks[key].queue if key in self._locks else ():
                waiter.handed_over.set()

    def holder(self, key: str, now_ns: int) -> tuple[str, int] | None:
        """Owner of the key and the end of its lease; None when it is free."""
        with self._mutex:
            lock = self._settled(key, now_ns)
            self._forget_if_idle(key, lock)
            return None if lock.owner is None else (lock.owner, lock.ends_ns)

    def entries(self, key: str, now_ns: int) -> list[str]:
        """Who holds and who queues for the key, as the store sees it: what a timed-out client must not stay in."""
        with self._mutex:
            lock = self._settled(key, now_ns)
            self._forget_if_idle(key, lock)
            held = [] if lock.owner is None else [f"holder {lock.owner}"]
            return held + [f"waiter {waiter.owner}" for waiter in lock.queue]

    def _asked(self, key: str, now_ns: int) -> _Lock:
        self.requests += 1
        return self._settled(key, now_ns)

    def _settled(self, key: str, now_ns: int) -> _Lock:
        lock = self._locks.setdefault(key, _Lock())
        if lock.owner is not None and now_ns >= lock.ends_ns:
            lock.owner = None
        if lock.owner is None and lock.queue:
            first = lock.queue.popleft()
            first.leased_ns = now_ns
            first.token = self._grant(key, lock, first.owner, first.ttl_ms, now_ns)
            first.handed_over.set()
        return lock

    def _grant(self, key: str, lock: _Lock, owner: str, ttl_ms: int, now_ns: int) -> int:
        lock.owner, lock.ends_ns = owner, now_ns + ttl_ms * NS_PER_MS
        self._tokens[key] = self._tokens.get(key, 0) + 1
        return self._tokens[key]

    def _forget_if_idle(self, key: str, lock: _Lock) -> None:
        if lock.owner is None and not lock.queue:
            self._locks.pop(key, None)


_STORES: dict[tuple[tuple[str, int], ...], Store] = {}
_STORES_MUTEX = threading.Lock()


def store_at(endpoint: Endpoint) -> Store:
    """The one store of this process at these addresses, made when first asked for."""
    with _STORES_MUTEX:
        return _STORES.setdefault(endpoint.addresses, Store())
