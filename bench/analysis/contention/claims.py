"""Claims about waiting, judged from runs in which clients meet at one key: C32, C48, C49, C65.

Each is judged by system and by wait strategy, since what waiting costs is a property of both. As everywhere, the
interval of all runs decides, never one run, and a limit decides only in its own direction. A sweep is one strategy on
one system and one hold, with several numbers of clients.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.contention.ratios import Ratio, amplified, ratio_of, why_withheld
from bench.analysis.contention.sweeps import alone, is_about_waiting, series
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL
from bench.analysis.judgement import EMULATED, Judgement, Verdict
from bench.analysis.relations import Relation, relation
from bench.records.workload import CONTENDED

REQUESTS = "requests_per_grant"
HAND_OFF = "hand_off_us_mean"
SEED_BACKOFF = "backoff-100ms-5000ms-j10"  # as seed 001 prints it
_ONE_RUN = f"one run decides nothing; measure {RUNS_FOR_AN_INTERVAL}"
_UNCOUNTED = "its servers count no requests"
ORDER_RUNS = 5  # a nought takes as many runs as a verdict on safety does
REFUTING_RUNS = 2  # as many as show that a lock is unsafe


@dataclass(frozen=True, slots=True)
class Sweep:
    """One strategy on one system and one hold: a cell for each number of clients, in ascending order."""

    system: str
    wait: str
    hold_ms: float
    cells: Mapping[float, Cell]


@dataclass(frozen=True, slots=True)
class _Order:
    """What one wait strategy made of the order of the requests, over all holds and numbers of clients."""

    wait: str
    runs: int
    overtaken: int  # runs with a grant that overtook
    grants: int

    @property
    def words(self) -> str:
        return f"{self.wait}: {self.overtaken} of {self.runs} runs had a grant that overtook, {self.grants:,} grants"


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two strategies at one hold, and what a claim that compares them meets there."""

    verdict: Verdict
    why: str
    sweeps: tuple[Sweep, Sweep]
    words: str

    @property
    def hold(self) -> str:
        return f"hold {self.sweeps[0].hold_ms:g} ms"


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
    single = alone(cells, next(iter(found[0].cells.values())))
    counts = {clients for sweep in found for clients in sweep.cells}
    if single is None or len(counts) < 2:
        return None  # the claim is about several numbers of clients
    every: list[Ratio | Absent] = []
    words: list[str] = []
    for sweep in found:
        ratios = {clients: amplified(cell, single) for clients, cell in sweep.cells.items()}
        every += ratios.values()
        parts = (f"{clients} clients: {_ratio_words(ratio)}" for clients, ratio in ratios.items())
        words.append(f"{sweep.wait}, hold {sweep.hold_ms:g} ms: {', '.join(parts)}")
    emulated = single.emulator or any(cell.emulator for sweep in found for cell in sweep.cells.values())
    verdict, why = (Verdict.NOT_TESTABLE, EMULATED) if emulated else _of_ratios(every, claim)
    return _judged(claim, verdict, why, found, "; ".join(words), single.evidence)


def _of_ratios(every: Sequence[Ratio | Absent], claim: Claim) -> tuple[Verdict, str]:
    """One that is withheld decides as little as one that is undecided, and says why."""
    where = [_decided(one, claim) for one in every if isinstance(one, Ratio)]
    inside = sum(one is Relation.INSIDE for one in where)
    undecided = where.count(None)
    outside = len(where) - inside - undecided
    withheld = Counter(why_withheld(one) for one in every if isinstance(one, Absent))
    counts = [f"{inside} of {len(every)} ratios lie inside", f"{outside} outside", f"{undecided} undecided"]
    counted = ", ".join([*counts, *(f"{count} withheld: {why}" for why, count in withheld.items())])
    if inside and outside:
        return Verdict.CONDITION, f"it depends on clients and wait strategy: {counted}"
    if not where:
        return Verdict.NOT_TESTABLE, counted  # more runs would have no percentile either
    if undecided or withheld:
        return Verdict.CANNOT_SAY, counted
    return (Verdict.HOLDS if inside else Verdict.FAILS), counted


def _decided(ratio: Ratio, claim: Claim) -> Relation | None:
    """Where a ratio lies; None: nobody knows yet."""
    if ratio.bounds is None:
        return None
    found = relation(*ratio.bounds, claim.low or 0.0, claim.high or float("inf"))
    return found if found.decided else None


def _ratio_words(ratio: Ratio | Absent) -> str:
    return f"withheld ({why_withheld(ratio)})" if isinstance(ratio, Absent) else ratio.words


