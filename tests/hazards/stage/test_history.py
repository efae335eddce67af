"""What actors said becomes asks, beliefs and writes, also where they were cut off."""

from typing import Any

from bench.hazards.history import asks_of, beliefs_of, presentations_of, writes_of
from bench.hazards.resources.base import Judged
from bench.records.hazards import EndOfBelief, Trial

ASKING = {"say": "asking", "key": "k", "asked_ns": 10, "waited": True}
ASKED = {"say": "asked", "asked_ns": 10, "answered_ns": 20, "outcome": "acquired", "reason": ""}
HELD = {
    "say": "held", "key": "k", "grant": "g", "token": 7, "asked_ns": 10, "from_ns": 20, "ttl_ms": 5,
    "lease_until_ns": 15,
}  # fmt: skip
WRITING: dict[str, Any] = {
    "say": "writing", "attempt_id": "w1", "actor": "holder", "key": "k", "grant": "g", "token": 7, "fence": True,
    "rule": "below", "value_read": 3, "value": 4, "sent_ns": 30,
}  # fmt: skip
JUDGED = Judged(attempt_id="w1", order=5, accepted=False, highest_before=9, value_before=4, judged_ns=35)


def test_an_acquire_without_an_answer_is_kept() -> None:
    (ask,) = asks_of("holder", [ASKING])
    assert (ask.answered_ns, ask.outcome) == (None, "")
    (ask,) = asks_of("holder", [ASKING, ASKED])
    assert (ask.answered_ns, ask.outcome) == (20, "acquired")


def test_a_belief_ends_as_it_was_told() -> None:
    (belief,) = beliefs_of("holder", [HELD], None)
    assert (belief.until_ns, belief.ended_by) == (None, EndOfBelief.NONE)
    renewed = {"say": "renewed", "grant": "g", "at_ns": 25, "lease_until_ns": 99}
    ended = {"say": "ended", "grant": "g", "at_ns": 40, "by": "lost", "reason": "..."}
    (belief,) = beliefs_of("holder", [HELD, renewed, ended], None)
    assert (belief.until_ns, belief.ended_by, belief.lease_until_ns, belief.renewals) == (40, EndOfBelief.LOST, 99, 1)


def test_the_dead_believe_nothing() -> None:
    (belief,) = beliefs_of("holder", [HELD], 50)
    assert (belief.until_ns, belief.ended_by) == (50, EndOfBelief.KILLED)
    ended = {"say": "ended", "grant": "g", "at_ns": 40, "by": "lost", "reason": "..."}
    (belief,) = beliefs_of("holder", [HELD, ended], 50)
    assert belief.until_ns == 40, "what ended before the kill ended then"


def test_a_write_that_was_not_answered_is_looked_up_in_the_log() -> None:
    (write,) = writes_of("holder", [WRITING], [])
    assert (write.accepted, write.order, write.sent_ns) == (None, 0, 30)
    (write,) = writes_of("holder", [WRITING], [JUDGED])
    assert (write.accepted, write.order, write.highest_before, write.value_before) == (False, 5, 9, 4)
    assert write.judged_ns == 35
    assert write.answered_ns is None, "the log knows the verdict; the writer was never told"


def test_an_answer_counts_from_the_sending_itself() -> None:
    wrote = {
        "say": "wrote", "attempt_id": "w1", "sent_ns": 31, "answered_ns": 45, "order": 5, "accepted": True,
        "highest_before": 7, "value_before": 3,
    }  # fmt: skip
    (write,) = writes_of("holder", [WRITING, wrote], [])
    assert (write.sent_ns, write.answered_ns, write.accepted) == (31, 45, True)


def test_a_presentation_is_no_write_and_reads_what_stood_there() -> None:
    presenting = {**WRITING, "say": "presenting", "value": None}
    presented = {
        "say": "presented", "attempt_id": "w1", "sent_ns": 31, "answered_ns": 45, "order": 1, "accepted": True,
        "highest_before": 6, "value_before": 3, "judged_ns": 40,
    }  # fmt: skip
    assert writes_of("holder", [presenting, presented], []) == ()
    (shown,) = presentations_of("holder", [presenting, presented], [])
    assert (shown.token, shown.accepted, shown.value_read, shown.judged_ns) == (7, True, 3, 40)
    (silent,) = presentations_of("holder", [presenting], [])
    assert (silent.accepted, silent.value_read, silent.judged_ns) == (None, 0, None)
    (looked_up,) = presentations_of("holder", [presenting], [JUDGED])
    assert (looked_up.accepted, looked_up.order, looked_up.value_read) == (False, 5, 4)


def test_a_record_from_before_presentations_still_reads() -> None:
    before = {"name": "1", "ttl_ms": 5, "began_ns": 0, "ended_ns": 99}
    write = writes_of("holder", [WRITING], [JUDGED])[0].model_dump(exclude={"judged_ns"})
    trial = Trial.model_validate({**before, "writes": [write]})
    assert (trial.presentations, trial.writes[0].judged_ns) == ((), None)
