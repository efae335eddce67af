"""Claims about waiting meet runs that were made up so that the answer is known."""

from collections.abc import Mapping, Sequence

import pytest

from bench.analysis.cells import Cell, cells_of
from bench.analysis.claims import Claim, load_claims
from bench.analysis.contention.claims import judge_by_contention
from bench.analysis.judgement import Judgement, Verdict
from bench.analysis.runs import Setting
from bench.records.workload import Workload
from tests.run_rows import run_row

SETTING = Setting("1.0", "native", 3, (), (), "")
NOISE = (0.98, 0.985, 1.0, 1.0, 1.015, 1.02)
CLAIMS = {claim.id: claim for claim in load_claims()}
SEED = "backoff-100ms-5000ms-j10"


def cell(system: str, clients: int, wait: str, runs: int = 6, keys: int = 1, **metrics: float) -> Cell:
    name = "contended" if clients > 1 else "uncontended"
    workload = Workload(name=name, clients=clients, keys=keys if clients > 1 else 0, wait=wait, hold_ms=5)
    rows = [
        run_row(
            f"{system}-{clients}-{wait}-{number}",
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


def order(wait: str, share: float, runs: int = 6) -> Cell:
    return cell("zookeeper", 8, wait, runs, overtaking_share=share)


def test_the_order_of_requests_is_judged_by_wait_strategy() -> None:
    assert verdict("C48", order("watch", 0.0)) is Verdict.HOLDS
    assert verdict("C48", order("watch", 0.0), order("herd", 0.2)) is Verdict.CONDITION
    assert verdict("C48", order("watch", 0.01), order("herd", 0.2)) is Verdict.FAILS
    assert verdict("C48", order("watch", 0.0, runs=4)) is Verdict.CANNOT_SAY
    assert verdict("C48", cell("zookeeper", 8, "watch")) is None, "not recorded"
    assert verdict("C48", cell("etcd", 8, "watch", overtaking_share=0.0)) is None, "the claim is about another system"


def requests(system: str, wait: str, runs: int = 6, **by_clients: float) -> list[Cell]:
    return [
        cell(system, int(clients[1:]), wait, runs, requests_per_grant=value, hand_off_us_mean=1_000.0)
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
    assert "mean hand-off n/a" in found.found
    assert verdict("C32", *p99s((2, 50.0)), cell("redis", 8, "poll-5ms")) is Verdict.CANNOT_SAY


def test_the_seeds_backoff_saves_requests_at_a_price_or_does_not() -> None:
    poll = requests("redis", "poll-5ms", n32=40.0)
    assert verdict("C49", *poll, *requests("redis", SEED, n32=3.0)) is Verdict.CONDITION
    assert verdict("C49", *poll, *requests("redis", SEED, n32=80.0)) is Verdict.FAILS
    assert verdict("C49", *poll, *requests("redis", SEED, n32=40.0)) is Verdict.CANNOT_SAY
    assert verdict("C49", *poll, *requests("redis", "backoff-5ms-80ms-full", n32=3.0)) is None, "not the seed's"
    uncounted = [cell("dynamodb", 32, wait, hand_off_us_mean=9.0) for wait in ("poll-20ms", SEED)]
    assert verdict("C49", *uncounted) is Verdict.NOT_TESTABLE


def test_each_system_has_a_judgement_of_its_own_and_other_claims_have_none() -> None:
    cells = [
        one for system in ("redis", "redlock") for wait in ("poll-5ms", SEED) for one in requests(system, wait, n8=9.0)
    ]
    assert [one.system for one in judge_by_contention(CLAIMS["C49"], cells)] == ["redis", "redlock"]
    assert judge_by_contention(CLAIMS["C01"], cells) == ()
    assert judge_by_contention(Claim("C99", "p", "all", "backoff", None, None, "", "so", "look"), []) == ()
