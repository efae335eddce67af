"""The counts behind what lockbench prints of each claim about safety, in the order in which it prints them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median

from tests.judge.counts import Count, count, total
from tests.judge.fence import fence_faults
from tests.judge.lines import Tally, late_accepted
from tests.judge.meanings import at_write, minority_down, nodes_down, nodes_held, nothing_left, servers_went_ahead
from tests.judge.moments import two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.records import Trial
from tests.judge.searches import searches
from tests.judge.tables import event_of, resources, token_word
from tests.judge.windows import beyond, fit
from tests.judge.writes import accepted, lost_updates, refused, stale

RUNS_THAT_IT_TAKES = 6  # until their range contains the median of all with 97 %: 1 - 2 x 0.5^6
EVENTS = ("contended", "entry_deleted", "server_killed", "server_restarted_empty", "interleaved", "expired")


@dataclass
class Finding:
    """What is to stand in the column of what was measured, and what may stand beside it in the reason."""

    counts: list[Count] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    beside: list[Count] = field(default_factory=list)
    told: dict[str, float] = field(default_factory=dict)  # single numbers of either, by what they are found with


Findings = dict[tuple[str, str], Finding]


class Played:
    """The trials that count, by scenario and system."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self.trials = list(trials)

    def of(self, scenario: str, system: str | None = None) -> list[Trial]:
        return [one for one in self.trials if one.scenario == scenario and system in (None, one.system)]

    def tally(self, scenario: str, system: str, which: Callable[[Trial], bool] = lambda _: True) -> Tally:
        return Tally(tuple(one for one in self.of(scenario, system) if which(one)))

    def systems(self, scenario: str) -> list[str]:
        return sorted({one.system for one in self.of(scenario)})


def findings(trials: Iterable[Trial]) -> Findings:
    """By claim and system; a claim of which no trial was exposed, or played, has none."""
    played = Played(trials)
    found: Findings = {}
    for part in (_tokens, _pauses, _clocks, _endings, _servers, _resources):
        found |= part(played)
    return found


# -- tokens: C13-C18, C38, C54, C55 ----------------------------------------------------------------------------------


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


def _tokens(played: Played) -> Findings:
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
            found[claim, system] = Finding(told={r"any of ([\d,]+) grants": grants})
            continue
        counts = {event: _pairs(trials) for event, trials in events.items()}
        # A pause beyond the lease makes the next grant one after a lease that ran out.
        if expires and (ran_out := [one for one in played.of("gc-pause", system) if two_at_once_ns(one)]):
            counts["expired"] = _pairs(ran_out)
        rose = total(one for one in counts.values() if not one.seen)
        fell = [one for one in counts.values() if one.seen]
        found[claim, system] = Finding([*([rose] if rose.of else []), *fell], beside=list(counts.values()))
    for claim, system, event in (
        ("C17", "postgres-row-xid", "contended"),
        ("C54", "zookeeper-sequence-token", "entry_deleted"),
        ("C38", "redis-naive-fence", "interleaved"),
    ):
        every = {which: _pairs(trials) for which, trials in _by_event(played, system).items()}
        if event in every and every[event].of:
            control = _pairs(played.of("naive-fence", "redis"))
            found[claim, system] = Finding([every[event]], beside=[*every.values(), control])
    written = [one for one in played.of("mod-revision", "etcd") if one.measured("mod_revision_after") is not None]
    if written:
        changed = count(written, lambda one: _changed(one, "mod_revision"))
        kept = count(written, lambda one: not _changed(one, "create_revision"))
        found["C55", "etcd"] = Finding([changed], beside=[kept])
    return found


def _set(name: str, value: object) -> Callable[[Trial], bool]:
    return lambda trial: bool(trial.setting(name) == value)


def _changed(trial: Trial, what: str) -> bool:
    return trial.measured(f"{what}_before") != trial.measured(f"{what}_after")


# -- pauses and partitions: C19-C24, C31, C33, C53, C63, C64 ---------------------------------------------------------

PAUSES = ("gc-pause", "page-scenario", "idle-in-transaction")


