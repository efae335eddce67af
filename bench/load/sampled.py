"""Where a load process's processor time goes: a sampling profile for `lockbench calibrate`, off unless asked for.

A deterministic profiler (cProfile) would charge every Python call and none of the C ones, and greenlets that switch in
the middle of a call confuse its clock. Sampling costs nothing between two samples, and each sample belongs to whatever
greenlet runs: the kernel counts this process's processor time and interrupts it every so often. Python handles the
signal when the C call that it interrupted returns, so the time of `send` is found in the function that called it.
"""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the name of the variable is read by processes that must not import Locust
    from locust.env import Environment
    from locust.event import Events

SAMPLE_INTO = "LOCKBENCH_SAMPLE_INTO"  # an existing folder, in the environment of the load process
_INTERVAL_S = 0.001
# Connecting and the probe before the warm-up are no part of what is measured.
_PREPARATION = frozenset({"_prepare", "on_start", "on_stop"})


class Sampler:
    """Counts, by function, how often the processor was found in it (its own time, not that of what it calls)."""

    def __init__(self) -> None:
        self._functions: Counter[tuple[str, str]] = Counter()
        self._cpu = os.times()

    def start(self, **_: Any) -> None:
        """Sample from now on. Called when a test starts."""
        self._functions.clear()
        self._cpu = os.times()
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL_S, _INTERVAL_S)

    def write(self, environment: "Environment", **_: Any) -> None:
        """End sampling and write what was found. Called when a test stops."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        now = os.times()
        tree = {
            "user_s": now.user - self._cpu.user,
            "system_s": now.system - self._cpu.system,
            "functions": {f"{file}:{name}": count for (file, name), count in self._functions.items()},
        }
        path = Path(os.environ[SAMPLE_INTO]) / f"samples-{os.getpid()}.json"
        path.write_text(json.dumps(tree), encoding="utf-8")

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        if frame is None:
            return
        outer: FrameType | None = frame
        while outer is not None:
            if outer.f_code.co_name in _PREPARATION:
                return
            outer = outer.f_back
        self._functions[frame.f_code.co_filename, frame.f_code.co_name] += 1


def sample_if_asked(events: "Events") -> None:
    """Sample every test of this process when its environment names a folder for the result."""
    if SAMPLE_INTO in os.environ:
        sampler = Sampler()
        hooks: Any = events  # Locust's EventHook has no annotations
        hooks.test_start.add_listener(sampler.start)
        hooks.test_stop.add_listener(sampler.write)
