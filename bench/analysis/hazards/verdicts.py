"""A verdict for each system and fault: safe, safe only with fencing, unsafe, unavailable.

    unsafe                  the harm showed (two clients held the lock), and a fence did not help: a late write was
                            accepted with the fence on, or there is no token for it to check, or none was refused
    safe only with fencing  two clients held the lock; with the fence on, every late write was refused
    safe                    the harm never showed, in as many exposed trials as there were
    unavailable             no such harm, but there were trials in which nobody got the lock
    not measured            no trial could have shown anything

Counted are the exposed trials, which their staging decides (`exposure`). Harm in any other trial is separate: it is
no frequency, since the staging did not make for it, but it is harm, and no system is safe that showed it. So are trials
in which nobody got the lock, and controls, in which nothing was done: those have a line only where they show harm.

What the harm is, is the scenario's to say (`Hazard`); with most it is two holders.

The first that applies is the verdict, so that more evidence of harm never makes it better.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from bench.analysis import names
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.harms import Hazard
from bench.analysis.hazards.meanings import meaning_of
from bench.analysis.hazards.reasons import reason_for
from bench.analysis.hazards.rows import HazardRun, TrialRow, run_ids
from bench.analysis.hazards.subjects import Line, Subject, subject_of
from bench.analysis.hazards.variants import Variant
from bench.analysis.hazards.vocabulary import HazardVerdict

CONTROL = Variant("nothing-done", "nothing done")


@dataclass(frozen=True, slots=True)
class VoidRun:
    """A run that counts for nothing, and why."""

    run_id: str
    scenario: str
    system: str
    cause: str
    reason: str


@dataclass(frozen=True, slots=True)
class FaultVerdict:
    """One system under one fault."""

    system: str
    line: Line
    hazard: Hazard
    verdict: HazardVerdict
    counted: Exposed
    overlap_ms_max: float  # the longest time of two holders in one exposed trial
    emulator: bool
    reason: str
    evidence: tuple[str, ...]  # the runs that show it; all of them where nothing was shown
    runs: tuple[str, ...]  # all that have an exposed trial
    void: tuple[VoidRun, ...]

    @property
    def id(self) -> str:
        """Of the fault and its variant, for code: restart/durability-none."""
        return self.line.id

    @property
    def fault(self) -> str:
        """The same in words, for tables: "restart of all servers (durability none)"."""
        return self.line.words

    @property
    def shown(self) -> Count:
        return self.counted.shown

    @property
    def has_token(self) -> bool:
        return self.counted.has_token

    @property
    def telling(self) -> Count:
        """The count behind the word: trials without a grant where that is the subject or the verdict, else harm."""
        counted = self.counted
        if not counted.shown.seen and counted.outside.seen:
            return counted.outside
        if self.verdict is HazardVerdict.UNAVAILABLE and not counted.unavailable.seen:
            return counted.unavailable_outside
        return counted.unavailable if self.telling_hazard.of_availability and not counted.shown.seen else counted.shown

    @property
    def telling_hazard(self) -> Hazard:
        """What that count counts."""
        harmless = not self.counted.shown.seen and not self.counted.outside.seen
        if self.hazard.of_availability:
            return self.hazard if harmless else Hazard.TWO_HOLDERS
        other = self.verdict is HazardVerdict.UNAVAILABLE or not self.counted.shown.of
        return Hazard.AVAILABILITY if harmless and other else self.hazard


def fault_verdicts(runs: Sequence[HazardRun]) -> tuple[FaultVerdict, ...]:
    """One for each system and fault that was tried, by fault and then by system, in table order."""
    groups: dict[tuple[Line, str], _Group] = {}
    judged = [(run, subject_of(run.scenario)) for run in runs if not meaning_of(run.scenario).own_table]
    sorted_out = [(run, subject, _by_line(subject, run)) for run, subject in judged]
    planned: dict[Hashable, list[Line]] = {}
    for run, _, by_line in sorted_out:
        if by_line:
            planned.setdefault(_planned_like(run), list(by_line))
    for run, subject, by_line in sorted_out:
        # Without a history a run stands where those stand that were planned like it, or else in its fault's plain line.
        for line in by_line if run.trials else planned.get(_planned_like(run), [subject.plain]):
            group = groups.setdefault((line, run.system), _Group(subject))
            if run.void:
                group.void.append(void_run(run))
            else:
                group.rows += by_line.get(line, [])
    ordered = sorted(groups, key=lambda key: (groups[key].subject.place, key[0].words, names.position(key[1]), key[1]))
    return tuple(_verdict(system, line, groups[line, system]) for line, system in ordered)


def _by_line(subject: Subject, run: HazardRun) -> dict[Line, list[TrialRow]]:
    """A run's trials by the line in which they count."""
    found: dict[Line, list[TrialRow]] = {}
    for row in run.trials:
        if (line := _line(subject, row)) is not None:
            found.setdefault(line, []).append(row)
    return found


def _planned_like(run: HazardRun) -> Hashable:
    return run.scenario, run.system, frozenset(run.plan.parameters.items())


def _line(subject: Subject, row: TrialRow) -> Line | None:
    """The line of the table that a trial counts in. A control has none, unless it shows harm: that needed no fault."""
    if (line := subject.line(row)) is not None:
        return line
    return subject.apart(CONTROL) if subject.shows(row) or subject.unavailable(row) else None


def void_run(run: HazardRun) -> VoidRun:
    """A void run in the words of its row."""
    return VoidRun(run.run_id, run.scenario, run.system, run.void_cause or "", run.void_reason or "")


@dataclass(slots=True)
class _Group:
    subject: Subject
    rows: list[TrialRow] = field(default_factory=list)
    void: list[VoidRun] = field(default_factory=list)


def _verdict(system: str, line: Line, group: _Group) -> FaultVerdict:
    counted = Exposed.of(group.rows)
    telling = (
        counted.harmful
        or [row for row in group.rows if subject_of(row.scenario).unavailable(row)]
        or counted.rows
        or group.rows
    )
    return FaultVerdict(
        system=system,
        line=line,
        hazard=group.subject.hazard,
        verdict=counted.verdict,
        counted=counted,
        overlap_ms_max=max((row.overlap_ms for row in counted.rows), default=0.0),
        emulator=any(row.emulator for row in group.rows),
        reason=reason_for(counted, group.subject.hazard, [one.cause for one in group.void]),
        evidence=run_ids(telling),
        runs=run_ids(counted.rows),
        void=tuple(group.void),
    )
