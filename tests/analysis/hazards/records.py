"""Made-up hazard records, through the real models, for tests of what an analysis says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import meanings
from bench.analysis.hazards.rows import HazardRun, TrialRow
from bench.records.hazards import (
    Belief,
    EndOfBelief,
    FaultWindow,
    HazardCampaign,
    HazardChecked,
    HazardHistory,
    HazardPlan,
    Overlap,
    Scalar,
    StaleWrite,
    TokenFault,
    Trial,
    TrialChecked,
    Write,
)
from bench.records.schema import Facts, Failed, RunState
from bench.records.store import HazardFolder, Store
from tests.campaigns import environment

CAMPAIGN = "made-up-hazards"
NS_PER_MS = 1_000_000
_LEASED = {"lease_scope": "grant", "expiry_judge": "server", "ttl_granularity_ms": "1", "ttl_min_ms": "1"}
_ONE = {"nodes": "1", "quorum": "1", "wait_strategies": "try, poll", **_LEASED}
_SESSION = {
    "lease_scope": "session",
    "nodes": "3",
    "quorum": "2",
    "peer_round_trips": "1",
    "wait_strategies": "try, watch",
}
CAPABILITIES: Mapping[str, Mapping[str, str]] = {
    "redis": {**_ONE, "fencing_source": "a script's counter"},
    "redlock": {**_ONE, "fencing_source": "", "nodes": "5", "quorum": "3"},
    "zookeeper": {**_LEASED, **_SESSION, "fencing_source": "czxid", "ttl_granularity_ms": "300"},
    "etcd": {**_LEASED, **_SESSION, "fencing_source": "create revision", "ttl_granularity_ms": "1750"},
    "postgres-row": {**_ONE, "fencing_source": "sequence", "lease_scope": "none"},
    "dynamodb": {**_ONE, "fencing_source": "count in the item", "expiry_judge": "client"},
}
EMULATED = ("dynamodb", "dynamodb-client-clock")


@dataclass(frozen=True)
class Staged:
    """One trial in short: what the checker is to have found in it."""

    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    ttl_ms: int = 1000
    overlap_ms: float = 0.0
    accepted: int = 0  # late writes, after the new holder's first
    ahead: int = 0  # late writes, accepted before it
    read_by_next: bool = False  # did the new holder read those as it presented its token
    refused: int = 0
    unanswered: int = 0
    by_token: bool = True
    lost_updates: int = 0
    pairs: int = 0
    fell: int = 0
    never_served: int = 0
    fence_faults: int = 0
    faults: Sequence[FaultWindow] = ()
    token: bool = True
    grants: int = 2


def window(kind: str = "pause", length_ms: float = 1600.0, amount: float | None = None) -> FaultWindow:
    """A confirmed fault."""
    return FaultWindow(
        kind=kind,
        target="holder",
        began_ns=0,
        ended_ns=int(length_ms * NS_PER_MS),
        confirmed="seen",
        amount=amount,
        unit="ms" if amount is not None else "",
    )


def pause(pause_ms: float = 1600.0, fence: bool = False, **found: object) -> Staged:
    """A paused holder: stopped so long, with the fence on or off."""
    parameters = {"pause_ttls": round(pause_ms / 1000.0, 2), "fence": fence}
    measures = {"pause_ms": pause_ms, "wait_ms": 1000.0}
    return Staged(parameters, measures, faults=(window(length_ms=pause_ms),), **found)  # type: ignore[arg-type]


def two_holders(fence: bool, pause_ms: float = 1600.0, token: bool = True) -> Staged:
    """A pause that gave two holders: the late write is refused exactly where a token meets a fence."""
    refused = fence and token
    return pause(
        pause_ms,
        fence,
        overlap_ms=pause_ms - 1000.0,
        accepted=int(not refused),
        refused=int(refused),
        lost_updates=int(not refused),
        token=token,
    )


def crash(recovery_ms: float, ttl_ms: int = 1000) -> Staged:
    """A crash, and the time until somebody else had the lock."""
    return Staged({"ttl_ms": ttl_ms}, {"recovery_ms": recovery_ms}, ttl_ms=ttl_ms)


def jump(by_ms: float, broke: bool, nodes: int = 3, ttl_ms: int = 500, held: int = 5, drift: bool = True) -> Staged:
    """A jump of so many nodes' clocks just before the holder's validity ends; it holds that many nodes."""
    return Staged(
        {"jump_ms": by_ms, "nodes_held": held, "nodes_jumped": nodes, "when": "late", "ttl_ms": ttl_ms},
        {
            "jump_ms": by_ms,
            "remaining_when_asked_ms": 5.5,
            "remaining_validity_ms": 5.0,
            "drift_ms": 0.01 * ttl_ms + 2.0 if drift else 0.0,
        },
        ttl_ms=ttl_ms,
        overlap_ms=4.0 if broke else 0.0,
        faults=(window("clock_jump", amount=by_ms),),
        token=False,
    )


# What each of these scenarios does, where a trial does not say otherwise: for so long, in ms.
STRUCK: Mapping[str, tuple[str, float]] = {
    "cable-pulled": ("partition", 5_000.0),
    "crash-recovery": ("kill", 0.0),
    "failover": ("failover", 1_000.0),
    "stalled-leader": ("server_stall", 4_000.0),
    "swallowed-reply": ("swallow_reply", 400.0),
}


def plan(scenario: str, system: str, number: int = 1, **parameters: Scalar) -> HazardPlan:
    """A run's plan."""
    return HazardPlan(
        campaign_id=CAMPAIGN,
        run_id=f"{scenario}-{system}-{number:02d}",
        position=number,
        scenario=scenario,
        system=system,
        parameters={"ttl_ms": 1000, **parameters},
        repetition=number,
        seed=number,
    )


