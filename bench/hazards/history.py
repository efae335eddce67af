"""From what actors said, and what the resource logged, to the history of a trial."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.hazards.actor_process import Message
from bench.hazards.resources.base import Judged
from bench.records.hazards import Ask, Belief, EndOfBelief, Presentation, Write


def asks_of(actor: str, messages: Sequence[Message]) -> tuple[Ask, ...]:
    """Every acquire of one actor, also one that it did not live to see answered."""
    asks: dict[int, Ask] = {}
    for message in messages:
        if message["say"] == "asking":
            asks[message["asked_ns"]] = Ask(
                actor=actor,
                key=message["key"],
                asked_ns=message["asked_ns"],
                answered_ns=None,
                outcome="",
                waited=message["waited"],
            )
        elif message["say"] == "asked":
            answer = {name: message[name] for name in ("answered_ns", "outcome", "reason")}
            asks[message["asked_ns"]] = asks[message["asked_ns"]].model_copy(update=answer)
    return tuple(asks.values())


def beliefs_of(actor: str, messages: Sequence[Message], killed_ns: int | None) -> tuple[Belief, ...]:
    """Every grant of one actor, with the time in which it believed in it. The dead believe nothing."""
    beliefs: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message["say"] == "held":
            fields = {name: value for name, value in message.items() if name != "say"}
            beliefs[message["grant"]] = {**fields, "until_ns": None, "ended_by": EndOfBelief.NONE, "renewals": 0}
        elif message["say"] == "renewed":
            belief = beliefs[message["grant"]]
            belief["lease_until_ns"] = message["lease_until_ns"]
            belief["renewals"] += 1
        elif message["say"] == "ended":
            beliefs[message["grant"]].update(until_ns=message["at_ns"], ended_by=EndOfBelief(message["by"]))
    if killed_ns is not None:
        for belief in beliefs.values():
            if belief["until_ns"] is None:
                # A grant may have been reported in the very instant of the kill.
                belief.update(until_ns=max(killed_ns, belief["from_ns"]), ended_by=EndOfBelief.KILLED)
    return tuple(Belief(actor=actor, **belief) for belief in beliefs.values())


def writes_of(actor: str, messages: Sequence[Message], log: Iterable[Judged]) -> tuple[Write, ...]:
    """Every write of one actor. Where no answer came, the resource's own log says whether it was judged, and how."""
    return tuple(
        Write(actor=actor, value_read=asked["value_read"], value_written=asked["value"], **judged)
        for asked, judged in _attempts(messages, log, "writing", "wrote")
    )


def presentations_of(actor: str, messages: Sequence[Message], log: Iterable[Judged]) -> tuple[Presentation, ...]:
    """Every token that one actor showed with a read; the log fills in for lost answers, as it does for writes."""
    return tuple(
        Presentation(actor=actor, value_read=judged.pop("value_before"), **judged)
        for _, judged in _attempts(messages, log, "presenting", "presented")
    )


def _attempts(
    messages: Sequence[Message], log: Iterable[Judged], sending: str, sent: str
) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Each attempt as it was sent, with what its record has of it and of the verdict."""
    logged: Mapping[str, Judged] = {one.attempt_id: one for one in log}
    asked: dict[str, Message] = {}
    attempts: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message["say"] == sending:
            asked[message["attempt_id"]] = message
            attempts[message["attempt_id"]] = {**{name: message[name] for name in _AS_SENT}, **_UNANSWERED}
        elif message["say"] == sent:
            answer = {name: value for name, value in message.items() if name not in ("say", "attempt_id")}
            attempts[message["attempt_id"]].update(answer)
    for attempt_id, one in attempts.items():
        judged = logged.get(attempt_id)
        if one["accepted"] is None and judged is not None:
            one.update({name: getattr(judged, name) for name in _VERDICT})
        yield asked[attempt_id], one


_AS_SENT = ("key", "grant", "token", "fence", "sent_ns")
_UNANSWERED = {"answered_ns": None, "order": 0, "accepted": None, "highest_before": 0, "value_before": 0, "reason": ""}
_VERDICT = ("order", "accepted", "highest_before", "value_before", "judged_ns")
