"""A number's whole ancestry as a document for the terminal: its runs, and of each run what it was made from."""

from collections.abc import Iterable, Sequence

from bench.analysis import names
from bench.analysis.ancestry import (
    Ancestry,
    CellAncestry,
    HazardAncestry,
    Percentiles,
    PlayedAncestry,
    RunAncestry,
)
from bench.analysis.cells import Absent, Cell
from bench.analysis.hazards.rows import HazardRun, TrialRow
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.runs import durability_text
from bench.records.schema import Check, Environment, Facts, Severity
from bench.report import formats
from bench.report.formats import NOTHING
from bench.report.hazard_rows import label, value_words
from bench.report.hazard_verdicts import word_of
from bench.report.machine import cores
from bench.report.model import Block, Column, FactList, Fit, Heading, Look, Paragraph, Table, Text
from bench.report.workloads_table import clients_words

# The metrics that a cell is read for, each under its name for people.
_OF_A_CELL = {
    "acquire_us_p50": "Acquire, p50",
    "acquire_us_p99": "Acquire, p99",
    "throughput_pairs_per_s": "Pairs per second",
    "client_cpu_us_per_pair": "Client CPU, µs a pair",
}
_OF_STRANGERS = {
    "stranger_acquire_us_p50": "Strangers' acquire, p50",
    "stranger_acquire_us_p99": "Strangers' acquire, p99",
    "stranger_pairs_per_s": "Strangers' pairs per second",
}


def ancestry_blocks(ancestry: Ancestry) -> Iterable[Block]:
    """All of it, the number first and the machine last."""
    match ancestry:
        case CellAncestry():
            yield from _cell(ancestry)
        case RunAncestry():
            yield Heading(f"Run {ancestry.row.run_id}")
            yield from _run(ancestry)
            yield from _environment(ancestry.environment)
        case HazardAncestry():
            yield from _hazard_run(ancestry)
        case PlayedAncestry():
            yield from _played(ancestry)


# A cell


def _cell(of: CellAncestry) -> Iterable[Block]:
    cell = of.cell
    yield Heading(f"{names.title(cell.system)}, {cell.workload.title}", about=clients_words(cell.workload))
    yield FactList([*_cell_facts(cell)])
    yield Heading("Runs behind it")
    yield Table(_RUNS, of.runs)
    for run in of.runs:
        yield Heading(f"Run {run.row.run_id}")
        yield from _run(run)
    machines = {run.environment.model_dump_json(): run.environment for run in of.runs}
    for machine in machines.values():
        yield from _environment(machine)


def _cell_facts(cell: Cell) -> Iterable[tuple[str, str]]:
    beside = _OF_STRANGERS if cell.workload.strangers_from is not None else {}
    for name, words in (_OF_A_CELL | beside).items():
        value = cell.value(name)
        method = "" if isinstance(value, Absent) else f" ({value.method})"
        yield words, f"{_shown(cell, name)}{method}"
    yield "Runs", f"{len(cell.used)} of {len(cell.runs)} count"
    if cell.void_reason is not None:
        yield "Why there is no number", cell.void_reason
    if cell.bounds:
        yield "A bound because", formats.bound_words(cell.bounds)
    for note in cell.notes():
        yield "Note", str(note)


def _shown(cell: Cell, name: str) -> str:
    value = cell.value(name)
    if name == "throughput_pairs_per_s":
        return formats.rate_value(value, cell.bounds)
    if "acquire_us" in name:
        words = formats.ms_value(value, binds=cell.bounds_of(name))
        return words if isinstance(value, Absent) else f"{words} ms"
    return value.reason if isinstance(value, Absent) else formats.whole_value(value)


def _of_run(run: RunAncestry, name: str, *, in_ms: bool = False) -> str:
    value = run.row.metrics.get(name)
    if value is None:
        return NOTHING
    return formats.ms(value, 3) if in_ms else formats.whole(value)


_RUNS: Sequence[Column[RunAncestry]] = (
    Column("Run", lambda run: Text(run.row.run_id, runs=(run.row.run_id,)), fit=Fit(width=34)),
    Column("p50", lambda run: _of_run(run, "acquire_us_p50", in_ms=True), unit="ms", fit=Fit(width=8, right=True)),
    Column("p99", lambda run: _of_run(run, "acquire_us_p99", in_ms=True), unit="ms", fit=Fit(width=8, right=True)),
    Column("Pairs/s", lambda run: _of_run(run, "throughput_pairs_per_s"), fit=Fit(width=8, right=True)),
    Column("CPU", lambda run: _of_run(run, "client_cpu_us_per_pair"), unit="µs", fit=Fit(width=7, right=True)),
    Column("Counts", lambda run: _counts(run), fit=Fit()),
)


def _counts(run: RunAncestry) -> Text:
    row = run.row
    if row.void:
        return Text(f"no: {row.void_cause}", look=Look.FAILS)
    bounds = f", {formats.bound_words(row.bounds)}" if row.bounds else ""
    return Text(f"yes{bounds}", look=Look.HOLDS)


