"""What a client says when replies are lost, leases end and watches break."""

from typing import Any

import grpc
import pytest

from bench.systems.base import Outcome, Refusal
from bench.systems.etcd.entry import Entry
from bench.systems.etcd.messages import Place
from bench.systems.etcd.session import NS_PER_MS
from bench.systems.etcd.stubs import etcdrpc
from bench.systems.etcd.turn import Turn
from tests.unit.etcd_scripted import (
    LOST_REPLY,
    ScriptedCluster,
    SilentWatch,
    StandingClock,
    failure,
    range_answer,
    session_on,
    txn_answer,
)

ENTRY = Entry("a", 31, "c-1")
BEFORE = b"lockbench/a/other"
QUEUED = Place(40, BEFORE, 40)
DELETED = etcdrpc.WatchResponse(events=[{}])
STILL_SECOND = txn_answer(60, range_answer((ENTRY.key, 40)), range_answer((BEFORE, 37)))
NOW_FIRST = txn_answer(60, range_answer((ENTRY.key, 40)), range_answer())
OUR_KEY_GONE = txn_answer(60, range_answer(), range_answer())
DELETE_DONE = txn_answer(61)
NOT_THERE = txn_answer(61, succeeded=False)


def _turn(*answers: Any, clock: StandingClock | None = None) -> Turn:
    cluster: Any = ScriptedCluster(*answers)
    return Turn(cluster, session_on(cluster, clock or StandingClock()), ENTRY)


def _lives(left_s: int) -> object:
    return etcdrpc.LeaseTimeToLiveResponse(ID=31, TTL=left_s)


def _until_ns(clock: StandingClock, ms: float) -> int:
    return int((clock.now_ms + ms) * NS_PER_MS)


def _outcome(answer: Place | Refusal) -> Outcome:
    assert isinstance(answer, Refusal), answer
    return answer.outcome


def test_a_join_whose_reply_was_lost_is_found() -> None:
    found = txn_answer(50, range_answer((ENTRY.key, 40)))
    assert _turn(LOST_REPLY, found, NOW_FIRST).join(only_if_free=False) == Place(40, None, 60)


def test_a_join_that_never_arrived_is_an_error_and_cannot_arrive_later() -> None:
    turn = _turn(LOST_REPLY, txn_answer(50, etcdrpc.ResponseOp(), succeeded=False))
    assert _outcome(turn.join(only_if_free=False)) is Outcome.ERROR
    assert turn.session.ended() is None
    settle = turn.cluster.asked[1][1]  # type: ignore[attr-defined]
    assert settle.failure[0].request_put.key == ENTRY.void


def test_a_join_that_cannot_be_settled_is_unknown_and_gives_the_lease_up() -> None:
    turn = _turn(LOST_REPLY, LOST_REPLY)
    assert _outcome(turn.join(only_if_free=False)) is Outcome.UNKNOWN
    assert turn.session.ended() is not None


@pytest.mark.parametrize("details", ["failed to connect to all addresses; last error: refused"])
def test_a_join_that_was_never_sent_is_an_error_without_a_question(details: str) -> None:
    turn = _turn(failure(grpc.StatusCode.UNAVAILABLE, details))
    assert _outcome(turn.join(only_if_free=False)) is Outcome.ERROR
    assert turn.session.ended() is None


def test_a_join_on_a_dead_lease_is_lost() -> None:
    turn = _turn(failure(grpc.StatusCode.NOT_FOUND, "etcdserver: requested lease not found"))
    assert _outcome(turn.join(only_if_free=False)) is Outcome.LOST
    assert turn.session.ended() is not None


def test_a_try_on_a_held_key_is_busy() -> None:
    assert _outcome(_turn(txn_answer(50, succeeded=False)).join(only_if_free=True)) is Outcome.BUSY


def test_the_first_does_not_wait() -> None:
    clock = StandingClock()
    first = Place(40, None, 40)
    assert _turn(clock=clock).wait(first, _until_ns(clock, 0)) == first


def test_a_deleted_predecessor_is_not_yet_a_turn() -> None:
    """One in the middle of the queue left: there is another before us."""
    clock = StandingClock()
    turn = _turn(DELETED, STILL_SECOND, DELETED, NOW_FIRST, clock=clock)
    assert turn.wait(QUEUED, _until_ns(clock, 1_000)) == Place(40, None, 60)


def test_a_waiter_in_a_herd_is_woken_by_any_who_leaves_and_watches_from_its_own_look_on() -> None:
    clock = StandingClock()
    turn = _turn(DELETED, STILL_SECOND, DELETED, NOW_FIRST, clock=clock)
    assert turn.wait(QUEUED, _until_ns(clock, 1_000), herd=True) == Place(40, None, 60)
    asked = turn.cluster.asked  # type: ignore[attr-defined]
    watched = [requests for name, requests in asked if name == "watch"]
    assert [len(requests) for requests in watched] == [1, 1]
    keys = [(one.create_request.key, one.create_request.start_revision) for (one,) in watched]
    assert keys == [(ENTRY.queue, QUEUED.revision + 1), (ENTRY.queue, 61)]


