"""One test as Locust runs it: its options checked, its clients chosen, its load process started and ended."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from locust import User
from locust.env import Environment
from locust.runners import STATE_MISSING, STATE_RUNNING, STATE_SPAWNING, MasterRunner, WorkerRunner

from bench.errors import LockbenchError
from bench.jobs.keeper import keeper
from bench.load.bounds import whole
from bench.load.collector import Collector
from bench.load.endpoints import Address, endpoint_of
from bench.load.forwarder import Forwarder
from bench.load.options import BadOptions, LoadSettings, crowd_misfits, default_of, is_of_lockbench
from bench.load.process import FAILED, ONLY_NODE, PROCESSES, LoadProcess, process_of
from bench.load.shown import HOST
from bench.load.users import LockUser, SelectedLockUser
from bench.records.network import NO_NETWORK
from bench.records.workload import CLIENTS_PER_PROCESS_AT_MOST, JOBS
from bench.systems.base import ClientOptions
from bench.systems.registry import System, system

# Added by the master to the options that Locust sends to its workers: names, separated by commas.
_SYSTEMS = "lockbench_systems"
_WORKERS = "lockbench_workers"
_LINES = "lockbench_lines"  # where the servers' addresses are reached through delay lines, as JSON; empty: directly
_SHOWN = "lockbench_shown"  # the number of the live session that takes what they recorded; 0: none does


class LoadTest:
    """What belongs to one Locust environment: its collector (master or single process) and its load process."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.collector: Collector | None = None
        self.forwarder: Forwarder | None = None  # of a page that shows seconds
        self._own_stop_timeout = environment.stop_timeout == 0
        self._began_with: frozenset[str] = frozenset()  # the workers of the newest test
        self._lost: set[str] = set()

    @property
    def process(self) -> LoadProcess | None:
        """Of the running test; None in a master, and when the options were refused."""
        return process_of(self.environment)

    @property
    def trouble(self) -> str:
        """A sentence on why the newest test was ended, or what it has lost; else empty."""
        if self.collector is not None and self.collector.failure is not None:
            return f"The test was stopped: {self.collector.failure}"
        self._look_for_workers()
        if not (lost := len(self._lost)):
            return ""
        processes = "1 load process is lost" if lost == 1 else f"{lost} load processes are lost"
        return f"{processes}: the numbers are of the others since."

    def _look_for_workers(self) -> None:
        """Who is not there any more, though it began the test. After a test Locust forgets its workers for a while."""
        runner = self.environment.runner
        if not isinstance(runner, MasterRunner):
            return
        silent = {node.id for node in runner.clients.all if node.state == STATE_MISSING}
        if runner.state in (STATE_SPAWNING, STATE_RUNNING):
            silent |= self._began_with - {node.id for node in runner.clients.all}  # who ended in order, or long ago
        self._lost |= silent & self._began_with

    @property
    def _session(self) -> int:
        return 0 if self.forwarder is None else self.forwarder.session

    def start_test(self) -> None:
        """Check the options and begin. The clients have not been made yet."""
        self.end_test()
        PROCESSES.pop(self.environment, None)
        runner = self.environment.runner
        is_worker = isinstance(runner, WorkerRunner)
        try:
            settings, entries = self.check(vars(self.environment.parsed_options), clients=self._clients_asked_for())
            if not is_worker:
                self.have_network(settings, entries)
                self._begin_records(settings)
        except BadOptions as wrong:
            if is_worker:
                runner.send_message(FAILED, {"reason": str(wrong)})  # type: ignore[union-attr]
            else:
                self.collector = Collector(self.environment, None)
                self.collector.fail(str(wrong))
            return
        if not is_worker:
            self.collector = Collector(self.environment, settings)
            self._give_time_to_stop(settings)
        if self.forwarder is not None:
            self.forwarder.begin(entries, settings)
        if isinstance(runner, MasterRunner):
            # A worker has every class, and Locust tells it only with the users themselves which of them will run.
            setattr(self.environment.parsed_options, _SYSTEMS, ",".join(entry.name for entry in entries))
            self._began_with, self._lost = frozenset(runner.clients), set()
            setattr(self.environment.parsed_options, _WORKERS, ",".join(runner.clients))
            setattr(self.environment.parsed_options, _SHOWN, self._session)
            setattr(self.environment.parsed_options, _LINES, json.dumps(self._places))
        else:
            workers = [name for name in getattr(self.environment.parsed_options, _WORKERS, "").split(",") if name]
            shown = self._session or getattr(self.environment.parsed_options, _SHOWN, 0)
            lines = self._places or json.loads(getattr(self.environment.parsed_options, _LINES, "[]"))
            process = LoadProcess(
                self.environment, settings, entries, self._report_locally, workers, shown, _as_addresses(lines)
            )
            PROCESSES[self.environment] = process
            process.start()
            if self.forwarder is not None:
                self.forwarder.follow(process)

    @property
    def _places(self) -> Sequence[Any]:
        """Pairs of an address and where it is reached."""
        return () if self.forwarder is None else self.forwarder.network["places"]

    def have_network(self, settings: LoadSettings, entries: Sequence[System]) -> None:
        """Have the network that a test asks for, until its end. Raises BadOptions."""
        if self.forwarder is not None and is_of_lockbench():
            self.forwarder.have_network(settings, entries)
        elif settings.network != NO_NETWORK:
            raise BadOptions(
                "--network: plain `locust` has no delay lines, its clients reach the servers directly; "
                "`lockbench live` and `lockbench run` have them"
            )

    def _begin_records(self, settings: LoadSettings) -> None:
        """Of jobs whose table will be asked: it begins without what an earlier test left. Raises BadOptions."""
        if not (is_of_lockbench() and settings.workload.name in JOBS):
            return  # of plain `locust` nobody asks the table, and its master may not even reach it
        from bench.jobs.records import drop, schema_of  # here: it imports the database's client library

        try:
            drop(endpoint_of(keeper()), schema_of(settings.seed))
        except LockbenchError as silent:
            raise BadOptions(str(silent)) from None

    def check(
        self,
        options: dict[str, Any],
        classes: Sequence[type[User]] | None = None,
        system_shown: bool = False,
        clients: int | None = None,
    ) -> tuple[LoadSettings, tuple[System, ...]]:
        """The settings, and the systems that `classes` (by default the environment's) drive. Raises BadOptions.

        `system_shown`: the system was named, also where it is the default, so it must be among those that are driven.
        `clients`: how many there will be, where that is known.
        """
        settings = LoadSettings.read(options)
        driven = self.environment.user_classes if classes is None else classes
        entries = {entry.name: entry for entry in self._entries(settings, options, driven)}
        for entry in entries.values():
            settings.fit(entry)
        if settings.workload.measure_s and len(entries) != 1:
            raise BadOptions(f"--measure-s: a fixed window takes one system, not {', '.join(entries)}")
        chosen = system_shown or settings.system != default_of("system")
        if chosen and entries and settings.system not in entries:
            names = ", ".join(cls.__name__ for cls in driven)
            raise BadOptions(f"--system: {names} drives {', '.join(entries)}, not {settings.system}")
        if clients is not None:
            shared_by = len(settings.systems) if any(map(self.follows_system, driven)) else 1
            misfits = crowd_misfits(settings.workload, clients, self._load_processes(), shared_by)
            if wrong := [f"--{name}: {why}" for name, why in misfits]:
                raise BadOptions("; ".join(wrong))
        return settings, tuple(entries.values())

    def _entries(self, settings: LoadSettings, options: dict[str, Any], classes: Sequence[type[User]]) -> list[System]:
        if isinstance(self.environment.runner, WorkerRunner):
            return [system(name) for name in options.get(_SYSTEMS, "").split(",") if name]
        return [entry for cls in classes if issubclass(cls, LockUser) for entry in cls.systems_of(settings.systems)]

    def check_command_line(self) -> None:
        """What Locust itself was given, as far as its parser could not judge it. Raises BadOptions."""
        options: Any = self.environment.parsed_options
        self.check_host(options.host, self.environment.user_classes)
        if options.num_users is not None:
            try:
                whole(1, self.clients_at_most())(options.num_users)
            except ValueError as mistake:
                raise BadOptions(f"--users: {mistake}") from None

    def check_host(self, host: str | None, classes: Sequence[type[User]]) -> None:
        """Locust asks for a host, and our clients do not go there. Raises BadOptions."""
        if host not in (None, "", HOST) and all(self.is_ours(cls) for cls in classes):
            raise BadOptions("--host: not used here; the servers come from `lockbench up` or from lockbench.toml")

    def clients_at_most(self) -> int:
        """A bound on the number of clients: so many for each load process that there is, or is expected."""
        return self._load_processes() * CLIENTS_PER_PROCESS_AT_MOST

    def _load_processes(self) -> int:
        runner, options = self.environment.runner, self.environment.parsed_options
        if not isinstance(runner, MasterRunner):
            return 1
        return max(runner.worker_count, options.expect_workers if options else 1)

    def _clients_asked_for(self) -> int | None:
        """Of a command line that starts by itself; on a page the form says it, and to a worker its master."""
        options: Any = self.environment.parsed_options
        begins = options.headless or getattr(options, "autostart", False)
        if not begins or isinstance(self.environment.runner, WorkerRunner):
            return None
        return int(options.num_users or 1)

    @staticmethod
    def is_ours(cls: type[User]) -> bool:
        """Is a class one of the bench's?"""
        return issubclass(cls, LockUser)

    @staticmethod
    def follows_system(cls: type[User]) -> bool:
        """Does a class drive the system that `--system` names?"""
        return issubclass(cls, SelectedLockUser)

    def side_by_side(self) -> str:
        """A warning where several classes run in one test; else empty."""
        names = [cls.__name__ for cls in self.environment.user_classes]
        if self.environment.user_classes == [SelectedLockUser]:
            options: Any = self.environment.parsed_options
            names = [name.strip() for name in f"{options.system},{options.beside}".split(",") if name.strip()]
        if len(names) < 2:
            return ""
        return (
            f"{', '.join(names)} run side by side and share this generator and this machine: each one's numbers "
            "include what the others cost. To compare systems, run one at a time."
        )

    def _give_time_to_stop(self, settings: LoadSettings) -> None:
        # Locust's default kills users in the middle of what they do. Unless the user chose a time, let every operation
        # end: it is bounded by its timeout, its hold and a few calls. Locust waits no longer than the slowest operation
        # needs.
        if self._own_stop_timeout:
            calls_ms = 2 * ClientOptions().call_timeout_ms
            self.environment.stop_timeout = (settings.timeout_ms + settings.hold_ms + calls_ms) / 1e3

    def _report_locally(self) -> None:
        # In a worker the next report to the master carries the end, in one message with Locust's own statistics.
        if self.collector is not None and self.process is not None:
            self.collector.add(ONLY_NODE, self.process.report())

    def end_test(self) -> None:
        """The users are gone."""
        if self.process is not None:
            self.process.stop()
        if self.forwarder is not None:
            self.forwarder.end(self.process)

    def reset(self) -> None:
        """Forget what was counted, as Locust's button does."""
        if self.process is not None:
            self.process.reset()
        if self.forwarder is not None:
            self.forwarder.count.reset()


def _as_addresses(pairs: Sequence[Any]) -> Mapping[Address, Address]:
    """From what JSON makes of them."""
    return {(host, port): (through, through_port) for (host, port), (through, through_port) in pairs}
