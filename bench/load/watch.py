"""What a load process is asked to look at beside its own work: the processors of the run, and the servers' processes.

The process that starts the load knows them; the one that measures knows when its window opens and closes.
"""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench.records.processor_time import Reading, read

_VARIABLE = "LOCKBENCH_WATCH"


def watch_variable(processors: Collection[int], processes: Mapping[str, int]) -> dict[str, str]:
    """The environment variable that asks a load process to look; `processes` are pids by name."""
    return {_VARIABLE: json.dumps({"processors": sorted(processors), "processes": dict(processes)})}


@dataclass(frozen=True, slots=True)
class Watch:
    """What to look at; nothing where nobody asked."""

    processors: tuple[int, ...] = ()
    processes: Mapping[str, int] | None = None

    @classmethod
    def asked_for(cls) -> "Watch":
        """What the environment asks for."""
        text = os.environ.get(_VARIABLE)
        if text is None:
            return cls()
        tree = json.loads(text)
        return cls(tuple(tree["processors"]), tree["processes"])

    def look(self) -> dict[str, Any] | None:
        """A reading as a message; None where there is nothing to look at."""
        return asdict(read(self.processors, self.processes or {})) if self.processors else None


def reading_of(message: Mapping[str, Any]) -> Reading:
    """The reading again."""
    return Reading(**message)
