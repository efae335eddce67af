"""The item lock's answers when replies are late, lost, or late and lost: against a table in memory with a bad wire."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import RELEASED, ClientOptions, Grant, Outcome, Refusal
from bench.systems.dynamodb.calls import ConditionFailed, NoAnswer, NotDone
from bench.systems.dynamodb.item import Clause, Item
from bench.systems.dynamodb.lock import DynamoDBLock
from bench.systems.dynamodb.observed import Observed
from bench.systems.wait import Wait
from tests.unit.stepping_clock import SteppingClock

T = TypeVar("T")
TRY = Wait("try")
TTL_MS = 1_000


class Clock(SteppingClock):
    """Moved by hand as well."""

    def pass_ms(self, duration_ms: int) -> None:
        self.now_ns += duration_ms * 1_000_000


class Table:
    """The items, and the requests that a lock makes of them, with a place to put a fault into each next request."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, str]] = {}
        self.faults: list[Callable[[Callable[[], Any]], Any]] = []
        self.requests: list[str] = []

    def _request(self, name: str, carry_out: Callable[[], T]) -> T:
        self.requests.append(name)
        fault = self.faults.pop(0) if self.faults else None
        return carry_out() if fault is None else cast(T, fault(carry_out))

    def take(self, key: str, owner: str, free: Clause, lease: Clause) -> Item:
        def carry_out() -> Item:
            item = self.items.setdefault(key, {"fence": "0"})
            lapsed = free.values.get(":lapsed", {}).get("S", "")
            if "holder" in item and item["version"] != lapsed:
                raise ConditionFailed(_typed(item))
            fence = str(int(item["fence"]) + 1)
            item.update(holder=owner, version=owner, fence=fence, lease_ms=lease.values[":lease"]["N"])
            return Item({"fence": {"N": fence}})

        return self._request("take", carry_out)

    def prolong(self, key: str, owner: str, version: str, lease: Clause) -> None:
        def carry_out() -> None:
            self._must_hold(key, owner)
            self.items[key].update(version=version, lease_ms=lease.values[":lease"]["N"])

        self._request("prolong", carry_out)

    def free(self, key: str, owner: str) -> None:
        def carry_out() -> None:
            self._must_hold(key, owner)
            del self.items[key]["holder"]

        self._request("free", carry_out)

    def undo(self, key: str, owner: str) -> bool:
        try:
            self.free(key, owner)
        except ConditionFailed:
            return True
        except NoAnswer:
            return False
        return True

    def read(self, key: str) -> Item | None:
        try:
            return self._request("read", lambda: Item(_typed(self.items.get(key, {}))))
        except NoAnswer:
            return None

    def _must_hold(self, key: str, owner: str) -> None:
        if self.items.get(key, {}).get("holder") != owner:
            raise ConditionFailed(None)


def _typed(item: dict[str, str]) -> dict[str, dict[str, str]]:
    return {name: {"N" if name in ("fence", "lease_ms") else "S": value} for name, value in item.items()}


def done_unheard(carry_out: Callable[[], Any]) -> Any:
    """The request is carried out, and its reply is lost."""
    carry_out()
    raise NoAnswer("silence")


def unheard(carry_out: Callable[[], Any]) -> Any:
    """Neither the request arrives nor a reply."""
    raise NoAnswer("silence")


def refused(carry_out: Callable[[], Any]) -> Any:
    raise NotDone("throttled", "ThrottlingException")


class Lock(DynamoDBLock):
    def _connect(self) -> None:
        self._told: dict[str, str] = {}
        self._renewals = 0
        self._observed = Observed(self.clock.monotonic_ns)


class World:
    """A clock, a table and its clients."""

    def __init__(self) -> None:
        self.clock, self.table = Clock(), Table()

    def client(self, name: str) -> Lock:
        lock = Lock.open(Endpoint((("nowhere", 1),)), ClientOptions(client=name, clock=self.clock))
        lock._items = self.table  # type: ignore[assignment]
        return lock

    def slow(self, by_ms: int) -> Callable[[Callable[[], Any]], Any]:
        def late(carry_out: Callable[[], Any]) -> Any:
            self.clock.pass_ms(by_ms)
            return carry_out()

        return late

    def holder(self, key: str = "k") -> str | None:
        return self.table.items.get(key, {}).get("holder")


@pytest.fixture
def world() -> World:
    return World()


def ask(lock: Lock, timeout_ms: int = 0, wait: Wait = TRY) -> Grant | Refusal:
    return lock.acquire("k", TTL_MS, timeout_ms, wait)


def granted(lock: Lock) -> Grant:
    answer = ask(lock)
    assert isinstance(answer, Grant), answer
    return answer


def outcome(answer: object) -> Outcome:
    assert isinstance(answer, Refusal), answer
    return answer.outcome


def test_a_free_key_is_one_round_trip_and_so_is_its_release(world: World) -> None:
    lock = world.client("a")
    assert lock.release(granted(lock)) is RELEASED
    assert world.table.requests == ["take", "free"]


def test_the_count_survives_release_and_takeover(world: World) -> None:
    one, other = world.client("a"), world.client("b")
    one.release(granted(one))
    assert granted(one).token == 2
    assert outcome(ask(other)) is Outcome.BUSY
    world.clock.pass_ms(TTL_MS)
    assert granted(other).token == 3


