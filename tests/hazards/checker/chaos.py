"""Arbitrary well-formed histories: any beliefs, any tokens, any verdicts, any faults, on few instants and names."""

from typing import Any

from bench.records.hazards import Ask, Belief, EndOfBelief, FaultWindow, Presentation, Scalar, Trial, Write
from tests.hazards.checker.choices import TTL_MS, TTL_NS, Choices

_LAST = 24  # instants are quarters of a TTL, now and then a nanosecond off
_KEYS = ("a", "b")
_ACTORS = ("one", "two", "three")
_PARAMETERS: tuple[dict[str, Scalar], ...] = ({}, {"rule": "below"}, {"rule": "at_most"})


class Chaos:
    """Builds one trial from choices."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.dice = choices.dice()

    def trial(self) -> Trial:
        dice = self.dice
        sizes = [self._choices.below(bound) for bound in (14, 14, 10, 6, 6)]
        beliefs = tuple(self._belief(number) for number in range(sizes[0]))
        # Now and then earlier holders write and later ones present their tokens: by chance alone that is too rare.
        told = sorted(beliefs, key=lambda belief: belief.from_ns)
        half = (len(told) + 1) // 2
        writers, readers = (told[:half], told[half - 1 :]) if dice.random() < 0.4 else (told, told)
        return Trial(
            name="chaos",
            parameters=dice.choice(_PARAMETERS),
            ttl_ms=TTL_MS,
            began_ns=0,
            ended_ns=self._instant(_LAST + 2, 2 * _LAST),
            asks=tuple(self._ask() for _ in range(sizes[2])),
            beliefs=beliefs,
            writes=tuple(self._write(dice.choice(writers)) for _ in range(sizes[1] if beliefs else 0)),
            faults=tuple(self._fault() for _ in range(sizes[3])),
            presentations=tuple(self._presentation(dice.choice(readers)) for _ in range(sizes[4] if beliefs else 0)),
        )

    def _instant(self, low: int = 0, high: int = _LAST) -> int:
        return self.dice.randint(low, high) * TTL_NS // 4 + self.dice.choice((0, 0, 0, 1, -1))

    def _instants(self, count: int) -> list[int]:
        return sorted(self._instant() for _ in range(count))

    def _belief(self, number: int) -> Belief:
        dice = self.dice
        asked_ns, from_ns, until_ns = self._instants(3)
        return Belief(
            actor=dice.choice(_ACTORS),
            key=dice.choice(_KEYS),
            grant=f"g{dice.randrange(100):02}-{number}",
            token=dice.choice((None, *range(6), *range(6))),
            asked_ns=asked_ns,
            from_ns=from_ns,
            until_ns=None if dice.random() < 0.15 else until_ns,
            ended_by=dice.choice(list(EndOfBelief)),
            ttl_ms=dice.choice((TTL_MS, 2 * TTL_MS)),
            lease_until_ns=dice.choice((None, from_ns, from_ns + 1, self._instant())),
        )

    def _write(self, belief: Belief) -> Write:
        dice = self.dice
        return Write(
            **self._attempt(belief),
            value_read=dice.randint(0, 1),
            value_before=dice.randint(0, 1),
            value_written=0,
        )

    def _presentation(self, belief: Belief) -> Presentation:
        return Presentation(**self._attempt(belief), value_read=self.dice.randint(0, 1))

    def _attempt(self, belief: Belief) -> dict[str, Any]:
        dice = self.dice
        judged = dice.random() < 0.85
        sent_ns, judged_ns = self._instants(2)
        return {
            "actor": belief.actor,
            "key": belief.key,
            "grant": belief.grant,
            "token": belief.token,
            "sent_ns": sent_ns,
            "answered_ns": None,
            "fence": dice.random() < 0.7,
            "order": dice.randint(0, 9) if judged else 0,
            "accepted": dice.random() < 0.5 if judged else None,
            "highest_before": dice.randint(0, 5) if judged else 0,
            "judged_ns": judged_ns if judged and dice.random() < 0.7 else None,
        }

    def _ask(self) -> Ask:
        dice = self.dice
        asked_ns, answered_ns = self._instants(2)
        answered = dice.random() < 0.85
        outcomes = ("timeout", "timeout", "timeout", "busy", "error", "unknown", "lost", "acquired")
        return Ask(
            actor=dice.choice(_ACTORS),
            key=dice.choice(_KEYS),
            asked_ns=asked_ns,
            answered_ns=answered_ns if answered else None,
            outcome=dice.choice(outcomes) if answered else "",
            waited=dice.random() < 0.8,
        )

    def _fault(self) -> FaultWindow:
        dice = self.dice
        began_ns, ended_ns = self._instants(2)
        return FaultWindow(
            kind=dice.choice(("pause", "kill", "partition")),
            target=dice.choice((*_ACTORS, "server", "server")),
            began_ns=began_ns,
            ended_ns=dice.choice((None, ended_ns, ended_ns)),
            confirmed="generated",
        )
