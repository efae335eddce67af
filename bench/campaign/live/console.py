"""What the operations of a live session say, second by second: computed here, away from the processes that load.

Instants of several machines are never compared. Where load processes have different clocks, whatever needs the order of
operations of different clients is left out, and the page says so. Which operations are recent is decided by when they
were reported, so each other clock is moved once, to where its first report puts it.
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import psutil

from bench.analysis.contention.live import double_holds, hand_overs, latencies
from bench.analysis.holds import Holds, Refused, RunEvents
from bench.campaign.live.received import SILENT_NS
from bench.load.recorder import count_rows
from bench.load.rows import CODES, Rows, as_rows, column
from bench.load.shown import FAILURES
from bench.records.numbers import percent
from bench.servers.process import clock_id
from bench.systems.base import Outcome

SECONDS = 10  # what percentiles and hand-offs are of
REACH_SECONDS = 60  # how far back a hold is looked for that another one overlaps
ROWS_AT_MOST = 200_000  # of one system, beside the newest second's: the busiest are looked back at for a shorter time
_NS = 1_000_000_000
_INSTANTS = ("intended_ns", "started_ns", "acquired_ns", "released_ns", "freed_ns")
_RATE_OF_S = 0.5  # and more tell a rate
_BUSY_GENERATOR, _BUSY_MACHINE = 0.7, 0.9  # of a processor, and of all


class _System:
    """The operations of one system."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()  # of all since the start
        self._kept: deque[Rows] = deque()
        self._rates: dict[str, float] = {}  # pairs a second, by process
        self._doubles: set[tuple[int, int, int]] = set()
        self._double_holds = 0

    def add(self, rows: Rows) -> None:
        self._kept.append(rows)
        self._forget()
        counts = count_rows(rows)
        self.outcomes.update({name: counts[name] for name in counts if name.startswith(("acquire/", "release/"))})

    def set_rate(self, node: str, rows: Rows, seconds: float) -> None:
        """How many pairs one process made in its last second, which was so long."""
        self._rates[node] = int((column(rows, "released") == CODES[Outcome.RELEASED]).sum()) / seconds

    def facts(self, one_clock: bool, meet: bool, speaking: Collection[str]) -> dict[str, Any]:
        """What a moment says. A rate is that of processes that are `speaking`."""
        rates = [self._rates[node] for node in speaking if node in self._rates]
        failed = sum(n for name, n in self.outcomes.items() if name.partition("/")[2] in FAILURES)
        found: dict[str, Any] = {
            "pairs_per_s": sum(rates) if rates else None,
            "outcomes": dict(sorted(self.outcomes.items())),
            "failed": failed,
            "double_holds": None,
        }
        if not self._kept:
            return found
        events = _events(np.concatenate(self._kept))
        since_ns = self._newest_ns - SECONDS * _NS
        found |= latencies(events, since_ns)
        if not one_clock:
            return found
        if meet:
            found |= hand_overs(events, since_ns)
        doubles = double_holds(events)
        self._double_holds += len(doubles - self._doubles)
        self._doubles = doubles
        return found | {"double_holds": self._double_holds}

    def _forget(self) -> None:
        oldest_ns = self._newest_ns - REACH_SECONDS * _NS
        while sum(map(len, self._kept)) > ROWS_AT_MOST + len(self._kept[-1]) or _newest_ns(self._kept[0]) < oldest_ns:
            self._kept.popleft()

    @property
    def _newest_ns(self) -> int:
        return max(map(_newest_ns, self._kept))


