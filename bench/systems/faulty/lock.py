"""`faulty`: the in-process lock with planted faults, each of a kind that the bench must be able to see.

Without a fault it behaves as `memory` does, and it has a wire (`link.py`) that can fail, so it also shows the right
answers of a client whose replies are lost. See `faults.FAULTS` for what can be planted.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import ClassVar, TypeVar

from bench.systems.base import RELEASED, Capabilities, Grant, Outcome, Refusal, Released, ServerFacts
from bench.systems.faulty.faults import chosen, latency_us
from bench.systems.faulty.link import LINKS, ConnectionCutError, Link, NoReplyError, WakeUp, gate_at
from bench.systems.memory.lock import MemoryLock
from bench.systems.memory.store import NS_PER_MS, Waiter
from bench.systems.wait import Wait

T = TypeVar("T")

_SERIAL = threading.RLock()
_YEAR_MS = 365 * 86_400_000


class FaultyLock(MemoryLock):
    """One client with the faults of its own `ClientOptions.variant`; the store behind it is a sound one."""

    capabilities: ClassVar[Capabilities] = replace(
        MemoryLock.capabilities,
        fencing_source="counter of the key, or a planted fault",
        wait_strategies=(*MemoryLock.capabilities.wait_strategies, "queue"),
    )

    def _connect(self) -> None:
        super()._connect()
        variant = self.options.variant
        self._faults = chosen(variant)
        self._every = int(variant.get("every", "5"))
        self._stall = (int(variant.get("stall_at", "100")), int(variant.get("stall_ms", "1000")))
        seed = f"{variant.get('seed', '1')}/{self.options.client}"
        self._latency_us = latency_us(variant.get("latency", "constant:1000"), seed)
        self._spins = variant.get("pause") == "spin"
        self._tells_time = variant.get("token") == "took"
        self._struck: dict[str, int] = {}
        self._granted = self._closes = 0
        self._forged: set[str] = set()  # owners of grants that the store never made
        self._looks_every_s: float | None = None  # while it waits by `queue`, which is woken over the link
        self._link = LINKS.get(self.endpoint.options.get("link", ""), Link())
        self._seen = (self._link.cuts, self._link.silences)
        gate_at(self.endpoint.addresses).connect(1)

    # Acquire

    def acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        """The contract's acquire, less its checks where a fault leaves them out."""
        began_ns = self.clock.monotonic_ns()
        with self._serialised():
            if (self._has("zero-ttl") and ttl_ms <= 0) or self._has("keys-unchecked"):
                unchecked = self._acquire(key, ttl_ms, timeout_ms, wait)
                self._begun = None
                return unchecked
            answer = super().acquire(key, ttl_ms, timeout_ms, wait)
        if self._tells_time and isinstance(answer, Grant):
            return replace(answer, token=self.clock.monotonic_ns() - began_ns)
        return answer

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        if self._has("stall"):
            gate_at(self.endpoint.addresses).enter(*self._stall, self.clock)
        if self._has("latency"):
            self._be_late(self._latency_us())
        if self._has("keys-ascii") and not all(32 < ord(letter) < 127 for letter in key):
            return Refusal(Outcome.ERROR, "planted: the key has letters outside ASCII")
        if self._has("try-waits") and wait.strategy == "try":
            wait, timeout_ms = Wait.parse("poll-5ms"), 1_200
        self._looks_every_s = wait.interval_ms / 1000.0 if wait.strategy == "queue" else None
        if wait.strategy == "queue":
            wait = Wait("block")
        cuts = self._link.cuts
        answer = super()._acquire(self._stored(key), ttl_ms, timeout_ms, wait)
        if isinstance(answer, Grant):
            return replace(answer, key=key, token=self._token(answer.token))
        if answer.outcome is Outcome.TIMEOUT and self._has("acquire-hangs"):
            self.clock.sleep(3)  # pace: the planted hang
        broken = answer.outcome in (Outcome.ERROR, Outcome.UNKNOWN) or self._link.cuts > cuts
        if broken and self._has("broken-wait-hangs"):
            self.clock.sleep(timeout_ms / 1000 + 5)  # pace: the planted hang
        return answer

    def _ask(self, key: str, owner: str, ttl_ms: int) -> Grant | Refusal:
        kept_ms = ttl_ms // 2 if self._has("early-expiry") else _YEAR_MS if self._has("never-expires") else ttl_ms
        try:
            if self._has("extra-round-trip"):
                self._carry(lambda: None)
            answer = self._carry(lambda: super(FaultyLock, self)._ask(key, owner, kept_ms))
        except NoReplyError:
            if self._has("undo-by-name"):
                self._store.release(key, owner, self.clock.monotonic_ns())
            busy = self._has("lost-reply-busy")
            return Refusal(Outcome.BUSY if busy else Outcome.UNKNOWN, "no reply to the acquire")
        except ConnectionCutError:
            return Refusal(Outcome.ERROR, "the connection was closed before the acquire was sent")
        if isinstance(answer, Refusal):
            return self._refused(answer, key, owner, ttl_ms)
        answer = replace(answer, ttl_ms=ttl_ms, deadline_ns=self._deadline_ns(ttl_ms))
        if self.clock.monotonic_ns() >= (answer.deadline_ns or 0) and not self._has("late-grant"):
            # Granted, and already over when the reply came: whoever got "acquired" now would act without a lease.
            self._store.release(key, owner, self.clock.monotonic_ns())
            return Refusal(Outcome.TIMEOUT, "the grant took longer than its own lease")
        return answer

    def _refused(self, refusal: Refusal, key: str, owner: str, ttl_ms: int) -> Grant | Refusal:
        if self._has("contender-dies"):
            raise TypeError("planted: a contended acquire raises")
        if self._has("missed-wake"):
            self.clock.sleep(2)  # pace: the planted deafness
        if self._strikes("double-grant"):
            self._forged.add(owner)
            return Grant(key, owner, 0, ttl_ms, self._sent_ns + ttl_ms * NS_PER_MS)
        return refusal

    def _queue(self, key: str, owner: str, ttl_ms: int, until_ns: int) -> Grant | Refusal:
        answer = super()._queue(key, owner, ttl_ms, until_ns)
        if isinstance(answer, Refusal) and self._has("timeout-leaves-entry"):
            self._store.enqueue(key, owner, ttl_ms, self.clock.monotonic_ns())
        return answer

    def _join(self, key: str, owner: str, ttl_ms: int, now_ns: int) -> Waiter:
        waiter = self._store.enqueue(key, owner, ttl_ms, now_ns, jump=self._has("queue-jump"))
        if self._looks_every_s is not None:
            waiter.handed_over = WakeUp(self._link)
        return waiter

    def _sleep(self, waiter: Waiter, within_s: float) -> None:
        if self._looks_every_s is not None and not self._has("lost-wake-up"):
            within_s = min(within_s, self._looks_every_s)
        super()._sleep(waiter, within_s)
        if self._has("herd"):
            waiter.handed_over.clear()  # whose turn it is has a token by now
        if self._has("slow-hand-off") and waiter.token is not None:
            self.clock.sleep(0.02)  # pace: the planted delay

    def _abandon(self, key: str, owner: str) -> None:
        if self._has("interrupted-again-stays"):
            self._begun = None
            self.clock.sleep(0.01)  # pace: the clean-up, for long enough to be interrupted
        if not self._has("interrupted-stays"):
            super()._abandon(key, owner)

    def _be_late(self, delay_us: float) -> None:
        if not self._spins:
            self.clock.sleep(delay_us / 1e6)  # pace: the planted delay
            return
        until_ns = self.clock.monotonic_ns() + round(delay_us * 1_000)
        while self.clock.monotonic_ns() < until_ns:
            pass

    def _token(self, token: int | None) -> int | None:
        if self._has("token-restarts"):
            self._granted += 1
            return self._granted
        back = 2 if self._strikes("token-falls") else 1 if self._strikes("token-repeats") else 0
        return None if token is None else token - back

    # Hold

    def renew(self, grant: Grant, ttl_ms: int | None = None) -> Grant | Refusal:
        """The contract's renew, less its checks where a fault leaves them out."""
        with self._serialised():
            if self._has("zero-ttl") and ttl_ms is not None and ttl_ms <= 0:
                return self._renew(grant, ttl_ms)
            if self._has("renew-takes-over"):
                return self._renew(grant, grant.ttl_ms)
            return super().renew(grant, ttl_ms)

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        if self._has("renew-forgets"):
            return replace(grant, deadline_ns=self.clock.monotonic_ns() + ttl_ms * NS_PER_MS)
        stored = replace(grant, key=self._stored(grant.key))
        try:
            answer = self._carry(lambda: super(FaultyLock, self)._renew(stored, self._renewed_ms(stored, ttl_ms)))
        except NoReplyError:
            return Refusal(Outcome.UNKNOWN, "no reply to the renewal")
        except ConnectionCutError:
            if self._has("renew-unsent"):
                return replace(grant, deadline_ns=self.clock.monotonic_ns() + ttl_ms * NS_PER_MS)
            return Refusal(Outcome.ERROR, "the connection was closed before the renewal was sent")
        if isinstance(answer, Refusal):
            return self._gone(grant, stored, ttl_ms, answer)
        deadline_ns = self._deadline_ns(ttl_ms)
        if self.clock.monotonic_ns() >= deadline_ns and not self._has("late-renewal"):
            return Refusal(Outcome.LOST, "the renewal took longer than the lease")
        token = grant.token + 1 if grant.token and self._has("renew-new-token") else grant.token
        return replace(grant, token=token, ttl_ms=ttl_ms, deadline_ns=deadline_ns)

    def _deadline_ns(self, ttl_ms: int) -> int:
        from_ns = self.clock.monotonic_ns() if self._has("deadline-from-reply") else self._sent_ns
        return from_ns + ttl_ms * NS_PER_MS

    def _renewed_ms(self, stored: Grant, ttl_ms: int) -> int:
        now_ns = self.clock.monotonic_ns()
        held = self._store.holder(stored.key, now_ns)
        if not self._has("renew-adds") or held is None:
            return ttl_ms
        return ttl_ms + (held[1] - now_ns) // NS_PER_MS

    def _gone(self, grant: Grant, stored: Grant, ttl_ms: int, refusal: Refusal) -> Grant | Refusal:
        now_ns = self.clock.monotonic_ns()
        held = self._store.holder(stored.key, now_ns)
        if not self._has("renew-takes-over" if held else "renew-recreates"):
            return refusal
        if held:
            self._store.release(stored.key, held[0], now_ns)
        self._store.take(stored.key, grant.owner, ttl_ms, now_ns)
        return replace(grant, deadline_ns=now_ns + ttl_ms * NS_PER_MS)

    def release(self, grant: Grant) -> Released | Refusal:
        """The contract's release, which remembers what was released but for a fault."""
        with self._serialised():
            if self._has("release-always-ok"):
                return self._release(grant)
            return super().release(grant)

    def _release(self, grant: Grant) -> Released | Refusal:
        if grant.owner in self._forged:
            return RELEASED
        stored = replace(grant, key=self._stored(grant.key))
        held = self._store.holder(stored.key, self.clock.monotonic_ns())
        if held and self._has("release-frees-other"):
            stored = replace(stored, owner=held[0])
        try:
            answer = self._carry(lambda: super(FaultyLock, self)._release(stored))
        except NoReplyError:
            return Refusal(Outcome.UNKNOWN, "no reply to the release")
        except ConnectionCutError:
            return Refusal(Outcome.ERROR, "the connection was closed before the release was sent")
        if self._has("herd"):
            self._store.wake_all(stored.key)
        return RELEASED if self._has("release-always-ok") else answer

    def lost(self, grant: Grant) -> str | None:
        """The contract's answer, or silence."""
        if self._has("loss-cried"):
            return "planted: said to be lost"
        return None if self._has("loss-untold") else super().lost(grant)

    def _next_owner(self) -> str:
        owner = super()._next_owner()
        return f"{self.options.client}-{self._grants}" if self._has("undo-by-name") else owner

    # Session

    def close(self) -> None:
        """Close once; a planted fault makes the second close raise."""
        self._closes += 1
        if self._closes == 2 and self._has("close-twice-fails"):
            raise RuntimeError("planted: closed twice")
        super().close()

    def _close(self) -> None:
        if not self._closed and not self._has("closed-stays-connected"):
            gate_at(self.endpoint.addresses).connect(-1)
        super()._close()

    def _server_facts(self) -> ServerFacts:
        """Facts of the store, or nothing."""
        return ServerFacts("", "", {}, 0) if self._has("no-facts") else super()._server_facts()

    def _check_open(self) -> None:
        if self._closed and self._has("closed-client-hangs"):
            self.clock.sleep(5)  # pace: the planted hang
        if not self._has("closed-client-grants"):
            super()._check_open()

    def _carry(self, operation: Callable[[], T]) -> T:
        """One request over the wire."""
        self._sent_ns = self.clock.monotonic_ns()
        if self._seen != (self._link.cuts, self._link.silences):
            self._connect_again()
        return self._link.carry(operation, self.clock, self.options.call_timeout_ms)

    def _connect_again(self) -> None:
        """Replace a connection that was ended, or was silent for a share of the lease: nothing was sent over it."""
        cuts, silences = self._seen
        if silences != self._link.silences:
            self.clock.sleep(self.options.ttl_ms / 4_000)  # pace: what a client waits for a sign of life
            if self._has("silence-unnoticed"):
                raise NoReplyError
        if self._has("recovers-only-nearby") and self._link.delay_ms > 10:
            raise ConnectionCutError
        self._seen = (self._link.cuts, self._link.silences)
        if cuts != self._link.cuts and (self._has("idle-end-costs") or self._has("renew-unsent")):
            raise ConnectionCutError

    # How faults are chosen

    def _has(self, fault: str) -> bool:
        return fault in self._faults

    def _strikes(self, fault: str) -> bool:
        """Whether a fault of the now-and-then kind strikes at this call: at each n-th of this client."""
        if fault not in self._faults:
            return False
        self._struck[fault] = self._struck.get(fault, 0) + 1
        return self._struck[fault] % self._every == 0

    def _stored(self, key: str) -> str:
        if self._has("global-mutex"):
            return "the only key"
        if self._has("keys-truncated"):
            key = key[:64]
        return key.casefold() if self._has("keys-casefolded") else key

    def _serialised(self) -> AbstractContextManager[object]:
        return _SERIAL if self._has("serial-client") else nullcontext()
