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

from bench.load.channel import FD_VARIABLE, Channel
from bench.load.process import ONLY_NODE, LoadProcess
from bench.records.workload import JOBS, Behaviour

SECOND_S = 1.0
MOMENTS_KEPT = 600  # ten minutes


class Forwarder:
    """Of one page. `moments` are the newest, oldest first; each has a number of its own, that rises."""

    def __init__(self, channel: Channel) -> None:
        self.moments: deque[Mapping[str, Any]] = deque(maxlen=MOMENTS_KEPT)
        self.newest = 0
        self.session = 0  # the tests of this page, counted
        self.lost = False  # the process that computes them is gone
        self.staging: Mapping[str, Any] = {"systems": {}, "why_not": {}, "others": []}  # what buttons there are
        self.staged: Mapping[str, Any] = {"at_s": None, "systems": {}}  # what their holders do
        self._channel = channel
        self._sending = RLock()
        self._over = Event()  # the test that is followed
        self._following: gevent.Greenlet | None = None
        gevent.spawn(self._read)

    @classmethod
    def asked_for(cls) -> "Forwarder | None":
        """None where nobody computes anything for this page, as with plain `locust`."""
        number = os.environ.get(FD_VARIABLE)
        return None if number is None else cls(Channel(socket.socket(fileno=int(number))))

    def begin(self, systems: Sequence[str], workload: Behaviour) -> None:
        """A test begins: what was shown so far is of another one."""
        self.moments.clear()
        self.session += 1
        meet = workload.shared_keys > 0 and workload.name not in JOBS
        about = {"session": self.session, "workload": workload.name, "meet": meet}
        self._send("begin", {**about, "systems": list(systems)})

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
        rows = second["rows"]
        about = {name: value for name, value in second.items() if name != "rows"}
        lengths = {system: len(packed) for system, packed in rows.items()}
        self._send("second", {**about, "node": node, "lengths": lengths}, b"".join(rows.values()))

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
            elif message.content["session"] == self.session:
                self.newest += 1
                self.moments.append({**message.content, "number": self.newest})
        self.lost = True
