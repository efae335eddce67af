"""Claims about waiting, judged from runs in which clients meet at one key: C32, C48, C49, C65.

Each is judged by system and by wait strategy, since what waiting costs is a property of both. As everywhere, the
interval of all runs decides, never one run. A sweep is one strategy on one system, with several numbers of clients.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Cell
from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.contention.sweeps import alone
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL, decisive_ratio, ratio_of_campaigns
from bench.analysis.judgement import Judgement, Verdict
from bench.analysis.relations import Relation, relation
from bench.records.workload import CONTENDED

REQUESTS = "requests_per_grant"
SEED_BACKOFF = "backoff-100ms-5000ms-j10"  # as seed 001 prints it
ORDER_RUNS = 5  # a nought takes as many runs as a verdict on safety does


@dataclass(frozen=True, slots=True)
class Sweep:
    """One strategy on one system and one hold: a cell for each number of clients, in ascending order."""

    system: str
    wait: str
    hold_ms: float
    cells: Mapping[int, Cell]

    @property
    def evidence(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run for cell in self.cells.values() for run in cell.evidence))


def sweeps(cells: Iterable[Cell]) -> tuple[Sweep, ...]:
    """Closed loops without think time on one key, of two clients or more; void cells are left out."""
    found: dict[tuple[str, str, float], dict[int, Cell]] = {}
    for cell in cells:
        one = cell.workload
        if one.name != CONTENDED or one.has_fault or not cell.used:
            continue
        if one.keys == 1 and one.clients > 1 and not one.think_ms:
            found.setdefault((cell.system, one.wait, one.hold_ms), {}).setdefault(one.clients, cell)
    return tuple(
        Sweep(system, wait, hold_ms, dict(sorted(by_clients.items())))
        for (system, wait, hold_ms), by_clients in found.items()
    )


def judge_by_contention(claim: Claim, cells: Sequence[Cell]) -> tuple[Judgement, ...]:
    """Every judgement of a claim about waiting; none where it is about something else or nothing was measured."""
    judge = _JUDGES.get(claim.metric)
    if judge is None or claim.system not in (ALL_SYSTEMS, *(cell.system for cell in cells)):
        return ()
    all_sweeps = [one for one in sweeps(cells) if claim.system in (ALL_SYSTEMS, names.claimed_as(one.system))]
    systems = dict.fromkeys(sorted((one.system for one in all_sweeps), key=names.position))
    return tuple(
        judgement
        for system in systems
        for judgement in judge(claim, [one for one in all_sweeps if one.system == system], cells)
    )


def amplification(claim: Claim, found: Sequence[Sweep], cells: Sequence[Cell]) -> Iterator[Judgement]:
    """C32: the 99th percentile is 10 to 100 times that of a client alone, for 2 to 64 contenders on one key."""
    single = alone(cells, found[0].system)
    p99 = "acquire_us_p99"
    below = single.by_campaign(p99) if single is not None else []
    if single is None or not below or len({clients for sweep in found for clients in sweep.cells}) < 2:
        return  # the claim is about several numbers of clients
    where: list[Relation | None] = []
    words: list[str] = []
    for sweep in found:
        parts: list[str] = []
        for clients, cell in sweep.cells.items():
            above = cell.by_campaign(p99)
            bounds = decisive_ratio(above, below) if _complete(cell, p99) else None
            inside = relation(*bounds, claim.low or 0.0, claim.high or float("inf")) if bounds else None
            where.append(inside if inside is not None and inside.decided else None)
            parts.append(f"{clients} clients: {_times(above, below)}")
        words.append(f"{sweep.wait}, hold {sweep.hold_ms:g} ms: {', '.join(parts)}")
    evidence = tuple(dict.fromkeys([*single.evidence, *(run for sweep in found for run in sweep.evidence)]))
    verdict, why = _of_range(where)
    yield Judgement(claim, found[0].system, verdict, why, (), False, evidence, "; ".join(words))


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


def fair_queue(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Iterator[Judgement]:
    """C48: clients get the lock in the order in which they asked: with which wait strategies, and in how many runs."""
    in_order: list[str] = []
    out_of_order: list[str] = []
    fewest = ORDER_RUNS
    for sweep in found:
        shares = [
            share for cell in sweep.cells.values() for runs in cell.by_campaign("overtaking_share") for share in runs
        ]
        if not shares:
            continue  # not recorded
        grants = sum(cell.outcomes["acquired"] for cell in sweep.cells.values())
        words = (
            f"{sweep.wait}: {sum(map(bool, shares))} of {len(shares)} runs had a grant that overtook, {grants:,} grants"
        )
        (out_of_order if any(shares) else in_order).append(words)
        fewest = min(fewest, len(shares))
    if not (in_order or out_of_order):
        return
    if in_order and fewest < ORDER_RUNS:
        verdict, why = Verdict.CANNOT_SAY, f"{fewest} of the {ORDER_RUNS} runs needed"
    elif in_order and out_of_order:
        verdict, why = Verdict.CONDITION, "in the order of the requests with some wait strategies only"
    elif in_order:
        verdict, why = Verdict.HOLDS, "no grant overtook an earlier request"
    else:
        verdict, why = Verdict.FAILS, "grants overtook earlier requests"
    evidence = tuple(dict.fromkeys(run for sweep in found for run in sweep.evidence))
    yield Judgement(claim, found[0].system, verdict, why, (), False, evidence, "; ".join(in_order + out_of_order))


def herd(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Iterator[Judgement]:
    """C65: watching the predecessor avoids the herd: a hand-off costs the same requests however many wait."""
    by_wait = {sweep.wait: sweep for sweep in found}
    apart, together = by_wait.get("watch"), by_wait.get("herd")
    if apart is None or together is None:
        return
    both = sorted(set(apart.cells) & set(together.cells))
    if len(both) < 2:
        return
    few, many = both[0], both[-1]
    bounds = decisive_ratio(_requests(together, many), _requests(apart, many))
    grows = decisive_ratio(_requests(apart, many), _requests(apart, few))
    words = "; ".join(f"{one.wait}: {_requests_words(one)}" for one in (apart, together))
    evidence = tuple(dict.fromkeys([*apart.evidence, *together.evidence]))
    if bounds is None or grows is None:
        verdict, why = Verdict.CANNOT_SAY, f"one run decides nothing; measure {RUNS_FOR_AN_INTERVAL}"
    elif bounds[0] > 1.0 and grows[1] < many / few:
        why = f"with {many} clients the herd makes {_range(bounds)} as many requests a grant"
        verdict = Verdict.HOLDS
    elif bounds[1] <= 1.0:
        verdict, why = Verdict.FAILS, f"with {many} clients the herd makes no more requests a grant"
    else:
        verdict, why = Verdict.CANNOT_SAY, f"herd ÷ watch with {many} clients: {_range(bounds)}"
    yield Judgement(claim, apart.system, verdict, why, (), False, evidence, words)


def backoff(claim: Claim, found: Sequence[Sweep], _: Sequence[Cell]) -> Iterator[Judgement]:
    """C49: the seed's backoff (0.1 s doubling to 5 s, 10 % jitter) saves requests; its price is a later hand-off."""
    polling = next((one for one in found if one.wait.startswith("poll-")), None)
    doubling = next((one for one in found if one.wait == SEED_BACKOFF), None)
    if polling is None or doubling is None:
        return
    both = sorted(set(polling.cells) & set(doubling.cells))
    evidence = tuple(dict.fromkeys([*polling.evidence, *doubling.evidence]))
    if not both:
        return
    many = both[-1]
    later = _ratio_words(doubling.cells[many], polling.cells[many], "hand_off_us_mean")
    words = f"{many} clients, {doubling.wait} ÷ {polling.wait}: mean hand-off {later}"
    bounds = None
    if _requests(doubling, many) and _requests(polling, many):
        bounds = decisive_ratio(_requests(doubling, many), _requests(polling, many))
        words += f", requests a grant {_ratio_words(doubling.cells[many], polling.cells[many], REQUESTS)}"
    else:
        why = "its servers count no requests"
        yield Judgement(claim, doubling.system, Verdict.NOT_TESTABLE, why, (), False, evidence, words)
        return
    if bounds is None:
        verdict, why = Verdict.CANNOT_SAY, f"one run decides nothing; measure {RUNS_FOR_AN_INTERVAL}"
    elif bounds[1] < 1.0:
        verdict, why = Verdict.CONDITION, "fewer requests a grant, at the price of a later hand-off"
    elif bounds[0] >= 1.0:
        verdict, why = Verdict.FAILS, "it saves no request"
    else:
        verdict, why = Verdict.CANNOT_SAY, f"requests a grant, backoff ÷ poll: {_range(bounds)}"
    yield Judgement(claim, doubling.system, verdict, why, (), False, evidence, words)