def fair_queue(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Judgement | None:
    """C48: clients get the lock in the order in which they asked: with which wait strategies, and in how many runs."""
    by_wait: dict[str, list[Cell]] = {}
    for sweep in found:
        by_wait.setdefault(sweep.wait, []).extend(sweep.cells.values())
    orders = [order for wait, cells in by_wait.items() if (order := _order(wait, cells)).runs]
    if not orders:
        return None  # not recorded
    words = "; ".join(order.words for order in sorted(orders, key=lambda order: bool(order.overtaken)))
    return _judged(claim, *_of_orders(orders), found, words)


def _order(wait: str, cells: Sequence[Cell]) -> _Order:
    shares = [share for cell in cells for runs in cell.by_campaign("overtaking_share") for share in runs]
    grants = sum(cell.outcomes["acquired"] for cell in cells)
    return _Order(wait, len(shares), sum(map(bool, shares)), grants)


def _of_orders(orders: Sequence[_Order]) -> tuple[Verdict, str]:
    """An order that is guaranteed is refuted by what two runs show; what one shows may be that run's own fault."""
    kept = [order for order in orders if not order.overtaken]
    once = [order.wait for order in orders if 0 < order.overtaken < REFUTING_RUNS]
    broken = len(orders) > len(kept) + len(once)
    fewest = min((order.runs for order in kept), default=ORDER_RUNS)
    if kept and broken and fewest >= ORDER_RUNS:
        return Verdict.CONDITION, "in the order of the requests with some wait strategies only"
    if once:
        return Verdict.CANNOT_SAY, f"seen in one run, with {', '.join(once)}"
    if fewest < ORDER_RUNS:
        return Verdict.CANNOT_SAY, f"{fewest} of the {ORDER_RUNS} runs needed"
    if kept:
        return Verdict.HOLDS, "no grant overtook an earlier request"
    return Verdict.FAILS, "grants overtook earlier requests"


def herd(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Judgement | None:
    """C65: watching the predecessor avoids the herd: a hand-off costs the same requests however many wait."""
    return _by_hold(claim, found, _herd)


def _herd(found: Sequence[Sweep]) -> _Pair | None:
    by_wait = {sweep.wait: sweep for sweep in found}
    apart, together = by_wait.get("watch"), by_wait.get("herd")
    if apart is None or together is None:
        return None
    both = sorted(set(apart.cells) & set(together.cells))
    if len(both) < 2:
        return None
    few, many = both[0], both[-1]
    ratio = ratio_of(together.cells[many], apart.cells[many], REQUESTS)
    growth = ratio_of(apart.cells[many], apart.cells[few], REQUESTS)
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
    return _Pair(verdict, why, (apart, together), words)


def backoff(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Judgement | None:
    """C49: the seed's backoff (0.1 s doubling to 5 s, 10 % jitter) saves requests; its price is a later hand-off."""
    return _by_hold(claim, found, _backoff)


def _backoff(found: Sequence[Sweep]) -> _Pair | None:
    polling = next((one for one in found if one.wait.startswith("poll-")), None)
    doubling = next((one for one in found if one.wait == SEED_BACKOFF), None)
    both = sorted(set(polling.cells) & set(doubling.cells)) if polling and doubling else []
    if polling is None or doubling is None or not both:
        return None
    many = both[-1]
    later, ratio = (ratio_of(doubling.cells[many], polling.cells[many], name) for name in (HAND_OFF, REQUESTS))
    words = f"{many} clients, {doubling.wait} ÷ {polling.wait}: mean hand-off {later.words if later else 'unknown'}"
    words += f", requests a grant {ratio.words}" if ratio else ""
    if ratio is None:
        verdict, why = Verdict.NOT_TESTABLE, _UNCOUNTED
    elif ratio.bounds is None:
        verdict, why = Verdict.CANNOT_SAY, _ONE_RUN
    elif ratio.bounds[1] < 1.0:
        verdict, price = _price(later)
        why = f"fewer requests a grant, {price}"
    elif ratio.bounds[0] >= 1.0:
        verdict, why = Verdict.FAILS, "it saves no request"
    else:
        verdict, why = Verdict.CANNOT_SAY, f"requests a grant, backoff ÷ poll: {ratio.range}"
    return _Pair(verdict, why, (polling, doubling), words)


def _price(later: Ratio | None) -> tuple[Verdict, str]:
    """Of the requests that a backoff saves: what is known of the hand-off."""
    if later is None:
        return Verdict.CONDITION, "whether the hand-off is later is unknown"
    if later.bounds is not None and later.bounds[0] > 1.0:
        return Verdict.CONDITION, "at the price of a later hand-off"
    if later.bounds is not None and later.bounds[1] <= 1.0:
        return Verdict.HOLDS, "and the hand-off is no later"
    return Verdict.CONDITION, "whether the hand-off is later is undecided"


def _by_hold(
    claim: Claim, found: Sequence[Sweep], compare: Callable[[Sequence[Sweep]], _Pair | None]
) -> Judgement | None:
    """Strategies are compared at one hold, since what a grant costs depends on how long others wait for it."""
    holds = sorted({sweep.hold_ms for sweep in found})
    every = (compare([sweep for sweep in found if sweep.hold_ms == hold_ms]) for hold_ms in holds)
    pairs = [pair for pair in every if pair is not None]
    if not pairs:
        return None
    reasons = list(dict.fromkeys(pair.why for pair in pairs))
    why = reasons[0] if len(reasons) == 1 else "; ".join(f"{pair.hold}: {pair.why}" for pair in pairs)
    words = "; ".join(f"{pair.hold}: {pair.words}" for pair in pairs)
    return _judged(claim, _together(pairs), why, [sweep for pair in pairs for sweep in pair.sweeps], words)


def _together(pairs: Sequence[_Pair]) -> Verdict:
    """One verdict for all holds; where they differ it depends on the hold, or more runs must tell."""
    found = {pair.verdict for pair in pairs}
    if len(found) == 1:
        return found.pop()
    found.discard(Verdict.NOT_TESTABLE)
    if Verdict.CANNOT_SAY in found and not (Verdict.FAILS in found and found & {Verdict.HOLDS, Verdict.CONDITION}):
        return Verdict.CANNOT_SAY
    return found.pop() if len(found) == 1 else Verdict.CONDITION


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


def _requests_words(sweep: Sweep) -> str:
    found = ((clients, cell.value(REQUESTS)) for clients, cell in sweep.cells.items())
    return ", ".join(
        f"{value.value:.1f} requests a grant with {clients} clients"
        for clients, value in found
        if not isinstance(value, Absent)
    )