def _pauses(played: Played) -> Findings:
    found: Findings = {}
    for claim, system in (
        ("C19", "redis"),
        ("C20", "redlock"),
        ("C21", "zookeeper"),
        ("C22", "etcd"),
        ("C23", "postgres-row"),
        ("C24", "dynamodb"),
    ):
        every = [one for scenario in PAUSES for one in played.of(scenario, system)]
        tally = Tally(tuple(one for one in every if not at_write(one)))
        if not tally.weighed:
            continue
        off, on = tally.late_accepted(False), tally.late_accepted(True)
        gap = late_accepted([one for one in (*every, *played.of("fence-gap", system)) if at_write(one)], True)
        told = [one for one in (off, on) if one.of] if tally.shown.seen else [tally.shown]
        found[claim, system] = Finding(told, beside=[tally.shown, off, on, gap])
    for system in played.systems("gc-pause"):
        line = fit(played.of("gc-pause", system))
        if line is not None:
            paused = len(beyond(played.of("gc-pause", system)))
            found["C31", system] = Finding(numbers=line, told={r"over (\d+) pauses": paused})
    for system in played.systems("watchdog"):
        both = [played.tally("watchdog", system, _set("stalled", which)).shown for which in ("process", "worker")]
        found["C33", system] = Finding(both, beside=both)
    for system in played.systems("page-scenario"):
        halves = [
            count([one for one in played.of("page-scenario", system) if one.fenced is fenced], shows)
            for fenced, shows in ((False, _two_and_a_lost_update), (True, _refused_only))
        ]
        found["C53", system] = Finding(halves, beside=halves)
    for claim, system in (("C63", "zookeeper"), ("C64", "etcd")):
        unfenced = [
            played.tally("gc-pause", system, _set("fence", False)),
            played.tally("cable-pulled", system, lambda one: not one.fenced and _careful(one)),
            played.tally("cable-pulled", system, lambda one: not one.fenced and not _careful(one)),
        ]
        if any(one.weighed for one in unfenced):
            on_the_wire = played.tally("late-on-the-wire", system, lambda one: not one.fenced)
            taken = total(late_accepted(one.weighed, False) for one in (*unfenced, on_the_wire))
            beside = [late for one in (*unfenced, on_the_wire) for late in (one.shown, one.late_accepted(False))]
            redis = played.tally("gc-pause", "redis", _set("fence", False)).late_accepted(False)
            found[claim, system] = Finding([taken], beside=[*beside, redis])
    return found


def _careful(trial: Trial) -> bool:
    return bool(trial.setting("asks_first", True))


def _two_and_a_lost_update(trial: Trial) -> bool:
    return two_at_once_ns(trial) > 0 and lost_updates(trial) > 0


def _refused_only(trial: Trial) -> bool:
    return refused(stale(trial)) > 0 and accepted(stale(trial)) == 0


# -- clocks: C25-C30 -------------------------------------------------------------------------------------------------


def _clocks(played: Played) -> Findings:
    found: Findings = {}
    searched = {key: one for key, one in searches(played.trials).items() if key[0] == "redlock"}
    if searched:
        smallest: dict[int, float] = {}
        for (_, ttl_ms, *_), one in searched.items():
            if one.smallest_ms is not None:
                smallest[ttl_ms] = min(one.smallest_ms, smallest.get(ttl_ms, math.inf))
        numbers = [number for ttl_ms in sorted(smallest) for number in (smallest[ttl_ms], float(ttl_ms))]
        drifted = {(int(one.setting("nodes_drifting", 0)), nodes_held(one)) for one in played.of("redlock-drift")}
        beside = [*_enough_clocks(played), *(Count(*some) for some in drifted)]
        broke = sum(one.over_left_ms is not None for one in searched.values())
        found["C25", "redlock"] = Finding(numbers=numbers, beside=beside, told={r"in (\d+) search": broke})
    if not played.of("redlock-clock", "redis"):
        ahead = [one for one in played.of("server-clock", "redis") if servers_went_ahead(one)]
        if ahead:
            found["C26", "redis"] = Finding(beside=[Tally(tuple(ahead)).shown])
    elif numbers := _beside_redlock(played):
        found["C26", "redis"] = Finding(numbers=numbers, beside=_enough_clocks(played))
    for claim, system in (("C27", "zookeeper"), ("C28", "etcd"), ("C29", "postgres-row")):
        servers, client = played.tally("server-clock", system), played.tally("client-clock", system)
        crashed = played.tally("clock-back-and-crash", system)
        outside = servers.outside + client.outside
        if not servers.exposed:
            found[claim, system] = Finding(beside=[outside])
            continue
        told = [servers.shown, *([crashed.nobody] if crashed.exposed else [])]
        found[claim, system] = Finding(told, beside=[*told, client.shown, outside])
    record, clock = (played.tally("client-clock", system) for system in ("dynamodb", "dynamodb-client-clock"))
    told = [one.shown for one in (record, clock) if one.exposed]
    if told:
        found["C30", "dynamodb"] = Finding(told, beside=[*told, record.outside])
    return found


