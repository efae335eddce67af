"""Pauses and partitions: C19 to C24, C31, C33, C53, C63, C64."""

from tests.judge.claims.base import Finding, Findings, Played, set_to
from tests.judge.counts import count, total
from tests.judge.lines import Tally, late_accepted
from tests.judge.meanings import at_write
from tests.judge.moments import two_at_once_ns
from tests.judge.reasons import TWO_HOLDERS, gone_with_their_transaction
from tests.judge.records import Trial
from tests.judge.sentences import START, Told, clause
from tests.judge.windows import beyond, fit
from tests.judge.writes import accepted, lost_updates, refused, stale

PAUSES = ("gc-pause", "page-scenario", "idle-in-transaction")


def pauses(played: Played) -> Findings:
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
        harm = tally.shown.seen > 0
        held = on.of > 0 and on.seen == 0 and tally.has_token
        told = [one for one in (off, on) if one.of] if harm else [tally.shown]
        why = [
            Told(f"{START}{TWO_HOLDERS} in @", tally.shown, not tally.harmed),
            Told("(?:late writes accepted: without a fence|; without it) @", off, harm and off.of > 0),
            Told("(?:with it|late writes accepted with the fence on:) @", on, harm and on.of > 0),
            Told("first shown by a write: late writes accepted @", gap, harm and held and gap.seen > 0),
        ]
        beside = [] if tally.harmed else gone_with_their_transaction(tally)
        found[claim, system] = Finding(told, why=why, clauses=beside)
    for system in played.systems("gc-pause"):
        line = fit(played.of("gc-pause", system))
        if line is not None:
            paused = len(beyond(played.of("gc-pause", system)))
            found["C31", system] = Finding(numbers=line, clauses=[clause(r"over (\d+) pauses", paused)])
    for system in played.systems("watchdog"):
        whole, worker = (played.tally("watchdog", system, set_to("stalled", which)) for which in ("process", "worker"))
        leased = whole.trials[0].has_lease if whole.trials else False
        why = [
            Told("process and watchdog stopped: two holders in @", whole.shown, leased),
            Told("worker stalled, watchdog alive: @", worker.shown, leased),
        ]
        found["C33", system] = Finding([whole.shown, worker.shown], why=why)
    for system in played.systems("page-scenario"):
        every = played.of("page-scenario", system)
        off, on = (
            count([one for one in every if one.fenced is fenced], shows)
            for fenced, shows in ((False, _two_and_a_lost_update), (True, _refused_only))
        )
        why = [
            Told("fence off: two holders and a lost update in @", off, every[0].has_lease),
            Told("fence on: late write refused in @", on, every[0].has_lease),
        ]
        found["C53", system] = Finding([off, on], why=why)
    for claim, system in (("C63", "zookeeper"), ("C64", "etcd")):
        unfenced = {
            "holder stopped": played.tally("gc-pause", system, set_to("fence", False)),
            "holder cut off": played.tally("cable-pulled", system, lambda one: not one.fenced and _careful(one)),
            "holder cut off, not checking first": played.tally(
                "cable-pulled", system, lambda one: not one.fenced and not _careful(one)
            ),
        }
        if not any(one.weighed for one in unfenced.values()):
            continue
        why = []
        for what, tally in unfenced.items():
            off, two = tally.late_accepted(False), f"{START}{what}: two holders in "
            why += [
                Told(f"{two}@", tally.shown, tally.shown.of > 0),
                Told(f"{two}[^;]*, late writes accepted @", off, tally.shown.of > 0 and off.of > 0),
            ]
        wire = played.tally("late-on-the-wire", system, lambda one: not one.fenced)
        redis = played.tally("gc-pause", "redis", set_to("fence", False)).late_accepted(False)
        off = wire.late_accepted(False)
        why += [
            Told(f"{START}write delayed on the wire: late writes accepted @", off, off.of > 0),
            Told("Redis, stopped the same way: late writes accepted @", redis, False),
        ]
        fenced = [one for scenario in ("gc-pause", "cable-pulled") for one in played.of(scenario, system) if one.fenced]
        harmed = len(Tally(tuple(fenced)).harmed)
        on_too = clause(r"with the fence on: two holders in (\d+) trials", harmed, needed=harmed > 0)
        taken = total(late_accepted(one.weighed, False) for one in (*unfenced.values(), wire))
        found[claim, system] = Finding([taken], why=why, clauses=[on_too])
    return found


def _careful(trial: Trial) -> bool:
    return bool(trial.setting("asks_first", True))


def _two_and_a_lost_update(trial: Trial) -> bool:
    return two_at_once_ns(trial) > 0 and lost_updates(trial) > 0


def _refused_only(trial: Trial) -> bool:
    return refused(stale(trial)) > 0 and accepted(stale(trial)) == 0
