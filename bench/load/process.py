"""One load process's part of a test: prepare, let the clients in, measure a window, hand over what was recorded.

Locust runs one such part in a single process, or one in each worker. The master has none; it has the `Collector`, with
which these parts speak by Locust's own messages (in a single process, Locust delivers them to itself).
"""

import gc
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from time import monotonic_ns, process_time_ns, time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import gevent
from gevent.event import Event
from gevent.pool import Group
from locust.env import Environment
from locust.runners import WorkerRunner

from bench.errors import LockbenchError
from bench.load.climb import Climb
from bench.load.endpoints import Address, behind_lines, endpoint_of, not_reached
from bench.load.keys import Deliveries, EvenKeys, Keys, OwnKey, ZipfKeys, zipf_shares
from bench.load.loop import idle_lag_us_p50, measure_lag
from bench.load.options import LoadSettings
from bench.load.overlap import CLIENTS as PROBE_CLIENTS
from bench.load.overlap import ProbeFailed, observe_overlap
from bench.load.pool import Borrower, Pool
from bench.load.recorder import Recorder, acquires
from bench.load.result import write_jobs
from bench.load.schedule import ClosedLoop, OpenLoop, Schedule, Share, count_between, offsets_ns
from bench.load.thinking import EXPONENTIAL, think_ns
from bench.load.watch import Watch
from bench.load.window import Window
from bench.load.window_view import write_edges
from bench.records.histogram import LatencyHistogram
from bench.records.workload import CONSUME, CONTENDED, HOT_COLD, JOBS, STRANGERS_PAUSE_MS
from bench.servers.endpoint import Endpoint
from bench.servers.process import clock_id
from bench.systems.base import ClientOptions, LockClient
from bench.systems.registry import System

if TYPE_CHECKING:
    from bench.load.jobs import Jobs

READY = "lockbench-ready"
WINDOW = "lockbench-window"
FAILED = "lockbench-failed"
CLIMBED = "lockbench-climbed"
TOP = "lockbench-top"

ASKS, HOLDS = "asks", "holds"
CLIENTS_PER_PROCESS = 100_000
ONLY_NODE = "local"  # Locust's name for itself in the messages that a single process sends itself
_GIVE_UP_FAILURES = 3
_WATCH_INTERVAL_S = 0.25
_LOOK_BEFORE_NS = 50_000_000  # a look at the machine takes milliseconds, which must not fall into the window


PROCESSES: "WeakKeyDictionary[Environment, LoadProcess]" = WeakKeyDictionary()  # of the running tests


def process_of(environment: Environment) -> "LoadProcess | None":
    """The load process of the running test; None when its options were refused."""
    return PROCESSES.get(environment)


class Member(Protocol):
    """A client of this process. `doing` is ASKS while it waits for a lock, HOLDS while it has one, else empty."""

    @property
    def doing(self) -> str: ...

    @property
    def drives(self) -> str:
        """The name of its system."""


