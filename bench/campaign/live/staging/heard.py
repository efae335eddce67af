"""What two holders did in the last minutes, from what they said: counted by the hazard lab's own checker."""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bench.hazards.actor_process import Message
from bench.hazards.checker.overlaps import overlaps_of
from bench.hazards.checker.writes import stale_writes_of
from bench.hazards.history import beliefs_of, writes_of
from bench.records.hazards import Belief, EndOfBelief, FaultWindow, Trial, Write

SHOWN_S = 60.0  # how far back the page shows
# A holder that is stopped for the longest time is still there with its grant when it goes on.
_KEPT_NS = 300_000_000_000
# A belief that has ended is known to have when its holder's words have arrived: an overlap with one that has no end
# yet counts when it has lasted for so long.
_SETTLED_NS = 500_000_000
_BEGINS = "asking"  # a turn
LateWrite = tuple[str, int]  # its grant, and its order at the resource


class Heard:
    """All turns of one system's holders; `counts` are of all since the beginning."""

    def __init__(self, ttl_ms: int) -> None:
        self.counts: Counter[str] = Counter()
        self._ttl_ms = ttl_ms
        self._turns: dict[str, deque[list[Message]]] = {}
        self._faults: deque[FaultWindow] = deque(maxlen=100)
        self._doubles: dict[tuple[str, str], int] = {}  # by their grants: when they began
        self._stale: dict[LateWrite, int] = {}

    def add(self, actor: str, messages: Sequence[Message]) -> None:
        """What an actor said since the last call."""
        turns = self._turns.setdefault(actor, deque())
        for message in messages:
            if message["say"] == _BEGINS or not turns:
                turns.append([])
            turns[-1].append(message)
            self.counts["grants"] += message["say"] == "held"

    def killed(self, actor: str, at_ns: int) -> None:
        """The dead believe nothing. All that it had said was added before."""
        if not (turns := self._turns.get(actor)):
            return  # it had not said anything yet
        turn = turns[-1]
        open_grants = {one["grant"] for one in turn if one["say"] == "held"}
        open_grants -= {one["grant"] for one in turn if one["say"] == "ended"}
        for grant in open_grants:
            turn.append({"say": "ended", "grant": grant, "at_ns": at_ns, "by": EndOfBelief.KILLED, "reason": ""})

    def end(self, at_ns: int) -> None:
        """They are sent home: nobody believes anything any more."""
        for actor in self._turns:
            self.killed(actor, at_ns)

    def struck(self, window: FaultWindow) -> None:
        """A fault that is over."""
        self._faults.append(window)

    def report(self, at_ns: int, in_force: Sequence[FaultWindow]) -> dict[str, Any]:
        """What the page shows at an instant of the lab's clock, ready for JSON: everything with its age in seconds."""
        self._forget(at_ns)
        trial = self._trial(at_ns, in_force)
        self._count(trial, at_ns)
        return shown(trial, at_ns, self._stale.keys()) | {"counts": dict(self.counts)}

    def _count(self, trial: Trial, at_ns: int) -> None:
        ends_ns = {one.grant: one.until_ns for one in trial.beliefs}
        for one in overlaps_of(trial):
            certain = ends_ns[one.earlier] is not None or at_ns - one.from_ns >= _SETTLED_NS
            if certain and (one.earlier, one.later) not in self._doubles:
                self._doubles[one.earlier, one.later] = one.from_ns
                self.counts["double_holds"] += 1
        for late in stale_writes_of(trial):
            if late.accepted is not None and (late.grant, late.order) not in self._stale:
                self._stale[late.grant, late.order] = at_ns
                self.counts["stale_accepted" if late.accepted else "stale_refused"] += 1

    def _forget(self, at_ns: int) -> None:
        for turns in self._turns.values():
            while len(turns) > 1 and _last_ns(turns[0]) < at_ns - _KEPT_NS:
                turns.popleft()
        counted_ns = at_ns - 2 * _KEPT_NS
        self._doubles = {key: began_ns for key, began_ns in self._doubles.items() if began_ns >= counted_ns}
        self._stale = {key: seen_ns for key, seen_ns in self._stale.items() if seen_ns >= counted_ns}

    def _trial(self, at_ns: int, in_force: Sequence[FaultWindow]) -> Trial:
        said: Mapping[str, list[Message]] = {
            actor: [message for turn in turns for message in turn] for actor, turns in self._turns.items()
        }
        beliefs: tuple[Belief, ...] = tuple(one for name, all_ in said.items() for one in beliefs_of(name, all_, None))
        writes: tuple[Write, ...] = tuple(one for name, all_ in said.items() for one in writes_of(name, all_, ()))
        began_ns = min((one.from_ns for one in beliefs), default=at_ns)
        return Trial(
            name="live",
            ttl_ms=self._ttl_ms,
            began_ns=began_ns,
            ended_ns=at_ns,
            beliefs=beliefs,
            writes=writes,
            faults=(*self._faults, *in_force),
        )


def shown(trial: Trial, at_ns: int, stale: Collection[LateWrite]) -> dict[str, Any]:
    """The last of a history, ready for JSON: each event with its age in seconds; None: it lasts."""
    since_ns = at_ns - round(SHOWN_S * 1e9)

    def age_s(instant_ns: int | None) -> float | None:
        return None if instant_ns is None else round((at_ns - instant_ns) / 1e9, 3)

    def is_shown(instant_ns: int | None) -> bool:
        return instant_ns is None or instant_ns >= since_ns

    return {
        "holders_now": sum(one.until_ns is None for one in trial.beliefs),
        "beliefs": [
            [one.actor, age_s(one.from_ns), age_s(one.until_ns), one.token, one.ended_by]
            for one in trial.beliefs
            if is_shown(one.until_ns)
        ],
        "writes": [
            [one.actor, age_s(one.sent_ns), one.accepted, (one.grant, one.order) in stale]
            for one in trial.writes
            if is_shown(one.sent_ns)
        ],
        "faults": [
            [one.kind, one.target, age_s(one.began_ns), age_s(one.ended_ns), _amount(one)]
            for one in trial.faults
            if is_shown(one.ended_ns)
        ],
    }


def _last_ns(turn: Sequence[Message]) -> int:
    return max(one.get(name, 0) or 0 for one in turn for name in ("asked_ns", "answered_ns", "at_ns", "sent_ns"))


def _amount(window: FaultWindow) -> str:
    return "" if window.amount is None else f"{window.amount:g} {window.unit}"