# A run of load


def _run(run: RunAncestry) -> Iterable[Block]:
    yield FactList([*_run_facts(run)])
    if run.percentiles:
        yield Paragraph("Its histograms, in ms:")
        yield Table(_HISTOGRAMS, run.percentiles)
    if run.checks:
        yield Paragraph("Its self-checks:")
        columns = _CHECKS if all(check.passed for check in run.checks) else (*_CHECKS, _MESSAGE)
        yield Table(columns, sorted(run.checks, key=lambda check: check.passed))


def _run_facts(run: RunAncestry) -> Iterable[tuple[str, str]]:
    row, measured = run.row, run.measured
    yield "Asked", f"{names.title(row.system)}, {row.workload.title}: {clients_words(row.workload)}"
    yield "Folder", str(run.path)
    yield "State", str(row.state)
    if row.void:
        yield "Void", f"{row.void_cause}: {row.void_reason}"
    if row.bounds:
        yield "A bound because", formats.bound_words(row.bounds)
    if run.claims:
        yield "Claims that rest on it", ", ".join(run.claims)
    if measured is None:
        return
    yield "Measured", f"{measured.started_at}, for {measured.window_s:g} s"
    yield "Acquires", ", ".join(f"{name} {count:,}" for name, count in row.outcomes.items()) or NOTHING
    if measured.errors:
        yield "Errors", "; ".join(f"{reason} ({count:,})" for reason, count in measured.errors.items())
    yield "Servers", _servers(measured.facts_before, measured.source)
    if (kept := measured.records_servers) is not None:
        yield "Servers of the records", f"{names.title(kept.system)}: {_servers(kept.facts_before, kept.source)}"
    yield "Placement", "; ".join(f"{who}: {where}" for who, where in measured.placement.items()) or "not recorded"
    for who, warm in measured.warmed.items():
        flat = "flat" if warm.flat else "not flat"
        rounds = formats.counted([len(warm.pairs_per_s)], "round")
        yield f"Warm-up of {who}", f"{rounds} of {warm.round_s:g} s, throughput {flat} at its end"


def _servers(facts: Facts | None, source: str) -> str:
    if facts is None:
        return f"none ({source})" if source else NOTHING
    nodes = formats.servers(facts.nodes)
    durability = durability_text(tuple(sorted(facts.durability.items())))
    return "; ".join(filter(None, (f"{facts.version} ({source})", nodes, durability, f"identity {facts.identity}")))


def _ms(of: Percentiles, name: str) -> str:
    value = of.us[name]
    return NOTHING if value is None else formats.ms(value, 3)


_HISTOGRAMS: Sequence[Column[Percentiles]] = (
    Column("Phase and outcome", lambda of: of.name, fit=Fit(width=26)),
    Column("Operations", lambda of: f"{of.operations:,}", fit=Fit(width=11, right=True)),
    Column("p50", lambda of: _ms(of, "p50"), fit=Fit(width=9, right=True)),
    Column("p90", lambda of: _ms(of, "p90"), fit=Fit(width=9, right=True)),
    Column("p99", lambda of: _ms(of, "p99"), fit=Fit(width=9, right=True)),
    Column("p99.9", lambda of: _ms(of, "p999"), fit=Fit(width=9, right=True)),
    Column("Longest", lambda of: _ms(of, "max"), fit=Fit(width=9, right=True)),
)


def _passed(check: Check) -> Text:
    if check.passed:
        return Text("passed", look=Look.HOLDS)
    return Text("failed", look=Look.FAILS if check.severity is Severity.VOID else Look.CONDITION)


_CHECKS: Sequence[Column[Check]] = (
    Column("Check", lambda check: check.name.replace("_", " "), fit=Fit(width=17)),
    Column("", _passed, fit=Fit(width=6)),
    Column("Saw", lambda check: check.observed, fit=Fit()),
    Column("Limit", lambda check: check.limit, fit=Fit()),
)
_MESSAGE: Column[Check] = Column("What to do", lambda check: "" if check.passed else check.message, fit=Fit())


# A scenario, and a hazard run


def _played(of: PlayedAncestry) -> Iterable[Block]:
    yield Heading(f"{names.title(of.system)}, {of.scenario}")
    yield FactList([("Verdict", _verdict(one)) for one in of.verdicts])
    yield Heading("Runs behind it")
    yield Table(_HAZARD_RUNS, of.runs)
    yield from _environment(of.runs[0].environment)


def _verdict(one: FaultVerdict) -> str:
    return f"{one.fault}: {word_of(one)}; {one.reason}"


def _parameters(of: HazardAncestry) -> str:
    return "; ".join(f"{label(name)} {value_words(value)}" for name, value in of.run.plan.parameters.items()) or NOTHING


