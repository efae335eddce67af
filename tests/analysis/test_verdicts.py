"""Adjudication: a claim meets runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.analysis.cells import Cell
from bench.analysis.claims import Claim, load_claims
from bench.analysis.runs import RunRow, Setting
from bench.analysis.verdicts import Judgement, Verdict, adjudicate, verdict_frame
from bench.records.schema import Workload
from tests.run_rows import run_row

SETTING = Setting("7.0", "url", 1, (), (), "")  # servers across a network; those over loopback are told so
LOOPBACK = replace(SETTING, source="native")


def claim(low: float | None, high: float | None, metric: str = "acquire_latency", unit: str = "ms") -> Claim:
    return Claim("C01", "page.txt", "redis", metric, low, high, unit, "it is so", "look")


def run(
    number: int,
    workload: str,
    metrics: dict[str, float | None],
    bounds: tuple[str, ...] = (),
    setting: Setting = SETTING,
    capabilities: dict[str, str] | None = None,
) -> RunRow:
    return run_row(
        f"redis-{workload}-{number:02d}",
        "redis",
        Workload(name=workload, clients=1, keys=0),
        number,
        setting=setting,
        capabilities=capabilities or {},
        metrics=metrics,
        bounds=bounds,
    )


def path(trips: int = 1, peers: int = 0, writes: int = 0) -> dict[str, str]:
    return {
        "acquire_round_trips": str(trips),
        "peer_round_trips": str(peers),
        "acquire_durable_writes": str(writes),
        "durable_when": "fsync=on",
    }


def about(value: float) -> list[float]:
    """Six runs whose interval is 2 % wide to either side."""
    return [value * factor for factor in (0.98, 0.985, 1.0, 1.0, 1.015, 1.02)]


def latency_cell(
    *runs_ms: tuple[float, float | None],
    setting: Setting = SETTING,
    bounds: tuple[str, ...] = (),
    told: dict[str, str] | None = None,
) -> Cell:
    rows = [
        run(
            number,
            "uncontended",
            {"acquire_us_p50": p50 * 1e3, "acquire_us_p99": None if p99 is None else p99 * 1e3},
            bounds,
            setting,
            told,
        )
        for number, (p50, p99) in enumerate(runs_ms, 1)
    ]
    return Cell("redis", rows[0].workload, setting, tuple(rows))


def steady_cell(p50: float, p99: float | None, **more: Any) -> Cell:
    p99s = [None] * 6 if p99 is None else about(p99)
    return latency_cell(*zip(about(p50), p99s, strict=True), **more)


def rate_cell(*pairs_per_s: float, bounds: tuple[str, ...] = (), source: str = "native") -> Cell:
    setting = replace(SETTING, source=source)
    rows = [
        run(number, "saturation", {"throughput_pairs_per_s": rate}, bounds, setting)
        for number, rate in enumerate(pairs_per_s, 1)
    ]
    return Cell("redis", rows[0].workload, setting, tuple(rows))


def judged(one: Claim, *cells: Cell) -> Judgement:
    (judgement,) = adjudicate([one], cells)
    return judgement


@pytest.mark.parametrize(
    ("p50", "p99", "verdict", "why"),
    [
        (1.0, 1.9, Verdict.HOLDS, ""),
        (1.0, 2.1, Verdict.CONDITION, "for the median; p99 is slower than claimed"),
        (0.4, 1.0, Verdict.CONDITION, "for p99; the median is faster than claimed"),
        (0.1, 0.4, Verdict.FAILS, "faster than claimed"),
        (2.5, 9.0, Verdict.FAILS, "slower than claimed"),
        (2.5, None, Verdict.FAILS, "slower than claimed"),
        (0.4, 2.5, Verdict.FAILS, "wider than claimed"),
        (1.0, None, Verdict.NOT_TESTABLE, "n too small"),
        (0.1, None, Verdict.NOT_TESTABLE, "n too small"),
        (0.5, 1.0, Verdict.CANNOT_SAY, "the median: the interval 0.492 to 0.508 ms contains 0.5"),
        (2.0, 3.0, Verdict.CANNOT_SAY, "the median: the interval 1.97 to 2.03 ms contains 2"),
        (1.0, 2.0, Verdict.CANNOT_SAY, "the median lies within; p99: the interval 1.97 to 2.03 ms contains 2"),
        (0.1, 0.5, Verdict.CANNOT_SAY, "the median is faster than claimed; p99: the interval"),
    ],
)
def test_latency_over_a_network_against_half_to_two_ms(
    p50: float, p99: float | None, verdict: Verdict, why: str
) -> None:
    got = judged(claim(0.5, 2.0), steady_cell(p50, p99))
    assert got.verdict is verdict
    assert why in got.why


def test_open_ends_of_a_range() -> None:
    assert judged(claim(0.0, 1.0), steady_cell(0.01, 0.9)).verdict is Verdict.HOLDS
    assert judged(claim(1.0, None), steady_cell(1.5, 900.0)).verdict is Verdict.HOLDS
    assert judged(claim(1.0, None), steady_cell(0.1, 0.2)).why.startswith("faster than claimed")


# Claimed range; median, round trips from the client and between servers, durable writes -> what a network may add.
LOOPBACK_CASES = [
    ((0.5, 2.0), 0.0195, path(), Verdict.CONDITION, "if the network adds 0.48–1.98 ms to each round trip"),
    ((5.0, 20.0), 1.2, path(1, 1), Verdict.CONDITION, "if the network adds 1.90–9.40 ms to each round trip"),
    (
        (50.0, 200.0),
        0.44,
        path(1, 1, 1),
        Verdict.FAILS,
        "faster than claimed: round trips would have to be 24.8–99.8 ms",
    ),
    ((5.0, 20.0), 0.44, path(1, 1, 1), Verdict.NOT_TESTABLE, "or writes slower"),
    ((5.0, 20.0), 0.44, path(1, 1, 0), Verdict.FAILS, "within one region they take up to 2 ms"),
    ((0.0, 1.0), 0.0195, path(), Verdict.CONDITION, "if the network adds up to 0.98 ms to each round trip"),
    ((0.0, 10.0), 0.5, path(), Verdict.HOLDS, ""),
    ((1.0, None), 0.5, path(), Verdict.CONDITION, "if the network adds 0.50 ms and more to each round trip"),
    ((0.1, 0.2), 0.5, path(), Verdict.FAILS, "slower than claimed"),
    ((0.5, 2.0), 0.0195, {}, Verdict.NOT_TESTABLE, "round trips were not recorded"),
    ((0.5, 2.0), 0.5, path(), Verdict.CANNOT_SAY, "contains 0.5"),
]


@pytest.mark.parametrize(("ends", "median", "told", "verdict", "why"), LOOPBACK_CASES)
def test_over_loopback_the_break_even_round_trip_decides(
    ends: tuple[float, float | None], median: float, told: dict[str, str], verdict: Verdict, why: str
) -> None:
    setting = replace(LOOPBACK, durability=(("fsync", "on"),))
    got = judged(claim(*ends), steady_cell(median, median * 1.3, setting=setting, told=told))
    assert got.verdict is verdict, got.why
    assert why in got.why


@pytest.mark.parametrize(
    ("low", "median", "told", "bounds"),
    [
        (2.3, 0.30, path(), ()),  # 2.0 ms of a network would be needed, give or take 0.006
        (22.3, 0.30, path(1, 0, 2), ()),  # and that beyond two writes of 10 ms
        (2.05, 0.10, path(), ("machine",)),  # at most 0.1 ms: 1.95 ms of a network, or 2.05
    ],
)
def test_a_break_even_at_the_edge_of_a_network_is_not_decided_by_the_median(
    low: float, median: float, told: dict[str, str], bounds: tuple[str, ...]
) -> None:
    setting = replace(LOOPBACK, durability=(("fsync", "on"),))
    cell = steady_cell(median, median * 1.3, setting=setting, told=told, bounds=bounds)
    got = judged(claim(low, 50.0), cell)
    assert got.verdict is Verdict.CANNOT_SAY, got.why
    for nearer in (low - 0.3, low + 0.3):
        assert judged(claim(nearer, 50.0), cell).verdict is not Verdict.CANNOT_SAY


def test_a_claim_holds_over_every_network_only_by_the_whole_interval() -> None:
    assert judged(claim(0.0, 2.3), steady_cell(0.299, 0.4, setting=LOOPBACK, told=path())).verdict is Verdict.CONDITION
    assert judged(claim(0.0, 2.3), steady_cell(0.28, 0.4, setting=LOOPBACK, told=path())).verdict is Verdict.HOLDS


def test_what_loopback_lacks_decides_neither_a_latency_nor_a_throughput() -> None:
    """Both are off to the side to which this machine pushes them: neither fails."""
    latency = judged(claim(0.5, 2.0), steady_cell(0.1, 0.2, setting=LOOPBACK, told=path()))
    rate = judged(claim(10_000, 50_000, "throughput", "ops/s"), rate_cell(*about(900.0)))
    assert Verdict.FAILS not in (latency.verdict, rate.verdict)


def test_one_run_of_six_never_decides() -> None:
    """Five that fail and one that holds read "holds here with a condition" when each run was judged by itself."""
    five_and_one = latency_cell(*[(2.4, 3.0)] * 5, (1.9, 1.95))
    got = judged(claim(0.5, 2.0), five_and_one)
    assert got.verdict is Verdict.FAILS
    spread_out = latency_cell(*[(value, 3.0) for value in (1.2, 2.1, 2.3, 2.4, 2.6, 3.4)])
    got = judged(claim(0.5, 2.0), spread_out)
    assert got.verdict is Verdict.CANNOT_SAY
    assert got.why == "the median: the interval 1.55 to 3.2 ms contains 2; about 42 runs would decide it"


def test_one_run_alone_decides_nothing_and_two_only_what_is_far_off() -> None:
    assert judged(claim(0.5, 2.0), latency_cell((90.0, 99.0))).verdict is Verdict.CANNOT_SAY
    assert judged(claim(10_000, 50_000, "throughput", "ops/s"), rate_cell(90_000)).verdict is Verdict.CANNOT_SAY
    assert judged(claim(0.5, 2.0), latency_cell((2.2, 3.0), (2.4, 3.0))).verdict is Verdict.CANNOT_SAY
    assert judged(claim(0.5, 2.0), latency_cell((20.0, 30.0), (21.0, 30.0))).verdict is Verdict.FAILS


def test_an_upper_bound_of_a_latency_decides_downwards_only() -> None:
    bound = ("client",)
    assert judged(claim(0.5, 2.0), steady_cell(0.1, 0.4, bounds=bound)).verdict is Verdict.FAILS
    assert judged(claim(0.0, 2.0), steady_cell(0.1, 0.4, bounds=bound)).verdict is Verdict.HOLDS
    got = judged(claim(0.5, 2.0), steady_cell(3.0, 4.0, bounds=bound))
    assert got.verdict is Verdict.NOT_TESTABLE
    assert got.at_most
    assert "the median is at most 3.05 ms (client-bound), maybe less" in got.why


def test_a_percentile_that_one_run_lacks_is_used_of_none() -> None:
    got = judged(claim(0.5, 2.0), latency_cell((1.0, 1.5), (1.01, None), (1.0, 1.5)))
    assert got.verdict is Verdict.NOT_TESTABLE


BOUND = ("generator",)


@pytest.mark.parametrize(
    ("cell", "verdict", "why"),
    [
        (rate_cell(*about(12_000)), Verdict.HOLDS, ""),
        (rate_cell(*about(7_000)), Verdict.CONDITION, "count as two"),
        (rate_cell(*about(30_000)), Verdict.CONDITION, "count as one"),
        (rate_cell(*about(60_000)), Verdict.FAILS, "more than claimed"),
        (rate_cell(*about(60_000), bounds=BOUND), Verdict.FAILS, "more than claimed"),
        (rate_cell(*about(12_000), bounds=BOUND), Verdict.NOT_TESTABLE, "(generator-bound): the ceiling was not"),
        (rate_cell(*about(900), bounds=("clients",)), Verdict.NOT_TESTABLE, "(still rising): the ceiling was not"),
        (rate_cell(*about(900)), Verdict.NOT_TESTABLE, "share this machine's cores"),
        (rate_cell(*about(900), source="url"), Verdict.FAILS, "less than claimed"),
        (rate_cell(*about(900), source="url", bounds=BOUND), Verdict.NOT_TESTABLE, "generator-bound"),
        (rate_cell(*about(5_000), source="url"), Verdict.CANNOT_SAY, "count as two: the interval"),
        (rate_cell(*about(50_000), source="url"), Verdict.CANNOT_SAY, "count as one: the interval"),
    ],
)
def test_throughput_against_10_to_50_thousand(cell: Cell, verdict: Verdict, why: str) -> None:
    got = judged(claim(10_000, 50_000, "throughput", "ops/s"), cell)
    assert got.verdict is verdict, got.why
    assert why in got.why
    assert got.at_least == bool(cell.bounds)


def test_a_lower_bound_holds_a_claim_that_is_open_upwards() -> None:
    at_least = rate_cell(*about(12_000), bounds=BOUND)
    assert judged(claim(10_000, None, "throughput", "ops/s"), at_least).verdict is Verdict.HOLDS


def test_an_emulator_is_never_judged() -> None:
    emulated = replace(SETTING, tags=("emulator",))
    got = judged(claim(0.5, 2.0), steady_cell(1.0, 1.5, setting=emulated))
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
    got = adjudicate([claim(0.5, 2.0)], [plain, durable])
    assert [one.system for one in got] == ["redis", "redis-aof"]


def test_every_claim_of_the_file_is_in_the_frame(tmp_path: Path) -> None:
    claims = load_claims()
    frame = verdict_frame(adjudicate(claims, [latency_cell((0.2, 0.4), (0.2, 0.4))]))
    assert list(frame["id"]) == [one.id for one in claims]
    redis = frame[frame["id"] == "C62"].iloc[0]
    assert redis.verdict == "holds"
    assert redis.measured_acquire_ms_p50 == pytest.approx(0.2)
    assert redis.evidence_runs == "redis-uncontended-01 redis-uncontended-02"
