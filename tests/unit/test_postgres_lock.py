"""The row lock's answers to what its session can do to it."""

from typing import Any, cast

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import RELEASED, ClientOptions, Grant, Outcome, Refusal
from bench.systems.postgres_row.lock import PostgresRowLock
from bench.systems.postgres_row.session import SessionLost, StatementFailed
from bench.systems.postgres_row.transaction import RowTransaction, WaitIsOver
from bench.systems.postgres_row.waiting import channel_of
from bench.systems.wait import Wait
from tests.unit.stepping_clock import SteppingClock

TRY, BLOCK, POLL = Wait("try"), Wait("block"), Wait.parse("poll-10ms")
NOTIFY = Wait.parse("notify-10ms")


class FakeSession:
    """Stands until it is closed or cut."""

    def __init__(self) -> None:
        self.standing = True
        self.refuses: Exception | None = None  # a statement

    def alive(self) -> bool:
        return self.standing

    @property
    def closed(self) -> bool:
        return not self.standing

    def ask(self, sql: str, within_s: float) -> None:
        if self.refuses is not None:
            raise self.refuses

    def close(self) -> None:
        self.standing = False


class FakeTransaction:
    """Does what its script says, one entry an operation: a value to return, or an exception to raise."""

    def __init__(self, script: list[Any]) -> None:
        self.session, self.said = FakeSession(), False
        self._script = script

    def _next(self) -> Any:
        outcome = self._script.pop(0)
        if isinstance(outcome, SessionLost):
            self.session.close()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def as_new(self) -> bool:
        return self.session.alive() and not self.said

    def take(self, key: str, block_ms: int) -> int | None:
        return cast("int | None", self._next())

    def prove(self) -> None:
        self._next()

    def commit(self, channel: str) -> None:
        self.told = channel
        self._next()

    def standing(self) -> bool:
        return True


class Lock(PostgresRowLock):
    """Connects to a fake; `connections` counts, and may hold an exception to raise instead."""

    script: list[Any]
    connections: list[ConnectionError | None]

    def _connect(self) -> None:
        refused = self.connections.pop(0)
        if refused is not None:
            raise refused
        self._transaction = cast(RowTransaction, FakeTransaction(self.script))


def a_lock(*script: Any, reconnects: tuple[ConnectionError | None, ...] = ()) -> Lock:
    lock = Lock(Endpoint((("nowhere", 1),)), ClientOptions(client="c", clock=SteppingClock()))
    lock.script, lock.connections = list(script), [None, *reconnects]
    lock._connect()
    return lock


def granted(lock: Lock) -> Grant:
    grant = lock.acquire("k", 1_000, 0, TRY)
    assert isinstance(grant, Grant)
    return grant


def refused_as(answer: object) -> Outcome:
    assert isinstance(answer, Refusal), answer
    return answer.outcome


def failure(code: str, kind: type[StatementFailed] = StatementFailed) -> StatementFailed:
    failed = kind.__new__(kind)
    failed.sqlstate = code
    return failed


def test_a_grant_is_released_once() -> None:
    lock = a_lock(5, None)
    grant = granted(lock)
    assert grant.token == 5
    assert grant.deadline_ns is None
    assert lock.release(grant) is RELEASED
    assert refused_as(lock.release(grant)) is Outcome.LOST
    assert refused_as(lock.renew(grant)) is Outcome.LOST
    assert lock.lost(grant) is not None


def test_one_transaction_one_grant() -> None:
    lock = a_lock(5)
    granted(lock)
    with pytest.raises(RuntimeError, match="second client"):
        lock.acquire("other", 1_000, 0, TRY)


def test_an_old_grant_does_not_release_a_new_one() -> None:
    lock = a_lock(5, None, 6)
    old = granted(lock)
    lock.release(old)
    new = granted(lock)
    assert refused_as(lock.release(old)) is Outcome.LOST
    assert lock.lost(new) is None


@pytest.mark.parametrize(("wait", "timeout_ms", "outcome"), [(TRY, 500, Outcome.BUSY), (BLOCK, 0, Outcome.TIMEOUT)])
def test_a_held_row(wait: Wait, timeout_ms: int, outcome: Outcome) -> None:
    assert refused_as(a_lock(None).acquire("k", 1_000, timeout_ms, wait)) is outcome


def test_a_poller_asks_until_its_time_is_up_and_no_longer() -> None:
    lock = a_lock(*[None] * 11)
    assert refused_as(lock.acquire("k", 1_000, 100, POLL)) is Outcome.TIMEOUT
    assert lock.script == []
    assert lock.clock.monotonic_ns() == 100_000_000


