"""Servers: C35 to C37, C44 to C47, C58, C60."""

from tests.judge.claims.base import Finding, Findings, Played, kept_and_told, set_to
from tests.judge.counts import Count, count, total
from tests.judge.meanings import minority_down, nodes_down, nothing_left
from tests.judge.records import Trial
from tests.judge.sentences import START, Told, clause

BEFORE, AFTER = "failover before replication", "failover after replication"


def servers(played: Played) -> Findings:
    found: Findings = {}
    for claim, system in (("C35", "redlock"), ("C36", "zookeeper"), ("C37", "etcd")):
        asked = [one for one in played.of("nodes-down", system) if one.measured("acquired") is not None]
        if not asked:
            continue
        by_down = {
            down: count([one for one in asked if nodes_down(one) == down], _got_it)
            for down in sorted({nodes_down(one) for one in asked})
        }
        hanging = [one for one in asked if one.setting("how") == "hang" and minority_down(one)]
        missed = count(hanging, lambda one: not _got_it(one))
        quorum, nodes = (int(asked[0].number(name)) for name in ("quorum", "nodes"))
        found[claim, system] = Finding(
            list(by_down.values()),
            why=[
                *(Told(rf"\b{down}: acquired @", one) for down, one in by_down.items()),
                Told("with a minority hanging, @ clients", missed, missed.seen > 0),
                Told("as @ must answer", Count(quorum, nodes), needed=False),
            ],
            clauses=[
                clause(r"of (\d+) servers stopped: ", nodes),
                clause(", ".join([r"(\d+): acquired \d+ of \d+"] * len(by_down)), *by_down),
                clause(r"to survive (\d+) losses", nodes - quorum, needed=False),
            ],
        )
    found |= _memories(played)
    quorums = [one for one in played.of("late-quorum", "redlock") if one.measured("granted") is not None]
    if quorums:
        late = [one for one in quorums if nothing_left(one)]
        given = count(late, lambda one: bool(one.measured("granted")))
        grants = sum(bool(one.measured("granted")) for one in quorums)
        found["C58", "redlock"] = Finding(
            [given],
            why=[Told("no validity left: granted in @", given)],
            clauses=[clause(r"latest of (\d+) grants", grants, needed=grants > 0)],
        )
    return found


def _got_it(trial: Trial) -> bool:
    return bool(trial.measured("acquired"))


def _memories(played: Played) -> Findings:
    found: Findings = {}
    parts = {
        f"restart, durability {kind}": played.tally("restart", "redis", set_to("durability", kind))
        for kind in ("none", "no", "everysec", "always")
    }
    before, after = (played.tally("failover", "redis", set_to("replicated", on)) for on in (False, True))
    parts |= {BEFORE: before, AFTER: after}
    told = {what: one.shown for what, one in parts.items() if one.shown.of}
    if told:
        why = [Told(f"{START}{what}: two holders in @", one) for what, one in told.items()]
        found["C44", "redis"] = Finding(list(told.values()), why=why)
    if before.shown.of:
        on = before.late_accepted(True)
        why = [
            Told(f"{START}{BEFORE}: two holders in @", before.shown),
            Told("late writes accepted with the fence on @", on, on.of > 0),
            Told(f"{START}{AFTER}: two holders in @", after.shown, after.shown.of > 0),
        ]
        found["C60", "redis"] = Finding([before.shown], why=why)
    for claim, system in (("C45", "zookeeper"), ("C46", "etcd")):
        failed, restarted, stalled = (
            played.tally(scenario, system) for scenario in ("failover", "restart", "stalled-leader")
        )
        if failed.shown.of:
            kept = count(failed.exposed, lambda one: one.measured("granted") == 0.0)
            back = restarted.shown
            why = [
                Told(f"{START}leader killed while the lock is held: two holders in @", failed.shown),
                Told(f"{START}still held in @", kept),
                Told(f"{START}all servers killed and restarted: two holders in @", back, back.of > 0),
                Told(f"{START}a server stalled: @", stalled.shown, stalled.shown.of > 0),
                *kept_and_told(stalled),
            ]
            shown = total(one.shown for one in (failed, restarted, stalled))
            found[claim, system] = Finding([shown], why=why)
    for system in ("postgres-advisory", "postgres-row"):
        killed = played.tally("restart", system)
        if killed.shown.of:
            why = [
                Told(f"{START}server killed while the lock is held: two holders in @", killed.shown),
                *kept_and_told(killed),
            ]
            waits = [ask for one in killed.trials for ask in one.asks if ask["actor"] == "waiter"]
            unknown = sum(ask["outcome"] == "unknown" for ask in waits)
            asked = clause(r"outcomes for the waiter: unknown (\d+)(?![^;])", unknown, needed=False)
            found["C47", system] = Finding([killed.shown], why=why, clauses=[asked])
            break
    return found
