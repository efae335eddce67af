"""The transaction that holds a row, against a session whose answers are scripted."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from psycopg.pq import ExecStatus

from bench.systems.postgres_row import transaction as transactions
from bench.systems.postgres_row.session import Session, StatementFailed
from bench.systems.postgres_row.statements import COUNTER, SEQUENCE, TRANSACTION_ID, Taking, prepared
from bench.systems.postgres_row.transaction import (
    LOCK_NOT_AVAILABLE,
    LONGEST_WAIT_MS,
    QUERY_CANCELED,
    NotHeld,
    RowTransaction,
    WaitIsOver,
)

ANY_CALL_MS = 2_000
THIS_TRANSACTION = b"700"


class Answer:
    """One result of libpq: rows, or a failure with its code, or a command's tag."""

    def __init__(self, *rows: bytes, failure: str = "", tag: bytes = b"", touched: int = 0) -> None:
        self.status = ExecStatus.FATAL_ERROR if failure else ExecStatus.TUPLES_OK if rows else ExecStatus.COMMAND_OK
        self.ntuples, self._rows, self._failure = len(rows), rows, failure
        self.command_status, self.command_tuples = tag, touched

    def get_value(self, row: int, column: int) -> bytes:
        return self._rows[row] if column == 0 else THIS_TRANSACTION

    def get_error_message(self) -> str:
        return f"failed with {self._failure}"

    def error_field(self, field: int) -> bytes:
        return self._failure.encode()


DONE = Answer()