@pytest.mark.parametrize("herd", [False, True])
def test_a_watch_that_says_nothing_is_looked_after_when_the_lease_could_end(herd: bool) -> None:
    """Its event is lost, and the connection lives: the keepalives go on, and say nothing of it."""
    clock = StandingClock()
    nothing = SilentWatch()
    turn = _turn(nothing, NOW_FIRST, clock=clock)
    left_ms = (turn.session.deadline_ns - clock.monotonic_ns()) / NS_PER_MS
    assert turn.wait(QUEUED, _until_ns(clock, 60_000), herd=herd) == Place(40, None, 60)
    assert turn.cluster.watched_ms == [left_ms]  # type: ignore[attr-defined]


def test_a_waiter_whose_lease_ended_does_not_hold() -> None:
    """etcd issues 9921 and 11456."""
    clock = StandingClock()
    turn = _turn(DELETED, OUR_KEY_GONE, _lives(-1), clock=clock)
    assert _outcome(turn.wait(QUEUED, _until_ns(clock, 1_000))) is Outcome.LOST
    assert turn.session.ended() is not None


@pytest.mark.parametrize("left_s", [0, 1, 60])
def test_a_key_that_another_hand_deleted_is_not_put_down_to_the_lease(left_s: int) -> None:
    clock = StandingClock()
    turn = _turn(DELETED, OUR_KEY_GONE, _lives(left_s), clock=clock)
    answer = turn.wait(QUEUED, _until_ns(clock, 1_000))
    assert _outcome(answer) is Outcome.LOST
    assert "deleted by another hand" in str(answer)
    assert turn.session.ended() is None, "the lease lives, and so do the other grants of the session"


def test_where_etcd_does_not_say_why_nothing_is_made_up() -> None:
    clock = StandingClock()
    answer = _turn(DELETED, OUR_KEY_GONE, LOST_REPLY, clock=clock).wait(QUEUED, _until_ns(clock, 1_000))
    assert _outcome(answer) is Outcome.LOST
    assert "does not say why" in str(answer)


def test_a_watch_that_etcd_refuses_ends_the_wait_with_its_word() -> None:
    clock = StandingClock()
    refused = etcdrpc.WatchResponse(canceled=True, cancel_reason="etcdserver: permission denied")
    turn = _turn(refused, STILL_SECOND, refused, DELETE_DONE, clock=clock)
    answer = turn.wait(QUEUED, _until_ns(clock, 1_000))
    assert _outcome(answer) is Outcome.ERROR
    assert "permission denied" in str(answer)


def test_a_waiter_past_its_own_lease_leaves_and_is_lost() -> None:
    clock = StandingClock()

    def lease_ends() -> object:
        clock.now_ms += 3_000
        return STILL_SECOND

    turn = _turn(DELETED, lease_ends, DELETE_DONE, clock=clock)
    assert _outcome(turn.wait(QUEUED, _until_ns(clock, 60_000))) is Outcome.LOST
    assert turn.cluster.exhausted  # type: ignore[attr-defined]


def test_a_timeout_deletes_the_key() -> None:
    clock = StandingClock()
    turn = _turn(DELETE_DONE, clock=clock)
    assert _outcome(turn.wait(QUEUED, _until_ns(clock, 0))) is Outcome.TIMEOUT
    assert turn.cluster.exhausted  # type: ignore[attr-defined]


def test_a_timeout_that_cannot_clean_up_is_unknown_and_gives_the_lease_up() -> None:
    clock = StandingClock()
    turn = _turn(LOST_REPLY, LOST_REPLY, clock=clock)
    assert _outcome(turn.wait(QUEUED, _until_ns(clock, 0))) is Outcome.UNKNOWN
    assert turn.session.ended() is not None


def test_a_broken_watch_is_resumed_after_a_look() -> None:
    clock = StandingClock()
    broken = failure(grpc.StatusCode.UNAVAILABLE)
    turn = _turn(broken, STILL_SECOND, DELETED, NOW_FIRST, clock=clock)
    assert turn.wait(QUEUED, _until_ns(clock, 1_000)) == Place(40, None, 60)


def test_watches_that_only_break_end_the_wait() -> None:
    clock = StandingClock()
    broken = failure(grpc.StatusCode.UNAVAILABLE)
    turn = _turn(broken, STILL_SECOND, broken, DELETE_DONE, clock=clock)
    assert _outcome(turn.wait(QUEUED, _until_ns(clock, 1_000))) is Outcome.ERROR


def test_a_compacted_watch_is_answered_by_a_look() -> None:
    clock = StandingClock()
    cancelled = etcdrpc.WatchResponse(canceled=True, compact_revision=50)
    assert _turn(cancelled, NOW_FIRST, clock=clock).wait(QUEUED, _until_ns(clock, 1_000)) == Place(40, None, 60)


@pytest.mark.parametrize(("again", "deleted"), [(DELETE_DONE, True), (NOT_THERE, True), (LOST_REPLY, None)])
def test_a_delete_whose_reply_was_lost_is_asked_again(again: Any, deleted: bool | None) -> None:
    """Not there while the lease lives: the first request deleted it."""
    turn = _turn(LOST_REPLY, again)
    assert turn.delete(40) is deleted
    assert (turn.session.ended() is None) is (deleted is not None)


def test_a_key_gone_after_the_lease_s_end_was_not_released() -> None:
    clock = StandingClock()

    def lease_ends() -> object:
        clock.now_ms += 3_000
        return NOT_THERE

    assert _turn(LOST_REPLY, lease_ends, clock=clock).delete(40) is False
