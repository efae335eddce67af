"""The rows of a scenario's table: one for each system and set of the parameters that vary, repetitions together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from tests.judge import writes
from tests.judge.fence import fence_faults
from tests.judge.lines import Tally
from tests.judge.meanings import nodes_held
from tests.judge.moments import two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.records import Run, Trial, counted

TOKENS, INTERLEAVED = ("token-sources", "naive-fence"), "interleaved"
RESOURCES = "resources"
SEARCH, SEARCHED = "redlock-clock", ("ttl_ms", "nodes_held", "nodes_jumped", "when")
WITHOUT_A_WORD = frozenset({"mod-revision", "second-write"})


@dataclass(frozen=True)
class TableRow:
    """One row."""

    system: str
    values: tuple[str, ...]  # of the parameters that vary, as plain words
    trials: tuple[Trial, ...]
    word: str

    @property
    def late_accepted(self) -> int:
        return sum(map(writes.late_accepted, self.trials))

    @property
    def late_refused(self) -> int:
        return sum(map(writes.late_refused, self.trials))

    @property
    def lost_updates(self) -> int:
        return sum(map(writes.lost_updates, self.trials))

    @property
    def token_pairs(self) -> int:
        return sum(pairs_and_falls(one)[0] for one in self.trials)

    @property
    def token_falls(self) -> int:
        return sum(pairs_and_falls(one)[1] for one in self.trials)

    @property
    def overlaps_s(self) -> list[float]:
        return [two_at_once_ns(one) / 1e9 for one in self.trials]

    @property
    def run_ids(self) -> list[str]:
        return list(dict.fromkeys(one.run.run_id for one in self.trials))

    def measured(self, name: str) -> list[float]:
        """In how many trials it was measured, and what."""
        told = [one.measured(name) for one in self.trials]
        return [value for value in told if value is not None]


def plain(value: object) -> str:
    """A parameter's value as a word that is the same whoever printed it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    try:
        return f"{float(str(value).replace(',', '')):g}"
    except ValueError:
        return str(value).replace("_", " ").lower()


def varying(runs: Iterable[Run]) -> set[str]:
    """Parameters that take several values within one system; a run's own only where its trials do not have them."""
    values: dict[tuple[str, str], set[object]] = {}
    for run in runs:
        in_trials = {name for one in run.trials for name in one.told.get("parameters", {})}
        for name, value in run.plan["parameters"].items():
            if name not in in_trials:
                values.setdefault((name, run.system), set()).add(value)
        for one in run.trials:
            for name, value in one.told.get("parameters", {}).items():
                values.setdefault((name, run.system), set()).add(value)
    return {name for (name, _), found in values.items() if len(found) > 1}


def table(runs: list[Run], scenario: str, names: tuple[str, ...]) -> dict[tuple[str, ...], TableRow]:
    """The rows of one scenario by system and the values of these parameters. `names` are in the printed order."""
    groups: dict[tuple[str, ...], list[Trial]] = {}
    every = [one for one in counted(runs) if one.scenario == scenario]
    for one in every:
        groups.setdefault((one.system, *(plain(_value(one, name)) for name in names)), []).append(one)
    return {key: TableRow(key[0], key[1:], tuple(trials), _word(trials, every)) for key, trials in groups.items()}


def _value(trial: Trial, name: str) -> object:
    if trial.scenario == SEARCH and name == "nodes_held":
        return nodes_held(trial)
    return trial.ttl_ms if name == "ttl_ms" else trial.setting(name)


def _word(trials: list[Trial], every: list[Trial]) -> str:
    """What these trials show and no others: of a kind of resource all of its own, with the fence and without."""
    first = trials[0]
    if first.scenario in TOKENS:
        return token_word([one for one in every if event_of(one) == event_of(first) and one.system == first.system])
    if first.scenario == RESOURCES:
        return "checks tokens" if checks_tokens(resources(every)[kind_of(first)]) else "does not check"
    return "" if first.scenario in WITHOUT_A_WORD else Tally(tuple(trials)).shown_word


def event_of(trial: Trial) -> str:
    return INTERLEAVED if trial.scenario == "naive-fence" else str(trial.setting("event", ""))


def token_word(trials: list[Trial]) -> str:
    """Did the token rise in all pairs in proven order?"""
    grants = [belief for one in trials for belief in one.beliefs]
    if grants and all(belief["token"] is None for belief in grants):
        return "no token"
    pairs, falls = (sum(pairs_and_falls(one)[place] for one in trials) for place in (0, 1))
    return "not measured" if not pairs else "does not rise" if falls else "rises"


def kind_of(trial: Trial) -> str:
    return str(trial.setting("resource", "referee"))


def resources(trials: Iterable[Trial]) -> Mapping[str, list[Trial]]:
    """The trials of each kind of resource, by name."""
    kinds: dict[str, list[Trial]] = {}
    for one in trials:
        if one.scenario == RESOURCES:
            kinds.setdefault(kind_of(one), []).append(one)
    return dict(sorted(kinds.items()))


def checks_tokens(trials: list[Trial]) -> bool:
    """With the fence on it met late writes, refused every one, and judged nothing against its rule."""
    met = Tally(tuple(trials)).late_accepted(True)
    return met.of > 0 and met.seen == 0 and not any(map(fence_faults, trials))


def middle_and_range(values: list[float]) -> tuple[float, float, float]:
    return median(values), min(values), max(values)
