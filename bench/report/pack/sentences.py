"""What a campaign says of each system in short sentences, and what to watch out for: made from what was measured."""

from collections.abc import Iterable, Sequence

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Absent
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.recovery import Excess
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.hazards.tokens import TokenVerdict
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.analysis.verdicts import Verdict
from bench.records.meaning import Role
from bench.report import formats
from bench.report.cell_texts import by_fair_words, held
from bench.report.claims_table import rows_about
from bench.report.comparison import build_comparison
from bench.report.formats import NO_BREAK
from bench.report.glance import NO_TOKEN
from bench.report.hazard_verdicts import count_words
from bench.report.model import Block, FactList, Heading, Text
from bench.report.table_model import Property

RECOVERY = "recovery"  # a row of the pack's table that the glance has not
_MEASURED_SIGNS = 160  # of what was measured of such a claim; more of it is a table's business
_CLAIMS_NAMED = 4  # claims that failed, in one list; all of them stand in the appendix


def summary_blocks(evidence: Evidence) -> Sequence[Block]:
    """A few sentences a system; nothing where nothing was measured."""
    items = [(name, words) for name, words in system_sentences(evidence) if words]
    return (Heading("Summary"), FactList(items)) if items else ()


def system_sentences(evidence: Evidence) -> Sequence[tuple[str, str]]:
    """Title and sentences of each system; "" for a system of which nothing was measured."""
    comparison = build_comparison(evidence)
    properties = {one.key: one for one in comparison.properties}
    found = []
    for column in comparison.columns:
        tags = f" ({', '.join(column.tags)})" if column.tags else ""
        found.append((f"{column.title}{tags}", " ".join(_sentences(evidence, properties, column.system))))
    return found


def _sentences(evidence: Evidence, properties: dict[str, Property], system: str) -> Iterable[str]:
    if words := _measured(properties, "acquire_latency", system):
        numbers, _, bound = words.removesuffix(")").partition(" (")
        about = ", ".join(filter(None, (f"p50{formats.RANGE}p99", bound)))
        yield f"A free lock takes {numbers}{NO_BREAK}ms ({about})."
    if words := _measured(properties, "throughput", system):
        yield f"Pairs of acquire and release per second: {words}."
    if words := _waiting(evidence, system):
        yield f"{words}."
    if words := _measured(properties, "pause_safety", system):
        yield f"When the holder pauses, it is {words.replace('; ', ', with ')}."
    if recovery := recovery_text(evidence.hazards, system):
        yield f"A crash of the holder keeps the others out for {recovery.words}."
    if words := _measured(properties, "fencing", system):
        yield "It has no fencing token." if words == NO_TOKEN else f"Its fencing token {words.replace('; ', '. It ')}."


def _measured(properties: dict[str, Property], key: str, system: str) -> str:
    """What the glance says; "" where it has no measurement."""
    text = properties[key].pairs[system].measured
    return text.words if text.measured else ""


def _waiting(evidence: Evidence, system: str) -> str:
    cells = [evidence.of_waiting(cell)[0] for cell in evidence.cells_for(system, "contended")]
    if len(cells) != 1 or isinstance(cells[0].value("wait_by_fair_p99"), Absent):
        return ""
    clients = formats.counted([cells[0].workload.clients], "contender")
    return f"With {clients} the p99 wait is {by_fair_words(cells[0], brief=True)} ({held(cells[0])})"


def recovery_text(hazards: HazardEvidence | None, system: str) -> Text | None:
    """How much later than its TTL the lock was granted after a crash of its holder; None: not measured."""
    if hazards is None:
        return None
    points = [one for one in hazards.recovery_points if one.system == system]
    if not any(one.excess_ms is not None for one in points):
        return None
    return Text(Excess.of(points).words, runs=tuple(dict.fromkeys(one.run_id for one in points)))


# What to watch out for


