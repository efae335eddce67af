"""Claims about how a lock ends: recovery after a crash (C34, C67), release (C68), colocated data (C56)."""

import statistics
from collections.abc import Iterator

from bench.analysis import names
from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import Held, joined, judged, missing
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.recovery import SCENARIO as CRASH
from bench.analysis.hazards.recovery import RecoveryPoint
from bench.analysis.hazards.subjects import ASKING_MS
from bench.analysis.judgement import Judgement, Verdict

LATE_RELEASE = "late-release"
IDLE = "idle-in-transaction"
PLAIN_DELETE = "redis-plain-delete"


def recovers_within_ttl(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C67: after a crash the lock frees itself within the TTL; one judgement a system."""
    points = hazards.recovery_points
    for system in sorted({point.system for point in points}, key=lambda name: (names.position(name), name)):
        of_system = [point for point in points if point.system == system]
        rows = hazards.of(CRASH, system)
        took = [point.recovery_ms for point in of_system if point.recovery_ms is not None]
        if len(took) < len(of_system):
            why = f"nobody got the lock in {len(of_system) - len(took)} of {len(of_system)} crashes"
            yield judged(claim, Verdict.FAILS, why, rows, system=system, found=why)
            continue
        found = f"{statistics.median(point.by_ttl or 0.0 for point in of_system):.2f} TTL (median of {len(took)})"
        told = f"the next grant came after {found}, at most {max(point.by_ttl or 0.0 for point in of_system):.2f} TTL"
        verdict, condition = _within(of_system)
        if not rows[0].has_lease:
            told = f"{told}: there is no TTL, the lock ends with the dead client's connection"
        yield judged(claim, verdict, joined(condition, told), rows, system=system, found=found)
    if not points:
        yield missing(claim, hazards, CRASH)


def sane_default(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C34: 30 s is a sane TTL. What is measured is what a crash costs with it; what is sane nobody can measure."""
    points = [point for point in hazards.recovery_points if point.system == claim.system]
    ratios = [point.by_ttl for point in points if point.by_ttl is not None]
    if not ratios:
        yield missing(claim, hazards, CRASH)
        return
    cost = statistics.median(ratios)
    ttls = sorted({point.ttl_ms for point in points})
    seconds = claim.low or 0.0
    why = (
        f"if people may wait about {cost * seconds:.0f} s after a crash: the next grant came after {cost:.2f} TTL "
        f"(median of {len(ratios)}, TTLs of {', '.join(f'{ttl_ms:,}' for ttl_ms in ttls)} ms)"
    )
    yield judged(claim, Verdict.CONDITION, why, hazards.of(CRASH, claim.system), found=f"{cost:.2f} TTL")


def owner_checked_release(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C68: compare-and-delete never frees another holder's lock, a plain DEL does."""
    checked, plain = (Held.of(hazards.of(LATE_RELEASE, system)).shown for system in (claim.system, PLAIN_DELETE))
    if not checked.of:
        yield missing(claim, hazards, LATE_RELEASE)
        return
    told = joined(
        f"compare-and-delete by an expired holder freed another's lock in {checked.words}",
        f"a plain DEL in {plain.words}" if plain.of else "",
    )
    rows = [*hazards.of(LATE_RELEASE, claim.system), *hazards.of(LATE_RELEASE, PLAIN_DELETE)]
    if checked.seen or plain.none:
        verdict, why = Verdict.FAILS, told
    elif not plain.of:
        verdict, why = Verdict.CONDITION, f"in its first half, the plain DEL was not tried: {told}"
    else:
        verdict, why = Verdict.HOLDS, told
    yield judged(claim, verdict, why, rows, found=told)


def colocated(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C56: a lock in the database of the data needs no fence, since the late write dies with its transaction."""
    rows = hazards.of(IDLE, claim.system)
    if not rows:
        yield missing(claim, hazards, IDLE)
        return
    told, late = [], Count(0, 0)
    for setting in dict.fromkeys(row.parameter("idle_timeout") for row in rows):
        of_setting = [row for row in rows if row.parameter("idle_timeout") == setting]
        accepted = Count.over(bool(row.measure("late_write_accepted")) for row in of_setting)
        after = Count.over(row.checked.stale_accepted > 0 for row in of_setting)
        late += after
        pins = [value for row in of_setting if (value := row.measure("pinned_ms")) is not None and value >= 0.0]
        waited = f", the others waited up to {max(pins):,.0f} ms" if pins else ""
        told.append(
            f"idle timeout {_on_off(setting)}: the write went through in {accepted.seen} of {accepted.of}, "
            f"{f'in {after.seen}' if after.seen else 'never'} after another had the lock{waited}"
        )
    verdict = Verdict.FAILS if late.seen else Verdict.HOLDS
    why = joined(f"writes accepted after another had the lock {late.words}", *told)
    yield judged(claim, verdict, why, rows, found=f"late writes accepted {late.words}")


def _within(points: list[RecoveryPoint]) -> tuple[Verdict, str]:
    """Within the TTL, within what the system allows itself, or neither."""
    over_ms = max((point.recovery_ms or 0.0) - point.ttl_ms for point in points)
    allowed_ms = max(point.allowed_ms - point.ttl_ms for point in points)
    beyond_ms = max((point.recovery_ms or 0.0) - point.allowed_ms for point in points)
    if over_ms <= 0.0:
        return Verdict.HOLDS, ""
    if over_ms <= ASKING_MS and allowed_ms <= ASKING_MS:
        return (
            Verdict.HOLDS,
            f"at most {over_ms:,.0f} ms over (up to {ASKING_MS:,.0f} ms are put down to the waiter's asking)",
        )
    if beyond_ms <= ASKING_MS:
        return Verdict.CONDITION, f"a lease may outlive its TTL by up to {allowed_ms:,.0f} ms here"
    return Verdict.FAILS, f"{over_ms:,.0f} ms over"


def _on_off(setting: object) -> str:
    return {True: "on", False: "off"}.get(setting, str(setting)) if isinstance(setting, bool) else str(setting)
