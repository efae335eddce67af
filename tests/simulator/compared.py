"""Every scenario of the committed reference on every system that it was played on, beside the model.

python -m tests.simulator.compared [scenario] [system]     what differs, and in how many recorded trials
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.places import reference_hazards
from bench.hazards.checker import check_trial
from bench.hazards.scenario import load_scenario
from bench.records.hazards import Trial, TrialChecked
from bench.simulator.play import play, unmodelled
from tests.simulator.agreement import differences

Pair = tuple[str, str]  # scenario and system
_Simulated = tuple[Trial, TrialChecked, tuple[str, ...]]


@dataclass(slots=True)
class Compared:
    """One scenario on one system. `groups` are its combinations of parameters: recorded and equal trials of each."""

    groups: dict[str, tuple[int, int]] = field(default_factory=dict)
    different: Counter[str] = field(default_factory=Counter)
    unmodelled: set[str] = field(default_factory=set)

    @property
    def recorded(self) -> int:
        return sum(recorded for recorded, _ in self.groups.values())

    @property
    def equal(self) -> int:
        return sum(equal for _, equal in self.groups.values())

    @property
    def verdict(self) -> str:
        """equal: all recorded trials. mostly: more than half of each combination's. different: of some, no more."""
        if not self.groups:
            return "not modelled"
        if self.equal == self.recorded:
            return "equal"
        return "mostly" if all(2 * equal > recorded for recorded, equal in self.groups.values()) else "different"


def compared(trials: Iterable[TrialRow]) -> Mapping[Pair, Compared]:
    """Each recorded trial beside the model's, which is played once for each combination of parameters."""
    found: dict[Pair, Compared] = {}
    simulated: dict[tuple[Pair, str], _Simulated | None] = {}
    for row in trials:
        pair = (row.scenario, row.system)
        one = found.setdefault(pair, Compared())
        values = {**row.plan.parameters, **row.trial.parameters}
        words = ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
        if (pair, words) not in simulated:
            simulated[pair, words] = _simulated(row, one)
        model = simulated[pair, words]
        if model is None:
            continue
        differ = [*(f"not as staged in the model: {said}" for said in model[2])]
        differ += differences(row.trial, row.checked, model[0], model[1])
        recorded, equal = one.groups.get(words, (0, 0))
        one.groups[words] = (recorded + 1, equal + (not differ))
        one.different.update(differ)
    return found


def _simulated(row: TrialRow, one: Compared) -> _Simulated | None:
    scenario = load_scenario(row.scenario)
    values = {**row.plan.parameters, **row.trial.parameters, "system": row.system}
    if unknown := unmodelled(scenario, values):
        one.unmodelled.update(unknown)
        return None
    played = play(scenario, values, row.trial.parameters)
    return played.trial, check_trial(played.trial), played.staging


def reference() -> Mapping[Pair, Compared]:
    """The committed one."""
    folder = reference_hazards()
    assert folder is not None, "the reference has hazard runs"
    return compared(HazardEvidence.load(folder).trials)


def main(wanted: list[str]) -> None:
    """Print what differs."""
    tally: Counter[str] = Counter()
    for (scenario, system), one in sorted(reference().items()):
        tally[one.verdict] += 1
        if wanted and wanted != [scenario, system][: len(wanted)]:
            continue
        words = f"; not modelled: {', '.join(sorted(one.unmodelled))}" if one.unmodelled else ""
        print(f"{scenario} {system}: {one.verdict}, {one.equal} of {one.recorded} trials{words}")
        for words, (recorded, equal) in one.groups.items() if wanted else ():
            if recorded != equal:
                print(f"    {equal} of {recorded}: {words}")
        for what, count in one.different.most_common(20 if wanted else 6):
            print(f"    {count} times {what}")
    print(dict(tally))


if __name__ == "__main__":
    main(sys.argv[1:])
