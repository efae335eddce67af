"""The counts behind each verdict: one set for each system and line of a fault."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.judge import writes
from tests.judge.counts import Count, count, total
from tests.judge.meanings import OTHERS, meaning
from tests.judge.moments import MS, two_at_once_ns
from tests.judge.records import Run, Trial

SAFE, FENCED, UNSAFE, UNAVAILABLE = "safe", "safe only with fencing", "unsafe", "unavailable"
CONTROL = "nothing done"
NOT_MEASURED, NOT_SEEN, HELD, ONCE = "not measured", "not seen", "fence held so far", "seen in one run"


@dataclass(frozen=True)
class Tally:
    """What some trials show together. Each trial is asked by what its own scenario means."""

    trials: tuple[Trial, ...]

    @cached_property
    def exposed(self) -> list[Trial]:
        return [one for one in self.trials if meaning(one.scenario).exposed(one)]

    @cached_property
    def unexposed(self) -> list[Trial]:
        return [one for one in self.trials if not meaning(one.scenario).exposed(one)]

    @cached_property
    def shown(self) -> Count:
        return count(self.exposed, _harmed)

    @cached_property
    def outside(self) -> Count:
        """Harm in unexposed trials. Steps of a search are not counted as such."""
        return count([one for one in self.unexposed if not meaning(one.scenario).search], _harmed)

    @cached_property
    def harmed(self) -> list[Trial]:
        return [one for one in self.trials if _harmed(one)]

    @cached_property
    def weighed(self) -> list[Trial]:
        """What a verdict rests on: the exposed trials, and unexposed ones with harm."""
        return [*self.exposed, *(one for one in self.unexposed if _harmed(one))]

    def late_accepted(self, fenced: bool) -> Count:
        """Late writes accepted, of those that the resource judged, with the fence on or off."""
        return late_accepted(self.trials, fenced)

    @cached_property
    def nobody(self) -> Count:
        """Trials in which nobody got the lock, of those exposed to that."""
        exposed = [one for one in self.trials if meaning(one.scenario).could_show_nobody(one)]
        return count(exposed, lambda one: meaning(one.scenario).nobody(one))

    @cached_property
    def nobody_outside(self) -> Count:
        """The same in trials that were not exposed to it."""
        others = [one for one in self.trials if not meaning(one.scenario).could_show_nobody(one)]
        return count(others, lambda one: meaning(one.scenario).nobody(one))

    @cached_property
    def ahead(self) -> int:
        return sum(map(writes.ahead_of_the_fence, self.trials))

    @cached_property
    def read(self) -> int:
        return sum(map(writes.late_read, self.trials))

    @cached_property
    def has_token(self) -> bool:
        return any(one.has_token for one in self.trials)

    @cached_property
    def word(self) -> str:
        """The verdict, of harm first, so that more evidence of harm never makes it better."""
        fenced = self.late_accepted(True)
        if self.harmed:
            return FENCED if self.has_token and fenced.of and not fenced.seen else UNSAFE
        if self.nobody.seen or self.nobody_outside.seen:
            return UNAVAILABLE
        return SAFE if self.shown.of or self.nobody.of else NOT_MEASURED

    @cached_property
    def shown_word(self) -> str:
        """The same as it is printed. A nought from too few runs makes nothing safe, nor fenced, and one run nothing
        unsafe."""
        behind = self.shown if self.shown.of else self.nobody
        if self.word == UNSAFE and len((self.shown if self.shown.seen else self.outside).runs) == 1:
            return ONCE
        if self.word == FENCED and self.late_accepted(True).too_few:
            return HELD
        return NOT_SEEN if self.word == SAFE and behind.too_few else self.word

    def behind(self, about_getting_it: bool) -> Count:
        """The count that stands beside the word."""
        shown, outside = self.shown, self.outside
        if shown.seen:
            return shown
        if outside.seen:
            return outside
        if about_getting_it or self.word == UNAVAILABLE or not shown.of:
            return self.nobody if self.nobody.seen or not self.nobody_outside.seen else self.nobody_outside
        return shown

    @cached_property
    def longest_ms(self) -> float:
        """The longest time of two holders in one exposed trial."""
        return max((two_at_once_ns(one) / MS for one in self.exposed), default=0.0)


def late_accepted(trials: Iterable[Trial], fenced: bool) -> Count:
    """Late writes accepted, of all judged, in trials with the fence on or off; the runs are those that had one."""
    parts = []
    for one in trials:
        if one.fenced is fenced:
            taken, turned = writes.late_accepted(one), writes.late_refused(one)
            if taken + turned:
                parts.append(Count(taken, taken + turned, frozenset({one.run.run_id})))
    return total(parts)


@dataclass
class Line:
    """One system under one fault."""

    tally: Tally
    hazard: str
    about_getting_it: bool
    void: list[str]

    @property
    def behind(self) -> Count:
        return self.tally.behind(self.about_getting_it)

    @property
    def counted_hazard(self) -> str:
        """What the count behind the word counts; that need not be what the fault threatens."""
        tally = self.tally
        if self.about_getting_it:
            return "two holders" if tally.harmed else self.hazard
        getting_it = tally.word == UNAVAILABLE or not tally.shown.of
        return "availability" if getting_it and not tally.harmed else self.hazard

    @property
    def evidence(self) -> list[str]:
        """Runs with harm; else with nobody served; else with an exposed trial; else all."""
        tally = self.tally
        for trials in (
            tally.harmed,
            [one for one in tally.trials if meaning(one.scenario).nobody(one)],
            tally.exposed,
            list(tally.trials),
        ):
            if trials:
                return list(dict.fromkeys(one.run.run_id for one in trials))
        return []


def _planned_alike(one: Run, other: Run) -> bool:
    return all(one.plan[name] == other.plan[name] for name in ("scenario", "system", "parameters"))


def _first_lines(run: Run) -> list[str]:
    what = meaning(run.scenario)
    found = []
    for one in run.trials:
        label = what.label(one)
        if label is None and (_harmed(one) or what.nobody(one)):
            label = f"{what.fault} ({CONTROL})"
        if label is not None and label not in found:
            found.append(label)
    return found


def lines(runs: Sequence[Run]) -> dict[tuple[str, str], Line]:
    """By system and fault in words. Controls, in which nothing was done, belong to none; with harm, to one apart."""
    trials: dict[tuple[str, str], list[Trial]] = {}
    void: dict[tuple[str, str], list[str]] = {}
    about: dict[tuple[str, str], str] = {}
    for run in runs:
        if run.scenario in OTHERS:
            continue
        what = meaning(run.scenario)
        labels = [(what.label(one), one) for one in run.trials]
        if not labels:
            # One without trials belongs where the first with trials stands that was to be played like it.
            alike = [label for other in runs if _planned_alike(run, other) and (label := _first_lines(other))]
            for line in alike[0] if alike else [what.fault]:
                about.setdefault((run.system, line), run.scenario)
                if run.void:
                    void.setdefault((run.system, line), []).append(run.run_id)
        for label, one in labels:
            if label is None:
                if not (_harmed(one) or what.nobody(one)):
                    continue
                label = f"{what.fault} ({CONTROL})"
            key = (run.system, label)
            about.setdefault(key, run.scenario)
            if not run.void:
                trials.setdefault(key, []).append(one)
            elif run.run_id not in void.setdefault(key, []):
                void[key].append(run.run_id)
    return {
        key: Line(
            Tally(tuple(trials.get(key, ()))),
            meaning(scenario).hazard,
            meaning(scenario).about_getting_it,
            void.get(key, []),
        )
        for key, scenario in about.items()
    }


def _harmed(trial: Trial) -> bool:
    return meaning(trial.scenario).harm(trial)
