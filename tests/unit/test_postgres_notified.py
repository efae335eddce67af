"""Waiting for a notification and in slices, on a real server: what wakes a waiter, what does not, and what is left."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.systems.base import RELEASED, ClientOptions, Grant, LockClient, Outcome, Refusal
from bench.systems.postgres_row.lock import PostgresRowLock
from bench.systems.postgres_row.session import Session, SessionLost
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from tests.unit.postgres_server import Server

pytestmark = pytest.mark.servers

LOCKS = ["postgres-row", "postgres-advisory"]
KEY = "told"
WITHIN_S = 10.0
PATIENCE_MS = 30_000
TRY, BLOCK = Wait("try"), Wait("block")
RARELY = Wait.parse("notify-25000ms")  # whoever waits for less was woken
OFTEN = Wait.parse("notify-300ms")
SLICES = Wait.parse("lock-timeout-200ms")


def opened(server: Server, name: str) -> PostgresRowLock:
    client = SYSTEMS[name].client_class.open(server.endpoint, ClientOptions(call_timeout_ms=5_000))
    assert isinstance(client, PostgresRowLock)
    return client


def granted(client: LockClient, wait: Wait = TRY) -> Grant:
    grant = client.acquire(KEY, 10_000, PATIENCE_MS, wait)
    assert isinstance(grant, Grant), grant
    return grant


def listened_to(client: PostgresRowLock) -> list[tuple[str | None, ...]]:
    """The channels of the client's own session: no other session can see them."""
    return client._transaction.session.ask("SELECT pg_listening_channels()", within_s=WITHIN_S)


@contextmanager
def released_after(seconds: float, holder: LockClient, grant: Grant) -> Iterator[None]:
    timer = threading.Timer(seconds, holder.release, [grant])
    timer.start()
    yield
    timer.join()


@pytest.mark.parametrize("name", LOCKS)
def test_every_release_wakes_a_waiter_wherever_it_falls(server: Server, name: str) -> None:
    """Before, between and after the round trips of the wait's set-up."""
    with opened(server, name) as one, opened(server, name) as other:
        clients, grant = (one, other), granted(one, RARELY)
        for turn in range(60):
            holder, waiter = clients[turn % 2], clients[(turn + 1) % 2]
            began_s = time.monotonic()
            with released_after(turn % 20 * 0.25 / 1000, holder, grant):
                grant = granted(waiter, RARELY)
            assert time.monotonic() - began_s < WITHIN_S, f"hand-off {turn} was slept through"


@pytest.mark.parametrize("name", LOCKS)
def test_one_release_wakes_all_and_all_are_served(server: Server, name: str) -> None:
    with opened(server, name) as holder:
        grant, answers = granted(holder, RARELY), list[object]()

        def pass_through() -> None:
            with opened(server, name) as client:
                answers.append(client.release(granted(client, RARELY)))

        waiting = [threading.Thread(target=pass_through) for _ in range(4)]
        for thread in waiting:
            thread.start()
        time.sleep(0.3)  # pace: let them be on their way; wherever they are, they are woken
        holder.release(grant)
        for thread in waiting:
            thread.join(WITHIN_S)
        assert answers == [RELEASED] * 4


@pytest.mark.parametrize("how", [TRY, BLOCK], ids=str)
@pytest.mark.parametrize("name", LOCKS)
def test_a_release_that_nobody_is_told_of_costs_an_interval(server: Server, name: str, how: Wait) -> None:
    """As one whose notification was lost: the holder waited in another way."""
    with opened(server, name) as holder, opened(server, name) as waiter:
        grant, began_s = granted(holder, how), time.monotonic()
        with released_after(0.1, holder, grant):
            granted(waiter, OFTEN)
        assert 0.3 <= time.monotonic() - began_s < WITHIN_S


@pytest.mark.parametrize("name", LOCKS)
def test_nobody_listens_after_a_wait_or_a_release(server: Server, name: str) -> None:
    with opened(server, name) as holder, opened(server, name) as waiter:
        grant = granted(holder, RARELY)
        assert listened_to(holder) == [], "a free lock needs no subscription"
        answer = waiter.acquire(KEY, 10_000, 50, OFTEN)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.TIMEOUT
        assert listened_to(waiter) == []
        with released_after(0.1, holder, grant):
            grant = granted(waiter, RARELY)
        assert len(listened_to(waiter)) == 1
        assert waiter.release(grant) is RELEASED
        assert listened_to(waiter) == []
        assert waiter.release(granted(waiter, TRY)) is RELEASED  # the session is as good as before
        assert listened_to(holder) == []