def _counts_of(of: HazardAncestry) -> Text:
    run = of.run
    return Text(f"no: {run.void_cause}", look=Look.FAILS) if run.void else Text("yes", look=Look.HOLDS)


_HAZARD_RUNS: Sequence[Column[HazardAncestry]] = (
    Column("Run", lambda of: of.run.run_id, fit=Fit(width=34)),
    Column("Parameters", _parameters, fit=Fit()),
    Column("Trials", lambda of: str(len(of.run.trials)), fit=Fit(width=6, right=True)),
    Column(
        "Two holders in",
        lambda of: str(sum(row.checked.overlap_ns > 0 for row in of.run.trials)),
        fit=Fit(width=11, right=True),
    ),
    Column("Counts", _counts_of, fit=Fit(width=14)),
)


def _hazard_run(of: HazardAncestry) -> Iterable[Block]:
    run = of.run
    yield Heading(f"Run {run.run_id}")
    yield FactList([*_hazard_facts(of)])
    if run.trials:
        yield Heading("Its trials")
        yield Table(_TRIALS, run.trials)
    yield from _environment(of.environment)


def _hazard_facts(of: HazardAncestry) -> Iterable[tuple[str, str]]:
    run = of.run
    yield "Played", f"{run.scenario} on {names.title(run.system)}"
    yield "Parameters", _parameters(of)
    yield "Folder", str(of.path)
    yield "State", str(run.state)
    if run.void:
        yield "Void", f"{run.void_cause}: {run.void_reason}"
    for verdict in of.verdicts:
        yield "Verdict", _verdict(verdict)
    if of.claims:
        yield "Claims that rest on it", ", ".join(of.claims)
    yield "Servers", _servers(run.facts, run.source)
    yield from _faults(run)


def _faults(run: HazardRun) -> Iterable[tuple[str, str]]:
    """Alike ones together, with how long they lasted."""
    alike: dict[tuple[str, str, str], list[float | None]] = {}
    for fault in (fault for row in run.trials for fault in row.faults):
        lasted = None if fault.ended_ns is None else (fault.ended_ns - fault.began_ns) / 1e6
        alike.setdefault((fault.kind, fault.target, fault.confirmed), []).append(lasted)
    for (kind, target, confirmed), found in alike.items():
        times = [round(lasted) for lasted in found if lasted is not None]
        lasted_ms = f", {formats.spread(times)} ms" if times else ""
        what = f"{kind.replace('_', ' ')} of {target}, {formats.counted([len(found)], 'time')}{lasted_ms}"
        yield "Fault", f"{what}; confirmed: {confirmed}"


def _varied(row: TrialRow) -> str:
    return "; ".join(f"{label(name)} {value_words(value)}" for name, value in row.trial.parameters.items()) or NOTHING


def _measures(row: TrialRow) -> str:
    measures = (f"{label(name)} {formats.significant(value, 3)}" for name, value in row.trial.measures.items())
    return "; ".join(measures) or NOTHING


def _seen(row: TrialRow) -> str:
    """What the checker found, in the words of the columns of the hazard tables."""
    checked = row.checked
    found = {
        "late writes accepted": checked.stale_accepted + checked.overtaken_accepted,
        "late writes refused": checked.stale_refused + checked.overtaken_refused,
        "lost updates": checked.lost_updates,
        "token faults": len(checked.token_faults),
        "never served": checked.never_served,
        "unknown": checked.unknown,
    }
    return "; ".join(f"{name} {count}" for name, count in found.items() if count) or NOTHING


_TRIALS: Sequence[Column[TrialRow]] = (
    Column("Trial", lambda row: row.trial.name, fit=Fit(width=16)),
    Column("Parameters", _varied, fit=Fit()),
    Column("Grants", lambda row: str(row.checked.grants), fit=Fit(width=6, right=True)),
    Column("Two holders", lambda row: f"{row.overlap_ms:,.1f}", unit="ms", fit=Fit(width=12, right=True)),
    Column("Found", _seen, fit=Fit()),
    Column("Measured", _measures, fit=Fit()),
)


# The machine


def _environment(machine: Environment) -> Iterable[Block]:
    yield Heading("Machine")
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(machine.libraries.items()))
    yield FactList(
        [
            ("Processor", f"{machine.cpu_model}, {cores(machine)}, governor {machine.governor}"),
            ("System", f"{machine.operating_system}, kernel {machine.kernel}, {machine.virtualization}"),
            ("Memory", f"{machine.memory_bytes / 2**30:.0f} GiB"),
            (
                "Disk and network",
                f"{machine.filesystem}, fdatasync p50 {formats.ms(machine.fdatasync_us_p50)} ms; "
                f"loopback round trip p50 {machine.loopback_rtt_us_p50:.0f} µs",
            ),
            ("Software", f"Python {machine.python}; {libraries}"),
            ("Load average before the start", f"{machine.load_average_1m:g}"),
        ]
    )
