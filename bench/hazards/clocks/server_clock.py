"""The wall clock of a running server: set wrong, or made to run fast, and put right again; without a restart, and for
this server alone."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import psutil

from bench.hazards.clocks.halt import halted
from bench.hazards.clocks.process_clock import ProcessClock
from bench.hazards.clocks.refusal import CannotStep
from bench.servers.process import ProcessId
from bench.servers.running.state import NodeState

OFFSET_MS_MAX = 20 * 365 * 86_400_000  # 20 years: no server's time may come near the beginning of the epoch
RATE_MAX = 0.5  # faster or slower than that no oscillator runs, and a slow clock still goes forward


class ServerClock:
    """One server process, with those that it forked and will fork (Postgres has one for each client).

    Use it as a context manager: entered, the server reads its clock through our code, still with the true time; left,
    however the block ends, the server is as it was. A step within the block halts nothing, except that a server with
    children forks none for the few moments in which the step is carried to them.

    Every method but `remove` raises ProcessLookupError when the server is gone, and CannotStep when its clock cannot be
    stepped here. Used by one thread at a time.
    """

    def __init__(self, process: ProcessId) -> None:
        self.process = process
        self._offset_us = 0

    @classmethod
    def of(cls, node: NodeState) -> Self:
        """The clock of a native node. Raises CannotStep where the node is no process of ours."""
        process = node.process
        if process is None:
            raise CannotStep(
                f"{node.node.name} is no process of ours: only clocks of private, native servers are stepped"
            )
        return cls(process)

    @property
    def offset_ms(self) -> float:
        """How far the server's wall clock is set ahead of the machine's."""
        return self._offset_us / 1_000

    def step(self, offset_ms: float) -> None:
        """Set the whole offset from the machine's clock, to a microsecond; not added to what was set before.

        In force for every clock reading of the server that begins after the return.
        """
        if not math.isfinite(offset_ms) or abs(offset_ms) > OFFSET_MS_MAX:
            raise ValueError(f"offset_ms is {offset_ms}: it lies between ±{OFFSET_MS_MAX}")
        offset_us = round(offset_ms * 1_000)
        self._for_all(lambda clock: clock.set(offset_us))
        self._offset_us = offset_us

    def drift(self, rate: float) -> int:
        """Run fast by this share from the machine's time on, without a step (slow, where negative). Returns the instant
        of the machine's wall clock at which it begins, in µs."""
        if not abs(rate) <= RATE_MAX:
            raise ValueError(f"rate is {rate}: it lies between ±{RATE_MAX}")
        start_us = time.time_ns() // 1_000
        self._for_all(lambda clock: clock.set(0, rate, start_us))
        self._offset_us = 0
        return start_us

    def back(self) -> None:
        """The machine's time again."""
        self.step(0.0)

    def remove(self) -> None:
        """The kernel's own functions again, and so the machine's time. Nothing to do for a server that is gone."""
        with suppress(ProcessLookupError):
            self._for_all(ProcessClock.restore)
        self._offset_us = 0

    def __enter__(self) -> Self:
        self.back()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.remove()

    def _for_all(self, change: Callable[[ProcessClock], None]) -> None:
        """Change the server first, then its children.

        Who is forked after the server was changed begins with a copy of the change. Who was forked before is found
        among the children, which are listed while the server is halted, so that no fork is half done.
        """
        pid = self.process.pid
        if not self.process.alive():
            raise ProcessLookupError(f"server process {pid} is gone")
        change(ProcessClock(pid))
        try:
            server = psutil.Process(pid)
            if not server.children():
                return
            with halted(pid):
                for child in server.children(recursive=True):
                    with suppress(ProcessLookupError):  # its client went away
                        change(ProcessClock(child.pid))
        except psutil.NoSuchProcess as gone:
            raise ProcessLookupError(f"server process {pid} is gone") from gone
