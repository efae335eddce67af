"""What happened in a simulated play, kept light while it runs, and the `Trial` that it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from bench.hazards.resources.base import Rule, accepts
from bench.records.hazards import Ask, Belief, EndOfBelief, FaultWindow, Presentation, Scalar, Trial, Write
from bench.simulator.world import NS_PER_MS


@dataclass(slots=True)
class Asking:
    """One acquire, as `Ask` has it."""

    actor: str
    asked_ns: int
    waited: bool
    answered_ns: int | None = None
    outcome: str = ""


@dataclass(slots=True)
class Believing:
    """One grant, as `Belief` has it."""

    actor: str
    grant: str
    token: int | None
    asked_ns: int
    from_ns: int
    lease_until_ns: int | None
    until_ns: int | None = None
    ended_by: EndOfBelief = EndOfBelief.NONE
    renewals: int = 0


@dataclass(slots=True)
class Attempt:
    """One write, or (without a value) one presentation."""

    actor: str
    grant: str
    token: int | None
    sent_ns: int
    value_read: int
    value: int | None
    answered_ns: int | None = None
    accepted: bool | None = None
    judged_ns: int | None = None
    order: int = 0
    highest_before: int = 0
    value_before: int = 0


class Resource:
    """What the lock protects: a counter, and the highest token that it has accepted."""

    __slots__ = ("_judged", "_rule", "fence", "highest", "value")

    def __init__(self, fence: bool, rule: Rule) -> None:
        self.fence, self._rule = fence, rule
        self.value = self.highest = self._judged = 0

    def judge(self, attempt: Attempt, now_ns: int) -> Attempt:
        """The verdict, and what it changes."""
        self._judged += 1
        attempt.order, attempt.judged_ns = self._judged, now_ns
        attempt.highest_before, attempt.value_before = self.highest, self.value
        attempt.accepted = accepts(self.fence, self._rule, attempt.token, self.highest)
        if attempt.accepted:
            self.value = self.value if attempt.value is None else attempt.value
            self.highest = max(self.highest, attempt.token or 0)
        return attempt


@dataclass(slots=True)
class History:
    """All of one play."""

    asks: list[Asking]
    beliefs: list[Believing]
    attempts: list[Attempt]
    faults: list[FaultWindow]

    def trial(self, fence: bool, ttl_ns: int, ended_ns: int, parameters: Mapping[str, Scalar], **more: Any) -> Trial:
        """The same as a record of the lab, which its checker judges; `more` are measures and notes."""
        ttl_ms = ttl_ns // NS_PER_MS
        attempts = [{**_fields(one), "fence": fence} for one in self.attempts]
        return Trial(
            name="1",
            parameters=dict(parameters),
            ttl_ms=ttl_ms,
            began_ns=0,
            ended_ns=ended_ns,
            asks=tuple(Ask(**_fields(one)) for one in self.asks),
            beliefs=tuple(Belief(**_fields(one), ttl_ms=ttl_ms) for one in self.beliefs),
            writes=tuple(Write(value_written=one.pop("value"), **one) for one in attempts if one["value"] is not None),
            presentations=tuple(_presentation(**one) for one in attempts if "value" in one),
            faults=tuple(sorted(self.faults, key=lambda window: window.began_ns)),
            **more,
        )


def _fields(one: Asking | Believing | Attempt) -> dict[str, Any]:
    return {"key": "key", **{field.name: getattr(one, field.name) for field in fields(one)}}


def _presentation(value: None, value_read: int, value_before: int, **rest: Any) -> Presentation:
    return Presentation(value_read=value_before, **rest)
