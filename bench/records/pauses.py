"""How long a machine keeps a process that is due from running: recorded where the locks of a reader are to be held.

A process asks for an instant every ms and looks at the monotonic clock when it wakes: how late is it? Scheduler,
hypervisor, swapping and a machine that stands still all show. What does not: the garbage collector of another program,
which stops that program only.
"""

import gc
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.errors import LockbenchError
from bench.records.environment import cpu_model
from bench.records.histogram import LatencyHistogram
from bench.records.processors import usable_processors

KIND = "lockbench pauses"
SLICE_NS = 1_000_000_000  # then whoever shows progress has its turn, unobserved


class Pauses(BaseModel):
    """What was observed; `late` is an encoded histogram of ns, one value for each time that the process woke."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str = KIND
    schema_version: int = 1
    started_at: str  # ISO 8601, UTC
    observed_s: float
    interval_ns: int  # between instants that are due
    late: str
    cpu_model: str
    cpu_count: int
    kernel: str
    load_average_1m: float

    @property
    def histogram(self) -> LatencyHistogram:
        """Raises ValueError when it is damaged."""
        return LatencyHistogram.decode(self.late)


class PauseRecorder:
    """Observes the process that it is in. What it has is in `histogram` (ns) and `observed_ns` at any time, also after
    an interruption."""

    def __init__(
        self,
        interval_ns: int,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.histogram = LatencyHistogram()
        self.observed_ns = 0
        self.interval_ns, self._clock, self._sleep = interval_ns, clock, sleep

    def run(self, for_ns: int, show: Callable[[float], None] = lambda _: None) -> None:
        """Observe until so many ns have been; `show` is given the seconds so far, about once in each."""
        gc.disable()  # our own collector is none of the machine's pauses
        try:
            while (left_ns := for_ns - self.observed_ns) > 0:
                self._observe(min(left_ns, SLICE_NS))
                show(self.observed_ns / 1e9)
        finally:
            gc.enable()

    def _observe(self, for_ns: int) -> None:
        """Record how late each waking was. What is due next is the first instant after it: instants that a pause took
        are counted by its length (`bench.analysis.network.lateness`), not one by one."""
        began_ns = due_ns = self._clock()
        try:
            while (now_ns := self._clock()) - began_ns < for_ns:
                due_ns += (max(0, now_ns - due_ns) // self.interval_ns + 1) * self.interval_ns
                while (left_ns := due_ns - self._clock()) > 0:
                    self._sleep(left_ns / 1e9)
                self.histogram.record(self._clock() - due_ns)
        finally:
            self.observed_ns += self._clock() - began_ns


def pauses_record(recorder: PauseRecorder, started_at: str) -> Pauses:
    """What was recorded, with the machine that it was recorded on."""
    return Pauses(
        started_at=started_at,
        observed_s=recorder.observed_ns / 1e9,
        interval_ns=recorder.interval_ns,
        late=recorder.histogram.encode(),
        cpu_model=cpu_model(),
        cpu_count=usable_processors(),
        kernel=platform.release(),
        load_average_1m=round(os.getloadavg()[0], 2),
    )


def read_pauses(path: Path) -> Pauses:
    """What `lockbench pauses` wrote. Raises LockbenchError, in one message."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as refused:
        reason = refused.strerror if isinstance(refused, OSError) else "it is no text"
        raise LockbenchError(f"cannot read {path}: {reason}. `lockbench pauses --out {path}` records one") from refused
    try:
        if json.loads(text).get("kind") != KIND:
            raise LockbenchError(f"{path} is no record of pauses: `lockbench pauses --out FILE` makes one")
        found = Pauses.model_validate_json(text)
        if not found.histogram.total:
            raise LockbenchError(f"{path} has no pause: record for longer than an interval")
    except (ValidationError, ValueError, AttributeError, RecursionError) as broken:
        raise LockbenchError(f"{path} is damaged: record it again with `lockbench pauses`") from broken
    return found