def test_tries_of_a_dead_holders_key_succeed_after_one_lease_and_not_before(world: World) -> None:
    granted(world.client("dead"))
    lock = world.client("a")
    for _ in range(10):
        assert outcome(ask(lock)) is Outcome.BUSY
        world.clock.pass_ms(TTL_MS // 10)
    assert granted(lock).token == 2


def test_a_renewing_holder_is_never_taken_for_dead(world: World) -> None:
    holder, other = world.client("a"), world.client("b")
    grant = granted(holder)
    for _ in range(10):
        assert outcome(ask(other)) is Outcome.BUSY
        world.clock.pass_ms(TTL_MS // 2)
        renewed = holder.renew(grant)
        assert isinstance(renewed, Grant)
        grant = renewed
    assert holder.lost(grant) is None


def test_a_blocking_acquire_takes_a_dead_holders_key_a_lease_and_one_poll_later(world: World) -> None:
    granted(world.client("dead"))
    lock = world.client("a")
    began_ns = world.clock.now_ns
    answer = ask(lock, 10 * TTL_MS, Wait.parse("poll-30ms"))
    assert isinstance(answer, Grant)
    waited_ms = (world.clock.now_ns - began_ns) / 1e6
    assert TTL_MS <= waited_ms <= TTL_MS + 30


def test_a_takeover_that_meets_a_renewal_in_the_last_instant_fails(world: World) -> None:
    holder, other = world.client("a"), world.client("b")
    grant = granted(holder)
    ask(other)
    world.clock.pass_ms(TTL_MS)
    world.table.faults.append(lambda carry_out: (holder.renew(grant), carry_out())[1])
    assert outcome(ask(other)) is Outcome.BUSY
    assert world.holder() == grant.owner


def test_a_lost_reply_to_an_acquire_is_found_in_the_item(world: World) -> None:
    world.table.faults = [done_unheard]
    grant = granted(world.client("a"))
    assert (grant.token, grant.deadline_ns) == (1, TTL_MS * 1_000_000)
    assert world.holder() == grant.owner


def test_an_acquire_that_is_not_found_is_unknown_since_it_may_yet_arrive(world: World) -> None:
    world.table.faults = [unheard]
    assert outcome(ask(world.client("a"))) is Outcome.UNKNOWN


def test_an_acquire_that_cannot_be_read_back_is_undone_and_unknown(world: World) -> None:
    world.table.faults = [done_unheard, unheard]
    assert outcome(ask(world.client("a"))) is Outcome.UNKNOWN
    assert world.holder() is None


def test_a_refused_request_is_an_error_and_nothing_is_asked_again(world: World) -> None:
    world.table.faults = [refused]
    assert outcome(ask(world.client("a"))) is Outcome.ERROR
    assert world.table.requests == ["take"]


@pytest.mark.parametrize(("then", "expected"), [([], Outcome.ERROR), ([unheard], Outcome.UNKNOWN)])
def test_a_grant_older_than_its_lease_is_not_handed_out(world: World, then: list[Any], expected: Outcome) -> None:
    world.table.faults = [world.slow(TTL_MS), *then]
    assert outcome(ask(world.client("a"))) is expected
    assert (world.holder() is None) is (expected is Outcome.ERROR)


def test_a_deadline_counts_from_the_sending(world: World) -> None:
    lock = world.client("a")
    world.table.faults = [world.slow(300)]
    grant = granted(lock)
    assert grant.deadline_ns == TTL_MS * 1_000_000
    world.table.faults = [world.slow(300)]
    renewed = lock.renew(grant, 2_000)
    assert isinstance(renewed, Grant)
    assert renewed.deadline_ns == (300 + 2_000) * 1_000_000


def test_a_renewal_older_than_its_lease_is_lost_and_frees_the_key(world: World) -> None:
    lock = world.client("a")
    grant = granted(lock)
    world.table.faults = [world.slow(TTL_MS)]
    assert outcome(lock.renew(grant)) is Outcome.LOST
    assert lock.lost(grant) is not None
    assert world.holder() is None


def test_a_lost_reply_to_a_renewal_is_found_by_its_own_version(world: World) -> None:
    lock = world.client("a")
    grant = granted(lock)
    lock.renew(grant)  # an earlier renewal must not be mistaken for the one in question
    world.table.faults = [unheard]
    assert outcome(lock.renew(grant)) is Outcome.UNKNOWN
    world.table.faults = [done_unheard]
    assert isinstance(lock.renew(grant), Grant)
    world.table.faults = [done_unheard, unheard]
    assert outcome(lock.renew(grant)) is Outcome.UNKNOWN


def test_a_lost_reply_to_a_release_is_settled_by_the_count(world: World) -> None:
    one, other = world.client("a"), world.client("b")
    world.table.faults = []
    grant = granted(one)
    world.table.faults = [done_unheard]
    assert one.release(grant) is RELEASED
    grant = granted(one)
    world.table.faults = [unheard]
    assert outcome(one.release(grant)) is Outcome.UNKNOWN  # ours still stands, and the request may yet arrive
    world.table.faults = [done_unheard, lambda carry_out: (other.release(granted(other)), carry_out())[1]]
    assert outcome(one.release(grant)) is Outcome.UNKNOWN  # free, but the count says that another has been there


def test_whoever_lost_the_key_changes_nothing_and_is_told(world: World) -> None:
    stale, other = world.client("a"), world.client("b")
    grant = granted(stale)
    ask(other)
    world.clock.pass_ms(TTL_MS)
    taken = granted(other)
    assert outcome(stale.release(grant)) is Outcome.LOST
    assert outcome(stale.renew(grant)) is Outcome.LOST
    assert stale.lost(grant) is not None
    assert world.holder() == taken.owner


def test_a_closed_client_refuses(world: World) -> None:
    lock = world.client("a")
    lock.close()
    assert outcome(ask(lock)) is Outcome.ERROR
    assert world.table.requests == []
