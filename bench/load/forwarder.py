"""The page's side of a live session: it hands the operations of each second on, and keeps what is told of them.

Nothing is computed here: this process drives the load, or is the master of those that do.
"""

import os
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import gevent
from gevent.event import Event
from gevent.lock import RLock
from locust.env import Environment
from locust.runners import MasterRunner

from bench.load.channel import FD_VARIABLE, Channel
from bench.load.locust_count import LocustCount
from bench.load.options import LoadSettings
from bench.load.process import ONLY_NODE, LoadProcess
from bench.records.workload import JOBS
from bench.systems.registry import System

SECOND_S = 1.0
MOMENTS_KEPT = 600  # ten minutes


class Forwarder:
    """Of one page. `moments` are the newest, oldest first; each has a number of its own, that rises."""

    def __init__(self, channel: Channel, environment: Environment) -> None:
        self.moments: deque[Mapping[str, Any]] = deque(maxlen=MOMENTS_KEPT)
        self.newest = 0
        self.session = 0  # the tests of this page, counted
        self.lost = False  # the process that computes them is gone
        self.staging: Mapping[str, Any] = {"systems": {}, "why_not": {}, "others": []}  # what buttons there are
        self.staged: Mapping[str, Any] = {"at_s": None, "systems": {}}  # what their holders do
        self.kept: Mapping[str, Any] | None = None  # the last session that was saved: its name, and files to hand out
        self.count = LocustCount(environment)
        self._environment = environment
        self._channel = channel
        self._sending = RLock()
        self._over = Event()  # the test that is followed
        self._following: gevent.Greenlet | None = None
        gevent.spawn(self._read)

    @classmethod
    def asked_for(cls, environment: Environment) -> "Forwarder | None":
        """None where nobody computes anything for this page, as with plain `locust`."""
        number = os.environ.get(FD_VARIABLE)
        return None if number is None else cls(Channel(socket.socket(fileno=int(number))), environment)

    def begin(self, systems: Sequence[System], settings: LoadSettings) -> None:
        """A test begins: what was shown so far is of another one."""
        self.moments.clear()
        self.session += 1
        self.count.begin()
        runner, does = self._environment.runner, settings.workload
        meet = does.shared_keys > 0 and does.name not in JOBS
        about = {"session": self.session, "workload": does.name, "meet": meet}
        plan = {"does": does.model_dump(mode="json"), "seed": settings.seed}
        waits = {entry.name: str(settings.wait(entry)) for entry in systems}
        nodes = list(runner.clients) if isinstance(runner, MasterRunner) else [ONLY_NODE]
        self._send("begin", {**about, **plan, "systems": list(waits), "waits": waits, "nodes": nodes})

    def follow(self, process: LoadProcess) -> None:
        """Of the only process: hand on what it did, every second until `end`."""

        def tell() -> None:
            while not self._over.wait(SECOND_S):
                self.add(ONLY_NODE, process.second())

        self._over.clear()
        self._following = gevent.spawn(tell)

    def end(self, process: LoadProcess | None) -> None:
        """The test has ended; `process` is the only one, None where workers tell the rest themselves."""
        if self._following is not None:
            self._over.set()
            self._following.join()  # killed, it would leave half a message behind
            self._following = None
        if process is not None:
            self.add(ONLY_NODE, process.second())
        self._send("end", {})

    def add(self, node: str, second: Mapping[str, Any]) -> None:
        """What one process did since it told last."""
        rows, around = second["rows"], second["around"]
        about = {name: value for name, value in second.items() if name not in ("rows", "around")}
        lengths = {
            "lengths": {system: len(packed) for system, packed in rows.items()},
            "around_lengths": {system: len(packed) for system, packed in around.items()},
        }
        runner: Any = self._environment.runner
        by_locust = {"locust_requests": self.count.so_far(), "asked_clients": runner.target_user_count}
        self._send(
            "second", {**about, **by_locust, **lengths, "node": node}, b"".join((*rows.values(), *around.values()))
        )

    def press(self, what: Mapping[str, Any]) -> None:
        """A button was pressed; everything in it was checked against `staging`."""
        self._send("press", what)

    def _send(self, kind: str, content: Mapping[str, Any], body: bytes = b"") -> None:
        with self._sending:
            self.lost = not self._channel.send(kind, content, body) or self.lost

    def _read(self) -> None:
        while (message := self._channel.receive()) is not None:
            if message.kind in ("staging", "staged"):
                setattr(self, message.kind, message.content)
            elif message.kind == "kept":
                self.kept = message.content
            elif message.content["session"] == self.session:
                self.newest += 1
                self.moments.append({**message.content, "number": self.newest})
        self.lost = True