def trial_of(name: str, staged: Staged) -> tuple[Trial, TrialChecked]:
    """A trial and its judgement."""
    trial = Trial(
        name=name,
        parameters=dict(staged.parameters),
        ttl_ms=staged.ttl_ms,
        began_ns=0,
        ended_ns=10_000 * NS_PER_MS,
        beliefs=tuple(
            _belief(f"{name}-{number}", number if staged.token else None, number) for number in range(staged.grants)
        ),
        writes=(_write(f"{name}-1", staged.ahead + 1),) if staged.grants > 1 else (),
        faults=tuple(staged.faults),
        measures=dict(staged.measures),
    )
    after = [True] * staged.accepted + [False] * staged.refused + [None] * staged.unanswered
    verdicts = [*enumerate([True] * staged.ahead, 1), *enumerate(after, staged.ahead + 2)]
    overlap_ns = int(staged.overlap_ms * NS_PER_MS)
    overlap = Overlap(key="k", earlier=f"{name}-0", later=f"{name}-1", from_ns=0, until_ns=overlap_ns)
    fell = TokenFault(key="k", earlier=f"{name}-0", later=f"{name}-1", earlier_token=9, later_token=3)
    checked = TrialChecked(
        name=name,
        parameters=dict(staged.parameters),
        grants=staged.grants,
        writes=len(verdicts),
        overlaps=(overlap,) if overlap_ns else (),
        overlap_ns=overlap_ns,
        stale_writes=tuple(
            StaleWrite(
                grant=f"{name}-0",
                order=order,
                accepted=accepted,
                by_token=staged.by_token,
                read_by_next=staged.read_by_next and order <= staged.ahead,
            )
            for order, accepted in verdicts
        ),
        lost_updates=staged.lost_updates,
        token_pairs=staged.pairs,
        token_faults=(fell,) * staged.fell,
        fence_faults=staged.fence_faults,
        never_served=staged.never_served,
        unknown=staged.unanswered,
    )
    return trial, checked


def history_of(system: str, trials: Sequence[Trial], staging: Sequence[str] = ()) -> HazardHistory:
    """What a run of this system might have left behind."""
    return HazardHistory(
        started_at="2001-01-01T00:00:00+00:00",
        trials=tuple(trials),
        facts=Facts(version="1.0", identity="made up", durability={}, nodes=1),
        source="native",
        capabilities=dict(_capabilities(system)),
        tags=("emulator",) if system in EMULATED else (),
        staging=tuple(staging),
    )


