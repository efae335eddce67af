"""What differs between kinds of campaign: the servers of a run, how it is carried out, and how it is checked.

All else (starting, resuming, adding, the state of each run on disk) is one for all kinds, in carrying_out.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Generic, TypeVar

from bench.campaign.servers import Progress
from bench.records.hazards import HazardPlan
from bench.records.schema import RunPlan
from bench.records.store import AnyCampaignFolder, AnyRunFolder
from bench.servers.running.supervisor import Supervisor

Plan = TypeVar("Plan", bound=RunPlan | HazardPlan)
Folder = TypeVar("Folder", bound=AnyCampaignFolder[Any, Any])
Run = TypeVar("Run", bound=AnyRunFolder[Any, Any])


class Runs(ABC, Generic[Folder, Plan, Run]):
    """The runs of one kind, on the servers of one home."""

    folder: type[Folder]
    nothing: ClassVar[str]  # what a run that failed has not
    does: ClassVar[str]  # what resuming does with such runs

    def __init__(self, supervisor: Supervisor, progress: Progress = lambda _: None) -> None:
        self.supervisor = supervisor
        self.progress = progress

    @abstractmethod
    def servers(self, plans: Sequence[Plan]) -> AbstractContextManager[None]:
        """Whatever these runs need, for a block. Raises LockbenchError where it is not to be had."""

    def refuse_other_servers(self, folder: Folder, plans: Sequence[Plan]) -> None:
        """Raises CannotResume when the servers are not those of the finished runs. The servers are up."""

    @abstractmethod
    def play(self, folder: Folder, plans: Sequence[Plan], finish: Callable[[Plan], None]) -> None:
        """Call `finish` once for each plan, when its turn has come; perhaps from several threads."""

    @abstractmethod
    def measure(self, plan: Plan, run: Run) -> Any:
        """Carry out one run, within `play`; returns its record. A LockbenchError is the end of this run alone."""

    def phase_of(self, failure: Exception) -> str:
        """How far a run came that failed by this, for its record."""
        return "servers"

    @abstractmethod
    def check(self, plan: Plan, run: Run) -> str:
        """Check a run that was measured, and write what was found; returns notes for whoever shows progress."""
