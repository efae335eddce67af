"""Clocks: C25 to C30."""

import math

from tests.judge.claims.base import Finding, Findings, Played
from tests.judge.counts import Count
from tests.judge.lines import Tally
from tests.judge.meanings import nodes_held, servers_went_ahead
from tests.judge.searches import Search, searches
from tests.judge.sentences import START, Clause, Told, clause


def clocks(played: Played) -> Findings:
    found: Findings = {}
    searched = {key: one for key, one in searches(played.trials).items() if key[0] == "redlock"}
    if searched:
        smallest: dict[int, float] = {}
        for (_, ttl_ms, *_), one in searched.items():
            if one.smallest_ms is not None:
                smallest[ttl_ms] = min(one.smallest_ms, smallest.get(ttl_ms, math.inf))
        numbers = [number for ttl_ms in sorted(smallest) for number in (smallest[ttl_ms], float(ttl_ms))]
        broke = sum(one.over_left_ms is not None for one in searched.values())
        found["C25", "redlock"] = Finding(
            numbers=numbers,
            why=[*_enough_clocks(played), *_drifts(played)],
            clauses=[clause(r"in (\d+) search", broke, needed=False), _not_enough(played), *_bare(played)],
        )
    if not played.of("redlock-clock", "redis"):
        ahead = [one for one in played.of("server-clock", "redis") if servers_went_ahead(one)]
        if ahead:
            found["C26", "redis"] = Finding(why=[Told("two holders @", Tally(tuple(ahead)).shown)])
    elif pairs := _beside_redlock(played):
        found["C26", "redis"] = Finding(
            numbers=_of_pair(*next((one for one in pairs if one[1].trials[0].setting("when") == "late"), pairs[0])),
            why=_enough_clocks(played),
            clauses=[
                clause(r"in (\d+) search(?:es)? of each", len(pairs)),
                clause(r"Redlock on (\d+) nodes", pairs[0][2].trials[0].number("quorum")),
                _not_enough(played),
            ],
        )
    for claim, system in (("C27", "zookeeper"), ("C28", "etcd"), ("C29", "postgres-row")):
        servers, client = played.tally("server-clock", system), played.tally("client-clock", system)
        crashed = played.tally("clock-back-and-crash", system)
        outside = servers.outside + client.outside
        also = Told("two holders also in @ unexposed trials", outside, outside.seen > 0)
        if not servers.exposed:
            found[claim, system] = Finding(why=[also])
            continue
        then = crashed.shown
        why = [
            Told(f"{START}[^;]* jumped ahead [^;:]*: two holders in @", servers.shown),
            Told(f"{START}the client's clock jumped: @", client.shown, bool(client.exposed)),
            Told("set back as the holder crashed: [^;]* in @", crashed.nobody, bool(crashed.exposed)),
            Told(f"{START}two holders then in @", then, then.seen > 0),
            also,
        ]
        found[claim, system] = Finding([servers.shown, *([crashed.nobody] if crashed.exposed else [])], why=why)
    record, clock = (played.tally("client-clock", system) for system in ("dynamodb", "dynamodb-client-clock"))
    told = [one.shown for one in (record, clock) if one.exposed]
    if told:
        outside = record.outside
        found["C30", "dynamodb"] = Finding(
            told,
            why=[
                Told("by an unchanged record: two holders in @", record.shown, bool(record.exposed)),
                Told(f"{START}by the client's clock: @", clock.shown, bool(clock.exposed)),
                Told("two holders also in @ unexposed trials", outside, outside.seen > 0),
            ],
        )
    return found


_Pair = tuple[int, Search, Search]


