"""What the judges of all claims have in common."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.judge.counts import Count
from tests.judge.lines import Tally
from tests.judge.reasons import KNEW, OUTLIVED, outlived
from tests.judge.records import Trial
from tests.judge.sentences import Clause, Told


@dataclass
class Finding:
    """What is to stand in the column of what was measured, in its order; and what the reason tells."""

    counts: list[Count] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    why: list[Told] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)  # single numbers of either


Findings = dict[tuple[str, str], Finding]


class Played:
    """The trials that count, by scenario and system."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self.trials = list(trials)

    def of(self, scenario: str, system: str | None = None) -> list[Trial]:
        return [one for one in self.trials if one.scenario == scenario and system in (None, one.system)]

    def tally(self, scenario: str, system: str, which: Callable[[Trial], bool] = lambda _: True) -> Tally:
        return Tally(tuple(one for one in self.of(scenario, system) if which(one)))

    def systems(self, scenario: str) -> list[str]:
        return sorted({one.system for one in self.of(scenario)})


def set_to(name: str, value: object) -> Callable[[Trial], bool]:
    return lambda trial: bool(trial.setting(name) == value)


def kept_and_told(tally: Tally) -> list[Told]:
    kept = outlived(tally.exposed)
    return [Told(OUTLIVED, kept[0]), Told(KNEW, kept[1], kept[1].of > 0)] if kept else []
