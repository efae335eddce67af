"""What the load processes of one live session have reported: its rows lie in files, all else is a few numbers.

The files have no name: whatever ends this process, they are gone with it, and no half of a campaign is left. Memory
does not grow with the session, and neither does what is kept past a bound.
"""

import os
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import Any

from bench.errors import LockbenchError
from bench.load.rows import ROW_BYTES
from bench.records.live_seconds import HEAD, lines_of
from bench.servers.process import clock_id

ROWS_AT_MOST = 4_000_000  # of all systems, 320 MB: what is kept is checked in memory
SILENT_NS = 3_000_000_000  # and longer: a load process is lost. They report every second
_NEVER_NS = (1 << 63) - 1


class NotKept(LockbenchError):
    """There is nothing to keep of a session, or it cannot be written; the message says why."""


class Received:
    """Of one session, from its first second on. One thread adds, and another may wait, seal and read."""

    def __init__(self, begin: Mapping[str, Any], folder: Path, rows_at_most: int = ROWS_AT_MOST) -> None:
        """`begin` as `Forwarder.begin` says it; the files take room in `folder`. Raises OSError."""
        self.begin = begin
        self.systems: Sequence[str] = begin["systems"]
        self.cut_off = ""  # why what came later is not kept; empty: nothing was left out
        self.elsewhere = False  # load processes on another machine, whose clock is another
        self.clients_most: Counter[str] = Counter()  # by system
        self.over = threading.Event()  # every load process has reported its end, or nothing more is kept
        with ExitStack() as opened:
            self._rows, self._around = (
                {name: opened.enter_context(_file_in(folder)) for name in self.systems} for _ in range(2)
            )
            self._seconds = opened.enter_context(_file_in(folder))
            _write(self._seconds, HEAD.encode())
            self._files = opened.pop_all()
        self._rows_left = rows_at_most
        self._first: dict[str, Mapping[str, Any]] = {}  # by process
        self._last: dict[str, Mapping[str, Any]] = {}
        self._lag: dict[str, Counter[str]] = {}  # all seconds together
        self._asked: set[int] = set()  # numbers of clients
        self.sealed = False
        self._adding = threading.Lock()

    def add(self, second: Mapping[str, Any], packed: bytes) -> None:
        """A second of one load process, as `Forwarder.add` says it."""
        with self._adding:
            if self.sealed or self.cut_off or second["session"] != self.begin["session"]:
                return
            self.elsewhere = self.elsewhere or second["clock"] != clock_id()
            if self.elsewhere or not self._keep(second, packed):
                self.over.set()
                return
            node = second["node"]
            self._first.setdefault(node, second)
            self._last[node] = second
            self._lag.setdefault(node, Counter()).update(second["lag"])
            self._asked.add(second["asked_clients"])
            now = Counter[str]()
            for one in self._last.values():
                # Who is silent is lost, and its clients may be others' by now.
                if second["at_ns"] - one["at_ns"] < SILENT_NS:
                    now.update(one["clients"])
            self.clients_most |= now
            if not self.missing:
                self.over.set()

    def show(self, moment: Mapping[str, Any], at_ns: int) -> None:
        """What the page shows of a moment."""
        with self._adding:
            if not self.sealed and not self.cut_off:
                try:
                    _write(self._seconds, lines_of(moment, at_ns).encode())
                except OSError as refused:
                    self.cut_off = _no_room(refused)
                    self.over.set()

    def seal(self) -> None:
        """Nothing is added any more."""
        with self._adding:
            self.sealed = True

    def close(self) -> None:
        """Forget all of it."""
        self._files.close()

    # -- once it is sealed -----------------------------------------------------------------------------------------

    @property
    def missing(self) -> int:
        """How many load processes have not reported their end."""
        if self.cut_off:
            return 0
        nodes = {*self.begin["nodes"], *self._last}
        return sum(not self._last.get(node, {}).get("stopped") for node in nodes)

    @property
    def clients_changed(self) -> bool:
        return len(self._asked - {0}) > 1

    @property
    def processes(self) -> int:
        """How many load processes reported anything."""
        return len(self._last)

    @property
    def window_ns(self) -> tuple[int, int] | None:
        """From the first to the last instant at which operations were counted; None where none ever was."""
        opened = {node: one for node, one in self._last.items() if one["opens_ns"] != _NEVER_NS}
        if not opened:
            return None
        opens_ns = min(one["opens_ns"] for one in opened.values())
        closes_ns = max(min(one["closes_ns"], one["at_ns"]) for one in opened.values())
        return (opens_ns, closes_ns) if closes_ns > opens_ns else None

    def jobs(self) -> Sequence[Mapping[str, Any]] | None:
        """What the jobs of each load process were answered, as `Jobs.counted` says it; None where one did not tell."""
        answers = [self._last.get(node, {}).get("jobs") for node in sorted({*self.begin["nodes"], *self._last})]
        known = [one for one in answers if one is not None]
        return known if len(known) == len(answers) else None

    def has_rows(self, system: str) -> bool:
        return os.fstat(self._rows[system].fileno()).st_size > 0

    def packed_rows(self, system: str) -> bytes:
        """Every row of a system."""
        return _content(self._rows[system])

    def packed_around(self, system: str) -> bytes:
        """The rows of operations that began before the window, and ended in it."""
        return _content(self._around[system])

    def seconds(self) -> bytes:
        """The content of seconds.csv."""
        return _content(self._seconds)

    def ends(self, system: str, window_s: float, started_at: str) -> list[dict[str, Any]]:
        """What each load process counted of a system, as `totals.add_up` takes it."""
        return [self._end(node, system, window_s, started_at) for node in sorted(self._last)]

    def _end(self, node: str, system: str, window_s: float, started_at: str) -> dict[str, Any]:
        first, last = self._first[node], self._last[node]
        seconds = (last["at_ns"] - first["at_ns"]) / 1e9
        share = (last["cpu_ns"] - first["cpu_ns"]) / 1e9 / seconds if seconds > 0 else 0.0
        return {
            **last["counted"][system],
            "lost_updates": last["lost_updates"].get(system, 0),
            "climb_requests": 0,
            "lag": self._lag[node],
            "cpu_s": share * window_s,
            "started_at": started_at,
            "observations": last["observations"][system],
            "window_ns": self.window_ns,
        }

    def arrivals(self) -> int:
        """Of an open loop, by its schedule alone."""
        return sum(one["arrivals"] for one in self._last.values())

    def locust_requests(self, system: str) -> int:
        """Acquires that Locust counted, when the last rows came."""
        return max((one["locust_requests"].get(system, 0) for one in self._last.values()), default=0)

    def _keep(self, second: Mapping[str, Any], packed: bytes) -> bool:
        """All rows of a second, or none."""
        rows = len(packed) // ROW_BYTES
        if rows > self._rows_left:
            self.cut_off = "it has more operations than are kept"
            return False
        kinds = ((self._rows, second["lengths"]), (self._around, second["around_lengths"]))
        parts = [(files[name], length) for files, lengths in kinds for name, length in lengths.items()]
        ends = [file.tell() for file, _ in parts]
        first = 0
        try:
            for file, length in parts:
                _write(file, packed[first : first + length])
                first += length
        except OSError as refused:
            self.cut_off = _no_room(refused)
            for (file, _), end in zip(parts, ends, strict=True):
                file.truncate(end)
            return False
        self._rows_left -= rows
        return True


def _file_in(folder: Path) -> FileIO:
    return tempfile.TemporaryFile(dir=folder, buffering=0)


def _write(file: FileIO, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def _content(file: FileIO) -> bytes:
    file.seek(0)
    return file.readall()


def _no_room(refused: OSError) -> str:
    return f"the data folder cannot be written: {refused.strerror}"
