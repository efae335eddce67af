"""One calibration: the instrument held against native tools and against its budgets, with every sample it rests on.

Schema history. 1: first version.
"""

import statistics
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.records.schema import Environment
from bench.records.store import StoreError

CALIBRATION_SCHEMA_VERSION = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bound(StrEnum):
    """On which side of its target a line has to be."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


class Line(_Record):
    """One statement about the instrument. `instrument` holds one sample a repetition, `native` the sample taken beside.

    The value of a repetition is `instrument / native`, or the instrument's sample itself where there is no native side.
    """

    name: str
    title: str
    unit: str  # of the samples
    against: str  # what the native side is; empty: there is none, and the target has the samples' unit
    instrument: tuple[float, ...]
    native: tuple[float, ...] = ()
    target: float | None = None  # None: for information
    bound: Bound = Bound.AT_MOST
    explanation: str = ""  # of a line that misses its target: where the rest goes

    @property
    def values(self) -> tuple[float, ...]:
        """One value a repetition. Raises ValueError when the two sides have different numbers of samples."""
        if not self.against:
            return self.instrument
        return tuple(mine / theirs for mine, theirs in zip(self.instrument, self.native, strict=True))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """Is the median on the right side of the target? None: there is no target."""
        if self.target is None:
            return None
        return self.median >= self.target if self.bound is Bound.AT_LEAST else self.median <= self.target


class Calibration(_Record):
    """Everything that one `lockbench calibrate` saw."""

    schema_version: int = CALIBRATION_SCHEMA_VERSION
    created_at: str  # ISO 8601, UTC
    lockbench_version: str
    git_commit: str
    pairs: int  # repetitions of each comparison, native tool and Locust in alternating order
    window_s: float  # measured by Locust in each
    took_s: float
    programs: dict[str, str]  # native tools and servers, with their versions
    environment: Environment
    lines: tuple[Line, ...]

    @property
    def missed(self) -> tuple[Line, ...]:
        """The lines whose target is not met."""
        return tuple(line for line in self.lines if line.met is False)


def read_calibration(path: Path) -> Calibration:
    """The record in a file. Raises StoreError."""
    try:
        calibration = Calibration.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as refused:
        raise StoreError(f"cannot read {path}: {refused.strerror}") from refused
    except ValidationError as broken:
        raise StoreError(f"{path} is no calibration: {broken}. Make a new one: lockbench calibrate --save") from broken
    if calibration.schema_version != CALIBRATION_SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {calibration.schema_version}; this lockbench reads {CALIBRATION_SCHEMA_VERSION}"
        )
    return calibration