@pytest.mark.parametrize("name", LOCKS)
def test_a_waiter_whose_session_is_ended_is_told_and_not_after_an_interval(server: Server, name: str) -> None:
    operator, answers = Session.open(server.endpoint, WITHIN_S), list[object]()
    with opened(server, name) as holder, opened(server, name) as waiter:
        grant = granted(holder, RARELY)
        waiting = threading.Thread(target=lambda: answers.append(waiter.acquire(KEY, 10_000, PATIENCE_MS, RARELY)))
        began_s = time.monotonic()
        waiting.start()
        pid, _ = waiter._transaction.session.backend
        time.sleep(0.3)  # pace: let it wait
        operator.ask("SELECT pg_terminate_backend($1::int)", pid, within_s=WITHIN_S)
        waiting.join(WITHIN_S)
        assert time.monotonic() - began_s < WITHIN_S
        assert isinstance(answers[0], Refusal)
        assert answers[0].outcome is Outcome.ERROR
        with released_after(0.1, holder, grant):
            granted(waiter, RARELY)
    operator.close()


@pytest.mark.parametrize("name", LOCKS)
def test_a_look_at_the_session_from_another_thread_takes_no_notification_away(server: Server, name: str) -> None:
    over = threading.Event()
    with opened(server, name) as holder, opened(server, name) as waiter:
        grant, began_s = granted(holder, RARELY), time.monotonic()
        session = waiter._transaction.session

        def look() -> None:
            while not over.wait(0.001):
                session.alive()

        looking = threading.Thread(target=look)
        looking.start()
        with released_after(0.2, holder, grant):
            granted(waiter, RARELY)
        over.set()
        looking.join()
        assert time.monotonic() - began_s < WITHIN_S


def test_a_session_whose_call_was_interrupted_is_given_up(server: Server) -> None:
    session = Session.open(server.endpoint, WITHIN_S)
    session._turn.acquire()  # an exception struck between the taking of the turn and the block that gives it back
    with pytest.raises(SessionLost):
        session.until_notified(0.05)
    assert session.closed


def test_what_the_holder_wrote_is_there_for_whoever_was_told(server: Server) -> None:
    """The notification and what was written are one transaction: the one is not seen without the other."""
    with opened(server, "postgres-row") as holder, opened(server, "postgres-row") as waiter:
        grant = granted(holder, RARELY)
        holder.execute("UPDATE lockbench.locks SET counter = 17 WHERE key = $1", KEY)
        with released_after(0.1, holder, grant):
            granted(waiter, RARELY)
        read = waiter.execute("SELECT counter FROM lockbench.locks WHERE key = $1", KEY)
        assert read == [("17",)]


@pytest.mark.parametrize("name", LOCKS)
def test_slices_end_by_the_servers_limit_and_the_next_begins(server: Server, name: str) -> None:
    with opened(server, name) as holder, opened(server, name) as waiter:
        grant, asked_ms = granted(holder), list[int]()
        take = waiter._transaction.take

        def noted(key: str, block_ms: int) -> int | None:
            asked_ms.append(block_ms)
            return take(key, block_ms)

        waiter._transaction.take = noted  # type: ignore[method-assign]
        answer = waiter.acquire(KEY, 10_000, 500, SLICES)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.TIMEOUT
        assert asked_ms[:2] == [200, 200]
        assert 0 < asked_ms[2] <= 100
        with released_after(0.5, holder, grant):
            assert waiter.release(granted(waiter, SLICES)) is RELEASED


@pytest.mark.parametrize("name", LOCKS)
def test_a_slice_that_an_operator_ended_is_an_error(server: Server, name: str) -> None:
    operator, answers = Session.open(server.endpoint, WITHIN_S), list[object]()
    with opened(server, name) as holder, opened(server, name) as waiter:
        granted(holder)
        long = Wait.parse("lock-timeout-20000ms")
        waiting = threading.Thread(target=lambda: answers.append(waiter.acquire(KEY, 10_000, PATIENCE_MS, long)))
        waiting.start()
        deadline, ended = time.monotonic() + WITHIN_S, list[tuple[str | None, ...]]()
        while not ended and time.monotonic() < deadline:  # poll: until it waits, as the server sees it
            query = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            ended = operator.ask(query, within_s=WITHIN_S)
        waiting.join(WITHIN_S)
        assert isinstance(answers[0], Refusal)
        assert answers[0].outcome is Outcome.ERROR
    operator.close()
