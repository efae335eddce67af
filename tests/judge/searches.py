"""The smallest jump of the servers' clocks that gave two holders, by what was searched for."""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.judge.meanings import nodes_held
from tests.judge.moments import two_at_once_ns
from tests.judge.records import Trial

SCENARIO = "redlock-clock"


@dataclass(frozen=True)
class Search:
    """Trials of one system, TTL, number of nodes held and jumped, and moment of the jump."""

    trials: tuple[Trial, ...]

    @property
    def breaking(self) -> Trial | None:
        """The trial of the smallest jump with two holders, the earliest of several."""
        broke = [one for one in self.trials if two_at_once_ns(one)]
        return min(broke, key=lambda one: (jump_ms(one), one.run.plan["position"], one.name), default=None)

    @property
    def smallest_ms(self) -> float | None:
        return None if self.breaking is None else jump_ms(self.breaking)

    @property
    def over_left_ms(self) -> float | None:
        """The smallest excess of a jump with two holders over what was left of the validity when the other asked."""
        over = [
            jump_ms(one) - left
            for one in self.trials
            if two_at_once_ns(one)
            and (left := one.measured("remaining_when_asked_ms")) is not None
            and one.measured("drift_ms") is not None
        ]
        return min(over, default=None)

    @property
    def harmless_ms(self) -> float | None:
        """The largest jump below it that did no harm."""
        below = [
            jump_ms(one)
            for one in self.trials
            if not two_at_once_ns(one) and (self.smallest_ms is None or jump_ms(one) < self.smallest_ms)
        ]
        return max(below, default=None)

    @property
    def largest_ms(self) -> float:
        return max(map(jump_ms, self.trials))

    @property
    def aside_ms(self) -> float | None:
        """What the lock sets aside for drift."""
        return (self.breaking or self.trials[0]).measured("drift_ms")


def jump_ms(trial: Trial) -> float:
    """As it was confirmed, else as it was asked for."""
    told = trial.measured("jump_ms")
    return float(trial.setting("jump_ms", 0.0)) if told is None else told


def searches(trials: Iterable[Trial]) -> dict[tuple[str, int, int, int, str], Search]:
    found: dict[tuple[str, int, int, int, str], list[Trial]] = {}
    for one in trials:
        if one.scenario == SCENARIO:
            jumped, when = int(one.setting("nodes_jumped", 0)), str(one.setting("when", ""))
            found.setdefault((one.system, int(one.ttl_ms), nodes_held(one), jumped, when), []).append(one)
    return {key: Search(tuple(of_key)) for key, of_key in found.items()}