class Console:
    """One live session. `moment` tells of it, once a second."""

    def __init__(self, begin: Mapping[str, Any], at_s: float) -> None:
        """`begin` as `Forwarder.begin` says it."""
        self._systems = {name: _System() for name in begin["systems"]}
        self._about = {"session": begin["session"], "workload": begin["workload"]}
        self._meet: bool = begin["meet"]
        self._began_s = at_s
        self._processes: dict[str, Mapping[str, Any]] = {}  # what each told last
        self._heard_ns: dict[str, int] = {}  # and when, on the clock here
        self._ahead_ns = {clock_id(): 0}  # by clock: how far this machine's is ahead of it
        self._cpu: dict[str, tuple[int, int]] = {}  # by process: processor time and instant of the last moment
        psutil.cpu_percent()  # which tells of the time since the call before

    def add(self, second: Mapping[str, Any], packed: bytes, now_ns: int) -> None:
        """What one load process did, as `LoadProcess.second` and `Forwarder.add` say it; `now_ns` on the clock here."""
        node, before = second["node"], self._processes.get(second["node"])
        self._cpu.setdefault(node, (second["cpu_ns"], second["at_ns"]))
        self._processes[node], self._heard_ns[node] = second, now_ns
        seconds = 0.0 if before is None else (second["at_ns"] - before["at_ns"]) / _NS
        ahead_ns = self._ahead_ns.setdefault(second["clock"], now_ns - second["at_ns"])
        first = 0
        for system, length in second["lengths"].items():
            rows = _moved(as_rows(packed[first : first + length]), ahead_ns)
            first += length
            if (shown := self._systems.get(system)) is None:
                continue  # of a test that has just ended
            if length:
                shown.add(rows)
            if seconds >= _RATE_OF_S:  # the last one before the end may be much shorter
                shown.set_rate(node, rows, seconds)

    def moment(self, at_s: float) -> dict[str, Any]:
        """Everything that the page shows of now; `at_s` on the clock that the session began by."""
        speaking = self._speaking()
        one_clock = len({one["clock"] for one in self._processes.values()}) <= 1
        generator = self._generator_share()
        machine = psutil.cpu_percent() / 100
        return {
            **self._about,
            "at_s": self.at_s(at_s),
            "seconds": SECONDS,
            "processes": len(speaking),
            "systems": {name: one.facts(one_clock, self._meet, speaking) for name, one in self._systems.items()},
            "holders": sum(one["holders"] for one in speaking.values()),
            "waiters": sum(one["waiters"] for one in speaking.values()),
            "generator_cpu_share": generator,
            "machine_cpu_share": machine,
            "warnings": _warnings(generator, machine, one_clock),
        }

    def at_s(self, at_s: float) -> float:
        """How long the session has lasted, at an instant of the clock that it began by."""
        return round(at_s - self._began_s, 3)

    def _speaking(self) -> Mapping[str, Mapping[str, Any]]:
        """Processes that are not lost, with what they told last: of one that is lost that is no longer so."""
        newest_ns = max(self._heard_ns.values(), default=0)
        return {
            node: report for node, report in self._processes.items() if newest_ns - self._heard_ns[node] < SILENT_NS
        }

    def _generator_share(self) -> float:
        """Of one processor, of the busiest load process since the last moment."""
        shares = [0.0]
        for node, report in self._processes.items():
            cpu_ns, at_ns = self._cpu[node]
            if report["at_ns"] > at_ns:
                shares.append((report["cpu_ns"] - cpu_ns) / (report["at_ns"] - at_ns))
                self._cpu[node] = (report["cpu_ns"], report["at_ns"])
        return max(shares)


def _warnings(generator: float, machine: float, one_clock: bool) -> list[str]:
    found = []
    if generator >= _BUSY_GENERATOR:
        found.append(
            f"A load process uses {percent(generator)} of a processor: times include its own, and the rate is a lower "
            "bound. Use more processes, or fewer clients."
        )
    elif machine >= _BUSY_MACHINE:
        found.append(f"The machine is {percent(machine)} busy: times include waits for a processor.")
    if not one_clock:
        found.append("Load runs on several machines, whose clocks are not compared: no hand-offs and no double holds.")
    return found


def _moved(rows: Rows, by_ns: int) -> Rows:
    """The same operations at other instants."""
    if not by_ns:
        return rows
    found = rows.copy()
    for name in _INSTANTS:
        column(found, name)[:] += by_ns
    return found


def _newest_ns(rows: Rows) -> int:
    return int(column(rows, "acquired_ns").max())


def _events(rows: Rows) -> RunEvents:
    granted = column(rows, "outcome") == CODES[Outcome.ACQUIRED]
    names = ("client", "key", "started_ns", "acquired_ns", "released_ns", "token", "intended_ns", "freed_ns")
    holds = Holds.of(*(column(rows[granted], name) for name in names))
    others = rows[~granted]
    key, intended_ns, started_ns, answered_ns = (
        column(others, name) for name in ("key", "intended_ns", "started_ns", "acquired_ns")
    )
    refused = Refused(key, intended_ns, started_ns, answered_ns)
    clients = len(np.unique(column(rows, "client")))
    return RunEvents({}, holds, clients, holds.intended_ns, holds.acquired_ns - holds.intended_ns, refused)
