"""What holders and a scenario that is played have in common: a thread that ends in order, and what they tell."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import LockbenchError
from bench.hazards.actor_process import Interrupted
from bench.hazards.lab.servers import LabServers
from bench.records.hazards import FaultWindow
from bench.systems.registry import System

RESOURCE = "referee"
_ENDS_WITHIN_S = 20.0
_MENDED_WITHIN_S = 60.0  # servers that must be started again included
_SAID_KEPT = 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where an act takes place. It begins when `after` returns: what was there before must have ended. `on_fault` is
    told each fault once it is over."""

    entry: System
    servers: LabServers
    log_path: Path
    on_fault: Callable[[FaultWindow], None]
    after: Callable[[], None]


class Act(ABC):
    """From its construction to `stop`, or to its own end. Every public method may be called from any thread."""

    def __init__(self, place: Place, fence: bool) -> None:
        self.fence = fence  # of the turns that begin from now on
        self._place = place
        self._stopping = threading.Event()
        self._closing = False
        self._said: list[str] = []  # the newest last
        self._thread = threading.Thread(target=self._run, name=f"on {place.entry.name}", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """End the faults that are in force, and all actors. Does not wait for it."""
        self._stopping.set()

    def close(self) -> None:
        """The same, at the end of the lab: its servers are about to be killed, so none is mended. Waits."""
        self._closing = True
        self.stop()
        self._thread.join(_ENDS_WITHIN_S)

    def wait_stopped(self) -> None:
        """After `stop`: until everything is put right."""
        self._thread.join(_MENDED_WITHIN_S)

    def report(self) -> dict[str, Any]:
        """What the page shows, ready for JSON."""
        return {
            **self._report(),
            "fence": self.fence,
            "tokens": self._place.entry.client_class.capabilities.fencing_source is not None,
            "running": self.running,
            "said": self._said.copy(),
        }

    @abstractmethod
    def _report(self) -> dict[str, Any]:
        """What only this sort of act has to tell."""

    @abstractmethod
    def _act(self) -> None:
        """In the act's own thread, from begin to end. Raises LockbenchError, OSError, ValueError, Interrupted."""

    def _run(self) -> None:
        began = False
        try:
            self._place.after()
            if self._stopping.is_set():
                raise Interrupted
            began = True
            self._act()
        except Interrupted:
            self._say("stopped")
        except (LockbenchError, OSError, ValueError) as failed:
            self._say(str(failed))
        finally:
            self._stopping.set()
            if began:
                self._mend_servers()

    def _mend_servers(self) -> None:
        """Servers as they were, whatever went wrong half-way."""
        servers = self._place.servers
        if self._closing:
            return
        try:
            if servers.broken():
                servers.mend()
        except (LockbenchError, OSError, ValueError) as failed:
            self._say(f"the servers of {self._place.entry.name} could not be mended: {failed}")

    def _say(self, line: str) -> None:
        self._said.append(line)
        del self._said[:-_SAID_KEPT]
