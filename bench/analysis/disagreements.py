"""Where pages contradict each other: claims about the same figure of one system whose ranges have nothing in common."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from bench.analysis.claims import Claim
from bench.analysis.speed_claims import US_PER


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The claims about one figure of a system, lowest first; at least two of them exclude each other."""

    system: str
    metric: str
    claims: tuple[Claim, ...]


def disagreements(claims: Iterable[Claim]) -> tuple[Disagreement, ...]:
    """Of all claims with a range, in the order in which their file has them."""
    alike: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        if claim.has_range:
            alike.setdefault((claim.system, claim.metric), []).append(claim)
    return tuple(
        Disagreement(system, metric, tuple(sorted(found, key=_ends)))
        for (system, metric), found in alike.items()
        if any(exclude_each_other(one, other) for one, other in itertools.combinations(found, 2))
    )


def exclude_each_other(one: Claim, other: Claim) -> bool:
    """Is there no value for which both hold? Ranges that share an end do not exclude each other."""
    (low, high), (other_low, other_high) = _ends(one), _ends(other)
    return high < other_low or other_high < low


def _ends(claim: Claim) -> tuple[float, float]:
    scale = US_PER.get(claim.unit, 1.0)  # times in one unit; other figures of one metric have one already
    low, high = claim.ends
    return low * scale, high * scale
