"""What becomes of a claim about latency or throughput when it meets the runs.

A claim is judged on the interval of the cell's runs together, never on one run and never on a maximum. It lies below
the claimed range, inside or above it, or contains one of its ends (`bench.analysis.relations`); then the answer is
`cannot say`, with the number of runs that would tell where that is known. A bound decides only in its own direction.

Latency, by the median p50 and the 99th percentile p99 of an uncontended acquire:
    p50 above the range           fails, slower than claimed: a network only adds to it
    p50 and p99 inside            holds
    p50 inside, p99 above         holds here with a condition, for the median
    p50 below, over a network     fails, faster than claimed (with the condition that p99 is inside, where it is)
    p50 below, over loopback      holds here with a condition: the round trips for which the range contains p50, where a
                                  network within one region has such; not testable here where it takes a slower disk as
                                  well; else it fails, since no network explains it. See `bench.analysis.break_even`.

Throughput is a claim about capacity, and a measurement gives a lower bound of it: where something else was the
bottleneck, and where generator and servers share this machine's cores, a smaller number refutes nothing. That is the
same caution as with latencies over loopback: what this machine lacks or has too little of decides no claim. The claims
count "operations" without saying whether an acquire and its release are one or two, so both readings are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.analysis.break_even import PLAUSIBLE_ROUND_TRIP_MS, BreakEven, break_even
from bench.analysis.cells import Absent, Cell
from bench.analysis.claims import Claim
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL, decisive_bounds, units_needed
from bench.analysis.judgement import Verdict
from bench.analysis.metrics import metric
from bench.analysis.notes import BOUND_WORDS
from bench.analysis.relations import Relation, relation

US_PER: dict[str, float] = {"us": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
_ONE_MACHINE = ("native", "compose")  # sources whose servers share the generator's machine
LATENCY = ("acquire_us_p50", "acquire_us_p99")
RATE = "throughput_pairs_per_s"
_ONE_RUN = f"one run decides nothing; measure {RUNS_FOR_AN_INTERVAL}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict and the words behind it."""

    verdict: Verdict
    why: str = ""
    break_even: BreakEven | None = None


def _one_machine(cell: Cell) -> bool:
    return cell.setting is not None and cell.setting.source in _ONE_MACHINE


# -- latency ---------------------------------------------------------------------------------------------------------


def latency_finding(claim: Claim, cell: Cell) -> Finding:
    """Of an uncontended cell with runs that count."""
    low_us, high_us = claimed_us(claim)
    p50 = cell.value(LATENCY[0])
    if isinstance(p50, Absent):
        return Finding(Verdict.NOT_TESTABLE, f"p50: {p50.reason}")
    bounds = _latency_bounds(cell, LATENCY[0])
    if bounds is None:
        return Finding(Verdict.CANNOT_SAY, _ONE_RUN)
    where = relation(*bounds, low_us, high_us)
    words = metric(LATENCY[0])
    if where is Relation.ABOVE:
        return Finding(Verdict.FAILS, words.more_than_claimed)
    if not where.decided:
        return _undecided(claim, cell, LATENCY[0], where)
    if _one_machine(cell):
        return _over_loopback(claim, cell, where, bounds)
    return _with_p99(claim, cell, where)


def _over_loopback(claim: Claim, cell: Cell, where: Relation, bounds: tuple[float, float]) -> Finding:
    """A network would add to what was measured: for which round trips would the claim hold? Of the median, and
    decided only where both ends of its interval say the same."""
    faster = metric(LATENCY[0]).less_than_claimed
    low_us, high_us = claimed_us(claim)
    reach = break_even(cell, low_us, high_us)
    ends = [found for bound in bounds if (found := break_even(cell, low_us, high_us, bound)) is not None]
    if reach is None:
        if where is Relation.INSIDE:
            return _with_p99(claim, cell, where)
        return Finding(Verdict.NOT_TESTABLE, f"{faster} over loopback; round trips were not recorded")
    condition = Finding(Verdict.CONDITION, f"if the network adds {reach.words} to each round trip", reach)
    if where is Relation.INSIDE:
        plain = _with_p99(claim, cell, where)
        always = all(end.always for end in ends)
        return replace(plain, break_even=reach) if plain.verdict is not Verdict.HOLDS or always else condition
    needed = f"round trips would have to be {reach.words} longer"
    if len({(end.network_explains, end.disk_explains) for end in ends}) > 1:
        least = " to ".join(f"{end.low_ms:.3g}" for end in reversed(ends))
        why = f"{faster}: {needed}; the least, {least} ms by the interval, is on the edge of what can explain it"
        return Finding(Verdict.CANNOT_SAY, why, reach)
    if reach.network_explains:
        return condition
    if reach.disk_explains:
        return Finding(
            Verdict.NOT_TESTABLE, f"{faster} over loopback and on this disk: {needed}, or writes slower", reach
        )
    most = f"within one region they take up to {PLAUSIBLE_ROUND_TRIP_MS:g} ms"
    return Finding(Verdict.FAILS, f"{faster}: {needed}; {most}", reach)


