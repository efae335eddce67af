"""A verdict for each system and fault: safe, safe only with fencing, unsafe, unavailable.

    unsafe                  the harm showed (two clients held the lock), and a fence did not help: a late write was
                            accepted with the fence on, or there is no token for it to check, or none was refused
    safe only with fencing  two clients held the lock; with the fence on, every late write was refused, from the new
                            holder's first write on (`late_writes` has what came before that, and the reason tells it)
    safe                    the harm never showed, in as many trials as could have shown it
    unavailable             no such harm, but there were trials in which nobody got the lock
    not measured            no trial could have shown anything

What the harm is, is the scenario's to say (`Hazard`); with most it is two holders.

The first that applies is the verdict, so that more evidence of harm never makes it better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.analysis import names
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.late_writes import stale_count
from bench.analysis.hazards.reasons import reason_for
from bench.analysis.hazards.rows import HazardRun, TrialRow, run_ids
from bench.analysis.hazards.subjects import OF_OTHER_TABLES, Hazard, Subject, place_of, subject_of
from bench.analysis.hazards.vocabulary import HazardVerdict


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
    fault: str  # in words, with what sets it apart: "restart of all servers (durability none)"
    hazard: Hazard
    verdict: HazardVerdict
    shown: Count  # trials in which the hazard showed, of those that could show it, whatever the fence did
    stale_without: Count  # late writes accepted, of those sent with the fence off
    stale_with: Count  # the same with the fence on
    unavailable: Count  # trials in which nobody got the lock, of those that were counted
    overlap_ms_max: float  # the longest time of two holders in one trial
    has_token: bool
    emulator: bool
    reason: str
    evidence: tuple[str, ...]  # the runs that show it; all of them where nothing was shown
    runs: tuple[str, ...]  # all that were counted
    void: tuple[VoidRun, ...]

    @property
    def telling(self) -> Count:
        """The count behind the word: trials without a grant where that is the subject or the verdict, else harm."""
        harmless = not self.shown.seen
        asked = self.hazard.of_availability or self.verdict is HazardVerdict.UNAVAILABLE
        return self.unavailable if asked and harmless else self.shown


def decide(shown: Count, stale_with: Count, has_token: bool, unavailable: Count) -> HazardVerdict:
    """The verdict from the counts alone."""
    if shown.seen:
        fenced = has_token and stale_with.of > 0 and stale_with.seen == 0
        return HazardVerdict.WITH_FENCING if fenced else HazardVerdict.UNSAFE
    if unavailable.seen:
        return HazardVerdict.UNAVAILABLE
    return HazardVerdict.SAFE if shown.of else HazardVerdict.NOT_MEASURED


def fault_verdicts(runs: Sequence[HazardRun]) -> tuple[FaultVerdict, ...]:
    """One for each system and fault that was tried, by fault and then by system, in table order."""
    groups: dict[tuple[str, str], _Group] = {}
    for run in runs:
        if run.scenario in OF_OTHER_TABLES:
            continue
        subject = subject_of(run.scenario)
        # A void run without a history cannot say which line of its fault it belongs to: it stands in the plain one.
        labels = dict.fromkeys(subject.label(row) for row in run.trials) if run.trials else [subject.fault]
        for label in labels:
            if label is None:
                continue
            group = groups.setdefault((label, run.system), _Group(place_of(run.scenario), subject))
            if run.void:
                group.void.append(void_run(run))
            else:
                group.rows += [row for row in run.trials if subject.label(row) == label]
    ordered = sorted(groups, key=lambda key: (groups[key].place, key[0], names.position(key[1]), key[1]))
    return tuple(_verdict(system, label, groups[label, system]) for label, system in ordered)


def void_run(run: HazardRun) -> VoidRun:
    """A void run in the words of its row."""
    return VoidRun(run.run_id, run.scenario, run.system, run.void_cause or "", run.void_reason or "")


@dataclass(slots=True)
class _Group:
    place: int  # of the fault in the table
    subject: Subject
    rows: list[TrialRow] = field(default_factory=list)
    void: list[VoidRun] = field(default_factory=list)


def _verdict(system: str, fault: str, group: _Group) -> FaultVerdict:
    # Two scenarios may share a fault (a jump of one server's clock, and of several): each trial by its own predicate.
    def about(row: TrialRow) -> Subject:
        return subject_of(row.scenario)

    showing = [row for row in group.rows if about(row).shows(row)]
    counted = [row for row in group.rows if about(row).shows(row) or about(row).exposed(row)]
    shown = Count(len(showing), len(counted))
    stale_without, stale_with = stale_count(counted, False), stale_count(counted, True)
    unavailable = Count.over(about(row).unavailable(row) for row in counted)
    has_token = any(row.has_token for row in group.rows)
    verdict = decide(shown, stale_with, has_token, unavailable)
    telling = showing or [row for row in counted if about(row).unavailable(row)] or counted or group.rows
    return FaultVerdict(
        system=system,
        fault=fault,
        hazard=group.subject.hazard,
        verdict=verdict,
        shown=shown,
        stale_without=stale_without,
        stale_with=stale_with,
        unavailable=unavailable,
        overlap_ms_max=max((row.overlap_ms for row in counted), default=0.0),
        has_token=has_token,
        emulator=any(row.emulator for row in group.rows),
        reason=reason_for(verdict, group.subject.hazard, counted, shown, stale_with, unavailable, group.void),
        evidence=run_ids(telling),
        runs=run_ids(counted),
        void=tuple(group.void),
    )