def run(plan: HazardPlan, *staged: Staged, void: str | None = None) -> HazardRun:
    """A run in memory, as `hazard_runs` would read it."""
    made = [trial_of(str(number), _as_staged(plan.scenario, one)) for number, one in enumerate(staged, 1)]
    history = history_of(plan.system, [trial for trial, _ in made])
    return HazardRun(
        plan=plan,
        state=RunState.CHECKED,
        void_cause="not as staged" if void else None,
        void_reason=void,
        trials=tuple(TrialRow(plan, trial, checked, history.capabilities, history.tags) for trial, checked in made),
        facts=history.facts,
        source=history.source,
        capabilities=history.capabilities,
        tags=history.tags,
    )


def runs(scenario: str, system: str, *staged: Staged, **parameters: Scalar) -> HazardRun:
    """One run of these trials."""
    return run(plan(scenario, system, 1, **parameters), *staged)


def often(scenario: str, system: str, *staged: Staged, repetitions: int = 6, **parameters: Scalar) -> list[HazardRun]:
    """The same trials in each of several runs."""
    return [run(plan(scenario, system, number, **parameters), *staged) for number in range(1, repetitions + 1)]


def with_verdicts() -> list[str]:
    """The scenarios whose systems have a line of the verdicts; the others have tables of their own."""
    return sorted(name for name, meaning in meanings().items() if not meaning.own_table)


def evidence(*found: HazardRun) -> HazardEvidence:
    """A campaign in memory."""
    return HazardEvidence(campaign(one.plan for one in found), environment(), tuple(found))


def campaign(plans: object) -> HazardCampaign:
    """The plan of a campaign of these runs."""
    return HazardCampaign(
        campaign_id=CAMPAIGN,
        created_at="2001-01-01T00:00:00+00:00",
        mode="custom",
        seed=7,
        lockbench_version="0.0.0",
        git_commit="0123456789ab",
        runs=tuple(plans),  # type: ignore[arg-type]
    )


def start(root: Path, *plans: HazardPlan) -> HazardFolder:
    """An empty campaign on disk."""
    return Store(root).start(HazardFolder, campaign(plans), environment())


def add_run(
    folder: HazardFolder, plan: HazardPlan, *staged: Staged, staging: Sequence[str] = (), failed: Failed | None = None
) -> None:
    """A run's folder: checked, failed, or (without trials) interrupted."""
    place = folder.start_run(plan)
    if failed is not None:
        place.write(failed)
    elif staged:
        made = [trial_of(str(number), _as_staged(plan.scenario, one)) for number, one in enumerate(staged, 1)]
        place.write(history_of(plan.system, [trial for trial, _ in made], staging))
        place.write(HazardChecked(trials=tuple(checked for _, checked in made), staging=tuple(staging)))


def _as_staged(scenario: str, staged: Staged) -> Staged:
    if staged.faults or scenario not in STRUCK:
        return staged
    return replace(staged, faults=(window(*STRUCK[scenario]),))


def _capabilities(system: str) -> Mapping[str, str]:
    for name in sorted(CAPABILITIES, key=len, reverse=True):
        if system.startswith(name):
            return CAPABILITIES[name]
    return CAPABILITIES["redis"]


def _write(grant: str, order: int) -> Write:
    """The new holder's first."""
    return Write(
        actor="contender",
        key="k",
        grant=grant,
        token=None,
        sent_ns=1,
        answered_ns=2,
        fence=True,
        order=order,
        accepted=True,
        highest_before=0,
        value_read=0,
        value_before=0,
        value_written=1,
    )


def _belief(grant: str, token: int | None, number: int) -> Belief:
    return Belief(
        actor="holder",
        key="k",
        grant=grant,
        token=token,
        asked_ns=0,
        from_ns=number,
        until_ns=number + 1,
        ended_by=EndOfBelief.RELEASED,
        ttl_ms=1000,
    )
