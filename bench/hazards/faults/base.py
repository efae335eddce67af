"""The fault contract. A fault has two halves; what is between them is one window of the history."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.records.hazards import FaultWindow, Scalar

if TYPE_CHECKING:
    from bench.hazards.cast import Cast
    from bench.hazards.lab.servers import LabServers


@dataclass(frozen=True, slots=True)
class Scene:
    """What a fault may strike: the actors and their proxies, and the servers of the lock's system."""

    cast: "Cast"
    servers: "LabServers | None"
    key: str
    values: Mapping[str, Scalar]  # the trial's parameters, `system` included
    notes: dict[str, str]  # of the trial: a fault may leave a word for the record
    measures: dict[str, float]  # of the trial: and a number


@dataclass(frozen=True, slots=True)
class InForce:
    """A fault that has struck, as confirmed. `over` ends it and returns the instant up to which it was in force (of
    servers that were killed: at which they served again); None: the fault is an instant, and there is nothing to end.
    `over` is called once, also when a trial breaks off."""

    began_ns: int
    confirmed: str
    over: Callable[[], int] | None = None
    amount: float | None = None
    unit: str = ""
    target: str = ""  # where the step named no one node: the one that was struck

    def window(self, kind: str, target: str, ended_ns: int | None) -> FaultWindow:
        """Its record; `target` is the one that was named."""
        return FaultWindow(
            kind=kind,
            target=self.target or target,
            began_ns=self.began_ns,
            ended_ns=ended_ns,
            confirmed=self.confirmed,
            amount=self.amount,
            unit=self.unit,
        )


# Of a scene, a target, and the step's other arguments (durations in ms).
Strike = Callable[[Scene, str, Mapping[str, Any]], InForce]