def _beside_redlock(played: Played) -> list[float]:
    """One Redis and Redlock whose holder has a bare majority, of which the fewest clocks jumped, at the smallest TTL of
    a late jump where there is one: the smallest jump of each, with what was left of the validity, and the TTL. Nothing
    where the two cannot be put beside each other."""
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
    pairs = [
        (ttl, own[ttl, when], one)
        for (ttl, when, jumped), one in sorted(bare.items())
        if jumped == fewest and one.over_left_ms is not None and (ttl, when) in own
    ]
    if not pairs:
        return []
    ttl, *both = next((pair for pair in pairs if pair[1].trials[0].setting("when") == "late"), pairs[0])
    numbers = []
    for one in both:
        assert one.breaking is not None
        numbers += [one.smallest_ms or 0.0, one.breaking.measured("remaining_when_asked_ms") or 0.0]
    return [*numbers, float(ttl)]


def _enough_clocks(played: Played) -> list[Count]:
    """By nodes held: the fewest jumped clocks with two holders; the most without where there never were two."""
    by_held: dict[int, list[tuple[int, bool]]] = {}
    for (_, _, held, jumped, _), one in searches(played.of("redlock-clock", "redlock")).items():
        by_held.setdefault(held, []).append((jumped, one.breaking is not None))
    told = []
    for held, tried in by_held.items():
        broke = [jumped for jumped, broken in tried if broken]
        told.append(Count(min(broke) if broke else max(jumped for jumped, _ in tried), held))
    return told


# -- how a lock ends: C34, C56, C67, C68 -----------------------------------------------------------------------------


def _endings(played: Played) -> Findings:
    found: Findings = {}
    for system in played.systems("crash-recovery"):
        crashes = played.of("crash-recovery", system)
        took = [(one, told) for one in crashes if (told := one.measured("recovery_ms")) is not None and told >= 0.0]
        never = len(crashes) - len(took)
        if never:
            missed = Count(never, len(crashes))
            found["C67", system] = Finding([missed], beside=[missed])
            continue
        excess = sorted(told - one.ttl_ms for one, told in took)
        high = excess[math.ceil(0.95 * len(excess)) - 1] if _bears(len(excess), 0.95) else excess[-1]
        medians = _run_medians(took)
        found["C67", system] = Finding(
            numbers=[median(excess), high, len(excess)],
            beside=[Count(len(medians), RUNS_THAT_IT_TAKES)],
            told={r"range from (\S+) to": min(medians), r"range from \S+ to (\S+) ms": max(medians)},
        )
        if system == "redis":
            found["C34", system] = Finding(
                numbers=[median(told / one.ttl_ms for one, told in took)], told={r"median of (\d+)": len(took)}
            )
    checked, plain = (played.tally("late-release", system).shown for system in ("redis", "redis-plain-delete"))
    if checked.of:
        found["C68", "redis"] = Finding([checked, *([plain] if plain.of else [])], beside=[checked, plain])
    within = played.tally("idle-in-transaction", "postgres-row").weighed
    if within:
        late = count(within, lambda one: accepted(stale(one)) > 0)
        through = [
            count([one for one in within if one.setting("idle_timeout") == setting], _went_through)
            for setting in {one.setting("idle_timeout") for one in within}
        ]
        found["C56", "postgres-row"] = Finding([late], beside=[late, *through])
    return found


def _went_through(trial: Trial) -> bool:
    return bool(trial.measured("late_write_accepted"))


def _run_medians(took: Iterable[tuple[Trial, float]]) -> list[float]:
    by_run: dict[str, list[float]] = {}
    for one, told in took:
        by_run.setdefault(one.run.run_id, []).append(told - one.ttl_ms)
    return [median(values) for values in by_run.values()]


def _bears(size: int, share: float) -> bool:
    """Lies the greatest value of such a sample below this percentile in one of forty at most? p99 needs 368."""
    return share**size <= 0.025


# -- servers: C35-C37, C44-C47, C58-C60 ------------------------------------------------------------------------------


