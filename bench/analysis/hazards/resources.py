"""Which kinds of resource can check a fence: the same late write against each."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.late_writes import late_count
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.rows import TrialRow, run_ids
from bench.records.meaning import Role


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One kind of resource, over all runs."""

    kind: str
    accepted_without: Count  # late writes accepted, of those sent with the fence off
    accepted_with: Count  # the same with the fence on
    fence_faults: int  # writes that it judged against its own rule
    evidence: tuple[str, ...]

    @property
    def fences(self) -> bool:
        """Did it refuse every late write that it was to refuse?"""
        return self.accepted_with.none and not self.fence_faults


def resource_rows(trials: Iterable[TrialRow]) -> tuple[ResourceRow, ...]:
    """One row a kind, by name."""
    groups: dict[str, list[TrialRow]] = {}
    for row in trials:
        if plays(row.scenario, Role.RESOURCE_KINDS):
            groups.setdefault(str(row.parameter("resource", "referee")), []).append(row)
    return tuple(
        ResourceRow(
            kind=kind,
            accepted_without=late_count(groups[kind], False),
            accepted_with=late_count(groups[kind], True),
            fence_faults=sum(row.checked.fence_faults for row in groups[kind]),
            evidence=run_ids(groups[kind]),
        )
        for kind in sorted(groups)
    )
