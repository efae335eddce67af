"""A known latency distribution is recovered, through a whole run with Locust in a process of its own.

`faulty` delays every acquire by a draw from a known distribution and writes into the grant's token how long the acquire
took by its own clock, read just inside the recorder's. That is the truth here: a sleep lasts longer than it was asked
to, and a machine with other work on it takes the processor away in the middle of a spin. Neither is an error of the
recorder. What was planted is the lower bound of the truth: no acquire is faster than its draw.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from bench.records.histogram import LatencyHistogram
from bench.systems.faulty.faults import latency_us
from tests.load.runs import run

pytestmark = pytest.mark.measures

MEDIAN_US, SIGMA = 400.0, 0.5
LOGNORMAL = {"fault": "latency", "latency": f"lognormal:{MEDIAN_US:g}:{SIGMA:g}", "seed": "7", "token": "took"}
TWO_POINT = {**LOGNORMAL, "latency": "two-point:200:4000:0.02"}
SPIN = {"pause": "spin"}
FRACTIONS = (0.5, 0.99, 0.999)
Times = npt.NDArray[np.int64]


def not_recovered(recorded: LatencyHistogram, truth_ns: Times) -> dict[float, str]:
    """The quantiles that are wrong by more than 1 % + 20 µs, with both values."""
    ordered = np.sort(truth_ns)
    wrong = {}
    for fraction in FRACTIONS:
        true_ns = float(ordered[math.ceil(fraction * len(ordered) - 1e-9) - 1])
        found_ns = recorded.quantile_ns(fraction) or 0.0
        if abs(found_ns - true_ns) > 0.01 * true_ns + 20_000:
            wrong[fraction] = f"{found_ns / 1e3:.1f} µs for {true_ns / 1e3:.1f} µs"
    return wrong


@pytest.mark.parametrize(
    ("clients", "variant"),
    [
        pytest.param(1, LOGNORMAL | SPIN, id="lognormal, spun"),
        pytest.param(1, TWO_POINT | SPIN, id="two points, spun"),
        pytest.param(8, LOGNORMAL, id="lognormal, slept by eight clients"),
    ],
)
def test_a_known_latency_distribution_is_recovered(tmp_path: Path, clients: int, variant: Mapping[str, str]) -> None:
    ran = run(tmp_path, "faulty", variant, clients=clients, measure_s=4.0)
    truth_ns = pd.read_parquet(ran.folder.events_path)["token"].to_numpy()
    assert len(truth_ns) >= 3688, "too few for a p99.9"
    for phase in ("acquire", "response"):
        recorded = LatencyHistogram.decode(ran.measured.histograms[f"{phase}/acquired"])
        assert recorded.total == len(truth_ns)
        assert not not_recovered(recorded, truth_ns), phase
    if "lognormal" in variant["latency"]:
        assert not faster_than(truth_ns, planted_us)


def faster_than(truth_ns: Times, quantile_us: Callable[[float], float]) -> dict[float, float]:
    """Planted quantiles that more operations are below than can be: binomial, five standard deviations."""
    wrong = {}
    for fraction in FRACTIONS:
        below = float((truth_ns < quantile_us(fraction) * 1e3).mean())
        if below > fraction + 5 * math.sqrt(fraction * (1 - fraction) / len(truth_ns)):
            wrong[fraction] = below
    return wrong


def planted_us(fraction: float) -> float:
    """The quantile of the planted log-normal distribution."""
    return MEDIAN_US * math.exp(SIGMA * NormalDist().inv_cdf(fraction))


def _draws(count: int) -> Times:
    drawn = np.random.default_rng(3).lognormal(math.log(MEDIAN_US * 1e3), SIGMA, count)
    return drawn.astype(np.int64)


@pytest.mark.parametrize(
    ("fault", "recorded"),
    [
        ("whole milliseconds, as Locust keeps them", lambda true_ns: np.round(true_ns / 1e6) * 1e6),
        ("whole tenths of a millisecond", lambda true_ns: np.round(true_ns / 1e5) * 1e5),
        ("two per cent and twenty microseconds more", lambda true_ns: true_ns * 1.02 + 20_000),
        ("the slowest are out of range and dropped", lambda true_ns: true_ns[true_ns < 1_500_000]),
        ("only answers within the window are counted", lambda true_ns: np.sort(true_ns)[: -len(true_ns) // 100]),
        ("microseconds for nanoseconds", lambda true_ns: true_ns / 1e3),
    ],
)
def test_a_planted_fault_of_the_recorder_is_found(fault: str, recorded: Callable[[Times], Times]) -> None:
    truth_ns = _draws(8000)
    sound, faulty = LatencyHistogram(), LatencyHistogram()
    for value_ns in truth_ns.tolist():
        sound.record(value_ns)
    for value_ns in recorded(truth_ns).tolist():
        faulty.record(int(value_ns))
    assert not not_recovered(sound, truth_ns)
    assert not_recovered(faulty, truth_ns), fault


def test_the_planted_distribution_is_the_one_that_is_asked_for() -> None:
    source = latency_us(LOGNORMAL["latency"], LOGNORMAL["seed"])
    drawn = np.array([round(source() * 1e3) for _ in range(200_000)])
    for fraction in FRACTIONS:
        assert np.quantile(drawn, fraction) == pytest.approx(planted_us(fraction) * 1e3, rel=0.02), fraction
    assert not faster_than(drawn, planted_us)
    assert faster_than((drawn * 0.98).astype(np.int64), planted_us)
