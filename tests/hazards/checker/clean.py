"""Histories of a lock, a resource and clients that do nothing wrong, though much goes wrong around them.

In them: waiters that ask while others hold, several ends of belief, holders that die, grants that are told late because
their client was stopped, tokens presented with a read or not, attempts that were never answered (carried out or not),
writers outside the trial, a holder that writes on while nobody else holds the key, waiters that time out for good
reasons, equal instants everywhere.
"""

from dataclasses import dataclass, field
from typing import Any

from bench.hazards.resources.base import Rule
from bench.records.hazards import Ask, Belief, EndOfBelief, FaultWindow, Presentation, Trial, Write
from tests.hazards.checker.choices import NS, TTL_MS, TTL_NS, Choices

START_NS = 1_000_000_000
_ENDINGS = (EndOfBelief.RELEASED, EndOfBelief.LOST, EndOfBelief.REFUSED, EndOfBelief.KILLED)


@dataclass
class Desk:
    """The resource, as it should be: one key's value and highest token."""

    rule: Rule
    value: int = 0
    highest: int = 0
    order: int = 0

    def judge(self, fence: bool, token: int | None, value: int | None) -> dict[str, Any]:
        refused = (
            fence
            and token is not None
            and (token < self.highest or (self.rule is Rule.AT_MOST and token == self.highest))
        )
        self.order += 1
        told = {
            "order": self.order,
            "accepted": not refused,
            "highest_before": self.highest,
            "value_before": self.value,
        }
        if not refused:
            self.value = self.value if value is None else value
            self.highest = max(self.highest, token or 0)
        return told


UNANSWERED: dict[str, Any] = {"order": 0, "accepted": None, "highest_before": 0, "value_before": 0}


@dataclass
class Told:
    """What a generated history holds, and what must be found in it although nothing is wrong."""

    trial: Trial
    unknown: int
    late: frozenset[str]  # grants whose clients were told late