def _beside_redlock(played: Played) -> list[_Pair]:
    """One Redis and Redlock whose holder has a bare majority, of which the fewest clocks jumped, by TTL and moment of
    the jump. Nothing where the two cannot be put beside each other."""
    every = searches(played.trials)
    own = {
        (ttl, when): one
        for (name, ttl, _, _, when), one in every.items()
        if name == "redis" and one.over_left_ms is not None
    }
    bare = {
        (ttl, when, jumped): one
        for (name, ttl, held, jumped, when), one in every.items()
        if name == "redlock" and held == one.trials[0].number("quorum")
    }
    fewest = min((jumped for (_, _, jumped), one in bare.items() if one.breaking), default=None)
    return [
        (ttl, own[ttl, when], one)
        for (ttl, when, jumped), one in sorted(bare.items())
        if jumped == fewest and one.over_left_ms is not None and (ttl, when) in own
    ]


def _of_pair(ttl: int, *both: Search) -> list[float]:
    """The smallest jump of each, with what was left of the validity, and the TTL."""
    numbers = []
    for one in both:
        assert one.breaking is not None
        numbers += [one.smallest_ms or 0.0, one.breaking.measured("remaining_when_asked_ms") or 0.0]
    return [*numbers, float(ttl)]


_ENOUGH = "clocks needed: "
_ONE_OF_THEM = r"(?:none of \d+ held, \d+ (?:is|are) not enough, |\d+ of \d+ held(?: \([^)]*\))?, )"


def _tolerances(played: Played) -> list[tuple[int, int | None, int]]:
    """By nodes held: the fewest jumped clocks with two holders, and the most without; 0 where none were without."""
    by_held: dict[int, list[tuple[int, bool]]] = {}
    for (_, _, held, jumped, _), one in searches(played.of("redlock-clock", "redlock")).items():
        by_held.setdefault(held, []).append((jumped, one.breaking is not None))
    told = []
    for held, tried in sorted(by_held.items()):
        enough = min((jumped for jumped, broken in tried if broken), default=None)
        survived = [jumped for jumped, broken in tried if not broken and (enough is None or jumped < enough)]
        told.append((held, enough, max(survived, default=0)))
    return told


def _enough_clocks(played: Played) -> list[Told]:
    """By nodes held, in this order; where there never were two holders, none are told to be enough."""
    return [
        Told(f"{_ENOUGH}{_ONE_OF_THEM}{{{place}}}@ held", Count(enough, held))
        for place, (held, enough, _) in enumerate(_tolerances(played))
        if enough is not None
    ]


def _not_enough(played: Played) -> Clause:
    """And how many are not."""
    words, numbers = [], []
    for held, enough, survived in _tolerances(played):
        if enough is None:
            words.append(r"none of (\d+) held, (\d+) (?:is|are) not enough")
            numbers += [held, survived]
        else:
            words.append(r"\d+ of (\d+) held" + (r" \((\d+) (?:is|are) not enough\)" if survived else r"(?! \()"))
            numbers += [held, *([survived] if survived else [])]
    return clause(_ENOUGH + ", ".join(words), *numbers)


def _bare(played: Played) -> list[Clause]:
    """The fewest clocks that are enough, with the fewest nodes held."""
    enough = [(held, jumped) for held, jumped, _ in _tolerances(played) if jumped is not None]
    return [clause(r", on (\d+) of the (\d+) nodes held", *reversed(min(enough)), needed=False)] if enough else []


def _drifts(played: Played) -> list[Told]:
    """At each TTL, of clocks that ran fast: on how many nodes, of the fewest that were held."""
    told = []
    for ttl_ms in sorted({int(one.ttl_ms) for one in played.of("redlock-drift", "redlock")}):
        drifted = {
            (nodes_held(one), int(one.setting("nodes_drifting", 0)))
            for one in played.of("redlock-drift", "redlock")
            if one.ttl_ms == ttl_ms
        }
        held = min(held for held, _ in drifted)
        drifting = max(drifting for of, drifting in drifted if of == held)
        told.append(Told(f"fast clocks: [^;]* at a TTL of {ttl_ms:,} ms, on @ held nodes", Count(drifting, held)))
    return told
