"""Claims about waiting, judged from runs in which clients meet at one key: C32, C48, C49, C65.

Each is judged by system and by wait strategy, since what waiting costs is a property of both. As everywhere, the
interval of all runs decides, never one run. A sweep is one strategy on one system, with several numbers of clients.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.contention.sweeps import alone, is_about_waiting, series
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL, decisive_ratio, ratio_of_campaigns
from bench.analysis.judgement import Judgement, Verdict
from bench.analysis.relations import Relation, relation
from bench.records.workload import CONTENDED

REQUESTS = "requests_per_grant"
SEED_BACKOFF = "backoff-100ms-5000ms-j10"  # as seed 001 prints it
_P99 = "acquire_us_p99"
_ONE_RUN = f"one run decides nothing; measure {RUNS_FOR_AN_INTERVAL}"
_UNCOUNTED = "its servers count no requests"
ORDER_RUNS = 5  # a nought takes as many runs as a verdict on safety does


@dataclass(frozen=True, slots=True)
class Sweep:
    """One strategy on one system and one hold: a cell for each number of clients, in ascending order."""

    system: str
    wait: str
    hold_ms: float
    cells: Mapping[float, Cell]


@dataclass(frozen=True, slots=True)
class _Ratio:
    """How many times larger a metric of one cell is than of another; without `bounds` one run stands behind it."""

    centre: float
    bounds: tuple[float, float] | None

    @property
    def words(self) -> str:
        if self.bounds is None:
            return f"{_factor(self.centre)} × in one run"
        return f"{_factor(self.centre)} × [{_factor(self.bounds[0])}–{_factor(self.bounds[1])}]"

    @property
    def range(self) -> str:
        low, high = self.bounds or (self.centre, self.centre)
        return f"{_factor(low)} to {_factor(high)} ×"


def sweeps(cells: Iterable[Cell]) -> tuple[Sweep, ...]:
    """Closed loops without think time on one key, of two clients or more; void cells are left out."""
    by_hold: dict[float, list[Cell]] = {}
    for cell in cells:
        one = cell.workload
        closed = one.name == CONTENDED and one.keys == 1 and one.clients > 1 and not one.think_ms
        if closed and is_about_waiting(one) and cell.used:
            by_hold.setdefault(one.hold_ms, []).append(cell)
    return tuple(
        Sweep(system, wait, hold_ms, line)
        for hold_ms, alike in by_hold.items()
        for (system, wait), line in series(alike, "clients").items()
    )


def judge_by_contention(claim: Claim, cells: Sequence[Cell]) -> tuple[Judgement, ...]:
    """Every judgement of a claim about waiting; none where it is about something else or nothing was measured."""
    judge = _JUDGES.get(claim.metric)
    if judge is None:
        return ()
    found: dict[str, list[Sweep]] = {}
    for one in sweeps(cells):
        if claim.system in (ALL_SYSTEMS, names.claimed_as(one.system)):
            found.setdefault(one.system, []).append(one)
    judged = (judge(claim, found[system], cells) for system in sorted(found, key=names.position))
    return tuple(judgement for judgement in judged if judgement is not None)


def amplification(claim: Claim, found: Sequence[Sweep], cells: Sequence[Cell]) -> Judgement | None:
    """C32: the 99th percentile is 10 to 100 times that of a client alone, for 2 to 64 contenders on one key."""
    single = alone(cells, found[0].system)
    counts = {clients for sweep in found for clients in sweep.cells}
    if single is None or not _all_positive(single, _P99) or len(counts) < 2:
        return None  # the claim is about several numbers of clients
    where: list[Relation | None] = []
    words: list[str] = []
    for sweep in found:
        ratios = {clients: _ratio(cell, single, _P99) for clients, cell in sweep.cells.items()}
        where += [_decided(ratio, claim) for ratio in ratios.values()]
        parts = (f"{clients} clients: {_words(ratio)}" for clients, ratio in ratios.items())
        words.append(f"{sweep.wait}, hold {sweep.hold_ms:g} ms: {', '.join(parts)}")
    return _judged(claim, *_of_range(where), found, "; ".join(words), single.evidence)


def _decided(ratio: _Ratio | None, claim: Claim) -> Relation | None:
    """Where a ratio lies; None: nobody knows yet."""
    if ratio is None or ratio.bounds is None:
        return None
    found = relation(*ratio.bounds, claim.low or 0.0, claim.high or float("inf"))
    return found if found.decided else None


def _of_range(where: Sequence[Relation | None]) -> tuple[Verdict, str]:
    """Of many ratios: where each lies, None: undecided."""
    inside = sum(one is Relation.INSIDE for one in where)
    outside = sum(one is not None and one is not Relation.INSIDE for one in where)
    undecided = len(where) - inside - outside
    counted = f"{inside} of {len(where)} ratios lie inside, {outside} outside, {undecided} undecided"
    if inside and outside:
        return Verdict.CONDITION, f"it depends on clients and wait strategy: {counted}"
    if undecided:
        return Verdict.CANNOT_SAY, counted
    return (Verdict.HOLDS if inside else Verdict.FAILS), counted


def fair_queue(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Judgement | None:
    """C48: clients get the lock in the order in which they asked: with which wait strategies, and in how many runs."""
    in_order: list[str] = []
    out_of_order: list[str] = []
    fewest = ORDER_RUNS
    for sweep in found:
        of_cells = [cell.by_campaign("overtaking_share") for cell in sweep.cells.values()]
        shares = [share for campaigns in of_cells for runs in campaigns for share in runs]
        if not shares:
            continue  # not recorded
        grants = sum(cell.outcomes["acquired"] for cell in sweep.cells.values())
        overtaken = f"{sum(map(bool, shares))} of {len(shares)} runs had a grant that overtook"
        (out_of_order if any(shares) else in_order).append(f"{sweep.wait}: {overtaken}, {grants:,} grants")
        fewest = min(fewest, len(shares))
    if not (in_order or out_of_order):
        return None
    if in_order and fewest < ORDER_RUNS:
        verdict, why = Verdict.CANNOT_SAY, f"{fewest} of the {ORDER_RUNS} runs needed"
    elif in_order and out_of_order:
        verdict, why = Verdict.CONDITION, "in the order of the requests with some wait strategies only"
    elif in_order:
        verdict, why = Verdict.HOLDS, "no grant overtook an earlier request"
    else:
        verdict, why = Verdict.FAILS, "grants overtook earlier requests"
    return _judged(claim, verdict, why, found, "; ".join(in_order + out_of_order))


def herd(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Judgement | None:
    """C65: watching the predecessor avoids the herd: a hand-off costs the same requests however many wait."""
    by_wait = {sweep.wait: sweep for sweep in found}
    apart, together = by_wait.get("watch"), by_wait.get("herd")
    if apart is None or together is None:
        return None
    both = sorted(set(apart.cells) & set(together.cells))
    if len(both) < 2:
        return None
    few, many = both[0], both[-1]
    ratio = _ratio(together.cells[many], apart.cells[many], REQUESTS)
    growth = _ratio(apart.cells[many], apart.cells[few], REQUESTS)
    if ratio is None or growth is None:
        verdict, why = Verdict.NOT_TESTABLE, _UNCOUNTED
    elif ratio.bounds is None or growth.bounds is None:
        verdict, why = Verdict.CANNOT_SAY, _ONE_RUN
    elif ratio.bounds[0] > 1.0 and growth.bounds[1] < many / few:
        verdict, why = Verdict.HOLDS, f"with {many} clients the herd makes {ratio.range} as many requests a grant"
    elif ratio.bounds[1] <= 1.0:
        verdict, why = Verdict.FAILS, f"with {many} clients the herd makes no more requests a grant"
    else:
        verdict, why = Verdict.CANNOT_SAY, f"herd ÷ watch with {many} clients: {ratio.range}"
    words = "; ".join(f"{one.wait}: {_requests_words(one)}" for one in (apart, together))
    return _judged(claim, verdict, why, (apart, together), words)


def backoff(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Judgement | None:
    """C49: the seed's backoff (0.1 s doubling to 5 s, 10 % jitter) saves requests; its price is a later hand-off."""
    polling = next((one for one in found if one.wait.startswith("poll-")), None)
    doubling = next((one for one in found if one.wait == SEED_BACKOFF), None)
    both = sorted(set(polling.cells) & set(doubling.cells)) if polling and doubling else []
    if polling is None or doubling is None or not both:
        return None
    many = both[-1]
    later, ratio = (_ratio(doubling.cells[many], polling.cells[many], name) for name in ("hand_off_us_mean", REQUESTS))
    words = f"{many} clients, {doubling.wait} ÷ {polling.wait}: mean hand-off {_words(later)}"
    if ratio is None:
        return _judged(claim, Verdict.NOT_TESTABLE, _UNCOUNTED, (polling, doubling), words)
    if ratio.bounds is None:
        verdict, why = Verdict.CANNOT_SAY, _ONE_RUN
    elif ratio.bounds[1] < 1.0:
        verdict, why = Verdict.CONDITION, "fewer requests a grant, at the price of a later hand-off"
    elif ratio.bounds[0] >= 1.0:
        verdict, why = Verdict.FAILS, "it saves no request"
    else:
        verdict, why = Verdict.CANNOT_SAY, f"requests a grant, backoff ÷ poll: {ratio.range}"
    words += f", requests a grant {ratio.words}"
    return _judged(claim, verdict, why, (polling, doubling), words)


