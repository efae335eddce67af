"""The comparison's two cells about safety, from the verdicts of a hazard campaign."""

from collections.abc import Callable, Sequence

from bench.analysis.cells import Absent
from bench.analysis.evidence import Evidence
from bench.analysis.hazards import clock_exposure
from bench.analysis.hazards.counts import NOBODY_LOOKED, Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import line_of, scenarios_in
from bench.analysis.hazards.reasons import longest_pin_ms
from bench.analysis.hazards.tokens import events_that_lower
from bench.analysis.hazards.tolerance import clock_rule
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.meaning import Role
from bench.report import formats
from bench.report.formats import NO_BREAK
from bench.report.hazard_verdicts import NOT_SEEN, word_of
from bench.report.model import Text
from bench.report.table_model import ABSENT, Footnotes

NO_TOKEN = "No token, so no fence can help; fence by other means"
NOT_EXPOSED = "No trial could have shown harm; play more trials"
COUNTER = "A deleted or lost counter starts again, and late writes pass; make it outlive the lock"
FEW = "Too few runs to call it safe; play more"
_CLOCKS = (Role.SERVER_CLOCKS, Role.CLOCK_SEARCH, Role.CLIENT_CLOCKS)


def pause_safety(evidence: Evidence, notes: Footnotes) -> Callable[[str], Text]:
    """What became of the system when its holder was stopped for longer than the lease, and at what price."""

    def measured(system: str) -> Text:
        hazards = evidence.hazards
        found = [one for one in _verdicts(hazards, system, Role.PAUSE_MAP) if not one.line.variant]
        if hazards is None or not found:
            return ABSENT
        (one,) = found
        marks = _notes(found, notes)
        if one.verdict is HazardVerdict.NOT_MEASURED:
            return Text(str(one.verdict), marks, measured=False, runs=one.evidence)
        word = word_of(one)
        if _counter_falls(one, hazards):
            word = f"{word}, while the counter survives"
            marks = (*marks, notes.number(COUNTER, system))
        clauses = [f"{word}: two holders in {_of(_holders(one))} pauses"]
        if (pinned_ms := longest_pin_ms(one.counted.rows)) is not None:
            clauses.append(f"waiters pinned for up to {formats.significant(pinned_ms / 1_000.0)}{NO_BREAK}s")
        return Text("; ".join(clauses), marks, runs=one.evidence)

    return measured


def _counter_falls(one: FaultVerdict, hazards: HazardEvidence) -> bool:
    """A fence lasts as long as its tokens rise: does safety lean on a counter that was seen to start anew?"""
    return one.verdict is HazardVerdict.WITH_FENCING and bool(events_that_lower(hazards.tokens, one.system))


def clock_sensitivity(evidence: Evidence, notes: Footnotes) -> Callable[[str], Text]:
    """Did a jump of any clock give two holders? Where it was searched for, the rule by which it does."""

    def measured(system: str) -> Text:
        hazards = evidence.hazards
        found = _verdicts(hazards, system, *_CLOCKS)
        if hazards is None or not found:
            return ABSENT
        counted = [one for one in found if one.verdict is not HazardVerdict.NOT_MEASURED]
        if not counted:
            if any(not row.has_lease for one in found for row in one.counted.others):
                return Text(f"no: {clock_exposure.NO_LEASE}", measured=False)
            return Text(ABSENT.words, _notes(found, notes), measured=False)
        marks, runs = _notes(found, notes), tuple(dict.fromkeys(run for one in counted for run in one.evidence))
        rule = clock_rule([row for row in hazards.tolerance if row.system == system])
        if not isinstance(rule, Absent):
            return Text(f"yes: two holders once clocks jump by {rule.words}", marks, runs=runs)
        showing = [one for one in counted if one.counted.harmful]
        count = sum((_holders(one) for one in showing or counted), NOBODY_LOOKED)
        if not showing:
            # Each line by its own runs: those of another fault did not look for this one's harm.
            word = NOT_SEEN if any(_holders(one).few for one in counted) else "no"
            return Text(f"{word}: two holders in {_of(count)} jumps, {count.runs_words}", marks, runs=runs)
        which = ", ".join(one.fault for one in showing)
        return Text(f"yes: two holders in {_of(count)} ({which})", marks, runs=runs)

    return measured


def _holders(one: FaultVerdict) -> Count:
    """Trials with two holders, whatever the verdict is about: exposed ones, or others where only those showed it."""
    return one.counted.outside if one.counted.outside.seen and not one.shown.seen else one.shown


def _of(count: Count) -> str:
    return f"{count.seen} of {count.of}"


def _verdicts(hazards: HazardEvidence | None, system: str, *roles: Role) -> list[FaultVerdict]:
    """The verdicts of a system in the scenarios of these roles, each with all of its lines."""
    if hazards is None:
        return []
    faults = {line_of(scenario) for scenario in scenarios_in(*roles)}
    return [one for one in hazards.verdicts if one.system == system and one.line.fault in faults]


def _notes(found: Sequence[FaultVerdict], notes: Footnotes) -> tuple[int, ...]:
    """Why nothing was measured, and why no fence helps; the counts of each fault stand in the hazard tables."""
    causes = []
    if any(one.verdict is HazardVerdict.UNSAFE and not one.has_token for one in found):
        causes.append(NO_TOKEN)
    if found and all(one.verdict is HazardVerdict.NOT_MEASURED for one in found):
        void = dict.fromkeys(lost.cause for one in found for lost in one.void)
        causes += [f"No trial was as staged ({', '.join(void)}); play it again"] if void else [NOT_EXPOSED]
    if any(one.counted.few for one in found):
        causes.append(FEW)
    return tuple(notes.number(cause, found[0].system) for cause in causes)
