"""All claims, by page or by system: verdict, value, runs, and one plain sentence each. No verdict is typed here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.claims import ALL_SYSTEMS, Claim, sources
from bench.analysis.disagreements import disagreements
from bench.analysis.evidence import Evidence
from bench.analysis.judgement import Verdict
from bench.report import formats
from bench.report.claims_table import VerdictRow, untested, verdict_rows
from bench.report.formats import NOTHING
from bench.report.model import Block, Column, Fit, Heading, Look, Paragraph, Table, Text
from bench.systems.registry import SYSTEMS

BY_PAGE, BY_SYSTEM = "page", "system"
_EMULATED = "on an emulator of the API"


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """A claim about one system, as it came out."""

    id: str
    source: str  # the page's title
    system: str  # its title
    verdict: str
    value: str  # what was measured or counted; NOTHING where nothing was
    runs: tuple[str, ...]
    sentence: str
    judged: bool  # False: neither a verdict nor a reason why there can be none
    look: Look | None = None


def claim_lines(evidence: Evidence) -> tuple[ClaimLine, ...]:
    """One line a claim and system, all claims, in the order of their file."""
    claims = {claim.id: claim for claim in evidence.claims}
    lines = [_judged(row, claims[row.id]) for row in verdict_rows(evidence)]
    lines += [_unjudged(evidence, claims[name]) for name in untested(evidence)]
    order = {name: place for place, name in enumerate(claims)}
    return tuple(sorted(lines, key=lambda line: order[line.id]))


def claims_by(lines: Sequence[ClaimLine], by: str) -> Iterable[Block]:
    """A heading and a table for each page (`BY_PAGE`) or system (`BY_SYSTEM`)."""
    groups: dict[str, list[ClaimLine]] = {}
    for line in lines:
        groups.setdefault(line.source if by == BY_PAGE else line.system, []).append(line)
    for title, found in groups.items():
        yield Heading(title, 3, count_words(found))
        yield Table(_columns(by), found)


def count_words(lines: Sequence[ClaimLine]) -> str:
    """How many claims, and how often each verdict was given: a claim has one for each system that it is about."""
    counts: dict[str, int] = {}
    for line in lines:
        counts[line.verdict] = counts.get(line.verdict, 0) + 1
    claims = formats.counted([len({line.id for line in lines})], "claim")
    verdicts = f", {formats.counted([len(lines)], 'verdict')}" if len({line.id for line in lines}) < len(lines) else ""
    return f"{claims}{verdicts}; " + ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())


def disagreement_blocks(evidence: Evidence) -> Iterable[Block]:
    """Where pages contradict each other, with what was measured beside their ranges."""
    found = disagreements(evidence.claims)
    if not found:
        yield Paragraph("No two pages contradict each other.")
        return
    lines = claim_lines(evidence)
    titles = sources(evidence.claims)
    rows = [
        (names.title(one.system), one.metric, claim, _measured(lines, claim), titles.index(claim.source))
        for one in found
        for claim in one.claims
    ]
    yield Table(_DISAGREE, rows)


def _judged(row: VerdictRow, claim: Claim) -> ClaimLine:
    return ClaimLine(
        row.id,
        row.source,
        row.system,
        row.shown,
        row.measured,
        row.runs,
        _sentence(row, claim),
        True,
        row.look,
    )


def _unjudged(evidence: Evidence, claim: Claim) -> ClaimLine:
    """Either a reason that no campaign of this bench can change, or none: then it waits for a measurement."""
    if claim.system not in SYSTEMS and claim.system != ALL_SYSTEMS:
        reason, judged = f"lockbench has no adapter for {claim.system}", True
    else:
        own = next(one for one in evidence.judgements if one.claim.id == claim.id)
        reason, judged = own.why, False
    said = f"“{claim.claim}”: {reason}."
    verdict = str(Verdict.NOT_TESTABLE if judged else Verdict.NOT_MEASURED)
    return ClaimLine(claim.id, claim.source, names.title(claim.system), verdict, NOTHING, (), said, judged)


def _sentence(row: VerdictRow, claim: Claim) -> str:
    """What the page says, and what becomes of it; the numbers stand beside it."""
    said = f"“{claim.claim}”"
    match row.verdict:
        case Verdict.HOLDS:
            return f"{said} holds."
        case Verdict.FAILS:
            return f"{said} fails: {row.shown}." if row.favourable else f"{said} fails."
        case Verdict.CONDITION:
            return f"{said} holds here {_condition(row.why)}."
        case Verdict.CANNOT_SAY:
            return f"{said}: these runs cannot tell. {_sentence_case(_first(row.why))}."
    return f"{said} is not testable here: {_first(row.why)}."


def _condition(why: str) -> str:
    """The condition that a verdict begins with; behind a colon stand its numbers."""
    first, _, rest = why.partition(": ")
    if first == _EMULATED and rest.startswith(("if ", "as long as ", "not ")):
        return f"{first}, {rest.partition(': ')[0].partition('; ')[0]}"
    if first.startswith(("if ", "as long as ", "at ", "for ", "on ", "because ", "it depends")):
        return first if not first.startswith("it ") else f"in part: {first}"
    return f"with what its runs show: {first}"


def _sentence_case(words: str) -> str:
    """TTL stays TTL."""
    return words[:1].upper() + words[1:]


def _first(why: str) -> str:
    return why.partition("; ")[0]


def _columns(by: str) -> Sequence[Column[ClaimLine]]:
    beside: Column[ClaimLine] = (
        Column("System", lambda line: line.system, fit=Fit(width=13))
        if by == BY_PAGE
        else Column("Page", lambda line: line.source, fit=Fit(width=13))
    )
    return (
        Column("Claim", lambda line: line.id, fit=Fit(width=5)),
        beside,
        Column("Verdict", _verdict, fit=Fit(width=12)),
        Column("Value", lambda line: Text(line.value, runs=line.runs), strong=False, fit=Fit(width=20)),
        Column("Runs", lambda line: str(len(line.runs) or NOTHING), fit=Fit(width=4, right=True)),
        Column("In a sentence", lambda line: line.sentence, fit=Fit(least=30)),
    )


def _verdict(line: ClaimLine) -> Text:
    return Text(line.verdict, look=line.look or Look.UNDECIDED, runs=line.runs)


def _measured(lines: Sequence[ClaimLine], claim: Claim) -> ClaimLine | None:
    """The line of the claim's own system, not of a variant of it."""
    return next((line for line in lines if line.id == claim.id), None)


_Row = tuple[str, str, Claim, ClaimLine | None, int]
_DISAGREE: Sequence[Column[_Row]] = (
    Column("System", lambda row: row[0], fit=Fit(width=13, once=True)),
    Column("Figure", lambda row: row[1].replace("_", " "), fit=Fit(width=10)),
    Column("Page", lambda row: row[2].source, fit=Fit(width=28)),
    Column("Claimed", lambda row: f"{formats.claimed_range(row[2])} {row[2].unit}", fit=Fit(width=14)),
    Column("Measured", lambda row: row[3].value if row[3] else NOTHING, fit=Fit(width=16)),
    Column("Verdict", lambda row: _verdict(row[3]) if row[3] else NOTHING, fit=Fit(width=14)),
)


def as_documents(lines: Iterable[ClaimLine]) -> list[Mapping[str, object]]:
    """Plain values, for scripts."""
    return [
        {
            "claim": line.id,
            "page": line.source,
            "system": line.system,
            "verdict": line.verdict,
            "value": line.value,
            "runs": list(line.runs),
            "sentence": line.sentence,
        }
        for line in lines
    ]
