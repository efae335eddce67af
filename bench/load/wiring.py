"""Ties the load to Locust's events. One call of `install`, from a locustfile, makes Locust know all of it."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import psutil
from locust import User, runners
from locust.env import Environment
from locust.event import Events
from locust.rpc import Message
from locust.runners import MasterRunner, Runner, WorkerRunner
from locust.web import WebUI

from bench.load.bounds import whole
from bench.load.collector import Collector
from bench.load.form import HOST, Form
from bench.load.guard import Guard, Names
from bench.load.options import BadOptions, LoadSettings, add_options, default_of
from bench.load.page import adapt
from bench.load.parent_watch import watch_parent
from bench.load.precision import install_precision
from bench.load.process import CLIMBED, FAILED, ONLY_NODE, READY, TOP, WINDOW, LoadProcess
from bench.records.workload import CLIENTS_PER_PROCESS_AT_MOST
from bench.systems.base import ClientOptions
from bench.systems.registry import System, system

_log = logging.getLogger("lockbench")
_KEY = "lockbench"  # our part of Locust's worker reports
# Added by the master to the options that Locust sends to its workers: names, separated by commas.
_SYSTEMS = "lockbench_systems"
_WORKERS = "lockbench_workers"
_USERS = "bench.load.users"
_BAD_COMMAND_LINE = 2  # as argparse ends
_REPORT_INTERVAL_S = 1.0  # Locust's own is 3 s: a run with several processes would end that much later


class Wiring:
    """What belongs to one Locust environment: its collector (master or single process) and its load process."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.collector: Collector | None = None
        self.process: LoadProcess | None = None
        self._own_stop_timeout = environment.stop_timeout == 0

    def start_test(self) -> None:
        """Check the options and begin. The clients have not been made yet."""
        self.end_test()
        self.process = None
        runner = self.environment.runner
        is_worker = isinstance(runner, WorkerRunner)
        try:
            settings, entries = self.check(vars(self.environment.parsed_options))
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
        if isinstance(runner, MasterRunner):
            # A worker has every class, and Locust tells it only with the users themselves which of them will run.
            setattr(self.environment.parsed_options, _SYSTEMS, ",".join(entry.name for entry in entries))
            setattr(self.environment.parsed_options, _WORKERS, ",".join(runner.clients))
        else:
            workers = [name for name in getattr(self.environment.parsed_options, _WORKERS, "").split(",") if name]
            self.process = LoadProcess(self.environment, settings, entries, self._report_locally, workers)
            self.process.start()

    def check(
        self, options: dict[str, Any], classes: Sequence[type[User]] | None = None, system_shown: bool = False
    ) -> tuple[LoadSettings, tuple[System, ...]]:
        """The settings, and the systems that `classes` (by default the environment's) drive. Raises BadOptions.

        `system_shown`: the system was named, also where it is the default, so it must be among those that are driven.
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
        return settings, tuple(entries.values())

    def _entries(self, settings: LoadSettings, options: dict[str, Any], classes: Sequence[type[User]]) -> list[System]:
        from bench.load.users import LockUser  # here, since users.py needs this module

        if isinstance(self.environment.runner, WorkerRunner):
            return [system(name) for name in options.get(_SYSTEMS, "").split(",") if name]
        return [cls.system_of(settings.system) for cls in classes if issubclass(cls, LockUser)]

    def check_command_line(self) -> None:
        """What Locust itself was told, as far as its parser could not judge it. Raises BadOptions."""
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
        runner, options = self.environment.runner, self.environment.parsed_options
        processes = 1
        if isinstance(runner, MasterRunner):
            processes = max(runner.worker_count, options.expect_workers if options else 1)
        return processes * CLIENTS_PER_PROCESS_AT_MOST

    @staticmethod
    def is_ours(cls: type[User]) -> bool:
        """Is a class one of the bench's?"""
        from bench.load.users import LockUser

        return issubclass(cls, LockUser)

    @staticmethod
    def follows_system(cls: type[User]) -> bool:
        """Does a class drive the system that `--system` names?"""
        from bench.load.users import SelectedLockUser

        return issubclass(cls, SelectedLockUser)

    def side_by_side(self) -> str:
        """A warning where several classes run in one test; else empty."""
        names = [cls.__name__ for cls in self.environment.user_classes]
        if len(names) < 2:
            return ""
        return (
            f"{', '.join(names)} run side by side and share this generator and this machine: each one's numbers "
            "include what the others cost. To compare systems, run one class at a time."
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

    def reset(self) -> None:
        """Forget what was counted, as Locust's button does."""
        for part in (self.process, self.collector):
            if part is not None:
                part.reset()


_WIRED: WeakKeyDictionary[Environment, Wiring] = WeakKeyDictionary()
_INSTALLED: WeakSet[Events] = WeakSet()


def process_of(environment: Environment) -> LoadProcess | None:
    """The load process of the running test; None when its options were refused."""
    return _WIRED[environment].process


def install(events: Events) -> None:
    """Add options, precision and measurement to Locust. Further calls change nothing."""
    if events in _INSTALLED:
        return
    _INSTALLED.add(events)
    install_precision()
    runners.WORKER_REPORT_INTERVAL = _REPORT_INTERVAL_S  # read by workers, whose first report may precede `init`
    hooks: Any = events  # Locust's EventHook has no annotations
    hooks.init_command_line_parser.add_listener(add_options)
    hooks.init.add_listener(_on_init)
    hooks.test_start.add_listener(_on_test_start)
    hooks.test_stop.add_listener(_on_test_stop)
    hooks.quitting.add_listener(_on_quitting)


def _on_init(environment: Environment, runner: Runner, web_ui: WebUI | None, **_: object) -> None:
    """In every process, after Locust forked its workers: from here on each is on its own."""
    watch_parent()
    wiring = _WIRED[environment] = Wiring(environment)
    hooks: Any = environment.events
    if isinstance(runner, WorkerRunner):
        hooks.report_to_master.add_listener(partial(_on_report_to_master, wiring))
    else:
        _narrow_user_classes(environment)
        try:
            wiring.check_command_line()
        except BadOptions as wrong:
            _log.error("%s", wrong)
            for worker in psutil.Process().children():  # of --processes: they would wait for their master for minutes
                worker.terminate()
            raise SystemExit(_BAD_COMMAND_LINE) from None
        runner.register_message(READY, partial(_on_ready, wiring))
        runner.register_message(CLIMBED, partial(_on_climbed, wiring))
        runner.register_message(FAILED, partial(_on_failed, wiring))
    if isinstance(runner, MasterRunner):
        hooks.worker_report.add_listener(partial(_on_worker_report, wiring))
    else:
        runner.register_message(WINDOW, partial(_on_window, wiring))
        runner.register_message(TOP, partial(_on_top, wiring))
        hooks.user_error.add_listener(partial(_on_user_error, wiring))
    hooks.reset_stats.add_listener(wiring.reset)
    hooks.spawning_complete.add_listener(partial(_on_spawning_complete, wiring))
    if web_ui is not None and web_ui.app is not None:
        options: Any = environment.parsed_options
        secure = bool(web_ui.tls_cert and web_ui.tls_key)
        names = Names(web_ui.host, web_ui.port, secure, options.web_host_display_name or "")
        guarded = Guard(web_ui.app.wsgi_app, names, f"{options.web_base_path}/")
        web_ui.app.wsgi_app = guarded  # type: ignore[method-assign]
        Form(wiring, web_ui)
        adapt(web_ui.app)


def _narrow_user_classes(environment: Environment) -> None:
    """Without a class named on the command line, run SelectedLockUser alone: `--system` then says which system is
    driven.

    Locust would run all classes side by side, every system in one process, each measuring the others. Classes of the
    user's own stay. A worker keeps every class: its master says how many of which to run.
    """
    from bench.load.users import USER_CLASSES, SelectedLockUser

    named = environment.parsed_options is not None and environment.parsed_options.user_classes
    classes = environment.user_classes
    if not named and SelectedLockUser in classes:
        classes[:] = [cls for cls in classes if cls not in USER_CLASSES.values()]


def _on_test_start(environment: Environment, **_: object) -> None:
    wiring = _WIRED[environment]
    if not isinstance(environment.runner, WorkerRunner) and wiring.side_by_side():
        _log.warning("%s", wiring.side_by_side())
    wiring.start_test()


def _on_test_stop(environment: Environment, **_: object) -> None:
    _WIRED[environment].end_test()


def _on_quitting(environment: Environment, **_: object) -> None:
    # Locust fires this event in reverse order, so its own listener has run: the last reports are in.
    collector = _WIRED[environment].collector
    if collector is not None:
        collector.finish()


def _on_spawning_complete(wiring: Wiring, **_: object) -> None:
    if wiring.environment.reset_stats:  # with --reset-stats Locust resets its numbers here, and tells nobody
        wiring.reset()


def _on_user_error(wiring: Wiring, user_instance: object, exception: Exception, tb: object) -> None:
    """A client could not start. Locust would go on without it, and the window would wait for it for ever."""
    if wiring.process is not None and type(user_instance).__module__ == _USERS:
        wiring.process.fail(f"a client could not start: {type(exception).__name__}: {exception}")


def _on_ready(wiring: Wiring, environment: Environment, msg: Message) -> None:
    if wiring.collector is not None:
        wiring.collector.on_ready(msg)


def _on_failed(wiring: Wiring, environment: Environment, msg: Message) -> None:
    if wiring.collector is not None:
        wiring.collector.fail(msg.data["reason"])


def _on_window(wiring: Wiring, environment: Environment, msg: Message) -> None:
    if wiring.process is not None:
        wiring.process.open_window(msg.data["clients"])


def _on_climbed(wiring: Wiring, environment: Environment, msg: Message) -> None:
    if wiring.collector is not None:
        wiring.collector.on_climbed(msg)


def _on_top(wiring: Wiring, environment: Environment, msg: Message) -> None:
    if wiring.process is not None:
        wiring.process.go_to_top(msg.data["step"])


def _on_report_to_master(wiring: Wiring, client_id: str, data: dict[str, Any]) -> None:
    if wiring.process is not None:
        data[_KEY] = wiring.process.report()


def _on_worker_report(wiring: Wiring, client_id: str, data: dict[str, Any]) -> None:
    if wiring.collector is not None and _KEY in data:
        wiring.collector.add(client_id, data[_KEY])
