"""Events by hand, with what does not matter to a test filled in. Instants are small numbers of ns."""

from typing import Any

from bench.records.hazards import Ask, Belief, EndOfBelief, FaultWindow, Presentation, Trial, Write


def trial(**events: Any) -> Trial:
    return Trial.model_validate({"name": "by hand", "ttl_ms": 1, "began_ns": 0, "ended_ns": 100, **events})


def belief(grant: str, from_ns: int, until_ns: int | None, **other: Any) -> Belief:
    asked_ns = other.pop("asked_ns", from_ns)
    fields = {"actor": f"holder of {grant}", "key": "k", "token": None, "ttl_ms": 1, "ended_by": EndOfBelief.RELEASED}
    return Belief.model_validate(
        {**fields, "grant": grant, "asked_ns": asked_ns, "from_ns": from_ns, "until_ns": until_ns, **other}
    )


def write(grant: str, sent_ns: int, **other: Any) -> Write:
    fields = {"actor": f"holder of {grant}", "key": "k", "token": None, "answered_ns": sent_ns + 1, "fence": True}
    judged = {"order": 1, "accepted": True, "highest_before": 0, "value_read": 0, "value_before": 0, "value_written": 1}
    return Write.model_validate({**fields, **judged, "grant": grant, "sent_ns": sent_ns, **other})


def unanswered(grant: str, sent_ns: int, **other: Any) -> Write:
    return write(grant, sent_ns, answered_ns=None, order=0, accepted=None, **other)


def presentation(grant: str, sent_ns: int, **other: Any) -> Presentation:
    fields = {"actor": f"holder of {grant}", "key": "k", "token": None, "answered_ns": sent_ns + 1, "fence": True}
    judged = {"order": 1, "accepted": True, "highest_before": 0, "value_read": 0}
    return Presentation.model_validate({**fields, **judged, "grant": grant, "sent_ns": sent_ns, **other})


def ask(asked_ns: int, answered_ns: int | None, outcome: str, **other: Any) -> Ask:
    fields = {"actor": "waiter", "key": "k", "asked_ns": asked_ns, "answered_ns": answered_ns, "outcome": outcome}
    return Ask.model_validate({**fields, **other})


def fault(kind: str, target: str, began_ns: int, ended_ns: int | None) -> FaultWindow:
    return FaultWindow(kind=kind, target=target, began_ns=began_ns, ended_ns=ended_ns, confirmed="by hand")
