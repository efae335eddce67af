"""An item as a lock: taken, renewed and freed by conditional updates, and never deleted, so its count of grants stays.

A lease is judged by whoever wants the key. DynamoDBLock waits until the record has not changed for a whole lease on its
*own monotonic* clock: no two clocks are compared. ClientClockDynamoDBLock reads the time of expiry that the holder
wrote, and so compares two wall clocks.
"""

from dataclasses import replace
from typing import ClassVar

from bench.systems.apart import ApartClient, Cut, Job, apart
from bench.systems.base import RELEASED, Capabilities, Grant, Outcome, Refusal, Released, ServerFacts
from bench.systems.dynamodb.calls import ConditionFailed, NoAnswer, NotDone, shared_client
from bench.systems.dynamodb.item import Clause, Item, LockItems, numbers, texts
from bench.systems.dynamodb.observed import Observed
from bench.systems.dynamodb.tables import require_tables, server_facts
from bench.systems.polling import ask_until
from bench.systems.wait import POLLING, Wait

_TABLES_WITHIN_S = 30.0


class DynamoDBLock(ApartClient):
    """Safe whatever the wall clocks show, as long as monotonic clocks run at about the same rate."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        fencing_source="count in the item, raised by each grant",
        token_rises=True,
        expiry_judge="client",
        lease_clock="monotonic",  # a lease is over when its record has stayed the same for that long by the own clock
        lease_scope="grant",
        queue_order="none",
        durability="as the engine says: the service replicates, emulators keep memory",
        nodes=1,
        quorum=1,
        wait_strategies=("try", *POLLING),
        # One conditional update each. Durable never, as far as can be seen: the emulators keep memory, and the service
        # writes to several zones out of its clients' sight. Over a network it has no floor that could be computed here.
    )
    # The owner is the newest attempt's: what is found of it later can only be of this one.
    _closed, _owner = False, ""

    @apart
    def _connect(self) -> None:
        # A connection may have fallen silent: a renewal over it must fail early enough for another over a new one.
        self._client = shared_client(self.endpoint, max(1, min(self.options.call_timeout_ms, self.options.ttl_ms // 3)))
        self._items = LockItems(self._client)
        self._observed = Observed(self.clock.monotonic_ns)
        self._renewals = 0
        require_tables(self._client, self.endpoint, _TABLES_WITHIN_S)

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        job = Job(self._take, cut := Cut(), key, ttl_ms, timeout_ms, wait)
        self._owner, self._begun = "", (job, cut, key)
        return self._apart.done(job)

    def _abandon(self, job: Job[Grant | Refusal], cut: Cut, key: str) -> None:
        """After the call under way: an update whose answer nobody waits for could be carried out after its undoing."""
        self._apart.ended(job, cut, 4 * self.options.call_timeout_ms / 1000)
        self._apart.do(self._items.undo, key, self._owner)

    def _take(self, cut: Cut, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        def attempt() -> Grant | Refusal:
            if self._closed or cut.reason:
                return Refusal(Outcome.ERROR, cut.reason or "this client is closed")
            return self._ask(key, ttl_ms)

        return ask_until(self.clock, wait, timeout_ms, attempt)

    def _ask(self, key: str, ttl_ms: int) -> Grant | Refusal:
        """One attempt. The owner's name is new each time."""
        self._owner = owner = self._next_owner()
        deadline_ns = self.clock.monotonic_ns() + ttl_ms * 1_000_000
        try:
            item = self._items.take(key, owner, self._free(key), self._lease(ttl_ms))
        except ConditionFailed as refused:
            self._look(key, refused)
            return Refusal(Outcome.BUSY, "another holds the item")
        except NotDone as refused:
            return Refusal(Outcome.ERROR, str(refused))
        except NoAnswer as lost:
            found = self._items.read(key)
            if found is None or found["holder"] != owner:
                # Not seen, or not there yet: the request may still be on its way, and then this one comes after it.
                self._items.undo(key, owner)
                return Refusal(Outcome.UNKNOWN, str(lost))
            item = found
        self._observed.forget(key)
        if self.clock.monotonic_ns() >= deadline_ns:
            undone = self._items.undo(key, owner)
            return Refusal(Outcome.ERROR if undone else Outcome.UNKNOWN, f"granted after more than its {ttl_ms} ms")
        return Grant(key, owner, int(item["fence"] or 0), ttl_ms, deadline_ns)

    def _free(self, key: str) -> Clause:
        """On which condition the key may be taken now."""
        lapsed = self._observed.lapsed(key)
        if lapsed is None:
            return Clause("attribute_not_exists(holder)")
        return Clause("attribute_not_exists(holder) OR version = :lapsed", texts(lapsed=lapsed))

    def _lease(self, ttl_ms: int) -> Clause:
        """What is written of a lease."""
        return Clause("lease_ms = :lease", numbers(lease=ttl_ms))

    def _look(self, key: str, refused: ConditionFailed) -> None:
        """Learn who is there: from the refusal, where the engine says it, else by a read."""
        item = self._items.read(key) if refused.item is None else Item(refused.item)
        if item is not None:
            self._observed.note(key, item)

    @apart
    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        self._renewals += 1
        version = f"{grant.owner}/{self._renewals}"
        deadline_ns = self.clock.monotonic_ns() + ttl_ms * 1_000_000
        try:
            self._items.prolong(grant.key, grant.owner, version, self._lease(ttl_ms))
        except ConditionFailed:
            return Refusal(Outcome.LOST, "the item has another holder, or none")
        except NotDone as refused:
            return Refusal(Outcome.ERROR, str(refused))
        except NoAnswer as lost:
            found = self._items.read(grant.key)
            if found is None or found["version"] != version:
                return Refusal(Outcome.UNKNOWN, str(lost))
        if self.clock.monotonic_ns() >= deadline_ns:
            self._items.undo(grant.key, grant.owner)
            return Refusal(Outcome.LOST, f"the renewal took longer than its {ttl_ms} ms")
        return replace(grant, ttl_ms=ttl_ms, deadline_ns=deadline_ns)

    @apart
    def _release(self, grant: Grant) -> Released | Refusal:
        try:
            self._items.free(grant.key, grant.owner)
        except ConditionFailed:
            return Refusal(Outcome.LOST, "the item has another holder, or none")
        except NotDone as refused:
            return Refusal(Outcome.ERROR, str(refused))
        except NoAnswer as lost:
            found = self._items.read(grant.key)
            # Every grant raises the count: where ours still stands, and no holder, it was this release that freed it.
            if found is None or found["holder"] is not None or found["fence"] != str(grant.token):
                return Refusal(Outcome.UNKNOWN, str(lost))
        return RELEASED

    def _close(self) -> None:
        """There is no session to end: what is held stays until its lease is over, as after a crash."""
        self._closed = True
        self._apart.end()

    @apart
    def _server_facts(self) -> ServerFacts:
        return server_facts(self._client, self.endpoint)
