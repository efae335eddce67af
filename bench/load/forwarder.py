"""The page's side of a live session: it hands the operations of each second on, and keeps what is told of them.

Nothing is computed here: this process drives the load, or is the master of those that do.
"""

import os
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import gevent
from gevent.event import AsyncResult, Event
from gevent.lock import RLock
from locust.env import Environment
from locust.runners import MasterRunner

from bench.jobs.keeper import keeper
from bench.load.channel import FD_VARIABLE, Channel
from bench.load.console_process import console_beside
from bench.load.locust_count import LocustCount
from bench.load.options import BadOptions, LoadSettings
from bench.load.process import ONLY_NODE, LoadProcess
from bench.records.network import NO_NETWORK
from bench.records.workload import JOBS
from bench.systems.registry import System

SECOND_S = 1.0
MOMENTS_KEPT = 600  # ten minutes
_NETWORK_WITHIN_S = 120.0  # eight lines of the longest round trip take a minute
_DIRECT: Mapping[str, Any] = MappingProxyType({"asked": NO_NETWORK, "before": [], "places": [], "rtt_us": None})


class Forwarder:
    """Of one page. `moments` are the newest, oldest first; each has a number of its own, that rises."""

    def __init__(self, channel: Channel | None, environment: Environment) -> None:
        """Without a channel, a process to compute is started with the first test: most pages never see one."""
        self.moments: deque[Mapping[str, Any]] = deque(maxlen=MOMENTS_KEPT)
        self.newest = 0
        self.session = 0  # the tests of this page, counted
        self.lost = False  # the process that computes them is gone
        self.staging: Mapping[str, Any] = {"systems": {}, "why_not": {}, "others": []}  # what buttons there are
        self.staged: Mapping[str, Any] = {"at_s": None, "systems": {}}  # what their holders do
        self.kept: Mapping[str, Any] | None = None  # the last session that was saved: its name, and files to hand out
        self.network: Mapping[str, Any] = _DIRECT  # of the test that runs, or is about to
        self.count = LocustCount(environment)
        self._environment = environment
        self._channel: Channel | None = None
        self._sending = RLock()
        self._over = Event()  # the test that is followed
        self._asked = 0  # networks, counted
        self._answer: AsyncResult[Mapping[str, Any]] = AsyncResult()
        self._begun = False  # a test, with this network
        self._following: gevent.Greenlet | None = None
        if channel is not None:
            self._connect(channel)

    @classmethod
    def beside(cls, environment: Environment) -> "Forwarder":
        """To the lockbench that has started this page; where none has, as with plain `locust`, to a process of its
        own."""
        number = os.environ.get(FD_VARIABLE)
        return cls(None if number is None else Channel(socket.socket(fileno=int(number))), environment)

    def _connect(self, channel: Channel) -> Channel:
        self._channel = channel
        gevent.spawn(self._read, channel)
        return channel

    def have_network(self, settings: LoadSettings, systems: Sequence[System]) -> None:
        """Have the network that a test asks for, from now to its end. Raises BadOptions.

        The lines are measured before this returns, which takes seconds where their round trip is long.
        """
        behind = {entry.name for entry in systems} | ({keeper().name} if settings.workload.name in JOBS else set())
        before = sorted(behind) if settings.network != NO_NETWORK else []
        if (settings.network, before) == (self.network["asked"], self.network["before"]):
            return
        self._asked += 1
        self._answer = AsyncResult()
        asked = {"number": self._asked, "network": settings.network, "systems": before, "seed": settings.seed}
        self._send("network", asked)
        try:
            answer = {"refused": "lockbench has ended"} if self.lost else self._answer.get(timeout=_NETWORK_WITHIN_S)
        except gevent.Timeout:
            answer = {"refused": "the delay lines did not open in time"}
        if "refused" in answer:
            self.network = _DIRECT
            raise BadOptions(f"--network: {answer['refused']}")
        self.network = {"asked": settings.network, "before": before, **answer}

    def begin(self, systems: Sequence[System], settings: LoadSettings) -> None:
        """A test begins: what was shown so far is of another one."""
        self._begun = True
        self.moments.clear()
        self.session += 1
        self.count.begin()
        runner, does = self._environment.runner, settings.workload
        meet = does.shared_keys > 0 and does.name not in JOBS
        about = {"session": self.session, "workload": does.name, "meet": meet}
        plan = {"does": does.model_dump(mode="json"), "seed": settings.seed, "network": settings.network}
        if does.name in JOBS:
            plan["records"] = keeper().name
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
        if self._begun:  # else this network waits for a test that begins next
            self._begun, self.network = False, _DIRECT
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
            if (channel := self._channel) is None:
                if kind != "begin":
                    return  # nobody has heard of anything that could go on, or end
                channel = self._connect(console_beside())
            self.lost = not channel.send(kind, content, body) or self.lost

    def _read(self, channel: Channel) -> None:
        while (message := channel.receive()) is not None:
            if message.kind in ("staging", "staged"):
                setattr(self, message.kind, message.content)
            elif message.kind == "kept":
                self.kept = message.content
            elif message.kind == "network":
                if message.content["number"] == self._asked:
                    self._answer.set(message.content)
            elif message.content["session"] == self.session:
                self.newest += 1
                self.moments.append({**message.content, "number": self.newest})
        self.lost = True
        self._answer.set({"refused": "lockbench has ended"})
