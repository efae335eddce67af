"""When a session is over, and that it stays so."""

import grpc
import pytest

from bench.systems.base import ClientOptions
from bench.systems.etcd.cluster import CallFailed
from bench.systems.etcd.session import NS_PER_MS, Session
from bench.systems.etcd.stubs import etcdrpc
from tests.unit.etcd_scripted import LOST_REPLY, ScriptedCluster, StandingClock, failure, session_on


def _kept_alive(ttl_s: int) -> object:
    return etcdrpc.LeaseKeepAliveResponse(ID=31, TTL=ttl_s)


def test_a_session_ends_with_its_ttl() -> None:
    clock = StandingClock()
    session = session_on(ScriptedCluster(), clock)
    clock.now_ms += 2_999
    assert session.ended() is None
    clock.now_ms += 1
    assert session.ended() is not None


def test_the_caller_s_ttl_counts_where_etcd_gives_more() -> None:
    clock = StandingClock()
    session = session_on(ScriptedCluster(), clock, ttl_ms=1_500, granted_s=2)
    clock.now_ms += 1_500
    assert session.ended() is not None


def test_a_keepalive_counts_from_its_sending() -> None:
    clock = StandingClock()

    def slow_answer() -> object:
        clock.now_ms += 400
        return _kept_alive(3)

    session = session_on(ScriptedCluster(slow_answer), clock)
    clock.now_ms += 1_000
    sent_ms = clock.now_ms
    session.renew()
    assert session.deadline_ns == (sent_ms + 3_000) * NS_PER_MS


def test_a_failed_keepalive_moves_nothing() -> None:
    clock = StandingClock()
    session = session_on(ScriptedCluster(LOST_REPLY), clock)
    before = session.deadline_ns
    clock.now_ms += 1_000
    with pytest.raises(CallFailed):
        session.renew()
    assert session.deadline_ns == before
    assert session.ended() is None


def test_a_lease_that_etcd_does_not_know_ends_the_session_before_its_deadline() -> None:
    session = session_on(ScriptedCluster(_kept_alive(0)), StandingClock())
    session.renew()
    assert session.ended() is not None


def test_what_was_told_lost_is_never_revived() -> None:
    """The answer to a keepalive comes after the deadline, and after the holder was told."""
    clock = StandingClock()
    told: list[str | None] = []

    def late_answer() -> object:
        clock.now_ms += 3_000
        told.append(session.ended())
        return _kept_alive(3)

    session = session_on(ScriptedCluster(late_answer), clock)
    session.renew()
    assert told[0] is not None
    assert session.ended() == told[0]


def test_a_late_answer_counts_while_nobody_was_told() -> None:
    clock = StandingClock()

    def late_answer() -> object:
        clock.now_ms += 2_500
        return _kept_alive(3)

    session = session_on(ScriptedCluster(late_answer), clock)
    clock.now_ms += 1_000
    session.renew()
    assert session.ended() is None


def test_the_first_reason_stays() -> None:
    session = session_on(ScriptedCluster(), StandingClock())
    session.end("first")
    session.end("second")
    assert session.ended() == "first"


def test_the_end_wakes_a_waiter() -> None:
    class Answers:
        cancelled = False

        def __next__(self) -> object:
            session.end("while waiting")
            raise StopIteration

        def cancel(self) -> None:
            self.cancelled = True

    session = session_on(ScriptedCluster(), StandingClock())
    answers = Answers()
    assert session.wait_for(answers) is None
    assert answers.cancelled


def test_close_revokes_and_never_raises() -> None:
    cluster = ScriptedCluster(LOST_REPLY)
    session_on(cluster, StandingClock()).close()
    assert [name for name, _ in cluster.asked] == ["revoke"]


def test_opening_asks_on_until_a_member_gives_a_lease() -> None:
    class Members(ScriptedCluster):
        def authenticate(self, timeout_ms: float, patient: bool) -> None: ...

    unavailable = failure(grpc.StatusCode.UNAVAILABLE)
    options = ClientOptions(clock=StandingClock(), ttl_ms=1_500, variant={"keepalive": "no"})
    members = Members(unavailable, etcdrpc.LeaseGrantResponse(ID=7, TTL=2))
    assert Session.open(members, options).lease_id == 7  # type: ignore[arg-type]
    assert members.asked[0][1].TTL == 2
    with pytest.raises(CallFailed):
        Session.open(Members(unavailable, unavailable), options)  # type: ignore[arg-type]
