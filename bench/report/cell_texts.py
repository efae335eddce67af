"""Words for single cells that more than one table shows."""

from collections.abc import Callable
from dataclasses import replace

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Absent, Cell, Value, amplification
from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.evidence import Evidence
from bench.analysis.intervals import Estimate
from bench.report import formats
from bench.report.formats import NOTHING
from bench.report.model import Text


def first_page(evidence: Evidence) -> str:
    """The title of the page whose comparison the glance repeats."""
    return ", ".join(dict.fromkeys(cell.source for cell in evidence.seed_table))


def claimed_number(evidence: Evidence, system: str, metric: str) -> str:
    """What the first page says; the other pages stand in the claims table and in the figure of claimed ranges."""
    page = {cell.source for cell in evidence.seed_table}
    asked = names.claimed_as(system)
    found = [
        claim
        for claim in evidence.claims
        if claim.source in page and claim.metric == metric and claim.system == asked and claim.has_range
    ]
    return "; ".join(formats.claimed_range(claim) for claim in found) or NOTHING


def claimed_amplification(evidence: Evidence) -> str:
    """What is claimed of every system alike."""
    found: list[Claim] = [
        claim for claim in evidence.claims if claim.metric == "contention_amplification" and claim.system == ALL_SYSTEMS
    ]
    return "; ".join(f"{formats.claimed_range(claim)}{formats.NO_BREAK}×" for claim in found) or NOTHING


def estimate_text(value: Value, words: Callable[[Estimate], str], cell: Cell, marks: tuple[int, ...] = ()) -> Text:
    """What a cell's runs say in words, or why they say nothing."""
    if isinstance(value, Absent):
        return Text(value.reason, marks, measured=False, runs=cell.evidence)
    return Text(words(value), marks, runs=cell.evidence)


def amplification_words(contended: Cell, alone: Cell | None) -> str:
    """How much worse than a fair queue the 99th percentile is, and than without contention: never the one alone."""
    by_alone = _named(NOT_MEASURED, "uncontended") if alone is None else _by_alone(contended, alone)
    return f"{by_fair_words(contended)}; {by_alone}; {held(contended)}"


def by_alone_words(value: Estimate, contended: Cell, alone: Cell) -> str:
    """`amplification` of two cells, called a limit where something binds one of them."""
    above, below = (cell.bounds_of("acquire_us_p99") for cell in (contended, alone))
    return formats.times_value(value, binds=above, below=below)


def _by_alone(contended: Cell, alone: Cell) -> str:
    value = amplification(contended, alone)
    if isinstance(value, Absent):
        return _named(value.reason, "uncontended")
    return f"{by_alone_words(value, contended, alone)} uncontended"


def by_fair_words(contended: Cell, *, brief: bool = False) -> str:
    """How much worse than a fair queue the 99th percentile of the wait is; `brief`: without its bounds."""
    value = contended.value("wait_by_fair_p99")
    return _times(replace(value, runs=1) if brief and isinstance(value, Estimate) else value, "a fair queue")


def held(cell: Cell) -> str:
    """How long a lock was held, which decides every wait."""
    return f"held {cell.workload.hold_ms:g}{formats.NO_BREAK}ms"


def _times(value: Value, of: str) -> str:
    if isinstance(value, Absent):
        return _named(value.reason, of)
    return f"{formats.times_value(value)} {of}"


def _named(reason: str, of: str) -> str:
    return f"{of}: {reason.removeprefix('n/a (').removesuffix(')')}"


def ms_text(cell: Cell, metric: str, marks: tuple[int, ...] = ()) -> Text:
    """A latency of one cell with its bounds."""
    binds = cell.bounds_of(metric)
    return estimate_text(cell.value(metric), lambda value: formats.ms_value(value, binds=binds), cell, marks)


def rate_text(cell: Cell, marks: tuple[int, ...] = ()) -> Text:
    """The rate of one cell with its bounds."""
    rate = cell.value("throughput_pairs_per_s")
    return estimate_text(rate, lambda value: formats.rate_value(value, cell.bounds), cell, marks)


def whole_text(cell: Cell, metric: str) -> Text:
    """A metric of one cell without decimals."""
    return estimate_text(cell.value(metric), formats.whole_value, cell)