_JUDGES: Mapping[str, Callable[[Claim, Sequence[Sweep], Sequence[Cell]], Iterable[Judgement]]] = {
    "contention_amplification": amplification,
    "fair_queue": fair_queue,
    "herd": herd,
    "backoff": backoff,
}


def _complete(cell: Cell, metric: str) -> bool:
    """Has every run that counts a value? Those that carry a high percentile alone would flatter a slow system."""
    return all(run.metrics.get(metric) is not None for run in cell.used)


def _requests(sweep: Sweep, clients: int) -> list[list[float]]:
    cell = sweep.cells[clients]
    return cell.by_campaign(REQUESTS) if _complete(cell, REQUESTS) else []


def _requests_words(sweep: Sweep) -> str:
    parts = []
    for clients, cell in sweep.cells.items():
        values = sorted(value for runs in cell.by_campaign(REQUESTS) for value in runs)
        parts.append(f"{values[len(values) // 2]:.1f} requests a grant with {clients} clients" if values else "")
    return ", ".join(filter(None, parts))


def _ratio_words(above: Cell, below: Cell, metric: str) -> str:
    if not (_complete(above, metric) and _complete(below, metric)):
        return "not recorded"
    return _times(above.by_campaign(metric), below.by_campaign(metric))


def _times(above: Sequence[Sequence[float]], below: Sequence[Sequence[float]]) -> str:
    if not (above and below):
        return "n/a"
    centre, bounds = _factor(ratio_of_campaigns(above, below).value), decisive_ratio(above, below)
    return f"{centre} × [{_factor(bounds[0])}–{_factor(bounds[1])}]" if bounds else f"{centre} × in one run"


def _range(bounds: tuple[float, float]) -> str:
    return f"{_factor(bounds[0])} to {_factor(bounds[1])} ×"


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"
