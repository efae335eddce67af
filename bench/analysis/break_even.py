"""The break-even round trip: over which networks would a claimed latency contain what was measured over loopback?

Each round trip of an acquire, from the client and between servers alike, is assumed to cost the same. Loopback's own is
in the measurement already, so the network's is counted as what it adds to that. A claim of `low` to `high` contains the
median where a round trip adds (low - median) / trips to (high - median) / trips.
"""

from dataclasses import dataclass

from bench.analysis.cells import Absent, Cell
from bench.analysis.floor import critical_path

# Within one region: availability zones of AWS are less than 2 ms apart, mostly less than 1 (Hamilton, re:Invent 2014).
PLAUSIBLE_ROUND_TRIP_MS = 2.0
# etcd's documentation: the 99th percentile of `wal_fsync_duration_seconds` should be below 10 ms.
PLAUSIBLE_WRITE_MS = 10.0


@dataclass(frozen=True, slots=True)
class Reach:
    """The round trips, in ms, for which a claimed range contains the median; below 0 there is none. Between servers a
    round trip takes as long as between them and the client: a page that names a network names one."""

    low_ms: float
    high_ms: float  # may be infinite

    @property
    def words(self) -> str:
        """The range, for a sentence: 0.48-1.98 ms, up to 0.98 ms, 0.97 ms and more."""
        if self.low_ms <= 0.0:
            return f"up to {_ms(self.high_ms)} ms"
        if self.high_ms == float("inf"):
            return f"{_ms(self.low_ms)} ms and more"
        return f"{_ms(self.low_ms)}\u2013{_ms(self.high_ms)} ms"


@dataclass(frozen=True, slots=True)
class BreakEven(Reach):
    """What a round trip may add to loopback's own for the claim's range to contain the median."""

    network_explains: bool  # a round trip within one region is enough to reach the claimed range
    disk_explains: bool  # with the longest such round trips, a slower disk is

    @property
    def always(self) -> bool:
        """Does the claim hold over every network within one region?"""
        return self.low_ms <= 0.0 and self.high_ms >= PLAUSIBLE_ROUND_TRIP_MS


def break_even(cell: Cell, low_us: float, high_us: float, median_us: float | None = None) -> BreakEven | None:
    """For a claimed range of a latency, from the cell's median or from another one (an end of its interval).

    None where the runs do not tell round trips or a median, or have no network. Also above the claimed range: a network
    only adds.
    """
    path, median = critical_path(cell), cell.value("acquire_us_p50")
    if isinstance(path, Absent) or isinstance(median, Absent) or not path.round_trips:
        return None
    from_us = median.value if median_us is None else median_us
    if from_us > high_us:
        return None
    low_ms, high_ms = ((end_us - from_us) / path.round_trips / 1_000.0 for end_us in (low_us, high_us))
    missing_ms = (low_ms - PLAUSIBLE_ROUND_TRIP_MS) * path.round_trips
    return BreakEven(
        low_ms=low_ms,
        high_ms=high_ms,
        network_explains=missing_ms <= 0.0,
        disk_explains=0.0 < missing_ms <= path.durable_writes * PLAUSIBLE_WRITE_MS,
    )


def _ms(value_ms: float) -> str:
    return f"{value_ms:.2f}" if value_ms < 10.0 else f"{value_ms:.1f}"