@dataclass
class CleanStory:
    """Builds one trial from choices."""

    choices: Choices
    beliefs: list[Belief] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    presentations: list[Presentation] = field(default_factory=list)
    faults: list[FaultWindow] = field(default_factory=list)
    late: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        choices = self.choices
        self.rule = Rule.AT_MOST if choices.chance(4) else Rule.BELOW
        self.tokens = not choices.chance(4)
        self.leases = not choices.chance(2)
        self.fence = not choices.chance(3)
        self.now_ns = START_NS
        self.seen_ns = START_NS
        self.waiters = 0

    def tell(self) -> Told:
        for number in range(1 + self.choices.below(2)):
            self._one_key(f"key{number}")
        last_ns = [self.seen_ns]
        last_ns += [belief.until_ns or belief.from_ns for belief in self.beliefs]
        last_ns += [ask.answered_ns or ask.asked_ns for ask in self.asks]
        trial = Trial(
            name="clean",
            parameters={"rule": str(self.rule)} if self.rule is Rule.AT_MOST else {},
            ttl_ms=TTL_MS,
            began_ns=START_NS,
            ended_ns=max(last_ns) + self.choices.step_ns(),
            asks=tuple(self.asks),
            beliefs=tuple(self.beliefs),
            writes=tuple(self.writes),
            presentations=tuple(self.presentations),
            faults=tuple(self.faults),
        )
        unknown = sum(ask.outcome == "unknown" for ask in self.asks)
        unknown += sum(write.accepted is None for write in self.writes)
        unknown += sum(one.accepted is None for one in self.presentations)
        return Told(trial, unknown, frozenset(self.late))

    def _one_key(self, key: str) -> None:
        choices = self.choices
        self.now_ns = START_NS + choices.step_ns()
        desk, token, life = Desk(self.rule), choices.below(3), 0
        grants = 1 + choices.below(6)
        for number in range(grants):
            actor = f"{key}-actor{choices.below(3)}-{life}"
            free_ns = self.now_ns
            asked_ns = free_ns + choices.step_ns() if choices.chance(2) else free_ns - choices.step_ns()
            from_ns = max(asked_ns, free_ns) + choices.step_ns()
            late_token = None
            if number < grants - 1 and choices.chance(5):  # its lease will be over when its client reads of it
                token += 1 + choices.below(2)
                late_token = token, min(free_ns - choices.step_ns(), from_ns - 1)
            token += 1 + choices.below(3)
            ending = choices.of(_ENDINGS)
            until_ns: int | None = from_ns + choices.step_ns()
            if number == grants - 1 and choices.chance(3):
                until_ns, ending = None, EndOfBelief.NONE
            belief = Belief(
                actor=actor,
                key=key,
                grant=f"{key}-grant{number}",
                token=token if self.tokens else None,
                asked_ns=asked_ns,
                from_ns=from_ns,
                until_ns=until_ns,
                ended_by=ending,
                ttl_ms=TTL_MS,
                lease_until_ns=from_ns + max(NS, choices.step_ns()) if self.leases else None,
            )
            self._granted(belief)
            wrote_ns = self._writes_of(belief, desk)
            self.now_ns = max(from_ns if until_ns is None else until_ns, wrote_ns)
            if ending is EndOfBelief.KILLED:
                assert until_ns is not None
                self.faults.append(_fault("kill", actor, until_ns, None))
                life += 1
            if late_token is not None:
                self._told_late(key, f"{key}-late{number}", *late_token)
            while choices.chance(3):
                self._another_ask(key, belief)
        self.seen_ns = max(self.seen_ns, self.now_ns)

    def _granted(self, belief: Belief) -> None:
        self.beliefs.append(belief)
        self.asks.append(
            Ask(
                actor=belief.actor,
                key=belief.key,
                asked_ns=belief.asked_ns,
                answered_ns=belief.from_ns,
                outcome="acquired",
                waited=not self.choices.chance(3),
            )
        )

    def _writes_of(self, belief: Belief, desk: Desk) -> int:
        """Each builds on a fresh reading, with which the token may be presented. They may come after the end of the
        belief: nobody else holds the key yet."""
        choices, at_ns = self.choices, belief.from_ns
        for _ in range(choices.below(4)):
            if choices.chance(6):  # a writer that is not in this trial, with a token that this history knows or not
                desk.judge(False, belief.token, desk.value + 1)
            if choices.chance(3):
                told = self._attempt(belief, desk, at_ns, None)
                self.presentations.append(Presentation(value_read=told.pop("value_before"), **told))
                at_ns = self.presentations[-1].answered_ns or at_ns
            at_ns += choices.step_ns()
            read = desk.value
            told = self._attempt(belief, desk, at_ns, read + 1)
            self.writes.append(Write(value_read=read, value_written=read + 1, **told))
            at_ns = self.writes[-1].answered_ns or at_ns
        return at_ns

    def _attempt(self, belief: Belief, desk: Desk, at_ns: int, value: int | None) -> dict[str, Any]:
        choices = self.choices
        fate = choices.below(8)
        told = UNANSWERED if fate == 7 else desk.judge(self.fence, belief.token, value)
        judged = UNANSWERED if fate == 6 else told  # 6: carried out, and nobody was told; 5: the log tells
        return {
            "actor": belief.actor,
            "key": belief.key,
            "grant": belief.grant,
            "token": belief.token,
            "sent_ns": at_ns,
            "answered_ns": at_ns + choices.step_ns() if fate < 5 else None,
            "fence": self.fence,
            "judged_ns": at_ns if judged["accepted"] is not None and choices.chance(2) else None,
            **judged,
        }

    def _told_late(self, key: str, grant: str, token: int, asked_ns: int) -> None:
        """Granted before the last holder, read after it: an old token, told late, and no fault of its source."""
        choices = self.choices
        from_ns = self.now_ns + choices.step_ns()
        believed_ns = 0 if self.leases else choices.step_ns()
        actor = f"{key}-stopped-{len(self.late)}"
        self.late.add(grant)
        self._granted(
            Belief(
                actor=actor,
                key=key,
                grant=grant,
                token=token if self.tokens else None,
                asked_ns=asked_ns,
                from_ns=from_ns,
                until_ns=from_ns + believed_ns,
                ended_by=EndOfBelief.LOST,
                ttl_ms=TTL_MS,
                lease_until_ns=from_ns - choices.step_ns() if self.leases else None,
            )
        )
        stopped_ns = asked_ns + choices.below(from_ns - asked_ns + 1)
        self.faults.append(_fault("pause", actor, stopped_ns, stopped_ns + choices.below(from_ns - stopped_ns + 1)))
        self.now_ns = from_ns + believed_ns

    def _another_ask(self, key: str, belief: Belief) -> None:
        """An ask that got nothing, for a reason that is none of the lock's faults."""
        choices = self.choices
        self.waiters += 1
        actor = f"waiter{self.waiters}"
        told = belief.from_ns
        asked_ns = told - choices.step_ns()
        kind = choices.below(9)
        ended_ns: int | None = asked_ns + choices.step_ns()
        outcome, waited = "timeout", True
        if kind == 0:  # refused at once
            outcome, waited = "busy", False
        elif kind == 1:  # it waited, however long, while the key was or may have been taken
            ended_ns = told + 1 + choices.below((belief.until_ns or told) - told + TTL_NS)
            asked_ns = ended_ns - choices.of((0, TTL_NS, 10 * TTL_NS))
        elif kind == 2:  # it did not wait for long
            ended_ns = asked_ns + choices.below(TTL_NS + 1)
        elif kind == 3:  # it was stopped itself, while the key became free
            ended_ns = asked_ns + 20 * TTL_NS
            self.faults.append(_fault("pause", actor, ended_ns - choices.below(3), ended_ns + choices.step_ns()))
        elif kind == 4:  # it died while it waited
            self.faults.append(_fault("kill", actor, asked_ns + choices.step_ns(), None))
            outcome, ended_ns = "", None
        elif kind == 5:  # it was stopped for good
            self.faults.append(_fault("pause", actor, asked_ns - choices.step_ns(), None))
            outcome, ended_ns = "", None
        elif kind == 6:  # it did not mean to wait
            outcome, ended_ns, waited = "", None, False
        elif kind == 7 or belief.until_ns is None:
            outcome = "unknown"
        else:  # the key was free for more than a TTL, and for less than half of the ask
            free_ns = TTL_NS + 1 + choices.step_ns()
            ended_ns = belief.until_ns + TTL_NS + free_ns
            asked_ns = ended_ns - 2 * free_ns - 1
        self.asks.append(
            Ask(actor=actor, key=key, asked_ns=asked_ns, answered_ns=ended_ns, outcome=outcome, waited=waited)
        )


def _fault(kind: str, target: str, began_ns: int, ended_ns: int | None) -> FaultWindow:
    return FaultWindow(kind=kind, target=target, began_ns=began_ns, ended_ns=ended_ns, confirmed="generated")
