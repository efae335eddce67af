"""Everything that a report of hazards is made from, loaded once."""

from dataclasses import dataclass
from functools import cached_property

from bench.analysis.hazards.drift import DriftRow, drift_rows
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.nodes import NodesRow, nodes_rows
from bench.analysis.hazards.recovery import RecoveryPoint, RecoveryRow, recovery_points, recovery_rows
from bench.analysis.hazards.resources import ResourceRow, resource_rows
from bench.analysis.hazards.rows import HazardRun, TrialRow, hazard_runs
from bench.analysis.hazards.tokens import TokenRow, token_rows
from bench.analysis.hazards.tolerance import ToleranceRow, tolerance_rows
from bench.analysis.hazards.verdicts import FaultVerdict, VoidRun, fault_verdicts, void_run
from bench.analysis.hazards.window import PauseCell, WindowFit, WindowPoint, pause_map, window_fits, window_points
from bench.records.hazards import HazardCampaign, Scalar
from bench.records.meaning import Role
from bench.records.schema import Environment, Resumed
from bench.records.store import HazardFolder


@dataclass(frozen=True)
class HazardEvidence:
    """One hazard campaign. Immutable; the derived parts are computed when first asked for."""

    campaign: HazardCampaign
    environment: Environment
    runs: tuple[HazardRun, ...]  # every run that was started, void ones included
    resumptions: tuple[Resumed, ...] = ()

    @classmethod
    def load(cls, folder: HazardFolder) -> "HazardEvidence":
        """Read a hazard campaign's folder. Raises StoreError for a damaged file."""
        return cls(folder.campaign, folder.environment, hazard_runs(folder), folder.resumptions())

    @cached_property
    def trials(self) -> tuple[TrialRow, ...]:
        """The trials that count: all of every run that is not void."""
        return tuple(row for run in self.runs if not run.void for row in run.trials)

    @cached_property
    def void(self) -> tuple[VoidRun, ...]:
        """The runs that count for nothing, with the reasons."""
        return tuple(void_run(run) for run in self.runs if run.void)

    @cached_property
    def verdicts(self) -> tuple[FaultVerdict, ...]:
        """One a system and fault."""
        return fault_verdicts(self.runs)

    @cached_property
    def window_points(self) -> tuple[WindowPoint, ...]:
        return window_points(self.trials)

    @cached_property
    def window_fits(self) -> tuple[WindowFit, ...]:
        return window_fits(self.trials)

    @cached_property
    def pause_map(self) -> tuple[PauseCell, ...]:
        return pause_map(self.window_points)

    @cached_property
    def recovery_points(self) -> tuple[RecoveryPoint, ...]:
        """Of crashes alone: no other server was lost with the holder."""
        return tuple(point for point in recovery_points(self.trials) if not point.failover)

    @cached_property
    def recovery_points_with_failover(self) -> tuple[RecoveryPoint, ...]:
        """Of crashes after which the leader or primary was lost too."""
        return tuple(point for point in recovery_points(self.trials) if point.failover)

    @cached_property
    def recovery(self) -> tuple[RecoveryRow, ...]:
        """With and without a failover."""
        return recovery_rows((*self.recovery_points, *self.recovery_points_with_failover))

    @cached_property
    def tolerance(self) -> tuple[ToleranceRow, ...]:
        return tolerance_rows(self.trials)

    @cached_property
    def drift(self) -> tuple[DriftRow, ...]:
        return drift_rows(self.trials)

    @cached_property
    def tokens(self) -> tuple[TokenRow, ...]:
        return token_rows(self.trials)

    @cached_property
    def nodes(self) -> tuple[NodesRow, ...]:
        return nodes_rows(self.trials)

    @cached_property
    def resources(self) -> tuple[ResourceRow, ...]:
        return resource_rows(self.trials)

    def of(self, scenario: str, system: str | None = None, **parameters: Scalar) -> tuple[TrialRow, ...]:
        """The trials that count of a scenario, of one system and with these parameters where they are given."""
        return tuple(
            row
            for row in self.trials
            if row.scenario == scenario
            and system in (None, row.system)
            and all(row.parameter(name) == value for name, value in parameters.items())
        )

    def in_role(self, role: Role, system: str | None = None, **parameters: Scalar) -> tuple[TrialRow, ...]:
        """The same of every scenario that plays a role, in the order of tables."""
        return tuple(row for scenario in scenarios_in(role) for row in self.of(scenario, system, **parameters))

    def timeline(self, run_id: str, trial: str | None = None) -> TrialRow | None:
        """One trial with its history, for a timeline: by run and name, or the run's last one."""
        found = [
            row for run in self.runs if run.run_id == run_id for row in run.trials if trial in (None, row.trial.name)
        ]
        return found[-1] if found else None
