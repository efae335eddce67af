"""The comparison: what one page claims of six systems, beside what this campaign measured.

Nothing is ranked: rows differ in durability and topology, which stand beside every number, and an emulator's speed
says nothing about the service that it stands in for.
"""

from collections.abc import Iterable

from bench.analysis import names
from bench.analysis.cells import STALLS_NEEDED, Absent
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.quantiles import FRACTIONS, carries
from bench.records.schema import Environment
from bench.report import formats
from bench.report.cell_texts import first_page
from bench.report.glance import properties
from bench.report.group_marks import method_sentences
from bench.report.long_form import long_rows
from bench.report.machine import OWN, cores, ours, run_sources
from bench.report.table_model import Comparison, Context, Footnotes, LongRow, SystemColumn
from bench.report.topics import apart


def build_comparison(evidence: Evidence) -> Comparison:
    """The comparison of the headline systems, and the long form of every system that the campaign ran.

    Made once for one body of evidence: every document and every format has the same.
    """
    return evidence.once(_build)


def _build(evidence: Evidence) -> Comparison:
    notes = Footnotes(evidence.systems)
    columns = tuple(_column(evidence, system) for system in evidence.headline)
    lines = tuple(properties(evidence, notes))
    rows = tuple(long_rows(evidence, notes))
    return Comparison(
        facts=_facts(evidence),
        twice=f"Each property twice: what \u201c{first_page(evidence)}\u201d claims, and what this campaign measured.",
        method=_method(evidence),
        columns=columns,
        properties=lines,
        contexts=(*_contexts(evidence, rows), _token_sources(evidence)),
        rows=rows,
        footnotes=notes.texts,
    )


def _column(evidence: Evidence, system: str) -> SystemColumn:
    settings = [cell.setting for cell in evidence.cells if cell.system == system and cell.setting is not None]
    engines = sorted({setting.engine for setting in settings if setting.engine})
    tags = sorted({tag for setting in settings for tag in setting.tags}) if settings else names.tags(system)
    return SystemColumn(system, names.title(system, ", ".join(engines)), tuple(tags))


def _contexts(evidence: Evidence, rows: tuple[LongRow, ...]) -> tuple[Context, ...]:
    lines = (
        ("Durability, as the server says", "durability"),
        ("Servers", "nodes"),
        ("Wait when contended", "wait"),
        ("Server version", "version"),
        ("Source of the servers", "source"),
    )
    found = []
    for title, attribute in lines:
        texts: dict[str, str] = {}
        for row in rows:
            texts.setdefault(row.system, getattr(row, attribute))
        found.append(Context(title, {system: texts[system] for system in evidence.headline}))
    return tuple(found)


def _token_sources(evidence: Evidence) -> Context:
    texts: dict[str, str] = {}
    for system in evidence.headline:
        seen = [run.capabilities for run in evidence.rows if run.system == system and run.capabilities]
        sources = dict.fromkeys(capabilities.get("fencing_source", "") or "no token" for capabilities in seen)
        texts[system] = "; ".join(sources) or formats.NOTHING
    return Context("Source of the token", texts)


def _facts(evidence: Evidence) -> tuple[tuple[str, str], ...]:
    campaign, machine = evidence.campaign, evidence.environment
    lab = evidence.hazards
    used = sum(not row.void for row in evidence.rows)
    # Of servers given by URL nothing is known but what they say themselves.
    whose = " of the generator" if OWN in run_sources(evidence) else ""
    return (
        *_campaigns(evidence),
        (
            "Runs",
            f"{len(campaign.runs)} planned, {len(evidence.rows)} started, {used} counted{_interruptions(evidence)}",
        ),
        ("lockbench", f"{campaign.lockbench_version}, commit {campaign.git_commit}"),
        (
            f"Machine{whose}",
            f"{machine.cpu_model}, {cores(machine)}, {machine.memory_bytes / 2**30:.0f} GiB, "
            f"{machine.operating_system}, kernel {machine.kernel}, virtualization {machine.virtualization}",
        ),
        (
            f"Disk and network{whose}",
            f"{machine.filesystem}, fdatasync p50 {formats.ms(machine.fdatasync_us_p50)} ms{_p99(machine)}; loopback "
            f"round trip p50 {machine.loopback_rtt_us_p50:.0f} µs in the quickest burst{_bursts(machine)}",
        ),
        *(_apart_fact(topic.heading, found) for topic, found in apart(evidence)),
        *([_hazard_fact(lab)] if lab is not None else []),
    )


def _campaigns(evidence: Evidence) -> Iterable[tuple[str, str]]:
    campaign, count = evidence.campaign, len(evidence.environments)
    if not count:
        yield "Campaign", f"{campaign.campaign_id}, {campaign.mode}, started {campaign.created_at}"
        return
    yield "Campaigns", f"{campaign.campaign_id}: {campaign.mode}, the first started {campaign.created_at}"


def _p99(machine: Environment) -> str:
    """The rule of every other percentile: printed only where the sample carries it."""
    carried = carries(machine.fdatasync_calls, FRACTIONS["p99"])
    return f" and p99 {formats.ms(machine.fdatasync_us_p99)} ms" if carried else ""


