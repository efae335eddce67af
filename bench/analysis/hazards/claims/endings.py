"""Claims about how a lock ends: recovery after a crash (C34, C67), release (C68), colocated data (C56)."""

import statistics
from collections.abc import Iterator

from bench.analysis import names
from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import joined, judged, missing
from bench.analysis.hazards.counts import NOBODY_LOOKED, Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.harms import Hazard
from bench.analysis.hazards.reasons import outside
from bench.analysis.hazards.recovery import Excess
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL
from bench.analysis.judgement import Judgement, Verdict
from bench.records.numbers import minus

PLAIN_DELETE = "redis-plain-delete"
LATE_MS = (
    50.0  # two polls of the slowest waiter here (DynamoDB's, every 20 ms), on a busy machine: the same for all systems
)


def recovers_within_ttl(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C67: after a crash the lock frees itself within the TTL; one judgement a system, all by the same yardstick.

    What is judged is the excess over the TTL, a run's median of its crashes. The range of six or more runs contains the
    median of all with a probability of 97 % (1 - 2 x 0.5^6), whatever their distribution; fewer runs decide nothing.
    What a system allows its leases explains an excess, and excuses none.
    """
    points = hazards.recovery_points
    for system in sorted({point.system for point in points}, key=lambda name: (names.position(name), name)):
        of_system = [point for point in points if point.system == system]
        rows = hazards.of(scenario, system)
        never = sum(point.excess_ms is None for point in of_system)
        if never:
            why = f"nobody got the lock in {never} of {len(of_system)} crashes"
            yield judged(claim, Verdict.FAILS, why, rows, system=system, found=why)
            continue
        excess = Excess.of(of_system)
        allowed_ms = max(point.allowed_ms - point.ttl_ms for point in of_system)
        explained = f"a lease may outlive its TTL by up to {allowed_ms:,.0f} ms here" if allowed_ms > LATE_MS else ""
        if not rows[0].has_lease:
            explained = "no TTL: the lock ends with the dead client's connection"
        low_ms, high_ms = min(excess.run_medians_ms), max(excess.run_medians_ms)
        if len(excess.run_medians_ms) < RUNS_FOR_AN_INTERVAL:
            verdict = Verdict.CANNOT_SAY
            explained = joined(f"{len(excess.run_medians_ms)} of {RUNS_FOR_AN_INTERVAL} runs needed", explained)
        elif high_ms <= LATE_MS:
            verdict = Verdict.HOLDS
        else:
            verdict = Verdict.FAILS if low_ms > LATE_MS else Verdict.CANNOT_SAY
        low, high = (minus(f"{one_ms:,.0f}") for one_ms in (low_ms, high_ms))
        words = f"{excess.words}; the runs' medians range from {low} to {high} ms"
        words = f"{words}; up to {LATE_MS:.0f} ms may come from the waiter's polling"
        yield judged(claim, verdict, joined(words, explained), rows, system=system, found=excess.words)
    if not points:
        yield missing(claim, hazards, scenario)


def sane_default(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C34: 30 s is a sane TTL. What is measured is what a crash costs with it; what is sane nobody can measure."""
    points = [point for point in hazards.recovery_points if point.system == claim.system]
    ratios = [point.by_ttl for point in points if point.by_ttl is not None]
    if not ratios:
        yield missing(claim, hazards, scenario)
        return
    cost = statistics.median(ratios)
    ttls = sorted({point.ttl_ms for point in points})
    seconds = claim.low or 0.0
    why = (
        f"if a wait of about {cost * seconds:.0f} s after a crash is acceptable: the next grant came after "
        f"{cost:.2f} TTL (median of {len(ratios)}, TTLs of {', '.join(f'{ttl_ms:,}' for ttl_ms in ttls)} ms)"
    )
    yield judged(claim, Verdict.CONDITION, why, hazards.of(scenario, claim.system), found=f"{cost:.2f} TTL")


def owner_checked_release(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C68: compare-and-delete never frees another holder's lock, a plain DEL does."""
    held, other = (Exposed.of(hazards.of(scenario, system)) for system in (claim.system, PLAIN_DELETE))
    checked, plain = held.shown, other.shown
    if not held.judged:
        yield missing(claim, hazards, scenario)
        return
    counts = joined(
        f"compare-and-delete by an expired holder freed another client's lock in {checked.words}",
        outside(held, Hazard.FREED_FOR_ANOTHER),
        f"a plain DEL in {plain.words}" if plain.of else "",
    )
    rows = [*hazards.of(scenario, claim.system), *hazards.of(scenario, PLAIN_DELETE)]
    unseen = [checked]
    if held.harmful:
        verdict, why, unseen = Verdict.FAILS, counts, []
    elif plain.none:
        verdict, why, unseen = Verdict.FAILS, counts, [plain]
    elif not plain.of:
        verdict, why = Verdict.CONDITION, f"for its first half only, as no plain DEL was tried: {counts}"
    else:
        verdict, why = Verdict.HOLDS, counts
    yield judged(claim, verdict, why, rows, found=counts, unseen=unseen)


def colocated(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C56: a lock in the database of the data needs no fence, since the late write dies with its transaction."""
    rows = Exposed.of(hazards.of(scenario, claim.system)).judged
    if not rows:
        yield missing(claim, hazards, scenario)
        return
    settings, late = [], NOBODY_LOOKED
    for setting in dict.fromkeys(row.parameter("idle_timeout") for row in rows):
        of_setting = [row for row in rows if row.parameter("idle_timeout") == setting]
        accepted = Count.over(of_setting, lambda row: bool(row.measure("late_write_accepted")))
        after = Count.over(of_setting, lambda row: row.checked.stale_accepted > 0)
        late += after
        pins = [value for row in of_setting if (value := row.measure("pinned_ms")) is not None and value >= 0.0]
        waited = f", and the others waited up to {max(pins):,.0f} ms" if pins else ""
        settings.append(
            f"idle timeout {_on_off(setting)}: the write went through in {accepted.seen} of {accepted.of}, "
            f"{f'in {after.seen}' if after.seen else 'never'} after the next grant{waited}"
        )
    verdict = Verdict.FAILS if late.seen else Verdict.HOLDS
    why = joined(f"writes accepted after the next grant {late.words}", *settings)
    yield judged(claim, verdict, why, rows, found=f"late writes accepted {late.words}", unseen=[late])


def _on_off(setting: object) -> str:
    return {True: "on", False: "off"}.get(setting, str(setting)) if isinstance(setting, bool) else str(setting)
