"""Claims about fencing tokens: C13-C18, C38, C54, C55."""

from collections.abc import Iterable, Iterator, Mapping

from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import Judge, joined, judged, missing
from bench.analysis.hazards.counts import NOBODY_LOOKED, Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.tokens import INTERLEAVED, TokenRow, TokenVerdict, pairs_that_fell
from bench.analysis.judgement import Judgement, Verdict
from bench.records.meaning import Role

CONTENDED = "contended"
_WORDS = {
    CONTENDED: "contended grants",
    "entry_deleted": "after the lock's entry was deleted",
    "server_killed": "after the servers were killed",
    "server_restarted_empty": "after the servers restarted empty",
    INTERLEAVED: "two clients interleaved",
    "expired": "after a lease expired",
}


def no_token(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C13, C14: no number of the system's own rises with every grant."""
    rows = [row for row in hazards.tokens if row.system == claim.system and row.event in _WORDS]
    trials = [*hazards.of(scenario, claim.system), *hazards.in_role(Role.TOKENS_INTERLEAVED, claim.system)]
    if not rows:
        yield missing(claim, hazards, scenario)
        return
    if all(row.verdict is TokenVerdict.NONE for row in rows):
        grants = sum(row.grants for row in rows)
        yield judged(claim, Verdict.HOLDS, f"no token came with any of {grants:,} grants", trials, found="no token")
        return
    source = next(row.source for row in rows if row.source)
    why = f"the adapter makes the number, as the claim says ({source}): {_of_rows(rows)}"
    yield judged(claim, Verdict.HOLDS, why, trials, found=_short({row.event: row.faults for row in rows}))


def built_in(*asked: str) -> Judge:
    """C15, C16, C18: the system's own number rises with every grant, under each of these events."""

    def judge(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
        rows = {row.event: row for row in hazards.tokens if row.system == claim.system and row.event in _WORDS}
        trials = hazards.of(scenario, claim.system)
        expired = [row for row in hazards.in_role(Role.PAUSE_GRID, claim.system) if row.checked.overlap_ns]
        if not rows:
            yield missing(claim, hazards, scenario)
            return
        counts = {event: row.faults for event, row in rows.items()}
        if expired:
            counts["expired"] = pairs_that_fell(expired)
        fell = [event for event, count in counts.items() if count.seen]
        untried = [event for event in asked if not counts.get(event, NOBODY_LOOKED).of]
        counted = _counted(counts)
        if all(row.verdict is TokenVerdict.NONE for row in rows.values()):
            verdict, why = Verdict.FAILS, "no token came with any grant"
        elif any(event in asked for event in fell):
            verdict, why = Verdict.FAILS, f"it does not always rise: {counted}"
        elif fell or untried:
            unless = ", ".join(f"not {_WORDS[event]}" for event in fell)
            gaps = f"not tried: {', '.join(_WORDS[event] for event in untried)}" if untried else ""
            verdict, why = Verdict.CONDITION, joined(unless, gaps, counted)
        else:
            verdict, why = Verdict.HOLDS, counted
        unseen = [] if verdict is Verdict.FAILS else [counts[event] for event in asked if event in counts]
        yield judged(claim, verdict, why, [*trials, *expired], found=_short(counts), unseen=unseen)

    return judge


def judged_by_variant(variant: str, event: str) -> Judge:
    """C17, C54: a number that another adapter of the same system takes for its token, under the event that matters."""

    def judge(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
        row = next((one for one in hazards.tokens if one.system == variant and one.event == event), None)
        if row is None or row.verdict in (TokenVerdict.NO_PAIRS, TokenVerdict.NONE):
            yield missing(claim, hazards, scenario, system=variant)
            return
        lies = row.verdict is TokenVerdict.LIES
        example = f", for instance {row.example.later_token} after {row.example.earlier_token}" if row.example else ""
        words = f"{_WORDS[event]}: out of order in {row.faults.worded('pairs of grants')}{example} ({row.source})"
        others = [one for one in hazards.tokens if one.system == variant and one.event in _WORDS and one is not row]
        yield judged(
            claim,
            Verdict.FAILS if lies else Verdict.HOLDS,
            joined(words, _of_rows(others)),
            [*hazards.of(scenario, variant)],
            system=variant,
            found=f"out of order in {row.faults.worded('pairs')}",
            unseen=[row.faults],
        )

    return judge


def naive_fence(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C38: INCR and then SET gives a token that rises. The control does both in one script."""
    naive, control = (
        next((row for row in hazards.tokens if row.system == name and row.event == INTERLEAVED), None)
        for name in ("redis-naive-fence", "redis")
    )
    if naive is None or not naive.faults.of:
        yield missing(claim, hazards, scenario, system="redis-naive-fence")
        return
    beside = f"in one script, for comparison: {control.faults.words}" if control is not None else ""
    why = joined(f"a later holder got no greater token in {naive.faults.worded('pairs of grants')}", beside)
    verdict = Verdict.FAILS if naive.faults.seen else Verdict.HOLDS
    rows = [row for row in hazards.of(scenario) if row.system in ("redis", naive.system)]
    found = f"out of order in {naive.faults.worded('pairs')}"
    yield judged(claim, verdict, why, rows, system=naive.system, found=found, unseen=[naive.faults])


def mod_revision(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C55: the modification revision is the token. It is one until somebody writes the key of the holder."""
    rows = hazards.of(scenario, claim.system)
    measured = [row for row in rows if row.measure("mod_revision_after") is not None]
    if not measured:
        yield missing(claim, hazards, scenario)
        return
    changed = Count.over(measured, lambda row: _changed(row, "mod_revision"))
    kept = Count.over(measured, lambda row: not _changed(row, "create_revision"))
    equal = Count.over(
        measured, lambda row: row.measure("mod_revision_before") == row.measure("create_revision_before")
    )
    counted = (
        f"the holder's key was overwritten: mod_revision changed in {changed.words}, "
        f"create_revision stayed in {kept.seen} of {kept.of}"
    )
    if not changed.seen:
        verdict, why = Verdict.HOLDS, counted
    elif equal.seen == equal.of:
        until = "as long as nobody overwrites the key (until then the two are equal)"
        verdict, why = Verdict.CONDITION, f"{until}: {counted}"
    else:
        verdict, why = Verdict.FAILS, counted
    yield judged(claim, verdict, why, measured, found=f"changed in {changed.words}", unseen=[changed])


def _changed(row: TrialRow, revision: str) -> bool:
    return row.measure(f"{revision}_before") != row.measure(f"{revision}_after")


def _of_rows(rows: Iterable[TokenRow]) -> str:
    return _counted({row.event: row.faults for row in rows})


def _counted(counts: Mapping[str, Count]) -> str:
    return joined(
        *(
            f"{_WORDS[event]}: out of order in {counts[event].worded('pairs')}"
            for event in _ordered(counts)
            if counts[event].of
        )
    )


def _short(counts: Mapping[str, Count]) -> str:
    """All pairs of the events under which it rose, and the events under which it did not."""
    rose = sum((count for count in counts.values() if not count.seen), NOBODY_LOOKED)
    fell = [
        f"out of order in {counts[event].seen} of {counts[event].of} {_WORDS[event]}"
        for event in _ordered(counts)
        if counts[event].seen
    ]
    return joined(f"out of order in {rose.worded('pairs')}" if rose.of else "", *fell)


def _ordered(counts: Mapping[str, Count]) -> list[str]:
    return [event for event in _WORDS if event in counts]
