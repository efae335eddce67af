"""The judgement of one attempt, for resources whose judgement is made in Python, and how a log keeps it as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from bench.hazards.resources.base import Attempt, Judged, Reading, accepts


@dataclass(frozen=True, slots=True)
class State:
    """What a resource keeps of one key: the value, the highest token accepted, and how many attempts it has judged."""

    value: int = 0
    highest: int = 0
    judged: int = 0

    def judge(self, attempt: Attempt) -> tuple[Self, Judged]:
        """The verdict on the next attempt, and the state after it. Pure: whoever calls must make the step atomic."""
        order = self.judged + 1
        accepted = accepts(attempt.fence, attempt.rule, attempt.token, self.highest)
        verdict = Judged(attempt.attempt_id, order, accepted, self.highest, self.value)
        if not accepted:
            return type(self)(self.value, self.highest, order), verdict
        value = self.value if attempt.value is None else attempt.value
        # An unchecked write with an old token is taken, and still does not lower what the resource has seen.
        return type(self)(value, max(self.highest, attempt.token or 0), order), verdict

    @property
    def reading(self) -> Reading:
        return Reading(self.value, self.highest)

    def to_tree(self) -> dict[str, int]:
        return asdict(self)

    @classmethod
    def from_tree(cls, tree: Mapping[str, int]) -> Self:
        return cls(**tree)


def entry_of(attempt: Attempt, verdict: Judged) -> dict[str, Any]:
    """One line of a resource's log, ready for JSON: all of the attempt, and the verdict."""
    return {**attempt.to_tree(), **asdict(verdict)}


def verdict_of(entry: Mapping[str, Any]) -> Judged:
    """The verdict in a line of a log, or in an answer."""
    return Judged(**{field.name: entry[field.name] for field in fields(Judged)})