class LoadProcess:
    """State shared by all clients of one process. `failure` says why the test cannot go on.

    `workers` are the names of all processes, in a test without a fixed window; with one, the master names them later.
    `shown`: the number of the live session whose page takes what was recorded, second by second; 0 where none does.
    `lines`: where the addresses of the servers are reached through delay lines; empty where clients go directly.
    """

    def __init__(
        self,
        environment: Environment,
        settings: LoadSettings,
        entries: tuple[System, ...],
        on_done: Callable[[], None] = lambda: None,
        workers: Sequence[str] = (),
        shown: int = 0,
        lines: Mapping[Address, Address] = MappingProxyType({}),
    ) -> None:
        self.environment = environment
        self.settings = settings
        self.entries = entries
        self.window = Window()
        does = settings.workload
        keep_rows = settings.record_into is not None
        self.shown = shown
        self._lines = lines
        self.recorders = {entry.name: Recorder(keep_rows, does.strangers_from, shown > 0) for entry in entries}
        self.members: set[Member] = set()
        # Of keys that clients share: what began before the window or after it. Who had a key before whom, only all of
        # its grants together say: where a queue is unfair, an old request is granted late in the window.
        shared = (keep_rows or shown > 0) and does.shared_keys > 0 and does.name not in JOBS
        self._around = {name: Recorder(keep_rows, shown=shown > 0) for name in self.recorders if shared}
        self.prepared = Event()
        self.schedule: Schedule = ClosedLoop()
        self._share = Share()  # of the arrivals of an open loop
        # By system and key: what the locks protect, for the self-check `lost_updates`.
        self.counters: dict[str, dict[int, int]] = {entry.name: {} for entry in entries}
        self.lost_updates: Counter[str] = Counter()  # by system
        self.jobs: Jobs | None = None
        self.climb: Climb | None = None  # it also says who is let into the window
        self.failure: str | None = None
        self.in_flight = 0  # operations that started in the window and have not ended
        self.sealed = False  # the window is over and handed over: what ends now is not recorded any more
        self.done = False
        self.stopped = False  # its clients have ended
        self._on_done = on_done
        self._workers = workers or (self._node,)
        self._window_known = Event()
        pool = does.pool if does.name == CONTENDED else 0
        self._pools = {entry.name: Pool(pool, partial(self.connect, entry)) for entry in entries if pool}
        self._hot_shares = zipf_shares(does.shared_keys, does.zipf_exponent) if self._is_hot_cold else []
        self._endpoints: dict[str, Endpoint] = {}
        self._lag = LatencyHistogram()
        self._arrivals = 0  # of an open loop without a fixed window, once that is over
        self._began_ns = 0
        self._observations: dict[str, dict[str, float]] = {entry.name: {} for entry in entries}
        self._cpu_s = 0.0
        self._machine: list[dict[str, Any] | None] = []
        self._started_at = ""
        self._enrolled = 0
        self._ready = 0
        self._closing = False
        self._drained = Event()
        self._failing_since_ns: int | None = None
        self._failures = 0
        self._last_failure = ("", "")
        self._greenlets = Group()

    # -- before the clients --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Prepare in the background; clients wait for `prepared`."""
        self._spawn(self._prepare)

    def stop(self) -> None:
        """The clients have ended: end the background work, and hand over what only now is whole."""
        folder = self.settings.record_into
        if self.jobs is not None and folder is not None and folder.is_dir():
            write_jobs(folder, self.index, self.jobs.counted())
        self._greenlets.kill(block=False)
        if self.shown and not self.stopped:
            self.close_window()
            self._seal_open_loop()
        self.stopped = True

    @property
    def _is_hot_cold(self) -> bool:
        return self.settings.workload.name == HOT_COLD

    @property
    def _node(self) -> str:
        """The name by which the master knows this process."""
        runner = self.environment.runner
        return runner.client_id if isinstance(runner, WorkerRunner) else ONLY_NODE

    @property
    def index(self) -> int:
        """0 in a single process, otherwise the worker's number as the master gave it."""
        return max(0, getattr(self.environment.runner, "worker_index", 0))

    def _prepare(self) -> None:
        try:
            for entry in self.entries:
                self._endpoints[entry.name] = behind_lines(endpoint_of(entry), self._lines)
                self._observe(entry)
            if self.settings.workload.name in JOBS:
                from bench.load.jobs import Jobs  # here: it imports the database's client library

                first = self.index * self.settings.workload.shared_keys // len(self._workers)
                self.jobs = Jobs(self.settings, first, self._lines)
        except LockbenchError as refused:
            self.fail(str(refused))
        except ConnectionError as refused:
            self.fail(not_reached(refused))
        except ProbeFailed as refused:
            self.fail(f"before the warm-up, {refused}")
        else:
            # Collect now and never look at these objects again: no long pause of the collector falls into the window.
            gc.collect()
            gc.freeze()
            idle_us = idle_lag_us_p50()
            for observed in self._observations.values():
                observed["loop_lag_idle_us_p50"] = idle_us
            self._spawn(measure_lag, self._record_lag)
            self._spawn(self._watch_failures)
        self.prepared.set()

    def _observe(self, entry: System) -> None:
        keys = [self.settings.key_of_probe(self.index * PROBE_CLIENTS + number) for number in range(PROBE_CLIENTS)]
        with ExitStack() as opened:
            clients = [opened.enter_context(self.connect(entry)) for _ in keys]
            self._observations[entry.name].update(observe_overlap(clients, keys, self.settings))

    def connect(self, entry: System) -> LockClient:
        """A new client of one system. Raises ConnectionError."""
        return entry.client_class.open(self._endpoints[entry.name], self.settings.client_options(entry))

    def client(self, entry: System) -> LockClient | Borrower:
        """What one more user asks: a connection of its own, or its part in the pool. Raises ConnectionError."""
        return Borrower(self._pools[entry.name]) if self._pools else self.connect(entry)

    # -- clients -------------------------------------------------------------------------------------------------

    def enroll(self) -> int:
        """A number for a new client, different from that of every other client of the test."""
        number = self.index * CLIENTS_PER_PROCESS + self._enrolled
        self._enrolled += 1
        return number

    def client_ready(self) -> None:
        """One more client is connected. Without a fixed window the first one starts it."""
        self._ready += 1
        if self.settings.workload.measure_s:
            self._send(READY, {"ready": self._ready})
        elif self._ready == 1:
            self.open_window(dict.fromkeys(self._workers, 1))
        if self.settings.workload.open_loop:
            self._window_known.wait()  # before it nothing is due

    def is_stranger(self, client: int) -> bool:
        """Has a client a key of its own, beside those at which the others meet?"""
        return self._key_of_stranger(client) is not None

    def _key_of_stranger(self, client: int) -> int | None:
        """The number of a key that nobody else asks for; None for a client that meets others.

        The first clients of each process are the strangers. Each process has its part of them, so that it also has a
        client that meets others.
        """
        does = self.settings.workload
        if does.strangers_from is None:
            return None
        names = sorted(self._workers)
        rank = names.index(self._node) if self._node in names else 0
        first, end = (does.strangers * edge // len(names) for edge in (rank, rank + 1))
        number = first + client % CLIENTS_PER_PROCESS
        return does.strangers_from + number if number < end else None

    def keys(self, client: int) -> Keys:
        """The seeded choice of keys of one client, whatever the others do."""
        settings = self.settings
        stranger = self._key_of_stranger(client)
        if stranger is not None:
            return OwnKey(stranger, settings.key)
        dice = random.Random(f"{settings.seed}/{client}")
        shared = settings.workload.shared_keys
        if not shared:
            return OwnKey(client, settings.key)
        if settings.workload.name == CONSUME and self.jobs is not None:
            return Deliveries(self.jobs.deliveries, settings.key)
        if self._is_hot_cold:
            return ZipfKeys(self._hot_shares, settings.key, dice)
        return EvenKeys(shared, settings.key, dice)

    def think_ns(self, client: int) -> Callable[[], int] | None:
        """The seeded think time of one client."""
        does, dice = self.settings.workload, random.Random(f"{self.settings.seed}/{client}/thinks")
        if self.is_stranger(client):
            return think_ns(STRANGERS_PAUSE_MS, EXPONENTIAL, dice)
        return think_ns(does.think_ms, does.thinking, dice)

    def hold_ms(self, client: int) -> float:
        """How long one client holds a lock."""
        return 0.0 if self.is_stranger(client) else self.settings.hold_ms

    def end_one(self) -> None:
        """One operation of the window has ended, in whatever way."""
        self.in_flight -= 1
        if self._closing and not self.in_flight:
            self._drained.set()

    def keep_around(self, system: str, row: tuple[int, ...]) -> None:
        """An operation that is not counted. What ended before the window opened is not kept."""
        if self._around and monotonic_ns() >= self.window.opens_ns:
            self._around[system].record(*row)

    def note_answer(self) -> None:
        """The system answered something other than a failure."""
        self._failing_since_ns = None
        self._failures = 0

    def note_failure(self, entry: System, reason: str) -> None:
        """An operation ended in `error` or `unknown`."""
        self._failures += 1
        self._last_failure = (entry.title, reason)
        if self._failing_since_ns is None:
            self._failing_since_ns = monotonic_ns()

    def _watch_failures(self) -> None:
        while True:
            gevent.sleep(_WATCH_INTERVAL_S)  # pace: how often to look
            since_ns = self._failing_since_ns
            if since_ns is None or self._failures < _GIVE_UP_FAILURES:
                continue
            failing_ns = monotonic_ns() - since_ns
            if failing_ns >= self.settings.give_up_s * 1e9:
                title, reason = self._last_failure
                when = datetime.fromtimestamp(time() - failing_ns / 1e9).astimezone()
                self.fail(
                    f"{title} stopped answering at {when:%H:%M:%S}: {self._failures} operations failed in a row, "
                    f"the last with: {reason}"
                )
                return

    def _spawn(self, work: Callable[..., None], *arguments: Any) -> None:
        self._greenlets.spawn(work, *arguments).link_exception(self._died)

    def _died(self, greenlet: gevent.Greenlet) -> None:
        """Whatever ends the background work ends the test: nobody would open or close the window any more."""
        self.fail(f"{type(greenlet.exception).__name__}: {greenlet.exception}")
        self.prepared.set()

    def fail(self, reason: str) -> None:
        """Give the test up, for one reason; later ones are consequences."""
        if self.failure is None:
            self.failure = reason
            self._send(FAILED, {"reason": reason})

    # -- the window ----------------------------------------------------------------------------------------------

    def open_window(self, clients: Mapping[str, int]) -> None:
        """Count from the end of the warm-up on, which begins now. `clients`: how many there are in each process.

        In a distributed test every worker takes the window from the arrival of the master's word: clocks of two
        machines cannot be compared, and a millisecond between two windows of one length changes no rate.
        """
        settings, does = self.settings, self.settings.workload
        began_ns = self._began_ns = monotonic_ns()
        warm_ns = began_ns + round(does.warmup_s * 1e9)
        if settings.climbs(sum(clients.values())):
            if self._node in clients:
                self._begin_climb(clients, warm_ns)
        else:
            self._open_window_at(warm_ns)
        if does.open_loop:
            offsets = offsets_ns(does.arrivals, does.rate_per_s, settings.seed)
            self._share = Share.by_clients(clients, self._node)
            self.schedule = OpenLoop(offsets, self._share, began_ns, self.window)
        self._window_known.set()

    def close_window(self) -> None:
        """The clients are about to end. A fixed window has an end of its own."""
        if not self.settings.workload.measure_s:
            self.window.closes_ns = min(self.window.closes_ns, monotonic_ns())

    def _seal_open_loop(self) -> None:
        """Say what became of all arrivals, where one system alone has them."""
        if not isinstance(self.schedule, OpenLoop) or len(self.recorders) != 1:
            return
        self._only_recorder().miss(self.schedule.take_unsent())
        does, window = self.settings.workload, self.window
        edges_ns = (max(0, window.opens_ns - self._began_ns), window.closes_ns - self._began_ns)
        offsets = self._share.of_all(offsets_ns(does.arrivals, does.rate_per_s, self.settings.seed))
        self._arrivals = count_between(offsets, *edges_ns)

    def _open_window_at(self, opens_ns: int) -> None:
        measure_s = self.settings.workload.measure_s
        self.window.open(opens_ns, round(measure_s * 1e9) if measure_s else None)
        if measure_s:
            if self.index == 0 and self.settings.record_into is not None:
                write_edges(self.settings.record_into, self.window.opens_ns, self.window.closes_ns)
            self._spawn(self._attend_window)

    def _begin_climb(self, clients: Mapping[str, int], begins_ns: int) -> None:
        """Let clients in step by step from `begins_ns` on."""
        rank, step_ns = sorted(clients).index(self._node), round(self.settings.workload.step_s * 1e9)
        self.climb = Climb(clients[self._node], rank, len(clients), sum(clients.values()), begins_ns, step_ns)
        self._spawn(self._finish_climb, self.climb)

    def _finish_climb(self, climb: Climb) -> None:
        climb.run(_sleep_until)
        self._send(CLIMBED, {"steps": climb.steps()})  # the answer is TOP: which step was the best

    def go_to_top(self, step: int) -> None:
        """Let in the clients of the best step, and measure with them."""
        settling_ns = 0
        if self.climb is not None:
            self.climb.go_to(step)
            settling_ns = self.climb.settling_ns
        self._open_window_at(monotonic_ns() + settling_ns)

    def _attend_window(self) -> None:
        watch = Watch.asked_for() if self.index == 0 else Watch()  # one look at the machine is enough
        _sleep_until(self.window.opens_ns - _LOOK_BEFORE_NS)
        before = watch.look()
        _sleep_until(self.window.opens_ns)
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        cpu_ns, began_ns = process_time_ns(), monotonic_ns()
        _sleep_until(self.window.closes_ns)
        # This greenlet wakes a little late when the loop is busy, so take the CPU time as a share of its own interval.
        share = (process_time_ns() - cpu_ns) / (monotonic_ns() - began_ns)
        self._cpu_s = share * self.settings.workload.measure_s
        self._machine = [before, watch.look()]
        # The clients go on, uncounted, until the last counted operation has ended: had they stopped, those still
        # waiting would have found less contention than everybody before them.
        self._closing = True
        if self.in_flight:
            self._drained.wait(self._drain_within_s())
        self.sealed = True
        recorder = self._only_recorder()
        recorder.abort(self.in_flight)
        if isinstance(self.schedule, OpenLoop):
            recorder.miss(self.schedule.take_unsent())
        self._keep_rows(recorder)
        self.done = True
        self._on_done()

    def _drain_within_s(self) -> float:
        # The adapter contract bounds an acquire by its timeout and a few calls.
        bounds_ms = self.settings.timeout_ms + self.settings.hold_ms + 4 * ClientOptions().call_timeout_ms
        return bounds_ms / 1e3

    def _only_recorder(self) -> Recorder:
        (recorder,) = self.recorders.values()  # a fixed window takes one system, see `LoadTest.check`
        return recorder

    def _keep_rows(self, recorder: Recorder) -> None:
        folder = self.settings.record_into
        if folder is not None:
            (folder / self._rows_file).write_bytes(recorder.packed_rows)
            for around in self._around.values():  # of the only system
                (folder / self._around_file).write_bytes(around.packed_rows)
            if self.climb is not None:
                (folder / self._climb_file).write_bytes(self.climb.recorder.packed_rows)

    @property
    def _rows_file(self) -> str:
        return f"rows-{self.index}.bin"

    @property
    def _around_file(self) -> str:
        return f"around-{self.index}.bin"

    @property
    def _climb_file(self) -> str:
        return f"climb-{self.index}.bin"

    def _record_lag(self, due_ns: int, late_ns: int) -> None:
        if self.window.opens_ns <= due_ns < self.window.closes_ns:
            self._lag.record(late_ns)

    # -- reports -------------------------------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Once the window is over, the process's own counts and facts, and where its rows are; before, nothing."""
        if not self.done:
            return {}
        recorder, climb = self._only_recorder(), self.climb
        return {
            "counts": dict(recorder.counts()),
            "errors": dict(recorder.errors),
            "aborted": recorder.aborted,
            "unsent": recorder.unsent,
            "lost_updates": self.lost_updates.total(),
            "climb_requests": 0 if climb is None else acquires(climb.recorder.counts()),
            "lag": {str(edge): count for edge, count in self._lag.counts.items()},
            "cpu_s": self._cpu_s,
            "machine": self._machine,
            "started_at": self._started_at,
            "observations": next(iter(self._observations.values())),
            "window_ns": [self.window.opens_ns, self.window.closes_ns],
            "rows": self._rows_file,
            "around": self._around_file if self._around else None,
            "climb_rows": None if climb is None else self._climb_file,
            "climb_began_ns": None if climb is None else climb.begins_ns,
        }

    def second(self) -> dict[str, Any]:
        """What a live page shows of this process: its rows since the last call, and what its clients do now.

        And what it has counted so far, by itself, so that whoever keeps the rows can tell whether all arrived.
        """
        doing = Counter(member.doing for member in self.members)
        return {
            "rows": {name: recorder.take() for name, recorder in self.recorders.items()},
            "around": {name: recorder.take() for name, recorder in self._around.items()},
            "waiters": doing[ASKS],
            "holders": doing[HOLDS],
            "at_ns": monotonic_ns(),
            "cpu_ns": process_time_ns(),
            "clock": clock_id(),
            **self._so_far(),
        }

    def _so_far(self) -> dict[str, Any]:
        """Sums since the test began, but for the lag: its buckets become too many to be sent again every second."""
        lag, self._lag = self._lag, LatencyHistogram()
        return {
            "session": self.shown,
            "stopped": self.stopped,
            "clients": dict(Counter(member.drives for member in self.members)),
            "opens_ns": self.window.opens_ns,
            "closes_ns": self.window.closes_ns,
            "counted": {name: recorder.since_begin() for name, recorder in self.recorders.items()},
            "lost_updates": dict(self.lost_updates),
            "arrivals": self._arrivals,
            "jobs": self.jobs.counted() if self.jobs is not None and self.stopped else None,
            "lag": {str(edge): count for edge, count in lag.counts.items()},
            "observations": self._observations,
        }

    def reset(self) -> None:
        """Forget what was counted so far, as Locust does with its own numbers."""
        for recorder in self.recorders.values():
            recorder.reset()

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        self.environment.runner.send_message(kind, content)  # type: ignore[union-attr]  # there is one when a test runs


def _sleep_until(instant_ns: int) -> None:
    gevent.sleep(max(0, instant_ns - monotonic_ns()) / 1e9)  # pace: the window's own edges
