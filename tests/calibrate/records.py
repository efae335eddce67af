"""A small calibration, as a record, for the tests of this folder."""

from bench.records.calibration import Bound, Calibration, Line
from bench.records.schema import Environment

ENVIRONMENT = Environment(
    cpu_model="a processor",
    cpu_count=2,
    memory_bytes=1,
    kernel="6",
    governor="unknown",
    operating_system="an operating system",
    virtualization="none seen",
    filesystem="ext4",
    fdatasync_us_p50=90.0,
    fdatasync_us_p99=200.0,
    loopback_rtt_us_p50=5.0,
    python="3.11.7",
    libraries={},
    load_average_1m=0.5,
)
RATE = Line(
    name="rate",
    title="a rate",
    unit="commands/s",
    against="a native tool",
    instrument=(20_000.0, 30_000.0, 50_000.0),
    native=(100_000.0, 100_000.0, 125_000.0),
    target=0.35,
    bound=Bound.AT_LEAST,
    explanation="the loop took it",
)
COST = Line(name="cost", title="a cost", unit="ms", against="", instrument=(0.05, 0.04, 0.06), target=0.06)
INFORMATION = Line(name="shown", title="for information", unit="µs", against="a mean", instrument=(3.0,), native=(2.0,))


def calibration(*lines: Line) -> Calibration:
    """A record with these lines."""
    return Calibration(
        created_at="2026-01-01T00:00:00+00:00",
        lockbench_version="0",
        git_commit="unknown",
        pairs=3,
        window_s=1.5,
        took_s=100.0,
        programs={"pgbench": "pgbench 15"},
        environment=ENVIRONMENT,
        lines=lines,
    )