class Scripted:
    """Answers each round trip with the next entry of a script, and keeps what was sent and how long it would wait."""

    def __init__(self, *answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.statements = 0
        self.sent: list[list[bytes]] = []
        self.limits: list[bytes] = []
        self.refuse_limits = False
        self.within_s: list[float] = []

    def call(self, *commands: tuple[bytes, Sequence[bytes]], within_s: float) -> list[Any]:
        if commands[0][0] == b"limit":
            self.limits.append(commands[0][1][0])
            return [Answer(failure="22023") if self.refuse_limits else DONE]
        self.sent.append([name for name, _ in commands])
        self.within_s.append(within_s)
        return list(self._answers.pop(0))


def over(*answers: Sequence[Answer]) -> tuple[RowTransaction, Scripted]:
    session = Scripted(*answers)
    return RowTransaction(cast(Session, session), ANY_CALL_MS), session


def test_begin_and_row_travel_together_and_the_token_comes_back() -> None:
    transaction, session = over([DONE, Answer(b"41")])
    assert transaction.take("k", 0) == 41
    assert session.sent == [[b"begin", b"passing"]]


def test_a_row_that_another_holds_ends_the_transaction() -> None:
    transaction, session = over([DONE, DONE], [DONE, Answer(touched=0)])
    assert transaction.take("k", 0) is None
    assert session.sent[-1] == [b"rollback", b"create"]


def test_a_missing_row_is_made_and_taken() -> None:
    transaction, session = over([DONE, DONE], [DONE, Answer(touched=1)], [DONE, Answer(b"7")])
    assert transaction.take("k", 0) == 7
    assert session.sent[-1] == [b"begin", b"passing"]


def test_a_waiter_who_finds_no_row_asks_again_whoever_made_it() -> None:
    transaction, _ = over([DONE, DONE], [DONE, Answer(touched=0)], [DONE, Answer(b"8")])
    assert transaction.take("k", 500) == 8


class Waited:
    """The time module, for a wait that lasts so long."""

    def __init__(self, wait_ms: int) -> None:
        self._steps_s = iter((0.0, wait_ms / 1000))

    def monotonic(self) -> float:
        return next(self._steps_s)


def test_a_failed_wait_is_rolled_back_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    transaction, session = over([DONE, Answer(failure=QUERY_CANCELED)], [DONE])
    monkeypatch.setattr(transactions, "time", Waited(500))
    with pytest.raises(WaitIsOver) as told:
        transaction.take("k", 500)
    assert told.value.sqlstate == QUERY_CANCELED
    assert session.sent == [[b"begin", b"waiting"], [b"rollback"]]


def test_a_wait_that_ended_before_its_time_was_not_ended_by_its_limit() -> None:
    for code in (QUERY_CANCELED, LOCK_NOT_AVAILABLE):
        transaction, _ = over([DONE, Answer(failure=code)], [DONE])
        with pytest.raises(StatementFailed) as told:
            transaction.take("k", 60_000)
        assert not isinstance(told.value, WaitIsOver)


@pytest.mark.parametrize("wait_ms", [2**31 - 1, 2**31, 2**32, 2**63])
def test_a_wait_longer_than_the_server_can_be_told_is_cut_in_pieces(wait_ms: int) -> None:
    transaction, session = over([DONE, Answer(b"1")])
    assert transaction.take("k", wait_ms) == 1
    assert int(session.limits[0]) == LONGEST_WAIT_MS
    assert LONGEST_WAIT_MS + ANY_CALL_MS < 2**31


def test_a_limit_that_the_server_refuses_is_told_and_nothing_is_taken() -> None:
    transaction, session = over()
    session.refuse_limits = True
    with pytest.raises(StatementFailed):
        transaction.take("k", 300)
    assert session.sent == []


def test_the_first_failure_of_a_round_trip_is_the_one_told() -> None:
    transaction, _ = over([Answer(failure="57P01"), Answer(failure="25P02")], [DONE])
    with pytest.raises(StatementFailed) as told:
        transaction.take("k", 0)
    assert told.value.sqlstate == "57P01"


def test_the_limit_is_sent_only_when_it_changes() -> None:
    granted = [DONE, Answer(b"1")]
    transaction, session = over(granted, granted, granted, granted)
    for block_ms in (300, 300, 0, 0):
        transaction.take("k", block_ms)
    assert session.limits == [b"300", str(ANY_CALL_MS).encode()]


def test_a_blocking_call_may_last_its_wait_and_one_call_more() -> None:
    granted = [DONE, Answer(b"1")]
    transaction, session = over(granted, granted)
    transaction.take("k", 300)
    transaction.take("k", 0)
    assert session.within_s == [0.3 + ANY_CALL_MS / 1000, ANY_CALL_MS / 1000]


def test_a_commit_that_was_a_rollback_is_a_failure() -> None:
    granted = [DONE, Answer(b"1")]
    transaction, _ = over(granted, [Answer(tag=b"COMMIT")], [Answer(tag=b"ROLLBACK")])
    transaction.take("k", 0)
    transaction.commit()
    with pytest.raises(StatementFailed):
        transaction.commit()


def test_a_release_that_is_told_is_one_round_trip_and_ends_the_subscription() -> None:
    transaction, session = over([DONE, Answer(b"1")], [Answer(b""), DONE, Answer(tag=b"COMMIT")])
    transaction.take("k", 0)
    transaction.commit("lockbench_x")
    assert session.sent[1:] == [[b"notify", b"unlisten", b"commit"]]


def test_a_release_that_could_not_be_told_is_a_failure() -> None:
    """The server skips what follows the failure, the COMMIT as well."""
    skipped = Answer(failure="25P02")
    transaction, _ = over([DONE, Answer(b"1")], [Answer(failure="42501"), skipped, skipped])
    transaction.take("k", 0)
    with pytest.raises(StatementFailed):
        transaction.commit("lockbench_x")


def test_a_release_asks_first_only_where_a_statement_was_run_meanwhile() -> None:
    granted, ended = [DONE, Answer(b"1")], [Answer(tag=b"COMMIT")]
    transaction, session = over(granted, ended, granted, [Answer(THIS_TRANSACTION)], ended, granted, [Answer(b"701")])
    for statements in (0, 1):
        transaction.take("k", 0)
        session.statements += statements
        transaction.commit()
    assert session.sent[1:] == [[b"commit"], [b"begin", b"passing"], [b"prove"], [b"commit"]]
    transaction.take("k", 0)
    session.statements += 1
    with pytest.raises(NotHeld):
        transaction.commit()
    assert session.sent[-1] == [b"prove"]  # and what is open instead of it is not committed


@pytest.mark.parametrize("taking", [SEQUENCE, COUNTER, TRANSACTION_ID])
def test_only_the_passing_statement_skips_and_both_lift_the_limit(taking: Taking) -> None:
    assert "SKIP LOCKED" in taking.passing
    assert "SKIP LOCKED" not in taking.waiting
    for statement in (taking.waiting, taking.passing):
        assert "set_config('statement_timeout', '0', true)" in statement
        assert statement in {sql.decode() for sql in prepared(taking).values()}
