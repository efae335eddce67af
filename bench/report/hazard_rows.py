"""The runs of a hazard campaign as table rows: one scenario a table, repetitions put together, void runs shown."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.analysis import names
from bench.analysis.hazards import tokens, tolerance
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.late_writes import late_accepted, late_refused
from bench.analysis.hazards.meanings import line_of, meaning_of, plays
from bench.analysis.hazards.rows import HazardRun, TrialRow, run_ids
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.hazards.tolerance import ToleranceRow
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.hazards import Scalar
from bench.records.meaning import Role
from bench.records.numbers import minus
from bench.report import formats
from bench.report.formats import NOTHING, RANGE
from bench.report.hazard_verdicts import shown_word

NEVER = "never"
VOID = "void"
_UNITS = {"ms": "ms", "s": "s", "ttls": "TTL"}
_NEVER_MS = -1.0  # how a scenario says that what it timed did not happen
_SEARCHED: tuple[str, ...] = ("ttl_ms", "nodes_held", "nodes_jumped", "when")  # of the search for a tolerance


@dataclass(frozen=True, slots=True)
class Times:
    """One measure of a row's trials: median and range, and in how many of them it never came."""

    values: tuple[float, ...]
    never: int = 0
    yes_or_no: bool = False  # 1 or 0, and no unit: how often it was so

    @property
    def words(self) -> tuple[str, str]:
        """What stands in the first place, and what may stand below it: the range, and how often it never came."""
        if self.yes_or_no:
            return f"{sum(self.values):.0f} of {len(self.values)}", ""
        if not self.values:
            return (NEVER if self.never else NOTHING), ""
        middle, spread = median_words(self.values)
        lost = f"{NEVER} in {self.never} of {self.never + len(self.values)}" if self.never else ""
        return middle, ", ".join(filter(None, (spread, lost)))


@dataclass(frozen=True, slots=True)
class Row:
    """One system with one set of the parameters that vary, over all repetitions that count; or one void run."""

    system: str
    parameters: Mapping[str, str]  # as words
    trials: int
    verdict: str
    evidence: tuple[str, ...]
    measures: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # as words: the median, and the range
    overlap_s: tuple[float, ...] = ()  # one a trial; empty: not asked
    late_accepted: int = 0
    late_refused: int = 0
    lost_updates: int = 0
    token_faults: int = 0
    token_pairs: int = 0
    void: str = ""  # why it counts for nothing

    @property
    def title(self) -> str:
        return names.title(self.system)


@dataclass(frozen=True, slots=True)
class ScenarioTable:
    """One scenario's rows, with what its columns are."""

    scenario: str
    fault: str  # in words; "" where the scenario has a table of its own, or no words but its name
    parameters: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def has_overlaps(self) -> bool:
        """Where two holders are the subject, or were seen: elsewhere it is a column of noughts."""
        about = not meaning_of(self.scenario).own_table and not subject_of(self.scenario).hazard.of_availability
        return any(any(row.overlap_s) or (about and row.overlap_s) for row in self.rows)

    @property
    def has_late_writes(self) -> bool:
        return any(row.late_accepted or row.late_refused for row in self.rows)

    @property
    def has_lost_updates(self) -> bool:
        return any(row.lost_updates for row in self.rows)

    @property
    def has_tokens(self) -> bool:
        """Only where it is the subject, or where a token did not rise: elsewhere it is a column of noughts."""
        return any(row.token_faults for row in self.rows) or plays(self.scenario, *tokens.ROLES)


def scenario_tables(hazards: HazardEvidence) -> tuple[ScenarioTable, ...]:
    """One table for each scenario that was played, by fault; rows in the order of systems, not of the seed."""
    played = {run.scenario for run in hazards.runs}
    ranked = sorted(played, key=lambda name: (meaning_of(name).place, name))
    return tuple(_table(hazards, name) for name in ranked)


def median_words(values: Sequence[float], digits: int | None = None) -> tuple[str, str]:
    """The median, and the range, "" where there is one value or all read alike.

    With `digits` places after the point; without, three digits that count. What is there reads never as nothing:
    a sixth of a millisecond is "<0.001" to three places.
    """

    def shown(value: float) -> str:
        if digits is None:
            return _number(value)
        return f"<{10.0**-digits:g}" if 0.0 < value < 0.5 * 10.0**-digits else f"{value:,.{digits}f}"

    middle, low, high = shown(statistics.median(values)), shown(min(values)), shown(max(values))
    return middle, "" if low == high else f"{low}{RANGE}{high}"


