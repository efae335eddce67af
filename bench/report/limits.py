"""What the numbers of a campaign cannot say, in sentences made from the campaign itself."""

from collections.abc import Iterable

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.notes import BOUND_WORDS
from bench.analysis.runs import CLIENTS
from bench.records.numbers import percent
from bench.report import formats
from bench.report.claims_table import untested
from bench.report.hazard_verdicts import emulator_limits, played_emulators, trial_limits
from bench.report.machine import OWN, cores, ours, run_sources, servers_place


def limits(evidence: Evidence) -> tuple[str, ...]:
    """One sentence or two for each limit, the widest first.

    Of chosen systems nothing is said of claims: the others are about systems that nobody asked for.
    """
    claims = () if evidence.chosen else _untested(evidence)
    of_load = (*_network(evidence), *_generator(evidence), *_runs(evidence))
    hazards = evidence.hazards
    measured = {cell.system for cell in evidence.cells if cell.emulator}
    emulators = emulator_limits(measured, set() if hazards is None else played_emulators(hazards))
    return (*of_load, *emulators, *claims, *(() if hazards is None else trial_limits(hazards)))


def _network(evidence: Evidence) -> Iterable[str]:
    machine = evidence.environment
    sources = run_sources(evidence)
    if OWN in sources:
        yield (
            "Servers given by URL: where they run, and what lies between them and the load generator, is not known, so "
            "their latencies cannot be broken down."
        )
    if ours(sources):
        yield (
            f"Loopback: clients and servers share one machine, with a median round trip of "
            f"{machine.loopback_rtt_us_p50:.0f} µs. Between machines the network adds its time to every round trip."
        )
        yield (
            f"Disk: the median fdatasync takes {formats.ms(machine.fdatasync_us_p50)} ms here "
            f"({machine.filesystem}); systems that write durably depend on it, the others do not."
        )


def _generator(evidence: Evidence) -> Iterable[str]:
    shares = []
    for cell in evidence.cells:
        value = cell.value("generator_cpu_share")
        if not isinstance(value, Absent):
            shares.append((value.value, cell))
    if not shares:
        return
    highest, cell = max(shares, key=lambda item: item[0])
    yield (
        f"Processor: {cores(evidence.environment)}; {servers_place(run_sources(evidence))}. The generator used up to "
        f"{percent(highest)} of a core per process ({names.title(cell.system)}, {cell.workload.title})."
    )
    for word, bound_words in BOUND_WORDS.items():
        bound = [cell for cell in evidence.cells if word in cell.bounds]
        latencies = "" if word == CLIENTS else ", latencies upper bounds"
        if bound:
            yield f"{bound_words.capitalize()} (rates are lower bounds{latencies}): {_by_system(bound)}."


def _by_system(cells: Iterable[Cell]) -> str:
    """Each system once, with its workloads."""
    found: dict[str, list[str]] = {}
    for cell in cells:
        found.setdefault(names.title(cell.system), []).append(cell.workload.title)
    return "; ".join(f"{title} ({', '.join(dict.fromkeys(workloads))})" for title, workloads in found.items())


def _runs(evidence: Evidence) -> Iterable[str]:
    counts = [len(cell.used) for cell in evidence.cells if cell.used]
    if not counts:
        return
    void = sum(row.void for row in evidence.rows)
    left_out = f" {void} of {len(evidence.rows)} runs were left out." if void else " No run was left out."
    behind = formats.counted(counts, "run")
    alike = "indistinguishable cells of one class share a letter"
    yield f"Replication: {behind} behind each cell; {alike}.{left_out}"


def _untested(evidence: Evidence) -> Iterable[str]:
    missing = len(untested(evidence))
    if missing and evidence.hazards is not None:
        are = "is" if missing == 1 else "are"
        yield f"Safety: {missing} of {len(evidence.claims)} claims {are} {NOT_MEASURED} by these campaigns."
    elif missing:
        yield (
            f"Safety: {missing} of {len(evidence.claims)} claims are {NOT_MEASURED} by this campaign, among them what "
            f"happens when a holder pauses and when clocks jump. A lock that is fast here need not be safe."
        )