def warnings(evidence: Evidence, whole: Evidence) -> Sequence[str]:
    """Each a sentence made from a verdict, a token or a claim; `whole` is the evidence of all systems, for claims."""
    of_lab = [] if evidence.hazards is None else [*_of_tokens(evidence.hazards), *_of_verdicts(evidence.hazards)]
    return (*of_lab, *_of_claims(evidence, whole))


def _of_tokens(hazards: HazardEvidence) -> Iterable[str]:
    without = dict.fromkeys(row.system for row in hazards.tokens if row.verdict is TokenVerdict.NONE)
    if without:
        yield f"No fencing token: {_titles(without)}. No resource can refuse a late holder's write there."
    fell = [row for row in hazards.tokens if row.verdict is TokenVerdict.LIES]
    for system in dict.fromkeys(row.system for row in fell):
        rows = [row for row in fell if row.system == system]
        events = "; ".join(
            f"{row.event.replace('_', ' ')}: {row.faults.seen:,} of {row.faults.of:,}{' pairs of grants' * (at == 0)}"
            for at, row in enumerate(rows)
        )
        yield f"{names.title(system)}: the token fell ({events}). A fence is as good as what keeps its counter."


def _of_verdicts(hazards: HazardEvidence) -> Iterable[str]:
    ahead = scenarios_in(Role.LATE_AHEAD)
    gaps = [one for one in hazards.verdicts if one.line.fault in ahead and one.verdict is HazardVerdict.UNSAFE]
    if gaps:
        counts = "; ".join(f"{names.title(one.system)} {count_words(one)}" for one in gaps)
        yield (
            "Present the token before the first read: a fence that met it with the first write let late writes pass "
            f"({counts})."
        )
    others = [one for one in hazards.verdicts if one.line.fault not in ahead]
    for verdict, words in (
        (HazardVerdict.UNSAFE, "unsafe under"),
        (HazardVerdict.UNAVAILABLE, "nobody got the lock under"),
    ):
        for system in dict.fromkeys(one.system for one in others if one.verdict is verdict):
            found = [one for one in others if one.system == system and one.verdict is verdict]
            yield f"{names.title(system)}: {words} {faults_words(found)}."


def faults_words(found: Iterable[FaultVerdict]) -> str:
    """Faults by their words, each once: with its variant, or with the number of them where there are several."""
    by_fault: dict[str, list[str]] = {}
    for one in found:
        by_fault.setdefault(subject_of(one.line.fault).plain.words, []).append(one.fault)
    return "; ".join(
        f"{fault} ({len(variants)} variants)" if len(variants) > 1 else variants[0]
        for fault, variants in by_fault.items()
    )


def verdict_words(found: Sequence[FaultVerdict], verdict: HazardVerdict) -> Text:
    """The faults under which one verdict was given, with the runs that show it; of what is safe only how many."""
    those = [one for one in found if one.verdict is verdict]
    runs = tuple(dict.fromkeys(run for one in those for run in one.evidence))
    words = formats.counted([len(those)], "fault") if verdict is HazardVerdict.SAFE else faults_words(those)
    return Text(words if those else formats.NOTHING, measured=bool(those) or None, runs=runs)


def _of_claims(evidence: Evidence, whole: Evidence) -> Iterable[str]:
    rows = [row for row in rows_about(whole, evidence.chosen) if row.verdict is Verdict.FAILS and not row.favourable]
    for row in rows[:_CLAIMS_NAMED]:
        measured = row.measured if len(row.measured) <= _MEASURED_SIGNS else "see the appendix"
        yield (
            f"A claim of \u201c{row.source}\u201d fails for {row.system} ({row.id}): {row.claimed}. "
            f"Measured: {measured}."
        )
    if (more := len(rows) - _CLAIMS_NAMED) > 0:
        yield f"{formats.counted([more], 'more claim')} about these systems failed: see the appendix."


def _titles(systems: Iterable[str]) -> str:
    return ", ".join(map(names.title, systems)) or NOT_MEASURED
