"""Verdicts on claimed latencies over networks: lockbench and the judge agree, on made-up runs and on the reference."""

import csv
import io
import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.claims import Claim
from bench.analysis.evidence import Evidence
from bench.analysis.network.claims import judge_over_networks
from bench.analysis.network.cost_model import cost_model
from bench.analysis.network.samples import Sample, Sampled
from bench.analysis.places import NETWORK, members, project_root, reference_campaign
from bench.records.packed import unpack_campaign
from bench.records.store import CampaignFolder
from bench.report.tidy import claims_csv, runs_csv
from tests.analysis.network.test_cost_model import FSYNC_US, LOOPBACK_US, RTTS_US, path
from tests.judge.comparison import Comparison
from tests.judge.networks import Point, System, compare_claims, judge, systems_of

OVER_NETWORKS = CampaignFolder(reference_campaign().path / NETWORK)
SETTINGS = ("on the same network", "in one region", "")
LEAST = 3 * 12  # verdict and both ends, of claims and systems


def runs(trips: float, fixed_us: float, noise: float, seed: int, tail_us: float | None) -> Sequence[Sample]:
    dice = random.Random(seed)
    found = []
    for rtt_us in RTTS_US:
        for number in (1, 2):
            p50 = trips * rtt_us + fixed_us * math.exp(dice.gauss(0.0, noise))
            carried = tail_us is not None and (rtt_us < 3_000.0 or number == 1)
            p99 = {"acquire": p50 + (tail_us or 0.0)} if carried else {}
            run_id = f"{rtt_us}-{number}"
            found.append(
                Sample(run_id, f"rtt={rtt_us:g}", rtt_us, "none", LOOPBACK_US, FSYNC_US, {"acquire": p50}, p99)
            )
    return found


@settings(max_examples=300)
@given(
    trips=st.sampled_from([1.0, 1.1, 1.4, 2.0, 3.0]), declared=st.integers(1, 3), peers=st.integers(0, 1),
    writes=st.integers(0, 1), fixed_us=st.floats(150.0, 9_000.0), noise=st.sampled_from([0.01, 0.3]),
    seed=st.integers(0, 99), tail_us=st.none() | st.floats(10.0, 9_000.0),
    low=st.sampled_from([None, 0.1, 0.5, 1.0, 5.0, 50.0]), width=st.sampled_from([0.4, 1.5, 9.0, None]),
    where=st.sampled_from(SETTINGS), at_most=st.booleans(), emulator=st.booleans(),
)  # fmt: skip
def test_both_come_to_the_same_verdict(
    trips: float, declared: int, peers: int, writes: int, fixed_us: float, noise: float, seed: int,
    tail_us: float | None, low: float | None, width: float | None, where: str, at_most: bool, emulator: bool,
) -> None:  # fmt: skip
    high = None if width is None else (low or 0.0) + width
    samples = runs(trips, fixed_us, noise, seed, tail_us)
    bound = ("client",) if at_most else ()
    of = Sampled("etcd", tuple(samples), path(declared, peers, writes), {"fsync": "on"}, emulator, bound)
    model = cost_model(of, "acquire")
    assert model is not None
    claim = Claim("C01", "page", "etcd", "acquire_latency", low, high, "ms", f"etcd acquires {where}", "look")
    theirs = judge_over_networks(claim, model)
    assert theirs is not None
    assert theirs.break_even is not None
    points = [
        Point(one.network, one.rtt_us, one.p50_us["acquire"], one.p99_us.get("acquire"), "none", LOOPBACK_US)
        for one in samples
    ]
    stated = {"low": "" if low is None else str(low), "high": "" if high is None else str(high), "claim": claim.claim}
    ours = judge(stated, System(points, declared, peers, at_most, emulator))
    assert str(theirs.verdict) == ours.verdict, theirs.why
    assert (theirs.break_even.low_ms, theirs.break_even.high_ms) == pytest.approx((ours.low, ours.high))


@pytest.mark.skipif(not members(OVER_NETWORKS), reason="the reference has no campaign over networks yet")
def test_every_verdict_of_the_reference_is_the_judges(tmp_path: Path) -> None:
    evidence = Evidence.load(reference_campaign())
    rows = list(csv.DictReader(io.StringIO(runs_csv(evidence.about_networks))))
    void = {row["run_id"].rpartition("/")[2] for row in rows if row["void_reason"]}
    at_most = {model.system for model in evidence.over_networks if model.bounds}
    (folder,) = members(OVER_NETWORKS)
    unpack_campaign(folder, tmp_path / "unpacked")
    seen = Comparison()
    stated = (project_root() / "data" / "claims.csv").read_text()
    compare_claims(claims_csv(evidence), stated, systems_of(tmp_path / "unpacked", void, at_most), seen)
    assert seen.wrong == []
    assert seen.cells >= LEAST