def _bursts(machine: Environment) -> str:
    bursts = machine.loopback_rtt_us_bursts
    return f" of {len(bursts)} ({min(bursts):.0f}{formats.RANGE}{max(bursts):.0f} µs)" if bursts else ""


def _apart_fact(heading: str, found: Evidence) -> tuple[str, str]:
    """The campaigns behind what was measured apart, which are of other code and may be of another day."""
    campaign, used = found.campaign, sum(not row.void for row in found.rows)
    first = "the first " if found.environments else ""
    return (
        heading,
        f"{campaign.campaign_id}, {campaign.mode}, {first}started {campaign.created_at}, commit "
        f"{campaign.git_commit}: {used} of {len(found.rows)} runs counted on {found.environment.cpu_model}",
    )


def _hazard_fact(lab: HazardEvidence) -> tuple[str, str]:
    """The campaign behind the cells about safety, which may come from another machine."""
    campaign = lab.campaign
    used = sum(not run.void for run in lab.runs)
    return (
        "Under faults",
        f"{campaign.campaign_id}, {campaign.mode}, started {campaign.created_at}, commit {campaign.git_commit}: "
        f"{used} of {len(lab.runs)} runs counted, with {len(lab.trials):,} trials on {lab.environment.cpu_model}",
    )


def _interruptions(evidence: Evidence) -> str:
    """Said because a run that was measured again after a failure is a choice that a reader should know of."""
    if not evidence.resumptions:
        return ""
    times, aside = len(evidence.resumptions), len(evidence.attempts_aside)
    return (
        f"; interrupted and resumed {formats.counted([times], 'time')}, {formats.counted([aside], 'attempt')} set aside"
    )


def _workloads(evidence: Evidence) -> Iterable[str]:
    by_title: dict[str, list[str]] = {}
    for cell in evidence.cells:
        one = cell.workload
        clients = f"{one.clients} client{'s' if one.clients != 1 else ''}"
        own = "with a key of its own" if one.clients == 1 else "each with a key of its own"
        keys = own if one.keys == 0 else f"on {one.keys} key{'s' if one.keys != 1 else ''}"
        words = f"{clients} {keys}, held {one.hold_ms:g} ms, TTL {one.ttl_ms / 1000:g} s, {one.measure_s:g} s measured"
        if words not in by_title.setdefault(one.title, []):
            by_title[one.title].append(words)
    for name in sorted(by_title):
        yield f"Workload {name}: {'; or '.join(by_title[name])}."


def _unit(evidence: Evidence) -> str:
    count = len(evidence.environments)
    if not count:
        return "Intervals hold for one campaign on one host, with the run as unit: another day or host may fall outside"
    return f"Intervals come from {count} campaigns: the campaign is the unit, and its runs give its mean"


def brief_method(evidence: Evidence) -> tuple[str, ...]:
    """How the numbers came about, in at most five lines."""
    facts = dict(build_comparison(evidence).facts)
    runs, machine = facts["Runs"], next(value for name, value in facts.items() if name.startswith("Machine"))
    (_, campaigns), *_ = _campaigns(evidence)
    lines = (
        f"Campaign {campaigns}; runs of these systems: {runs}; lockbench {facts['lockbench']}.",
        f"Machine: {machine}.",
        _loop(evidence),
        f"{_interval(evidence)} A run that failed a self-check is left out, and a cell shows why.",
    )
    if evidence.hazards is None:
        return lines
    lab = _hazard_fact(evidence.hazards)[1]
    return (
        *lines,
        f"Faults: {lab}. Each strikes on purpose at the most harmful instant; a trial counts if its staging could have "
        "shown the harm.",
    )


def _interval(evidence: Evidence) -> str:
    methods = {
        value.method
        for cell in evidence.cells
        for value in (cell.value("acquire_us_p50"),)
        if not isinstance(value, Absent)
    }
    return f"{_unit(evidence)} ({'; '.join(sorted(methods)) or 'no run counts'})."


def _loop(evidence: Evidence) -> str:
    sources = run_sources(evidence)
    where = (
        ["Servers given by URL were measured over whatever network lies between; where they run is not known."]
        if OWN in sources
        else []
    )
    if ours(sources):
        whose = "our servers" if where else "servers"
        over = any(row.network is not None or row.peer_network is not None for row in evidence.rows)
        network = "no network but the one that a workload names" if over else "no network"
        where.append(
            f"The load generator and {whose} share this machine's cores and talk over loopback: these latencies "
            f"include {network}."
        )
    return f"Closed loop: each client sends its next request after the previous reply. {' '.join(where)}"


def _method(evidence: Evidence) -> tuple[str, ...]:
    return (
        _loop(evidence),
        *_workloads(evidence),
        _interval(evidence),
        "A percentile is printed only if every run has enough operations for it. A run that failed a self-check is "
        "kept but left out of the numbers; a footnote says so.",
        f"Nor is a percentile printed that rests on fewer than {STALLS_NEEDED} stalls: those are single events. Where "
        "clients share keys they wait at the same time, so there the stalls of all runs count together.",
        "Why a cell is `void` or `n/a`: `lockbench show SYSTEM WORKLOAD` lists its runs, with the checks that each of "
        "them passed or failed.",
        *method_sentences(evidence),
        "Rows differ in durability and topology, so this is not a ranking. Emulators are shown, never ranked.",
    )
