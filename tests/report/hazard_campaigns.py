"""A made-up hazard campaign with everything that a report of one shows: every outcome, void runs, a whole history."""

from dataclasses import replace
from pathlib import Path

from bench.records.hazards import (
    Ask,
    Belief,
    EndOfBelief,
    FaultWindow,
    HazardChecked,
    Overlap,
    StaleWrite,
    Trial,
    TrialChecked,
    Write,
)
from bench.records.schema import Failed
from bench.records.store import HazardFolder
from tests.analysis.hazards import records

SYSTEMS = ("redis", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb")
REASON = "<b>the pause</b> of holder was not confirmed | within 2 s"
_MS = records.NS_PER_MS


def whole(root: Path) -> HazardFolder:
    """Two repetitions of pauses on six systems, crashes, clock jumps, tokens, a page scenario; two void runs."""
    plans = [
        records.plan("gc-pause", system, number, fence=fence).model_copy(update={"repetition": 1 + (number > 2)})
        for system in reversed(SYSTEMS)  # not in table order, as a seeded order is not
        for number, fence in enumerate((False, True, False, True), 1)
    ]
    plans += [records.plan("crash-recovery", system) for system in SYSTEMS]
    plans += [
        records.plan("redlock-clock", "redlock"),
        records.plan("server-clock", "redis"),
        records.plan("server-clock", "etcd"),
        records.plan("token-sources", "redis"),
        records.plan("token-sources", "redlock"),
        records.plan("page-scenario", "redis", ttl_ms=5000, pause_ms=8000),
        records.plan("nodes-down", "etcd"),
        records.plan("watchdog", "etcd"),
    ]
    folder = records.start(root, *plans)
    for plan in plans[:-1]:  # the last one was planned and never started
        _play(folder, plan)
    return folder


def _play(folder: HazardFolder, plan: records.HazardPlan) -> None:
    system, number = plan.system, int(plan.run_id[-2:])
    if plan.scenario == "gc-pause":
        if (system, number) == ("zookeeper", 2):
            records.add_run(folder, plan, _asked(records.pause(1600.0), 1.6), staging=(REASON,))
        elif (system, number) == ("etcd", 4):
            records.add_run(folder, plan, failed=Failed(phase="servers", reason="port 1 is taken"))
        else:
            records.add_run(folder, plan, *_pauses(system, bool(plan.parameters["fence"]), number))
    elif plan.scenario == "crash-recovery":
        no_ttl = system == "postgres-row"
        after = [2.0 + number if no_ttl else 1.02 * ttl_ms + 3.0 for ttl_ms in (1000, 2000)]
        trials = [records.crash(took, ttl_ms) for took, ttl_ms in zip(after, (1000, 2000), strict=True)]
        records.add_run(
            folder, plan, *trials, records.crash(-1.0 if system == "etcd" else trials[0].ttl_ms * 1.01, 3000)
        )
    elif plan.scenario == "redlock-clock":
        tried = ((500, 3, 275.0, True), (500, 3, 13.0, False), (500, 3, 14.0, True), (500, 2, 550.0, False))
        more = ((2000, 3, 29.0, True), (2000, 3, 28.0, False), (2000, 2, 2200.0, False))
        records.add_run(
            folder, plan, *(records.jump(by, broke, nodes, ttl) for ttl, nodes, by, broke in (*tried, *more))
        )
    elif plan.scenario == "server-clock":
        found = records.Staged(
            {"step": "1.5 ttl"},
            {"wait_ms": 5.0},
            overlap_ms=990.0 if system == "redis" else 0.0,
            faults=(records.window("clock_jump", amount=3000.0),),
        )
        records.add_run(folder, plan, found)
    elif plan.scenario == "token-sources":
        events = (("contended", 0), ("entry_deleted", 39))
        trials = [
            records.Staged({"event": name}, pairs=39, fell=fell, token=system == "redis") for name, fell in events
        ]
        records.add_run(folder, plan, *trials)
    elif plan.scenario == "nodes-down":
        down = [
            records.Staged({"nodes_down": count, "how": "kill"}, {"acquired": float(count < 2), "acquire_ms": 5.0})
            for count in range(3)
        ]
        records.add_run(folder, plan, *down)
    else:
        add_page(folder, plan)


def _asked(staged: records.Staged, pause_ttls: float) -> records.Staged:
    """The same trial, of a run whose fence is a parameter of the run and not of the trial, as gc-pause has it."""
    return replace(staged, parameters={"pause_ttls": pause_ttls})


def _pauses(system: str, fence: bool, number: int) -> list[records.Staged]:
    short = _asked(records.pause(500.0, fence), 0.5)
    if system == "postgres-row":
        return [short, _asked(records.pause(1600.0, fence), 1.6)]
    late = {"zookeeper": 110.0, "etcd": 230.0}.get(system, 2.0 * number)
    return [short, _asked(records.two_holders(fence, 1600.0 - late, token=system != "redlock"), 1.6)]


def add_page(folder: HazardFolder, plan: records.HazardPlan) -> None:
    """The page scenario with its whole history: a trial with the fence off, and one with it on."""
    place = folder.start_run(plan)
    made = [page_trial(str(number), fence) for number, fence in enumerate((False, True), 1)]
    place.write(records.history_of(plan.system, [trial for trial, _ in made]))
    place.write(HazardChecked(trials=tuple(checked for _, checked in made)))


def page_trial(name: str, fence: bool, ttl_ms: int = 5000, pause_ms: int = 8000) -> tuple[Trial, TrialChecked]:
    """The holder is stopped from 2 ms on; the contender is granted the key when the lease is over, and writes."""
    zero, key = 1_000_000 * _MS, f"page-{name}"
    resumed, granted = (2 + pause_ms) * _MS, (ttl_ms + 1) * _MS
    end = resumed + 3 * _MS

    def belief(actor: str, token: int, told: int, until: int, ended: EndOfBelief) -> Belief:
        return Belief(
            actor=actor,
            key=key,
            grant=f"{actor}-{name}",
            token=token,
            asked_ns=zero - _MS,
            from_ns=zero + told,
            until_ns=zero + until,
            ended_by=ended,
            ttl_ms=ttl_ms,
            lease_until_ns=zero + told + ttl_ms * _MS,
        )

    def ask(actor: str, answered: int) -> Ask:
        return Ask(actor=actor, key=key, asked_ns=zero, answered_ns=zero + answered, outcome="acquired")

    def write(actor: str, token: int, sent: int, order: int, accepted: bool) -> Write:
        return Write(
            actor=actor,
            key=key,
            grant=f"{actor}-{name}",
            token=token,
            sent_ns=zero + sent,
            answered_ns=zero + sent + _MS,
            fence=fence,
            order=order,
            accepted=accepted,
            highest_before=0 if order == 1 else 2,
            value_read=0,
            value_before=order - 1,
            value_written=1,
        )

    trial = Trial(
        name=name,
        parameters={"fence": fence},
        ttl_ms=ttl_ms,
        began_ns=zero,
        ended_ns=zero + end + _MS,
        asks=(ask("holder", 1), ask("contender", granted)),
        beliefs=(
            belief("holder", 1, 0, end, EndOfBelief.REFUSED if fence else EndOfBelief.RELEASED),
            belief("contender", 2, granted, end + _MS, EndOfBelief.RELEASED),
        ),
        writes=(
            write("contender", 2, granted + _MS, 1, True),
            write("holder", 1, resumed + _MS, 2, not fence),
        ),
        faults=(
            FaultWindow(
                kind="pause", target="holder", began_ns=zero + 2 * _MS, ended_ns=zero + resumed, confirmed="state T"
            ),
        ),
        measures={"pause_ms": float(pause_ms), "wait_ms": ttl_ms + 1.0},
    )
    overlap = Overlap(
        key=key, earlier=f"holder-{name}", later=f"contender-{name}", from_ns=zero + granted, until_ns=zero + end
    )
    checked = TrialChecked(
        name=name,
        parameters={"fence": fence},
        grants=2,
        writes=2,
        overlaps=(overlap,),
        overlap_ns=end - granted,
        stale_writes=(StaleWrite(grant=f"holder-{name}", order=2, accepted=not fence, by_token=True),),
        lost_updates=int(not fence),
        token_pairs=0,
        token_faults=(),
        fence_faults=0,
        never_served=0,
        unknown=0,
    )
    return trial, checked
