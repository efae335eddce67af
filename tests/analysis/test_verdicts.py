"""Adjudication: a claim meets runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.cells import Cell
from bench.analysis.claims import Claim, load_claims
from bench.analysis.runs import GENERATOR_CHECK, FailedCheck, RunRow, Setting
from bench.analysis.verdicts import Judgement, Verdict, adjudicate, verdict_frame
from bench.records.schema import RunState, Severity, Workload

RTT_US = 40.0
SETTING = Setting("7.0", "native", 1, (), (), "")


def claim(low: float | None, high: float | None, metric: str = "acquire_latency", unit: str = "ms") -> Claim:
    return Claim("C01", "page.txt", "redis", metric, low, high, unit, "it is so", "look")


def run(
    number: int, workload: str, metrics: dict[str, float | None], *failed: str, setting: Setting = SETTING
) -> RunRow:
    checks = tuple(FailedCheck(name, Severity.NOTE, "", "", "message") for name in failed)
    return RunRow(
        campaign_id="made-up",
        run_id=f"redis-{workload}-{number:02d}",
        system="redis",
        workload=Workload(name=workload, clients=1, keys=0),
        repetition=number,
        state=RunState.CHECKED,
        void_cause=None,
        void_reason=None,
        passed_checks=(),
        failed_checks=checks,
        setting=setting,
        metrics=metrics,
    )


def latency_cell(*runs_ms: tuple[float, float | None], setting: Setting = SETTING) -> Cell:
    rows = [
        run(
            number,
            "uncontended",
            {"acquire_us_p50": p50 * 1e3, "acquire_us_p99": None if p99 is None else p99 * 1e3},
            setting=setting,
        )
        for number, (p50, p99) in enumerate(runs_ms, 1)
    ]
    return Cell("redis", rows[0].workload, setting, tuple(rows))


def rate_cell(*pairs_per_s: float, bound: bool = False, source: str = "native") -> Cell:
    setting = replace(SETTING, source=source)
    failed = (GENERATOR_CHECK,) if bound else ()
    rows = [
        run(number, "saturation", {"throughput_pairs_per_s": rate}, *failed, setting=setting)
        for number, rate in enumerate(pairs_per_s, 1)
    ]
    return Cell("redis", rows[0].workload, setting, tuple(rows))


def judged(one: Claim, *cells: Cell) -> Judgement:
    (judgement,) = adjudicate([one], cells, RTT_US)
    return judgement


@pytest.mark.parametrize(
    ("p50", "p99", "verdict", "why"),
    [
        (1.0, 1.9, Verdict.HOLDS, ""),
        (0.5, 2.0, Verdict.HOLDS, ""),
        (1.0, 2.1, Verdict.CONDITION, "for the median; p99 is slower than claimed"),
        (0.4, 1.0, Verdict.CONDITION, "for p99; the median is faster than claimed"),
        (0.1, 0.4, Verdict.FAILS, "faster than claimed"),
        (2.5, 9.0, Verdict.FAILS, "slower than claimed"),
        (2.5, None, Verdict.FAILS, "slower than claimed"),
        (0.4, 2.5, Verdict.FAILS, "wider than claimed"),
        (1.0, None, Verdict.NOT_TESTABLE, "n too small"),
        (0.1, None, Verdict.NOT_TESTABLE, "n too small"),
    ],
)
def test_latency_against_half_to_two_ms(p50: float, p99: float | None, verdict: Verdict, why: str) -> None:
    got = judged(claim(0.5, 2.0), latency_cell((p50, p99)))
    assert got.verdict is verdict
    assert why in got.why


def test_open_ends_of_a_range() -> None:
    assert judged(claim(0.0, 1.0), latency_cell((0.01, 0.9))).verdict is Verdict.HOLDS
    assert judged(claim(1.0, None), latency_cell((1.5, 900.0))).verdict is Verdict.HOLDS
    assert judged(claim(1.0, None), latency_cell((0.1, 0.2))).why.startswith("faster than claimed")


def test_faster_over_loopback_says_so_and_over_a_network_does_not() -> None:
    assert "over loopback, round trip 40 µs" in judged(claim(0.5, 2.0), latency_cell((0.1, 0.2))).why
    elsewhere = replace(SETTING, source="url")
    assert judged(claim(0.5, 2.0), latency_cell((0.1, 0.2), setting=elsewhere)).why == "faster than claimed"


def test_runs_that_disagree_make_a_condition_that_counts_them() -> None:
    got = judged(claim(0.5, 2.0), latency_cell((1.0, 1.5), (1.0, 1.6), (2.4, 3.0)))
    assert got.verdict is Verdict.CONDITION
    assert got.why == "2 of 3 runs: holds; 1 of 3 runs: fails, slower than claimed"


def test_a_percentile_that_one_run_lacks_is_used_of_none() -> None:
    got = judged(claim(0.5, 2.0), latency_cell((1.0, 1.5), (1.0, None)))
    assert got.verdict is Verdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("cell", "verdict", "why"),
    [
        (rate_cell(12_000), Verdict.HOLDS, ""),
        (rate_cell(7_000), Verdict.CONDITION, "count as two"),
        (rate_cell(30_000), Verdict.CONDITION, "count as one"),
        (rate_cell(60_000), Verdict.FAILS, "more than claimed"),
        (rate_cell(12_000, bound=True), Verdict.CONDITION, "at least: generator-bound"),
        (rate_cell(900, bound=True), Verdict.NOT_TESTABLE, "less than claimed, but generator-bound"),
        (rate_cell(900), Verdict.NOT_TESTABLE, "share this machine's cores"),
        (rate_cell(900, source="url"), Verdict.FAILS, "less than claimed"),
        (rate_cell(900, source="url", bound=True), Verdict.NOT_TESTABLE, "generator-bound"),
    ],
)
def test_throughput_against_10_to_50_thousand(cell: Cell, verdict: Verdict, why: str) -> None:
    got = judged(claim(10_000, 50_000, "throughput", "ops/s"), cell)
    assert got.verdict is verdict
    assert why in got.why
    assert got.at_least == cell.generator_bound


def test_an_emulator_is_never_judged() -> None:
    emulated = replace(SETTING, tags=("emulator",))
    got = judged(claim(0.5, 2.0), latency_cell((1.0, 1.5), setting=emulated))
    assert got.verdict is Verdict.NOT_TESTABLE
    assert "emulator" in got.why
    assert got.measured, "it is shown all the same"


def test_void_runs_make_a_claim_untestable_with_the_reason() -> None:
    cell = latency_cell((1.0, 1.5))
    void = replace(cell.runs[0], void_cause="loop_lag", void_reason="the loop was late")
    got = judged(claim(0.5, 2.0), replace(cell, runs=(void,)))
    assert got.verdict is Verdict.NOT_TESTABLE
    assert "the loop was late" in got.why
    assert got.evidence == ("redis-uncontended-01",)


def test_what_no_run_is_about_stays_not_measured() -> None:
    assert judged(claim(0.5, 2.0)).verdict is Verdict.NOT_MEASURED
    no_figure = Claim("C19", "page.txt", "redis", "pause_safety", None, None, "", "unsafe", "pause it")
    assert judged(no_figure, latency_cell((1.0, 1.5))).verdict is Verdict.NOT_MEASURED


def test_a_durable_sibling_is_judged_by_the_same_claim_in_a_line_of_its_own() -> None:
    plain = latency_cell((0.1, 0.2))
    durable = replace(plain, system="redis-aof", runs=tuple(replace(one, system="redis-aof") for one in plain.runs))
    got = adjudicate([claim(0.5, 2.0)], [plain, durable], RTT_US)
    assert [one.system for one in got] == ["redis", "redis-aof"]


def test_every_claim_of_the_file_is_in_the_frame(tmp_path: Path) -> None:
    claims = load_claims()
    frame = verdict_frame(adjudicate(claims, [latency_cell((0.2, 0.4))], RTT_US))
    assert list(frame["id"]) == [one.id for one in claims]
    redis = frame[frame["id"] == "C62"].iloc[0]
    assert redis.verdict == "holds"
    assert redis.measured_acquire_ms_p50 == pytest.approx(0.2)
    assert redis.evidence_runs == "redis-uncontended-01"