def _with_p99(claim: Claim, cell: Cell, median: Relation) -> Finding:
    """The median lies below or inside: what of the 99th percentile?"""
    words = metric(LATENCY[0])
    below = median is Relation.BELOW
    of_median = f"the median is {words.less_than_claimed}" if below else "the median lies within"
    p99 = cell.value(LATENCY[1])
    if isinstance(p99, Absent):
        return Finding(Verdict.NOT_TESTABLE, f"{of_median}; p99: {p99.reason}")
    bounds = _latency_bounds(cell, LATENCY[1])
    if bounds is None:
        return Finding(Verdict.CANNOT_SAY, _ONE_RUN)
    low_us, high_us = claimed_us(claim)
    where = relation(*bounds, low_us, high_us)
    if not where.decided:
        undecided = _undecided(claim, cell, LATENCY[1], where)
        return replace(undecided, why=f"{of_median}; {undecided.why}")
    if where is Relation.BELOW:
        return Finding(Verdict.FAILS, words.less_than_claimed)
    if where is Relation.ABOVE:
        if below:
            return Finding(Verdict.FAILS, "wider than claimed")
        return Finding(Verdict.CONDITION, f"for the median; p99 is {words.more_than_claimed}")
    return Finding(Verdict.CONDITION, f"for p99; {of_median}") if below else Finding(Verdict.HOLDS)


def _latency_bounds(cell: Cell, name: str) -> tuple[float, float] | None:
    bounds = decisive_bounds(cell.by_campaign(name))
    if bounds is None:
        return None
    return (0.0 if cell.latency_bounds else bounds[0], bounds[1])


# -- throughput ------------------------------------------------------------------------------------------------------


def throughput_finding(claim: Claim, cell: Cell) -> Finding:
    """Of a saturation cell with runs that count."""
    value = cell.value(RATE)
    if isinstance(value, Absent):
        return Finding(Verdict.NOT_TESTABLE, value.reason)
    bounds = decisive_bounds(cell.by_campaign(RATE))
    if bounds is None:
        return Finding(Verdict.CANNOT_SAY, _ONE_RUN)
    low, high = bounds[0], float("inf") if cell.bounds else bounds[1]
    readings = {
        count: relation(operations * low, operations * high, *claim.ends)
        for count, operations in (("one", 1.0), ("two", 2.0))
    }
    found = set(readings.values())
    words = metric(RATE)
    if found == {Relation.INSIDE}:
        return Finding(Verdict.HOLDS)
    if Relation.INSIDE in found:
        count = next(count for count, where in readings.items() if where is Relation.INSIDE)
        return Finding(Verdict.CONDITION, f"if an acquire and its release count as {count}")
    if found == {Relation.ABOVE}:
        return Finding(Verdict.FAILS, words.more_than_claimed)
    if cell.bounds:
        ceiling = "the ceiling was not reached"
        return Finding(Verdict.NOT_TESTABLE, f"at least {low:,.0f} pairs/s ({_bound_words(cell.bounds)}): {ceiling}")
    if found == {Relation.BELOW}:
        if _one_machine(cell):
            shared = "generator and servers share this machine's cores"
            return Finding(Verdict.NOT_TESTABLE, f"{words.less_than_claimed}, but {shared}")
        return Finding(Verdict.FAILS, words.less_than_claimed)
    undecided = [(count, where) for count, where in readings.items() if not where.decided]
    if not undecided:
        return Finding(Verdict.FAILS, f"{words.less_than_claimed} as one operation, and more as two")
    count, where = undecided[0]
    contained = _contains(claim, cell, RATE, where, {"one": 1, "two": 2}[count])
    why = f"if an acquire and its release count as {count}: {contained}"
    return Finding(Verdict.CANNOT_SAY, why)


def _bound_words(bounds: Sequence[str]) -> str:
    return ", ".join(BOUND_WORDS[word] for word in bounds)


# -- neither ---------------------------------------------------------------------------------------------------------


def _undecided(claim: Claim, cell: Cell, name: str, where: Relation) -> Finding:
    quantile = {"acquire_us_p50": "the median", "acquire_us_p99": "p99"}[name]
    if cell.latency_bounds:
        bounds = _latency_bounds(cell, name)
        most = bounds[1] / US_PER[claim.unit] if bounds else 0.0
        why = f"{quantile} is at most {most:.3g} {claim.unit} ({_bound_words(cell.latency_bounds)}), maybe less"
        return Finding(Verdict.NOT_TESTABLE, why)
    return Finding(Verdict.CANNOT_SAY, f"{quantile}: {_contains(claim, cell, name, where)}")


def _contains(claim: Claim, cell: Cell, name: str, where: Relation, operations: int = 1) -> str:
    """Which end of the claim the interval contains, and how many runs would decide it."""
    groups = cell.by_campaign(name)
    scale = operations / US_PER.get(claim.unit, 1.0)
    bounds = decisive_bounds(groups) or (0.0, 0.0)
    interval = " to ".join(
        f"{bound * scale:,.3g}" if bound * scale < 1_000 else f"{bound * scale:,.0f}" for bound in bounds
    )
    low, high = claim.ends
    ends = {Relation.LOW_END: [low], Relation.HIGH_END: [high], Relation.BOTH_ENDS: [low, high]}[where]
    edges = " and ".join(f"{end:,g}" for end in ends)
    needed = [units_needed(groups, end / scale) for end in ends]
    more = max((count for count in needed if count is not None), default=0)
    unit = "run" if len(groups) == 1 else "campaign"
    enough = f"; about {more} {unit}s would decide it" if more and None not in needed else "; it lies on the edge"
    return f"the interval {interval} {claim.unit} contains {edges}{enough}"


def claimed_us(claim: Claim) -> tuple[float, float]:
    """The ends of a claimed time, in µs."""
    low, high = claim.ends
    return low * US_PER[claim.unit], high * US_PER[claim.unit]
