"""A hazard campaign as rows: one a run, and one a trial of it, with its history and the checker's findings."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import overload

from bench.analysis import names
from bench.records.hazards import FaultWindow, HazardPlan, Scalar, Trial, TrialChecked
from bench.records.schema import Facts, RunState
from bench.records.store import HazardFolder, HazardRunFolder


@dataclass(frozen=True, slots=True)
class HazardRun:
    """One run. Without trials where it has no history, or none that was checked."""

    plan: HazardPlan
    state: RunState
    void_cause: str | None  # why nothing of this run counts, in a word or two; None: it counts
    void_reason: str | None  # the same as a sentence
    trials: tuple["TrialRow", ...] = ()
    facts: Facts | None = None
    source: str = ""
    capabilities: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @property
    def run_id(self) -> str:
        return self.plan.run_id

    @property
    def scenario(self) -> str:
        return self.plan.scenario

    @property
    def system(self) -> str:
        return self.plan.system

    @property
    def void(self) -> bool:
        return self.void_cause is not None

    @property
    def emulator(self) -> bool:
        return names.EMULATOR_TAG in self.tags


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial: what was staged, what happened, and what the checker found in it."""

    plan: HazardPlan
    trial: Trial
    checked: TrialChecked
    capabilities: Mapping[str, str]
    tags: tuple[str, ...] = ()

    @property
    def run_id(self) -> str:
        return self.plan.run_id

    @property
    def scenario(self) -> str:
        return self.plan.scenario

    @property
    def system(self) -> str:
        return self.plan.system

    @property
    def ttl_ms(self) -> int:
        return self.trial.ttl_ms

    @property
    def faults(self) -> tuple[FaultWindow, ...]:
        return self.trial.faults

    @property
    def notes(self) -> Mapping[str, str]:
        return self.trial.notes

    @property
    def emulator(self) -> bool:
        return names.EMULATOR_TAG in self.tags

    @property
    def overlap_ms(self) -> float:
        """How long two or more clients believed that they hold the key."""
        return self.checked.overlap_ns / 1e6

    @property
    def fence(self) -> bool | None:
        """Did the resource check tokens? None where the scenario has no such parameter."""
        value = self.parameter("fence")
        return None if value is None else bool(value)

    @property
    def has_token(self) -> bool:
        """Did any grant come with a fencing token? Where nothing was granted, what the adapter says."""
        beliefs = self.trial.beliefs
        return any(one.token is not None for one in beliefs) if beliefs else bool(self.capability("fencing_source"))

    @property
    def has_lease(self) -> bool:
        """Does the lock end by itself after its TTL? False: it ends with the connection."""
        return self.capability("lease_scope") != "none"

    @overload
    def parameter(self, name: str) -> Scalar | None: ...

    @overload
    def parameter(self, name: str, default: Scalar) -> Scalar: ...

    def parameter(self, name: str, default: Scalar | None = None) -> Scalar | None:
        """The trial's own, else the run's, else `default`."""
        if name in self.trial.parameters:
            return self.trial.parameters[name]
        return self.plan.parameters.get(name, default)

    def measure(self, name: str) -> float | None:
        """What was measured beside the history; None where it was not."""
        return self.trial.measures.get(name)

    def capability(self, name: str) -> str:
        """What the adapter says of itself; "" where it says nothing."""
        return self.capabilities.get(name, "")

    def capability_ms(self, name: str) -> float:
        """The same as a number of ms; 0 where there is none."""
        value = self.capability(name)
        return float(value) if value else 0.0

    def longest_fault_ms(self, *kinds: str) -> float | None:
        """The longest confirmed window of faults of these kinds; None where none has an end."""
        lengths = [
            (one.ended_ns - one.began_ns) / 1e6 for one in self.faults if one.kind in kinds and one.ended_ns is not None
        ]
        return max(lengths, default=None)


def run_ids(rows: Iterable[TrialRow]) -> tuple[str, ...]:
    """The runs of these trials, each once, in their order."""
    return tuple(dict.fromkeys(row.run_id for row in rows))


def hazard_runs(folder: HazardFolder, wanted: Callable[[HazardPlan], bool] = lambda _: True) -> tuple[HazardRun, ...]:
    """Every run that was started and is `wanted`, in planned order. Raises StoreError for a damaged file."""
    runs = ((plan, folder.run(plan.run_id)) for plan in folder.campaign.runs if wanted(plan))
    return tuple(_run(plan, run) for plan, run in runs if run.has("plan"))


def _run(plan: HazardPlan, folder: HazardRunFolder) -> HazardRun:
    state = folder.state
    if state is RunState.INTERRUPTED:
        return HazardRun(plan, state, "interrupted", "the run has no history")
    if state is RunState.FAILED:
        failed = folder.failed
        return HazardRun(plan, state, f"failed ({failed.phase})", failed.reason)
    history = folder.history
    cause, reason = "not checked", "no checker has judged this history"
    checked: Mapping[str, TrialChecked] = {}
    if state is RunState.CHECKED:
        judged = folder.checked
        checked = {trial.name: trial for trial in judged.trials}
        # What the checker passes on and what the stage wrote are the same words; either alone voids the run.
        staging = tuple(dict.fromkeys([*history.staging, *judged.staging]))
        cause, reason = ("not as staged" if staging else ""), "; ".join(staging)
        if not staging and len(checked) != len(history.trials):
            cause, reason = "not checked", f"{len(checked)} of {len(history.trials)} trials were judged"
    return HazardRun(
        plan=plan,
        state=state,
        void_cause=cause or None,
        void_reason=reason or None,
        trials=tuple(
            TrialRow(plan, trial, checked[trial.name], history.capabilities, history.tags)
            for trial in history.trials
            if trial.name in checked
        ),
        facts=history.facts,
        source=history.source,
        capabilities=history.capabilities,
        tags=history.tags,
    )
