"""Does the fencing token rise with every grant, also when what it is drawn from is disturbed?

What is counted are grants of one key in proven order (the checker's token pairs): the later one must have the greater
token. A source that fell once lies; where none fell, the bound is on the share of runs (see `counts`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bench.analysis import names
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.rows import TrialRow
from bench.records.hazards import TokenFault
from bench.records.meaning import Role

INTERLEAVED = "interleaved"  # an event of its own: two clients between INCR and SET
ROLES = (Role.TOKEN_SOURCES, Role.TOKENS_INTERLEAVED)


class TokenVerdict(StrEnum):
    """What became of a token's source under one event."""

    RISES = "rises"
    LIES = "does not rise"
    NONE = "no token"
    NO_PAIRS = "not measured"  # grants, but no two of them in proven order


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One system and event, over all runs."""

    system: str
    event: str
    source: str  # where the token comes from, in the adapter's words; "" where there is none
    grants: int
    faults: Count  # pairs that fell, of all pairs in proven order
    verdict: TokenVerdict
    example: TokenFault | None  # the first pair that fell
    emulator: bool
    evidence: tuple[str, ...]


def token_rows(trials: Iterable[TrialRow]) -> tuple[TokenRow, ...]:
    """One row for each system and event, in table order."""
    groups: dict[tuple[str, str], list[TrialRow]] = {}
    for row in trials:
        if plays(row.scenario, *ROLES):
            groups.setdefault((row.system, event_of(row)), []).append(row)
    return tuple(_row(*key, groups[key]) for key in sorted(groups, key=lambda key: (names.position(key[0]), key)))


def event_of(row: TrialRow) -> str:
    """What disturbed the source of the token."""
    return INTERLEAVED if plays(row.scenario, Role.TOKENS_INTERLEAVED) else str(row.parameter("event", ""))


def events_that_lower(rows: Iterable[TokenRow], system: str) -> tuple[str, ...]:
    """The events after which a later holder got no greater token: what a fence of this system does not survive."""
    return tuple(row.event for row in rows if row.system == system and row.verdict is TokenVerdict.LIES)


def pairs_that_fell(rows: Iterable[TrialRow]) -> Count:
    """Pairs of grants in proven order whose tokens fell, of all such pairs."""
    with_pairs = [row for row in rows if row.checked.token_pairs]
    fell = sum(len(row.checked.token_faults) for row in with_pairs)
    return Count(fell, sum(row.checked.token_pairs for row in with_pairs), frozenset(row.run_id for row in with_pairs))


def _row(system: str, event: str, rows: list[TrialRow]) -> TokenRow:
    faults = [fault for row in rows for fault in row.checked.token_faults]
    count = pairs_that_fell(rows)
    grants = sum(row.checked.grants for row in rows)
    if grants and not any(one.token is not None for row in rows for one in row.trial.beliefs):
        verdict = TokenVerdict.NONE
    elif not count.of:
        verdict = TokenVerdict.NO_PAIRS
    else:
        verdict = TokenVerdict.LIES if faults else TokenVerdict.RISES
    return TokenRow(
        system=system,
        event=event,
        source=rows[0].capability("fencing_source"),
        grants=grants,
        faults=count,
        verdict=verdict,
        example=faults[0] if faults else None,
        emulator=rows[0].emulator,
        evidence=tuple(dict.fromkeys(row.run_id for row in rows)),
    )