_JUDGES: Mapping[str, Callable[[Claim, Sequence[Sweep], Sequence[Cell]], Judgement | None]] = {
    "contention_amplification": amplification,
    "fair_queue": fair_queue,
    "herd": herd,
    "backoff": backoff,
}


def _judged(
    claim: Claim, verdict: Verdict, why: str, found: Sequence[Sweep], words: str, more: Sequence[str] = ()
) -> Judgement:
    """Of one system, with the runs of these sweeps and `more` as its evidence."""
    runs = (run for sweep in found for cell in sweep.cells.values() for run in cell.evidence)
    return Judgement(claim, found[0].system, verdict, why, (), False, tuple(dict.fromkeys([*more, *runs])), words)


def _ratio(above: Cell, below: Cell, metric: str) -> _Ratio | None:
    """None where some run of either has no number, or one without a logarithm."""
    if not (_all_positive(above, metric) and _all_positive(below, metric)):
        return None
    sides = above.by_campaign(metric), below.by_campaign(metric)
    return _Ratio(ratio_of_campaigns(*sides).value, decisive_ratio(*sides))


def _all_positive(cell: Cell, metric: str) -> bool:
    """All or nothing: the runs that carry a high percentile alone would flatter a slow system."""
    return bool(cell.used) and all((run.metrics.get(metric) or 0.0) > 0.0 for run in cell.used)


def _words(ratio: _Ratio | None) -> str:
    return "n/a" if ratio is None else ratio.words


def _requests_words(sweep: Sweep) -> str:
    found = ((clients, cell.value(REQUESTS)) for clients, cell in sweep.cells.items())
    return ", ".join(
        f"{value.value:.1f} requests a grant with {clients} clients"
        for clients, value in found
        if not isinstance(value, Absent)
    )


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"