def _servers(played: Played) -> Findings:
    found: Findings = {}
    for claim, system in (("C35", "redlock"), ("C36", "zookeeper"), ("C37", "etcd")):
        asked = [one for one in played.of("nodes-down", system) if one.measured("acquired") is not None]
        if not asked:
            continue
        by_down = [
            count([one for one in asked if nodes_down(one) == down], _got_it)
            for down in sorted({nodes_down(one) for one in asked})
        ]
        hanging = [one for one in asked if one.setting("how") == "hang" and minority_down(one)]
        missed = count(hanging, lambda one: not _got_it(one))
        of_all = Count(int(asked[0].number("quorum")), int(asked[0].number("nodes")))
        found[claim, system] = Finding(by_down, beside=[*by_down, missed, of_all])
    found |= _memories(played)
    quorums = [one for one in played.of("late-quorum", "redlock") if one.measured("granted") is not None]
    if quorums:
        late = [one for one in quorums if nothing_left(one)]
        given = count(late, lambda one: bool(one.measured("granted")))
        grants = sum(bool(one.measured("granted")) for one in quorums)
        found["C58", "redlock"] = Finding([given], beside=[given], told={r"latest of (\d+) grants": grants})
    return found


def _got_it(trial: Trial) -> bool:
    return bool(trial.measured("acquired"))


def _memories(played: Played) -> Findings:
    found: Findings = {}
    parts = [
        played.tally("restart", "redis", _set("durability", kind)) for kind in ("none", "no", "everysec", "always")
    ]
    before, after = (played.tally("failover", "redis", _set("replicated", on)) for on in (False, True))
    told = [one.shown for one in (*parts, before, after) if one.shown.of]
    if told:
        found["C44", "redis"] = Finding(told, beside=told)
    if before.shown.of:
        found["C60", "redis"] = Finding([before.shown], beside=[before.shown, before.late_accepted(True), after.shown])
    for claim, system in (("C45", "zookeeper"), ("C46", "etcd")):
        held = [played.tally(scenario, system) for scenario in ("failover", "restart", "stalled-leader")]
        if held[0].shown.of:
            kept = count(held[0].exposed, lambda one: one.measured("granted") == 0.0)
            beside = [*(one.shown for one in held), kept, *outlived(held[2].exposed)]
            found[claim, system] = Finding([total(one.shown for one in held)], beside=beside)
    for system in ("postgres-advisory", "postgres-row"):
        killed = played.tally("restart", system)
        if killed.shown.of:
            found["C47", system] = Finding([killed.shown], beside=[killed.shown, *outlived(killed.exposed)])
            break
    return found


def outlived(trials: Iterable[Trial]) -> list[Count]:
    """In how many trials the lock outlived its servers' trouble, of those asked; and in how many of the others its
    holder was told of the loss."""
    asked = []
    for one in trials:
        if one.scenario in ("restart", "stalled-leader"):
            told = [one.measured(name) for name in ("still_held", "survived")]
            asked += [(one, bool(value)) for value in told if value is not None]
    lost = [one for one, held in asked if not held]
    knew = sum(any(belief["ended_by"] == "lost" for belief in one.beliefs) for one in lost)
    return [Count(len(asked) - len(lost), len(asked)), Count(knew, len(lost))] if asked else []


# -- resources: C39, C57 ---------------------------------------------------------------------------------------------


def _resources(played: Played) -> Findings:
    found: Findings = {}
    twice = [one for one in played.of("second-write") if one.has_token]
    strict, below = (
        count([one for one in twice if one.setting("rule") == rule], _second_refused) for rule in ("at_most", "below")
    )
    if strict.of:
        found["C39", "all"] = Finding([strict], beside=[strict, below])
    kinds = resources(played.trials)
    if kinds:
        on = [late_accepted(trials, True) for trials in kinds.values()]
        off = total(late_accepted(trials, False) for trials in kinds.values())
        assert not any(fence_faults(one) for trials in kinds.values() for one in trials)
        found["C57", "all"] = Finding([total(on)], [float(len(kinds))], [*on, off])
    return found


def _second_refused(trial: Trial) -> bool:
    """Was any write but the first of a grant refused?"""
    for grant in {write["grant"] for write in trial.writes}:
        of_grant = sorted((one for one in trial.writes if one["grant"] == grant), key=lambda one: one["sent_ns"])
        if any(one["accepted"] is False for one in of_grant[1:]):
            return True
    return False
