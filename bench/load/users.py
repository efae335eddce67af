"""The clients as Locust users: one class for each system, and one that `--system` points at any of them.

In Locust's statistics the request type is the system and the name is the operation. Each outcome has a row of its own,
so that a percentile of `acquire` is one of successes; in an open loop it counts from the intended instant. A lock that
is busy, or still held when the timeout ends, is an answer that the system gives in good health; `lost`, `unknown` and
`error` are failures.

What an operation costs this process beside the adapter's two calls, on the machine where this was written: five clock
reads 0.25 µs, a fair turn 1.8 µs, the record 0.3 µs, choices and checks about 1 µs, and Locust's own statistics and
scheduling about 10 µs. None of it lies between the clock reads of a latency.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic_ns
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar, cast

from gevent import GreenletExit
from locust import User, task
from locust.env import Environment
from locust.exception import StopTest, StopUser
from locust.user.task import LOCUST_STATE_RUNNING, LOCUST_STATE_STOPPING, LOCUST_STATE_WAITING

from bench.load.climb import Climb
from bench.load.loop import Alarm, Turn
from bench.load.pool import Borrower
from bench.load.process import ASKS, CLIENTS_PER_PROCESS, HOLDS, LoadProcess, process_of
from bench.load.recorder import Recorder
from bench.load.rows import CODES, NO_TOKEN, NOTHING_HELD
from bench.load.shown import (
    ACQUIRE_NAMES,
    FAILURES,
    HOST,
    RELEASE_NAMES,
    STRANGERS_ACQUIRE_NAMES,
    STRANGERS_RELEASE_NAMES,
)
from bench.systems.base import Grant, LockClient, Outcome, Refusal, Released
from bench.systems.registry import SYSTEMS, System, system

if TYPE_CHECKING:  # it imports the database's client library, which few loads need
    from bench.jobs.way import Done, Way

_NO_ANSWER = frozenset({Outcome.UNKNOWN, Outcome.ERROR})
_NO_CONTEXT: dict[str, object] = {}
_NS_PER_MS = 1e6


class LockFailure(Exception):
    """What Locust shows among its failures: the outcome and the adapter's reason."""