def on_one_line(middle: str, spread: str) -> str:
    """1,600 (1,599-1,602); the median alone where there is no range."""
    return f"{middle} ({spread})" if spread else middle


_PLAINER = {"told_ms": "notified_ms"}  # records keep the first, and tables print the second


def label(name: str) -> str:
    """A parameter or measure as a heading: pause_ttls is "pause, TTL", nodes_down is "nodes down"."""
    stem, _, unit = _PLAINER.get(name, name).rpartition("_")
    if stem and unit in _UNITS:
        return f"{stem.replace('_', ' ').replace('ttl', 'TTL')}, {_UNITS[unit]}"
    return name.replace("_", " ")


def value_words(value: Scalar) -> str:
    """A parameter's value: on and off, numbers without noughts."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return minus(f"{value:,g}")
    words = value.replace("_", " ").replace(" ttl", " TTL")
    return minus(words[0]) + words[1:] if words else words  # -3 TTL


def _number(value: float) -> str:
    """Three digits that count; thousands are set apart from five digits on, so that a range stays narrow."""
    if value < 0.0:
        return f"\u2212{_number(-value)}"
    if abs(value) < 100.0 and value != int(value):
        return formats.significant(value, 3)
    return f"{value:,.0f}" if abs(value) >= 10_000.0 else f"{value:.0f}"


def _table(hazards: HazardEvidence, scenario: str) -> ScenarioTable:
    runs = [run for run in hazards.runs if run.scenario == scenario]
    if plays(scenario, Role.CLOCK_SEARCH):
        varying, rows = _SEARCHED, [_tolerance_row(hazards, row) for row in hazards.tolerance]
    else:
        varying = _varying(runs)
        rows = _grouped(hazards, [row for run in runs if not run.void for row in run.trials], varying)
    void = [_void_row(run, varying) for run in sorted(runs, key=lambda run: names.position(run.system)) if run.void]
    ordered = sorted([*rows, *void], key=lambda row: (names.position(row.system), row.system))
    measures = dict.fromkeys(name for row in ordered for name in row.measures)
    fault = "" if meaning_of(scenario).own_table else meaning_of(line_of(scenario)).fault
    return ScenarioTable(scenario, fault, varying, tuple(measures), tuple(ordered))


def _varying(runs: Iterable[HazardRun]) -> tuple[str, ...]:
    """The parameters by which runs or trials differ within a system; those of the run's grid first.

    One that is only set per system says nothing that tells two rows apart.
    """
    seen: dict[str, dict[str, set[Scalar]]] = {}
    for run in runs:
        for name, value in run.plan.parameters.items():
            if not any(name in row.trial.parameters for row in run.trials):
                seen.setdefault(name, {}).setdefault(run.system, set()).add(value)
        for row in run.trials:
            for name, value in row.trial.parameters.items():
                seen.setdefault(name, {}).setdefault(run.system, set()).add(value)
    return tuple(name for name, by_system in seen.items() if any(len(values) > 1 for values in by_system.values()))


def _grouped(hazards: HazardEvidence, trials: Iterable[TrialRow], varying: Sequence[str]) -> list[Row]:
    groups: dict[tuple[str, tuple[Scalar | None, ...]], list[TrialRow]] = {}
    for row in trials:
        groups.setdefault((row.system, tuple(row.parameter(name) for name in varying)), []).append(row)
    ordered = sorted(groups, key=lambda key: (names.position(key[0]), key[0], *map(_rank, key[1])))
    every = [row for rows in groups.values() for row in rows]
    return [_row(hazards, groups[key], dict(zip(varying, key[1], strict=True)), every) for key in ordered]


def _rank(value: Scalar | None) -> tuple[int, float, str]:
    """Numbers by size, words by the alphabet, and what is not there first."""
    if value is None:
        return (0, 0.0, "")
    return (1, float(value), "") if isinstance(value, bool | int | float) else (2, 0.0, value)


def _row(
    hazards: HazardEvidence,
    trials: Sequence[TrialRow],
    values: Mapping[str, Scalar | None],
    every: Sequence[TrialRow],
) -> Row:
    first, checked = trials[0], [row.checked for row in trials]
    excludes = not plays(first.scenario, *tokens.ROLES)
    return Row(
        system=first.system,
        parameters={name: NOTHING if value is None else value_words(value) for name, value in values.items()},
        trials=len(trials),
        overlap_s=tuple(one.overlap_ns / 1e9 for one in checked) if excludes else (),
        late_accepted=sum(map(late_accepted, trials)),
        late_refused=sum(map(late_refused, trials)),
        lost_updates=sum(one.lost_updates for one in checked),
        token_faults=sum(len(one.token_faults) for one in checked),
        token_pairs=sum(one.token_pairs for one in checked),
        measures=_measures(trials, every),
        verdict=_verdict(hazards, trials),
        evidence=run_ids(trials),
    )


def _measures(trials: Sequence[TrialRow], every: Sequence[TrialRow]) -> Mapping[str, tuple[str, str]]:
    """The measures of a row's trials; `every` trial of the scenario decides which ones only say yes or no."""
    measured = dict.fromkeys(name for row in trials for name in row.trial.measures)
    return {name: _times(trials, name, every).words for name in measured if not _only_repeats(trials, name)}


