"""How fast the servers' clocks may run before a lock that lives on them has two holders."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.tolerance import nodes_held
from bench.records.meaning import Role


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One TTL, number of nodes held and of those whose clocks ran fast, over all runs."""

    system: str
    ttl_ms: int
    nodes_held: int
    nodes_drifting: int
    rates: tuple[tuple[float, Count], ...]  # by rate in percent, ascending: trials with two holders, of those staged
    evidence: tuple[str, ...]

    @property
    def smallest_breaking_percent(self) -> float | None:
        """None: no rate that was tried broke it."""
        return next((rate for rate, count in self.rates if count.seen), None)

    @property
    def largest_survived_percent(self) -> float | None:
        """Below the smallest breaking one; None: every rate that was tried broke it."""
        broke = self.smallest_breaking_percent
        return max((rate for rate, _ in self.rates if broke is None or rate < broke), default=None)

    @property
    def words(self) -> str:
        """The bracket, and what it comes to over a lease."""
        survived, broke = self.largest_survived_percent, self.smallest_breaking_percent
        ends = [
            f"{rate:g} % ({self.gained_ms(rate):,.0f} ms over a lease) {became}"
            for rate, became in ((survived, "broke nothing"), (broke, "gave two holders"))
            if rate is not None
        ]
        return " and ".join(ends)

    def gained_ms(self, percent: float) -> float:
        """How far a clock that runs so fast is ahead after a TTL."""
        return percent / 100.0 * self.ttl_ms


def drift_rows(trials: Iterable[TrialRow]) -> tuple[DriftRow, ...]:
    """One row for each combination, by system, TTL and nodes. A contender that had its answer when the validity of the
    holder was over shows nothing."""
    groups: dict[tuple[str, int, int, int], list[TrialRow]] = {}
    for row in trials:
        if plays(row.scenario, Role.CLOCK_DRIFT) and (row.measure("remaining_validity_ms") or 0.0) > 0.0:
            key = (row.system, row.ttl_ms, nodes_held(row), int(row.parameter("nodes_drifting", 0)))
            groups.setdefault(key, []).append(row)
    return tuple(_row(*key, groups[key]) for key in sorted(groups))


def _row(system: str, ttl_ms: int, held: int, drifting: int, rows: list[TrialRow]) -> DriftRow:
    by_rate: dict[float, list[TrialRow]] = {}
    for row in rows:
        by_rate.setdefault(float(row.parameter("rate_percent", 0.0)), []).append(row)
    return DriftRow(
        system=system,
        ttl_ms=ttl_ms,
        nodes_held=held,
        nodes_drifting=drifting,
        rates=tuple(
            (rate, Count.over(by_rate[rate], lambda row: row.checked.overlap_ns > 0)) for rate in sorted(by_rate)
        ),
        evidence=tuple(dict.fromkeys(row.run_id for row in rows)),
    )
