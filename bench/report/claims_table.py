"""The verdicts as plain rows: one line a claim and row of the comparison."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Value
from bench.analysis.claims import Claim, load_claims
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.claims import judge_by_hazards
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.metrics import metric
from bench.analysis.verdicts import Judgement, Verdict
from bench.report import formats
from bench.report.formats import NO_BREAK, NOTHING, RANGE
from bench.report.model import Look

# What refutes a claim and speaks for the system: over loopback most failures are claims about a network.
_BETTER = (metric("acquire_us_p50").less_than_claimed, metric("throughput_pairs_per_s").more_than_claimed)
_LOOKS = {
    Verdict.HOLDS: Look.HOLDS,
    Verdict.FAILS: Look.FAILS,
    Verdict.CONDITION: Look.CONDITION,
    Verdict.CANNOT_SAY: Look.UNDECIDED,
    Verdict.NOT_TESTABLE: Look.UNDECIDED,
    Verdict.NOT_MEASURED: Look.UNDECIDED,
}


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One line, ready to print."""

    id: str
    source: str  # the title of the page
    system: str
    claimed: str
    measured: str
    verdict: Verdict
    shown: str  # the verdict in the words of a table
    favourable: bool  # it fails, since the system did better than was claimed: no reproach
    why: str
    evidence: str
    runs: tuple[str, ...]  # the same as ids

    @property
    def look(self) -> Look:
        """How a page shows its verdict."""
        return Look.FAVOURABLE if self.favourable else _LOOKS[self.verdict]


def verdict_rows(evidence: Evidence) -> tuple[VerdictRow, ...]:
    """The claims that the campaign tested, in claim order; those that it did not are left to `untested`."""
    return _rows(evidence.judgements)


def rows_about(evidence: Evidence, systems: Collection[str]) -> tuple[VerdictRow, ...]:
    """The same of some systems, judged beside all others."""
    return _rows(judgement for judgement in evidence.judgements if judgement.system in systems)


def safety_rows(hazards: HazardEvidence, claims: Sequence[Claim] | None = None) -> tuple[VerdictRow, ...]:
    """The claims (default: the project's) that a hazard campaign alone was a test of, in claim order."""
    judged = load_claims() if claims is None else claims
    return _rows([one for claim in judged for one in judge_by_hazards(claim, hazards)])


def _rows(judgements: Iterable[Judgement]) -> tuple[VerdictRow, ...]:
    return tuple(
        VerdictRow(
            id=judgement.claim.id,
            source=judgement.claim.source,
            system=names.title(judgement.system),
            claimed=_claimed(judgement),
            measured=_measured(judgement),
            verdict=judgement.verdict,
            shown=_better_than_claimed(judgement) or str(judgement.verdict),
            favourable=bool(_better_than_claimed(judgement)),
            why=judgement.why or NOTHING,
            evidence=formats.run_list(judgement.evidence) or NOTHING,
            runs=tuple(judgement.evidence),
        )
        for judgement in judgements
        if judgement.verdict is not Verdict.NOT_MEASURED
    )


def untested(evidence: Evidence) -> tuple[str, ...]:
    """Ids of the claims that no experiment of this campaign is about."""
    tested = {judgement.claim.id for judgement in evidence.judgements if judgement.verdict is not Verdict.NOT_MEASURED}
    return tuple(claim.id for claim in evidence.claims if claim.id not in tested)


def tally(rows: Sequence[VerdictRow]) -> str:
    """How often each verdict was given, in words."""
    counts = Counter(row.shown for row in rows)
    words = [f"{shown}: {counts[shown]}" for shown in (*Verdict, *_BETTER) if counts[shown]]
    return ", ".join(words) or "none was tested"


def _better_than_claimed(judgement: Judgement) -> str:
    """In which way, in a word; "" where it is not so."""
    if judgement.verdict is not Verdict.FAILS:
        return ""
    return next((words for words in _BETTER if judgement.why.startswith(words)), "")


def _claimed(judgement: Judgement) -> str:
    """The claimed figure beside a measured one; a claim about safety in its own words."""
    claim = judgement.claim
    if not judgement.measured and judgement.break_even is None:
        return claim.claim
    return f"{formats.claimed_range(claim)} {claim.unit}".replace(" ", NO_BREAK)


def _measured(judgement: Judgement) -> str:
    if not judgement.measured:
        return judgement.found or NOTHING
    if judgement.claim.metric != "acquire_latency":
        return "; ".join(_rate(value, judgement.at_least) for value in judgement.measured)
    words = [_ms(value, judgement.at_most) for value in judgement.measured]
    if len(set(words)) == 1 and not words[0][:1].isdigit():
        return words[0]
    numbers = all(one[:1].isdigit() for one in words)
    shown = f"{RANGE.join(words)}{NO_BREAK}ms" if numbers else f" {RANGE} ".join(words)
    return f"≤{NO_BREAK}{shown}" if judgement.at_most else shown


def _ms(value: Value, at_most: bool) -> str:
    return value.reason if isinstance(value, Absent) else formats.ms(value.high if at_most else value.value)


def _rate(value: Value, at_least: bool) -> str:
    if isinstance(value, Absent):
        return value.reason
    words = f"≥{NO_BREAK}{formats.whole(value.low)}" if at_least else formats.whole(value.value)
    return f"{words}{NO_BREAK}pairs/s"