def test_a_wait_that_is_over_is_a_timeout_and_any_other_failure_an_error() -> None:
    lock = a_lock(failure("57014", WaitIsOver), failure("40P01"), failure("57014"))
    assert refused_as(lock.acquire("k", 1_000, 100, BLOCK)) is Outcome.TIMEOUT
    assert refused_as(lock.acquire("k", 1_000, 100, BLOCK)) is Outcome.ERROR
    assert refused_as(lock.acquire("k", 1_000, 100, BLOCK)) is Outcome.ERROR  # before its time: an operator did that


def test_a_lost_reply_is_settled_by_a_new_session() -> None:
    """Which is there only when the old one's end is proven: see `connect`."""
    lock = a_lock(SessionLost("silence"), 9, reconnects=(None,))
    first = lock._transaction.session
    assert refused_as(lock.acquire("k", 1_000, 0, TRY)) is Outcome.ERROR
    assert lock._transaction.session is not first
    assert granted(lock).token == 9


def test_a_server_that_does_not_end_the_old_session_is_asked_again_by_the_next_acquire() -> None:
    goes_on = ConnectionError("the server did not end this client's last session")
    lock = a_lock(SessionLost("silence"), 9, reconnects=(goes_on, goes_on, None))
    assert refused_as(lock.acquire("k", 1_000, 0, TRY)) is Outcome.UNKNOWN
    assert refused_as(lock.acquire("k", 1_000, 0, TRY)) is Outcome.ERROR  # nothing was sent this time
    assert granted(lock).token == 9


def test_a_statement_of_the_holders_own_costs_the_next_acquire_a_new_session() -> None:
    lock = a_lock(5, None, 6, None, 7, reconnects=(None,))
    for said in (False, True, False):
        first = lock._transaction
        grant = granted(lock)
        assert (lock._transaction is first) is not (grant.token == 7)
        cast(FakeTransaction, lock._transaction).said = said
        if grant.token != 7:
            assert lock.release(grant) is RELEASED


def test_a_lost_reply_and_no_way_to_ask_is_unknown() -> None:
    lock = a_lock(SessionLost("silence"), reconnects=(ConnectionError("refused"), ConnectionError("refused")))
    assert refused_as(lock.acquire("k", 1_000, 0, TRY)) is Outcome.UNKNOWN
    assert refused_as(lock.acquire("k", 1_000, 0, TRY)) is Outcome.ERROR  # nothing was sent this time


def test_a_session_that_died_idle_is_replaced_before_anything_is_asked() -> None:
    lock = a_lock(3, reconnects=(None,))
    lock._transaction.session.close()
    assert granted(lock).token == 3


def test_a_commit_without_an_answer_is_unknown() -> None:
    lock = a_lock(5, SessionLost("silence"))
    assert refused_as(lock.release(granted(lock))) is Outcome.UNKNOWN


@pytest.mark.parametrize("trouble", [SessionLost("silence"), failure("25P02")])
def test_a_renewal_that_is_not_proven_gives_the_session_up(trouble: Exception) -> None:
    lock = a_lock(5, trouble)
    grant = granted(lock)
    assert refused_as(lock.renew(grant)) is Outcome.LOST
    assert lock.lost(grant) is not None
    assert not lock._transaction.session.alive()


def test_a_holder_whose_connection_fell_is_told_and_sends_nothing() -> None:
    lock = a_lock(5)
    grant = granted(lock)
    lock._transaction.session.close()
    assert lock.lost(grant) is not None
    assert refused_as(lock.release(grant)) is Outcome.LOST


def test_only_a_grant_that_was_waited_for_by_notify_is_told_when_it_is_released() -> None:
    for wait, channel in ((TRY, ""), (BLOCK, ""), (NOTIFY, channel_of("k"))):
        lock = a_lock(5, None)
        grant = lock.acquire("k", 1_000, 100, wait)
        assert isinstance(grant, Grant)
        assert lock.release(grant) is RELEASED
        assert cast(FakeTransaction, lock._transaction).told == channel


@pytest.mark.parametrize("trouble", [SessionLost("silence"), failure("53200")])
@pytest.mark.parametrize(
    ("reconnects", "outcome"), [((None,), Outcome.ERROR), ((ConnectionError("refused"),), Outcome.UNKNOWN)]
)
def test_a_subscription_that_failed_costs_the_session_so_none_is_left(
    trouble: Exception, reconnects: tuple[ConnectionError | None, ...], outcome: Outcome
) -> None:
    lock = a_lock(None, reconnects=reconnects)
    first = cast(FakeSession, lock._transaction.session)
    first.refuses = trouble
    assert refused_as(lock.acquire("k", 1_000, 100, NOTIFY)) is outcome
    assert first.closed


def test_a_closed_client_refuses() -> None:
    lock = a_lock()
    lock.close()
    lock.close()
    assert refused_as(lock.acquire("k", 1_000, 0, TRY)) is Outcome.ERROR
