"""The transaction that holds a row, against a session whose answers are scripted."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from psycopg.pq import ExecStatus

from bench.systems.postgres_row.session import Session, StatementFailed
from bench.systems.postgres_row.statements import COUNTER, SEQUENCE, TRANSACTION_ID, Taking, prepared
from bench.systems.postgres_row.transaction import QUERY_CANCELED, RowTransaction

ANY_CALL_MS = 2_000


class Answer:
    """One result of libpq: rows, or a failure with its code, or a command's tag."""

    def __init__(self, *rows: bytes, failure: str = "", tag: bytes = b"", touched: int = 0) -> None:
        self.status = ExecStatus.FATAL_ERROR if failure else ExecStatus.TUPLES_OK if rows else ExecStatus.COMMAND_OK
        self.ntuples, self._rows, self._failure = len(rows), rows, failure
        self.command_status, self.command_tuples = tag, touched

    def get_value(self, row: int, column: int) -> bytes:
        assert column == 0
        return self._rows[row]

    def get_error_message(self) -> str:
        return f"failed with {self._failure}"

    def error_field(self, field: int) -> bytes:
        return self._failure.encode()


DONE = Answer()


class Scripted:
    """Answers each round trip with the next entry of a script, and keeps what was sent and how long it would wait."""

    def __init__(self, *answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.sent: list[list[bytes]] = []
        self.limits: list[bytes] = []
        self.within_s: list[float] = []

    def call(self, *commands: tuple[bytes, Sequence[bytes]], within_s: float) -> list[Any]:
        if commands[0][0] == b"limit":
            self.limits.append(commands[0][1][0])
            return [DONE]
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


def test_a_failed_wait_is_rolled_back_and_told() -> None:
    transaction, session = over([DONE, Answer(failure=QUERY_CANCELED)], [DONE])
    with pytest.raises(StatementFailed) as told:
        transaction.take("k", 500)
    assert told.value.sqlstate == QUERY_CANCELED
    assert session.sent == [[b"begin", b"waiting"], [b"rollback"]]


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
    transaction, _ = over([Answer(tag=b"COMMIT")], [Answer(tag=b"ROLLBACK")])
    transaction.commit()
    with pytest.raises(StatementFailed):
        transaction.commit()


@pytest.mark.parametrize("taking", [SEQUENCE, COUNTER, TRANSACTION_ID])
def test_only_the_passing_statement_skips_and_both_lift_the_limit(taking: Taking) -> None:
    assert "SKIP LOCKED" in taking.passing
    assert "SKIP LOCKED" not in taking.waiting
    for statement in (taking.waiting, taking.passing):
        assert "set_config('statement_timeout', '0', true)" in statement
        assert statement in {sql.decode() for sql in prepared(taking).values()}
