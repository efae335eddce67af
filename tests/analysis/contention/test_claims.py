"""Claims about waiting meet runs that were made up so that the answer is known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from bench.analysis.cells import Cell, amplification, cells_of
from bench.analysis.claims import Claim, load_claims
from bench.analysis.contention.claims import judge_by_contention
from bench.analysis.judgement import Judgement, Verdict
from bench.analysis.notes import BOUND_WORDS
from bench.analysis.runs import CLIENTS, Setting
from bench.records.workload import Workload
from tests.run_rows import run_row

SETTING = Setting("1.0", "native", 3, (), (), "")
NOISE = (0.98, 0.985, 1.0, 1.0, 1.015, 1.02)
CLAIMS = {claim.id: claim for claim in load_claims()}
SEED = "backoff-100ms-5000ms-j10"


def cell(
    system: str, clients: int, wait: str, runs: int = 6, keys: int = 1, hold_ms: float = 5, **metrics: float
) -> Cell:
    name = "contended" if clients > 1 else "uncontended"
    workload = Workload(name=name, clients=clients, keys=keys if clients > 1 else 0, wait=wait, hold_ms=hold_ms)
    rows = [
        run_row(
            f"{system}-{clients}-{wait}-{hold_ms:g}-{number}",
            system,
            workload,
            number,
            setting=SETTING,
            outcomes={"acquired": 1_000},
            metrics={metric: value * NOISE[number % 6] for metric, value in metrics.items()},
        )
        for number in range(runs)
    ]
    (made,) = cells_of(rows)
    return made


def with_bounds(made: Cell, *bounds: str) -> Cell:
    return replace(made, runs=tuple(replace(run, bounds=bounds) for run in made.runs))


def with_each(made: Cell, metric: str, *values: float) -> Cell:
    """One value a run."""
    runs = zip(made.runs, values, strict=True)
    return replace(made, runs=tuple(replace(run, metrics={**run.metrics, metric: value}) for run, value in runs))


def judged(claim_id: str, *cells: Cell) -> Judgement | None:
    found = judge_by_contention(CLAIMS[claim_id], cells)
    assert len(found) <= 1
    return found[0] if found else None


def verdict(claim_id: str, *cells: Cell) -> Verdict | None:
    found = judged(claim_id, *cells)
    return found.verdict if found else None


def p99s(*by_clients: tuple[int, float], wait: str = "poll-5ms", runs: int = 6) -> list[Cell]:
    alone = cell("redis", 1, "try", acquire_us_p99=100.0)
    return [alone, *(cell("redis", clients, wait, runs, acquire_us_p99=100.0 * times) for clients, times in by_clients)]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (((2, 12.0), (64, 90.0)), Verdict.HOLDS),
        (((2, 2.0), (64, 5.0)), Verdict.FAILS),
        (((2, 200.0), (64, 2_000.0)), Verdict.FAILS),
        (((2, 2.0), (8, 50.0), (64, 2_000.0)), Verdict.CONDITION),
        (((2, 10.0), (64, 50.0)), Verdict.CANNOT_SAY),
        (((8, 50.0),), None),
    ],
)
def test_ten_to_a_hundred_times(times: Sequence[tuple[int, float]], expected: Verdict | None) -> None:
    assert verdict("C32", *p99s(*times)) is expected


def test_one_run_decides_no_ratio_and_every_ratio_is_named_with_its_hold() -> None:
    assert verdict("C32", *p99s((2, 50.0), (8, 50.0), runs=1)) is Verdict.CANNOT_SAY
    found = judged("C32", *p99s((2, 50.0), (64, 90.0)))
    assert found is not None
    assert found.found == "poll-5ms, hold 5 ms: 2 clients: 50 × [49–51], 64 clients: 90 × [88–92]"
    assert found.system == "redis"
    assert len(found.evidence) == 18


def test_strategies_are_judged_together_and_own_keys_are_no_contention() -> None:
    cells = [*p99s((2, 50.0), (8, 50.0)), cell("redis", 32, "pubsub-500ms", acquire_us_p99=100.0 * 500)]
    assert verdict("C32", *cells) is Verdict.CONDITION
    spread = [cell("redis", clients, "poll-5ms", keys=16, acquire_us_p99=5_000.0) for clients in (2, 8)]
    assert verdict("C32", p99s()[0], *spread) is None


ABOVE, BELOW = "at most", "at least"


@pytest.mark.parametrize("binds", [word for word in BOUND_WORDS if word != CLIENTS])
@pytest.mark.parametrize(
    ("limit", "times", "expected"),
    [
        (ABOVE, (50.0, 60.0), Verdict.CANNOT_SAY),
        (ABOVE, (2.0, 5.0), Verdict.FAILS),
        (ABOVE, (200.0, 500.0), Verdict.CANNOT_SAY),
        (BELOW, (50.0, 60.0), Verdict.CANNOT_SAY),
        (BELOW, (2.0, 5.0), Verdict.CANNOT_SAY),
        (BELOW, (200.0, 500.0), Verdict.FAILS),
    ],
)
def test_a_ratio_that_is_only_a_limit_decides_in_its_own_direction(
    limit: str, times: tuple[float, float], expected: Verdict, binds: str
) -> None:
    alone, *contended = p99s((2, times[0]), (64, times[1]))
    if limit == BELOW:
        cells = [with_bounds(alone, binds), *contended]
    else:
        cells = [alone, *(with_bounds(one, binds) for one in contended)]
    found = judged("C32", *cells)
    assert found is not None
    assert found.verdict is expected
    assert found.found.count(f"{limit} ") == found.found.count(f"({BOUND_WORDS[binds]})") == 2


def test_a_ratio_of_two_limits_decides_nothing_and_more_clients_bind_no_latency() -> None:
    alone, *contended = p99s((2, 200.0), (64, 500.0))
    bound = [with_bounds(alone, "client"), *(with_bounds(one, "generator") for one in contended)]
    found = judged("C32", *bound)
    assert found is not None
    assert found.verdict is Verdict.NOT_TESTABLE
    assert found.why.endswith("2 withheld: limits on both sides")
    assert verdict("C32", alone, *(with_bounds(one, CLIENTS) for one in contended)) is Verdict.FAILS


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        ({"acquire_us_p99": 5_000.0, "stalls_p99": 1.0}, "p99 rests on 1 stall"),
        ({"acquire_us_p99": 5_000.0, "stalls_p99": 2.0}, "p99 rests on 2 stalls"),
        ({}, "too few operations"),
    ],
)
def test_a_ratio_that_tables_withhold_is_withheld_and_counted_with_its_reason(
    metrics: Mapping[str, float], why: str
) -> None:
    alone, few, many = p99s((2, 50.0), (64, 60.0))
    withheld = with_each(
        cell("redis", 8, "poll-5ms", **metrics), "stalls_p99", metrics.get("stalls_p99", 9.0), *[0.0] * 5
    )
    found = judged("C32", alone, few, many, withheld)
    assert found is not None
    assert found.verdict is Verdict.CANNOT_SAY
    assert found.why == f"2 of 3 ratios lie inside, 0 outside, 0 undecided, 1 withheld: {why}"
    assert f"8 clients: withheld ({why})" in found.found
    assert "n/a" not in found.why + found.found


def test_where_a_client_alone_has_no_p99_every_ratio_is_withheld() -> None:
    alone, *contended = p99s((2, 50.0), (64, 60.0))
    stalled = with_each(alone, "stalls_p99", *[1.0] * 6)
    found = judged("C32", stalled, *contended)
    assert found is not None
    assert found.verdict is Verdict.NOT_TESTABLE
    assert found.why.endswith("2 withheld: p99 rests on 1 stall without contention")


def test_the_claim_and_the_tables_have_one_ratio() -> None:
    alone, few, many = p99s((2, 50.0), (64, 60.0))
    skewed = with_each(many, "acquire_us_p99", 5_000.0, 5_000.0, 5_000.0, 9_000.0, 9_000.0, 9_000.0)
    found, told = judged("C32", alone, few, skewed), amplification(skewed, alone)
    assert found is not None
    assert not hasattr(told, "reason")
    assert f"64 clients: {told.value:.0f} ×" in found.found


def test_an_interval_that_tells_nothing_is_not_printed() -> None:
    """Two runs have one degree of freedom: 236 × [5.3e-09–976,829,796,041]."""
    alone, few, many = p99s((2, 50.0), (64, 60.0), runs=2)
    wild = with_each(many, "acquire_us_p99", 2_000.0, 90_000.0)
    found = judged("C32", alone, few, wild)
    assert found is not None
    assert found.verdict is Verdict.CANNOT_SAY
    assert "64 clients: 460 × (the runs vary too much for an interval)" in found.found
    assert "e-" not in found.found


def test_an_emulators_speed_is_not_judged() -> None:
    setting = replace(SETTING, tags=("emulator",))
    cells = [
        replace(one, setting=setting, runs=tuple(replace(run, setting=setting) for run in one.runs))
        for one in p99s((2, 50.0), (64, 60.0))
    ]
    found = judged("C32", *cells)
    assert found is not None
    assert found.verdict is Verdict.NOT_TESTABLE
    assert "emulator" in found.why


def order(wait: str, share: float, runs: int = 6) -> Cell:
    return cell("zookeeper", 8, wait, runs, overtaking_share=share)


def order_once(wait: str, runs: int = 6) -> Cell:
    """One run had a grant that overtook."""
    return with_each(order(wait, 0.0, runs), "overtaking_share", 0.2, *[0.0] * (runs - 1))


def test_an_order_that_was_broken_in_one_run_is_not_judged() -> None:
    for runs in (1, 6):
        found = judged("C48", order_once("watch", runs))
        assert found is not None
        assert (found.verdict, found.why) == (Verdict.CANNOT_SAY, "seen in one run, with watch")
    assert verdict("C48", order("watch", 0.2, runs=2)) is Verdict.FAILS
    assert verdict("C48", order_once("watch"), order("herd", 0.0)) is Verdict.CANNOT_SAY
    assert verdict("C48", order_once("watch"), order("herd", 0.2)) is Verdict.CANNOT_SAY
    assert verdict("C48", order_once("watch"), order("herd", 0.2), order("poll-5ms", 0.0)) is Verdict.CONDITION


def test_runs_that_broke_the_order_are_counted_over_the_holds_of_a_strategy() -> None:
    longer = with_each(
        cell("zookeeper", 8, "watch", hold_ms=20, overtaking_share=0.0), "overtaking_share", 0.1, *[0.0] * 5
    )
    found = judged("C48", order_once("watch"), longer)
    assert found is not None
    assert found.verdict is Verdict.FAILS
    assert found.found == "watch: 2 of 12 runs had a grant that overtook, 12,000 grants"


def test_only_strategies_that_kept_the_order_need_runs_to_show_it() -> None:
    assert verdict("C48", order("watch", 0.0), order("herd", 0.2, runs=3)) is Verdict.CONDITION
    assert verdict("C48", order("watch", 0.0, runs=3), order("herd", 0.2)) is Verdict.CANNOT_SAY


def test_the_order_of_requests_is_judged_by_wait_strategy() -> None:
    assert verdict("C48", order("watch", 0.0)) is Verdict.HOLDS
    assert verdict("C48", order("watch", 0.0), order("herd", 0.2)) is Verdict.CONDITION
    assert verdict("C48", order("watch", 0.01), order("herd", 0.2)) is Verdict.FAILS
    assert verdict("C48", order("watch", 0.0, runs=4)) is Verdict.CANNOT_SAY
    assert verdict("C48", cell("zookeeper", 8, "watch")) is None, "not recorded"
    assert verdict("C48", cell("etcd", 8, "watch", overtaking_share=0.0)) is None, "the claim is about another system"


def requests(
    system: str, wait: str, runs: int = 6, hold_ms: float = 5, hand_off_us: float = 1_000.0, **by_clients: float
) -> list[Cell]:
    return [
        cell(
            system,
            int(clients[1:]),
            wait,
            runs,
            hold_ms=hold_ms,
            requests_per_grant=value,
            hand_off_us_mean=hand_off_us,
        )
        for clients, value in by_clients.items()
    ]


@pytest.mark.parametrize(
    ("watch", "herd", "expected"),
    [
        ({"n2": 6.0, "n64": 6.0}, {"n2": 6.0, "n64": 130.0}, Verdict.HOLDS),
        ({"n2": 6.0, "n64": 130.0}, {"n2": 6.0, "n64": 130.0}, Verdict.CANNOT_SAY),
        ({"n2": 6.0, "n64": 130.0}, {"n2": 6.0, "n64": 7.0}, Verdict.FAILS),
        ({"n64": 6.0}, {"n64": 130.0}, None),
    ],
)
def test_the_herd_is_seen_in_the_requests_of_a_grant(
    watch: Mapping[str, float], herd: Mapping[str, float], expected: Verdict | None
) -> None:
    cells = [*requests("zookeeper", "watch", **watch), *requests("zookeeper", "herd", **herd)]
    assert verdict("C65", *cells) is expected


def test_a_run_without_a_number_decides_nothing_and_ends_no_report() -> None:
    """A server that counts no requests, a grant so early that its hand-off is below 0, a p99 that is carried by few."""
    silent = [cell("zookeeper", clients, wait) for wait in ("watch", "herd") for clients in (2, 64)]
    assert verdict("C65", *silent) is Verdict.NOT_TESTABLE
    early = [cell("redis", 8, wait, requests_per_grant=9.0, hand_off_us_mean=-3.0) for wait in ("poll-5ms", SEED)]
    found = judged("C49", *early)
    assert found is not None
    assert "mean hand-off unknown" in found.found
    assert verdict("C32", *p99s((2, 50.0)), cell("redis", 8, "poll-5ms")) is Verdict.CANNOT_SAY
    found = judged("C32", *p99s((2, 50.0)), cell("redis", 8, "poll-5ms", acquire_us_p99=0.0))
    assert found is not None
    assert found.why.endswith("1 withheld: 0 has no ratio")


def test_the_seeds_backoff_saves_requests_at_a_price_or_does_not() -> None:
    poll = requests("redis", "poll-5ms", n32=40.0)
    assert verdict("C49", *poll, *requests("redis", SEED, n32=3.0)) is Verdict.CONDITION
    assert verdict("C49", *poll, *requests("redis", SEED, n32=80.0)) is Verdict.FAILS
    assert verdict("C49", *poll, *requests("redis", SEED, n32=40.0)) is Verdict.CANNOT_SAY
    assert verdict("C49", *poll, *requests("redis", "backoff-5ms-80ms-full", n32=3.0)) is None, "not the seed's"
    uncounted = [cell("dynamodb", 32, wait, hand_off_us_mean=9.0) for wait in ("poll-20ms", SEED)]
    assert verdict("C49", *uncounted) is Verdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("hand_off_us", "bounds", "expected", "price"),
    [
        (9_000.0, (), Verdict.CONDITION, "at the price of a later hand-off"),
        (1_000.0, (), Verdict.CONDITION, "whether the hand-off is later is undecided"),
        (100.0, (), Verdict.HOLDS, "and the hand-off is no later"),
        (-3.0, (), Verdict.CONDITION, "whether the hand-off is later is unknown"),
        (9_000.0, ("generator",), Verdict.CONDITION, "whether the hand-off is later is undecided"),
    ],
)
def test_a_later_hand_off_is_said_only_where_it_is_decided(
    hand_off_us: float, bounds: tuple[str, ...], expected: Verdict, price: str
) -> None:
    backoff = requests("redis", SEED, n32=3.0, hand_off_us=hand_off_us)
    found = judged("C49", *requests("redis", "poll-5ms", n32=40.0), *(with_bounds(one, *bounds) for one in backoff))
    assert found is not None
    assert (found.verdict, found.why) == (expected, f"fewer requests a grant, {price}")


def test_strategies_are_compared_at_one_hold_and_each_pair_is_named_with_it() -> None:
    across = [*requests("redis", "poll-5ms", n32=40.0), *requests("redis", SEED, hold_ms=20, n32=3.0)]
    assert verdict("C49", *across) is None
    apart = requests("zookeeper", "watch", n2=6.0, n64=6.0)
    assert verdict("C65", *apart, *requests("zookeeper", "herd", hold_ms=20, n2=6.0, n64=130.0)) is None
    for claim_id, system, one, other in (("C49", "redis", "poll-5ms", SEED), ("C65", "zookeeper", "herd", "watch")):
        held = [
            made
            for hold_ms in (5, 20)
            for wait, high in ((one, 200.0), (other, 6.0))
            for made in requests(system, wait, hold_ms=hold_ms, n2=6.0, n64=high * (1.0 + hold_ms))
        ]
        found = judged(claim_id, *held)
        assert found is not None
        assert found.found.count("hold 5 ms: ") == found.found.count("hold 20 ms: ") == 1
        assert len(found.evidence) == len([run for made in held for run in made.runs])


def test_what_depends_on_the_hold_is_a_condition() -> None:
    saves = [*requests("redis", "poll-5ms", n32=40.0), *requests("redis", SEED, n32=3.0, hand_off_us=90.0)]
    wastes = [*requests("redis", "poll-5ms", hold_ms=20, n32=4.0), *requests("redis", SEED, hold_ms=20, n32=30.0)]
    unknown = [*requests("redis", "poll-5ms", hold_ms=50, n32=4.0), *requests("redis", SEED, hold_ms=50, n32=4.0)]
    assert verdict("C49", *saves) is Verdict.HOLDS
    found = judged("C49", *saves, *wastes)
    assert found is not None
    assert found.verdict is Verdict.CONDITION
    assert "hold 5 ms: fewer requests" in found.why
    assert "hold 20 ms: it saves no request" in found.why
    assert verdict("C49", *saves, *unknown) is Verdict.CANNOT_SAY


def test_each_system_has_a_judgement_of_its_own_and_other_claims_have_none() -> None:
    cells = [
        one for system in ("redis", "redlock") for wait in ("poll-5ms", SEED) for one in requests(system, wait, n8=9.0)
    ]
    assert [one.system for one in judge_by_contention(CLAIMS["C49"], cells)] == ["redis", "redlock"]
    assert judge_by_contention(CLAIMS["C01"], cells) == ()
    assert judge_by_contention(Claim("C99", "p", "all", "backoff", None, None, "", "so", "look"), []) == ()
