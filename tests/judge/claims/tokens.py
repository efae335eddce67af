"""Tokens: C13 to C18, C38, C54, C55."""

from collections.abc import Iterable

from tests.judge.claims.base import Finding, Findings, Played
from tests.judge.counts import Count, count, total
from tests.judge.moments import two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.records import Trial
from tests.judge.sentences import START, Told, clause
from tests.judge.tables import event_of, token_word

EVENTS = {
    "contended": "contended grants",
    "entry_deleted": "after the lock's entry was deleted",
    "server_killed": "after the servers were killed",
    "server_restarted_empty": "after the servers restarted empty",
    "interleaved": "two clients interleaved",
    "expired": "after a lease expired",
}


def tokens(played: Played) -> Findings:
    found: Findings = {}
    for claim, system, expires in (
        ("C13", "redis", False),
        ("C14", "redlock", False),
        ("C15", "zookeeper", True),
        ("C16", "etcd", True),
        ("C18", "dynamodb", True),
    ):
        events = _by_event(played, system)
        if not events:
            continue
        if not expires and all(token_word(trials) == "no token" for trials in events.values()):
            grants = sum(len(one.beliefs) for trials in events.values() for one in trials)
            found[claim, system] = Finding(clauses=[clause(r"any of ([\d,]+) grants", grants)])
            continue
        counts = {event: _pairs(trials) for event, trials in events.items()}
        # A pause beyond the lease makes the next grant one after a lease that ran out.
        if expires and (ran_out := [one for one in played.of("gc-pause", system) if two_at_once_ns(one)]):
            counts["expired"] = _pairs(ran_out)
        rose = total(one for one in counts.values() if not one.seen)
        fell = [one for one in counts.values() if one.seen]
        found[claim, system] = Finding([*([rose] if rose.of else []), *fell], why=_out_of_order(counts))
    for claim, system, event in (
        ("C17", "postgres-row-xid", "contended"),
        ("C54", "zookeeper-sequence-token", "entry_deleted"),
        ("C38", "redis-naive-fence", "interleaved"),
    ):
        every = {which: _pairs(trials) for which, trials in _by_event(played, system).items()}
        if event in every and every[event].of:
            why = _out_of_order(every)
            if claim == "C38":
                control = _pairs(played.of("naive-fence", "redis"))
                why = [
                    Told("a later holder got no greater token in @", every[event]),
                    Told("in one script, for comparison: @", control, control.of > 0),
                ]
            found[claim, system] = Finding([every[event]], why=why)
    written = [one for one in played.of("mod-revision", "etcd") if one.measured("mod_revision_after") is not None]
    if written:
        changed = count(written, lambda one: _changed(one, "mod_revision"))
        kept = count(written, lambda one: not _changed(one, "create_revision"))
        why = [Told("mod_revision changed in @", changed), Told("create_revision stayed in @", kept)]
        found["C55", "etcd"] = Finding([changed], why=why)
    return found


def _out_of_order(counts: dict[str, Count]) -> list[Told]:
    return [Told(f"{START}{EVENTS[event]}: out of order in @", one, one.of > 0) for event, one in counts.items()]


def _pairs(trials: Iterable[Trial]) -> Count:
    parts = []
    for one in trials:
        pairs, falls = pairs_and_falls(one)
        if pairs:
            parts.append(Count(falls, pairs, frozenset({one.run.run_id})))
    return total(parts)


def _by_event(played: Played, system: str) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for one in (*played.of("token-sources", system), *played.of("naive-fence", system)):
        found.setdefault(event_of(one), []).append(one)
    return {event: found[event] for event in EVENTS if event in found}


def _changed(trial: Trial, what: str) -> bool:
    return trial.measured(f"{what}_before") != trial.measured(f"{what}_after")