def _only_repeats(trials: Sequence[TrialRow], name: str) -> bool:
    """Is it what was asked for, and nothing that could have come out otherwise?"""
    return all(row.measure(name) in (None, row.parameter(name)) for row in trials)


def _times(trials: Sequence[TrialRow], name: str, every: Sequence[TrialRow]) -> Times:
    values = [row.trial.measures[name] for row in trials if name in row.trial.measures]
    timed = name.rpartition("_")[2] in _UNITS
    came = [value for value in values if not (timed and value == _NEVER_MS)]
    yes_or_no = not timed and {row.measure(name) for row in every} <= {0.0, 1.0, None}
    return Times(tuple(came), len(values) - len(came), yes_or_no)


def _verdict(hazards: HazardEvidence, trials: Sequence[TrialRow]) -> str:
    """What these trials show, and no others; of a token or a kind of resource, what its own trials do."""
    row = trials[0]
    if plays(row.scenario, *tokens.ROLES):
        found = [one for one in hazards.tokens if (one.system, one.event) == (row.system, tokens.event_of(row))]
        return str(found[0].verdict) if found else ""
    if plays(row.scenario, Role.RESOURCE_KINDS):
        kinds = [one for one in hazards.resources if one.kind == str(row.parameter("resource", "referee"))]
        return ("checks tokens" if kinds[0].fences else "does not check") if kinds else ""
    if meaning_of(row.scenario).own_table:
        return ""
    return shown_word(Exposed.of(trials))


def _tolerance_row(hazards: HazardEvidence, row: ToleranceRow) -> Row:
    """Of a search the smallest breaking value alone: its other trials only lead there."""
    survived = NOTHING if row.largest_survived_ms is None else _number(row.largest_survived_ms)
    smallest = row.smallest_breaking_ms
    measures = {
        "smallest_breaking_ms": (
            (f"none up to {_number(row.largest_tried_ms)}" if smallest is None else _number(smallest)),
            "",
        ),
        "largest_harmless_ms": (survived, ""),
        "drift_term_ms": ((NOTHING if row.drift_ms is None else _number(row.drift_ms)), ""),
    }
    found = [
        one
        for one in hazards.in_role(Role.CLOCK_SEARCH, row.system)
        if (one.ttl_ms, tolerance.nodes_held(one), one.parameter("nodes_jumped"), one.parameter("when", ""))
        == (row.ttl_ms, row.nodes_held, row.nodes_jumped, row.when)
    ]
    return Row(
        system=row.system,
        parameters={
            "ttl_ms": f"{row.ttl_ms:,}",
            "nodes_held": str(row.nodes_held),
            "nodes_jumped": str(row.nodes_jumped),
            "when": row.when or NOTHING,
        },
        trials=row.tried,
        measures=measures,
        verdict=_verdict(hazards, found) if found else str(HazardVerdict.NOT_MEASURED),
        evidence=row.evidence,
    )


def _void_row(run: HazardRun, varying: Sequence[str]) -> Row:
    """A run that counts for nothing: what it was to be, and why it is not."""
    in_trials = {name for row in run.trials for name in row.trial.parameters}
    return Row(
        system=run.system,
        parameters={
            name: value_words(run.plan.parameters[name])
            if name in run.plan.parameters and name not in in_trials
            else NOTHING
            for name in varying
        },
        trials=0,
        verdict=VOID,
        evidence=(run.run_id,),
        void=f"{run.run_id}: {run.void_cause}: {run.void_reason}",
    )
