"""Claimed latencies against a cost model: the round trips for which they hold decide, and what a page says of them."""

from dataclasses import replace

import pytest

from bench.analysis.claims import Claim, load_claims
from bench.analysis.judgement import Judgement, Verdict
from bench.analysis.network.claims import judge_over_networks
from bench.analysis.network.cost_model import cost_model
from bench.analysis.network.reach import setting_of
from bench.analysis.network.samples import Sampled
from bench.analysis.verdicts import adjudicate
from tests.analysis.network.test_cost_model import made_up, path

NEAR, REGION, NOWHERE = "on the same network", "in one region", ""


def claim(low: float | None, high: float | None, where: str = NOWHERE) -> Claim:
    return Claim("C01", "page", "etcd", "acquire_latency", low, high, "ms", f"etcd acquires {where}", "look")


def judged(one: Claim, of: Sampled) -> Judgement:
    model = cost_model(of, "acquire")
    assert model is not None
    found = judge_over_networks(one, model)
    assert found is not None
    return found


def over(fixed_us: float, trips: int = 1, peers: int = 0, tail_us: float | None = 50.0, noise: float = 0.01) -> Sampled:
    of = made_up(path(trips, peers), trips, peers, fixed_us=fixed_us, noise=noise)
    if tail_us is None:
        return of
    return replace(
        of,
        samples=tuple(replace(one, p99_us={"acquire": one.p50_us["acquire"] + tail_us}) for one in of.samples),
    )


CASES = [
    (claim(0.5, 2.0, NEAR), over(200.0), Verdict.CONDITION, "for round trips of 0.30–1.80 ms; within one datacenter"),
    (claim(0.1, 1.0, NEAR), over(200.0), Verdict.HOLDS, ""),
    (claim(1.0, 2.0, NEAR), over(200.0), Verdict.FAILS, "faster than claimed: it holds for round trips of 0.80–1.80"),
    (claim(1.0, 10.0, REGION), over(200.0), Verdict.CONDITION, "for round trips of 0.80–9.80 ms; within one region"),
    (claim(0.0, 1.0), over(200.0), Verdict.CONDITION, "for round trips of up to 0.80 ms"),
    (claim(0.0, 10.0), over(200.0), Verdict.HOLDS, ""),
    (claim(0.0, 10.0), over(200.0, tail_us=None), Verdict.CONDITION, "for the median; too few operations"),
    (claim(0.0, 10.0), over(200.0, tail_us=9_000.0), Verdict.CONDITION, "for the median; p99 for round trips"),
    (claim(0.0, 10.0), over(200.0, tail_us=11_000.0), Verdict.CONDITION, "for the median; p99 is slower than claimed"),
    (claim(50.0, 200.0), over(1_000.0, 2, 1), Verdict.CONDITION, "for round trips of 16.3–66.3 ms; within one region"),
    (claim(1.0, None), over(200.0), Verdict.CONDITION, "for round trips of 0.80 ms and more"),
    (claim(0.0, 0.1), over(200.0), Verdict.FAILS, "slower than claimed"),
    (claim(0.0, 0.2), over(200.0, noise=0.3), Verdict.CANNOT_SAY, "on the edge of the claimed range"),
    (claim(0.7, 5.0, NEAR), over(200.0, noise=0.3), Verdict.CANNOT_SAY, "on the edge of that"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "of", "verdict", "why"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_the_round_trips_for_which_it_holds_decide(one: Claim, of: Sampled, verdict: Verdict, why: str) -> None:
    found = judged(one, of)
    assert found.verdict is verdict, found.why
    assert why in found.why
    assert found.break_even is not None


def test_round_trips_of_servers_cost_as_much_as_those_of_clients() -> None:
    found = judged(claim(5.0, 20.0), over(1_000.0, 1, 1))
    assert found.break_even is not None
    assert found.break_even.low_ms == pytest.approx(2.0, abs=0.03)
    assert "2\u00a0×\u00a0RTT" in found.found


def test_an_upper_bound_decides_no_lower_end() -> None:
    """At most 0.2 ms: the claim may need up to 0.2 ms more of a network."""
    bound = replace(over(200.0), bounds=("client",))
    found = judged(claim(0.65, 2.0, NEAR), bound)
    assert found.verdict is Verdict.CANNOT_SAY
    assert found.at_most
    assert judged(claim(0.65, 2.0, NEAR), over(200.0)).verdict is Verdict.CONDITION


def test_an_emulator_is_never_judged() -> None:
    assert judged(claim(0.5, 2.0), replace(over(200.0), emulator=True)).verdict is Verdict.NOT_TESTABLE


def test_where_networks_were_measured_they_decide_and_loopback_does_not() -> None:
    model = cost_model(over(200.0), "acquire")
    assert model is not None
    (found,) = adjudicate([claim(0.5, 2.0, NEAR)], [], networks=[model])
    assert found.verdict is Verdict.CONDITION
    assert found.evidence == tuple(sample.run_id for sample in model.samples)


def test_the_claims_of_the_file_that_name_their_network() -> None:
    named = {one.id: setting_of(one).rtt_ms for one in load_claims() if setting_of(one).named}
    assert named == {"C01": 0.5, "C50": 2.0}