class LockUser(User):
    """One client: acquire, hold, release, again and again. Subclasses name their system (see `USER_CLASSES`)."""

    abstract = True
    host = HOST
    system_name: ClassVar[str]

    @classmethod
    def systems_of(cls, chosen: Sequence[str]) -> tuple[System, ...]:
        """The systems that clients of this class drive, in turn; `chosen` are those of --system and --beside."""
        return (system(cls.system_name),)

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._client: LockClient | Borrower | None = None
        self._grant: Grant | None = None
        self._way: Way | None = None  # of a workload of jobs
        self._calling = False  # inside a call of the adapter, whose connection is then in the middle of something

    def on_start(self) -> None:
        """Connect before anything is measured. Where the test cannot go on the client ends without another word."""
        process = process_of(self.environment)
        if process is None:
            raise GreenletExit
        process.prepared.wait()
        if process.failure is not None:
            raise GreenletExit
        settings = process.settings
        self._process: LoadProcess = process
        self._number = process.enroll()
        self._place = self._number % CLIENTS_PER_PROCESS
        driven = self.systems_of(settings.systems)
        self._entry = driven[self._place % len(driven)]
        self._recorder = process.recorders[self._entry.name]
        self._counters = process.counters[self._entry.name]
        self._wait = settings.wait(self._entry)
        self._keys = process.keys(self._number)
        self._hold_ns = round(process.hold_ms(self._number) * _NS_PER_MS)
        self._think_ns = process.think_ns(self._number)
        self._acquire_names, self._release_names = ACQUIRE_NAMES, RELEASE_NAMES
        if process.is_stranger(self._number):
            self._acquire_names, self._release_names = STRANGERS_ACQUIRE_NAMES, STRANGERS_RELEASE_NAMES
        self._turn, self._alarm = Turn(), Alarm()
        try:
            client = self._client = process.client(self._entry)
            if process.jobs is not None:
                assert isinstance(client, LockClient), "jobs have no pool"
                self._way = process.jobs.way(client, self._wait, self._alarm)
        except ConnectionError as refused:
            process.fail(str(refused))
            raise GreenletExit from refused
        if process.jobs is not None:
            self.tasks = [LockUser.do_job]
        process.members.add(self)
        process.client_ready()
        self._schedule = process.schedule

    @property
    def drives(self) -> str:
        """The name of this client's system."""
        return self._entry.name

    @property
    def doing(self) -> str:
        """What a live page says that this client does."""
        if self._calling:
            return "" if self._grant is not None else ASKS
        return HOLDS if self._grant is not None else ""

    @task
    def take_turn(self) -> None:
        """One operation. Between the two clock reads of a latency stands the adapter's call and nothing else."""
        process, client, settings = self._process, self._client, self._process.settings
        assert client is not None, "on_start connects"
        self._turn.pass_on()
        climb = process.climb
        if climb is not None and not climb.is_admitted(self._place):
            self._wait_to_be_let_in(climb)
        if self._think_ns is not None:
            self._wait_until(monotonic_ns() + self._think_ns())
        index, key = self._keys.draw()
        due_ns = self._schedule.claim_ns()
        started_ns = released_ns = freed_ns = 0
        freed: Released | Refusal | None = None
        # Decided by a clock read of its own: a comparison has no place between those of the measurement.
        instant_ns = monotonic_ns() if due_ns is None else due_ns
        counted = process.window.counts(instant_ns)
        recorder = self._recorder if counted else None
        if counted:
            process.in_flight += 1
        elif climb is not None and climb.counts(instant_ns):
            recorder = climb.recorder
        try:
            if due_ns is not None:
                self._wait_until(due_ns)
            self._calling = True
            started_ns = monotonic_ns()
            answer = client.acquire(key, settings.ttl_ms, settings.timeout_ms, self._wait)
            answered_ns = monotonic_ns()
            if isinstance(answer, Grant):
                self._hold(answer, answered_ns, index)
                released_ns = monotonic_ns()
                freed = client.release(answer)
                freed_ns = monotonic_ns()
                self._grant = None
            self._calling = False
        except BaseException as cut:
            self._cut_off(cut, counted and started_ns > 0)
            if due_ns is not None and not started_ns and process.window.counts(due_ns) and not process.sealed:
                self._recorder.miss(1)  # its arrival came as the test ended
            raise
        finally:
            if counted:
                process.end_one()
        self._note(answer)
        if freed is not None:
            self._note(freed)
        if process.sealed:
            return
        intended_ns = started_ns if due_ns is None else due_ns
        row = (
            self._number,
            index,
            intended_ns,
            started_ns,
            answered_ns,
            released_ns,
            freed_ns,
            CODES[Outcome.ACQUIRED if isinstance(answer, Grant) else answer.outcome],
            NOTHING_HELD if freed is None else CODES[freed.outcome],
            NO_TOKEN if not isinstance(answer, Grant) or answer.token is None else answer.token,
        )
        if recorder is None:
            process.keep_around(self._entry.name, row)
        else:
            recorder.record(*row)
            self._show(recorder, self._acquire_names, answer, answered_ns - intended_ns)
            if freed is not None:
                self._show(recorder, self._release_names, freed, freed_ns - released_ns)

    def do_job(self) -> None:
        """One whole job, in place of `take_turn`. Its calls and its computing lie between the two clock reads."""
        process, way = self._process, self._way
        assert way is not None, "on_start makes it"
        assert process.jobs is not None, "the process makes it before any client"
        self._turn.pass_on()
        record, _ = self._keys.draw()
        counted = process.window.counts(monotonic_ns())
        if counted:
            process.in_flight += 1
        self._calling = True
        try:
            started_ns = monotonic_ns()
            answer = way.run(record)
            answered_ns = monotonic_ns()
        except BaseException as cut:
            process.jobs.unknown += 1
            self._cut_off(cut, counted)
            raise
        finally:
            if counted:
                process.end_one()
        self._calling = False
        self._note(answer)
        counted = counted and not process.sealed
        process.jobs.note(record, answer, counted)
        if counted:
            outcome = CODES[answer.outcome]
            instants_ns = (started_ns, started_ns, answered_ns, 0, 0)
            self._recorder.record(self._number, record, *instants_ns, outcome, NOTHING_HELD, NO_TOKEN)
            self._show(self._recorder, ACQUIRE_NAMES, answer, answered_ns - started_ns)

    def on_stop(self) -> None:
        """Leave nothing locked: release what is held, then end the session."""
        client, self._client = self._client, None
        if client is None:
            return
        self._process.members.discard(self)
        if self._grant is not None and not self._calling:
            client.release(self._grant)
        # A client that was killed inside a call has a connection with half a conversation on it. It is closed, not used
        # again; what it may hold ends with its lease, and its key belongs to this run alone.
        # Of a pool too: no other client gets that connection.
        client.close()
        if self._way is not None:
            self._way.close()
        self._turn.close()
        self._alarm.close()

    def _hold(self, grant: Grant, acquired_ns: int, key: int) -> None:
        if not self._hold_ns:
            return  # nobody else can run meanwhile, so there is nothing to see
        counters = self._counters
        read = counters.get(key, 0)
        self._grant, self._calling = grant, False
        self._alarm.wait_until(acquired_ns + self._hold_ns)  # pace: the hold that was asked for
        self._calling = True
        if counters.get(key, 0) != read:
            self._process.lost_updates[self._entry.name] += 1
        counters[key] = read + 1

    def _wait_until(self, due_ns: int) -> None:
        """Wait for an arrival, or think. Locust may end this client meanwhile, as it may between two tasks."""
        with self._interruptible():
            self._alarm.wait_until(due_ns)  # pace: the arrivals or the think time that were asked for

    def _wait_to_be_let_in(self, climb: Climb) -> None:
        with self._interruptible():
            while not climb.is_admitted(self._place):
                climb.wait_for_change()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        if self._state == LOCUST_STATE_STOPPING:
            raise StopUser
        self._state = LOCUST_STATE_WAITING
        yield
        self._state = LOCUST_STATE_RUNNING

    def _cut_off(self, cut: BaseException, counted: bool) -> None:
        """Killed in the middle, at the end of a test: neither success nor failure. Else an adapter's fault."""
        if counted and not self._process.sealed:
            self._recorder.abort()
        if not isinstance(cut, GreenletExit | StopUser | StopTest):
            # The contract has no such exception: outcomes are values. What it means for the lock nobody knows.
            self._process.fail(f"the adapter of {self._entry.name} raised {type(cut).__name__}: {cut}")

    def _note(self, answer: "Grant | Released | Refusal | Done") -> None:
        if not isinstance(answer, Refusal):
            self._process.note_answer()
        elif answer.outcome in _NO_ANSWER:
            self._process.note_failure(self._entry, answer.reason)

    def _show(
        self,
        recorder: Recorder,
        names: Mapping[Outcome, str],
        answer: "Grant | Released | Refusal | Done",
        took_ns: int,
    ) -> None:
        """Tell Locust. Its own statistics see exactly the operations that the recorder sees."""
        failure = None
        outcome = Outcome.ACQUIRED if isinstance(answer, Grant) else answer.outcome
        if outcome in FAILURES and isinstance(answer, Refusal):
            failure = LockFailure(f"{outcome}: {answer.reason}")
            recorder.add_error(f"{names[outcome]}: {answer.reason}")
        self.environment.events.request.fire(
            request_type=self._entry.name,
            name=names[outcome],
            response_time=took_ns / 1e6,
            response_length=0,
            exception=failure,
            context=_NO_CONTEXT,
        )


class SelectedLockUser(LockUser):
    """Drives the system that `--system` names: what the bench itself runs, and what plain `locust` starts."""

    @classmethod
    def systems_of(cls, chosen: Sequence[str]) -> tuple[System, ...]:
        """Those chosen by the options."""
        return tuple(map(system, chosen))


def _classes() -> Iterator[tuple[str, type[LockUser]]]:
    """A class for each system of the registry, named after its adapter: RedisLockUser drives redis. A further row of
    the same adapter is named after the row: RedisAofLockUser."""
    taken: set[str] = set()
    for entry in SYSTEMS.values():
        name = f"{entry.client_path.rpartition(':')[2]}User"
        if name in taken:
            name = f"{entry.name.title().replace('-', '')}LockUser"
        taken.add(name)
        yield name, _class_of(name, entry)


def _class_of(name: str, entry: System) -> type[LockUser]:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(__module__=__name__, __doc__=f"{entry.title}.", system_name=entry.name)

    return cast(type[LockUser], new_class(name, (LockUser,), exec_body=fill))


USER_CLASSES: Mapping[str, type[LockUser]] = dict(_classes())
