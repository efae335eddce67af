"""Ties the load to Locust's events. One call of `install`, from a locustfile, makes Locust know all of it."""

import logging
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import psutil
from locust import runners
from locust.env import Environment
from locust.event import Events
from locust.rpc import Message
from locust.runners import MasterRunner, Runner, WorkerRunner
from locust.web import WebUI

from bench.load.form import Form
from bench.load.forwarder import Forwarder
from bench.load.guard import Guard, Names
from bench.load.load_test import LoadTest
from bench.load.locks_page import show_locks
from bench.load.login import Account, BadLogin, Login, is_loopback
from bench.load.options import BadOptions, add_options
from bench.load.page import adapt
from bench.load.parent_watch import watch_parent
from bench.load.precision import install_precision
from bench.load.process import CLIMBED, FAILED, READY, TOP, WINDOW
from bench.load.users import USER_CLASSES, LockUser, SelectedLockUser

_log = logging.getLogger("lockbench")
_KEY, _SECOND = "lockbench", "lockbench_second"  # our parts of Locust's worker reports
_BAD_COMMAND_LINE = 2  # as argparse ends
_REPORT_INTERVAL_S = 1.0  # Locust's own is 3 s: a run with several processes would end that much later

_TESTS: WeakKeyDictionary[Environment, LoadTest] = WeakKeyDictionary()
_INSTALLED: WeakSet[Events] = WeakSet()


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
    hooks.test_stopping.add_listener(_on_test_stopping)
    hooks.test_stop.add_listener(_on_test_stop)
    hooks.quitting.add_listener(_on_quitting)


def _on_init(environment: Environment, runner: Runner, web_ui: WebUI | None, **_: object) -> None:
    """In every process, after Locust forked its workers: from here on each is on its own."""
    watch_parent()
    test = _TESTS[environment] = LoadTest(environment)
    hooks: Any = environment.events
    if isinstance(runner, WorkerRunner):
        hooks.report_to_master.add_listener(partial(_on_report_to_master, test))
    else:
        _narrow_user_classes(environment)
        try:
            test.check_command_line()
        except BadOptions as wrong:
            _log.error("%s", wrong)
            for worker in psutil.Process().children():  # of --processes: they would wait for their master for minutes
                worker.terminate()
            raise SystemExit(_BAD_COMMAND_LINE) from None
        runner.register_message(READY, partial(_on_ready, test))
        runner.register_message(CLIMBED, partial(_on_climbed, test))
        runner.register_message(FAILED, partial(_on_failed, test))
    if isinstance(runner, MasterRunner):
        hooks.worker_report.add_listener(partial(_on_worker_report, test))
    else:
        runner.register_message(WINDOW, partial(_on_window, test))
        runner.register_message(TOP, partial(_on_top, test))
        hooks.user_error.add_listener(partial(_on_user_error, test))
    hooks.reset_stats.add_listener(test.reset)
    hooks.spawning_complete.add_listener(partial(_on_spawning_complete, test))
    if web_ui is not None and web_ui.app is not None:
        options: Any = environment.parsed_options
        secure = bool(web_ui.tls_cert and web_ui.tls_key)
        names = Names(web_ui.host, web_ui.port, secure, options.web_host_display_name or "")
        guarded = Guard(web_ui.app.wsgi_app, names, f"{options.web_base_path}/")
        web_ui.app.wsgi_app = guarded  # type: ignore[method-assign]
        _watch_the_door(environment, web_ui)
        Form(test, web_ui)
        adapt(web_ui.app)
        test.forwarder = Forwarder.beside(environment)
        show_locks(web_ui, test.forwarder, options.web_base_path, lambda: test.trouble)


def _watch_the_door(environment: Environment, web_ui: WebUI) -> None:
    """Who can reach the page from elsewhere must log in; who can reach the master's port is only warned of."""
    options: Any = environment.parsed_options
    master: Any = environment.runner
    if isinstance(master, MasterRunner) and not is_loopback(master.master_bind_host.replace("*", "")):
        _log.warning(
            "the master listens on %s: whoever reaches port %s can control its workers, and no password is asked for "
            "there. Let only your own machines reach it",
            *(master.master_bind_host, master.master_bind_port),
        )
    wide = not is_loopback(web_ui.host)
    if not (wide or web_ui.web_login) or (web_ui.web_login and _has_login_of_its_own(web_ui)):
        return
    try:
        login = Login(Account.read(), options.web_base_path)
    except BadLogin as wrong:
        _log.error("%s", wrong)
        raise SystemExit(_BAD_COMMAND_LINE) from None
    login.protect(web_ui)
    shown = f"{'https' if web_ui.tls_cert and web_ui.tls_key else 'http'}://{web_ui.host or '0.0.0.0'}:{web_ui.port}"
    if wide:
        _log.warning(
            "the page listens on %s, so others than users of this machine reach it: it requires a login%s",
            web_ui.host or "all addresses",
            "" if shown.startswith("https") else ", and what you type there can be read on its way without --tls-cert",
        )
    login.say(f"{shown}{options.web_base_path}/")


def _has_login_of_its_own(web_ui: Any) -> bool:
    """Did a locustfile say who may enter, as Locust's documentation shows?"""
    return web_ui.login_manager._user_callback is not None


def _narrow_user_classes(environment: Environment) -> None:
    """Without a class named on the command line, run SelectedLockUser alone: `--system` then says which system is
    driven.

    Locust would run all classes side by side, every system in one process, each measuring the others. Classes of the
    user's own stay. A worker keeps every class: its master says how many of which to run.
    """
    named = environment.parsed_options is not None and environment.parsed_options.user_classes
    classes = environment.user_classes
    if not named and SelectedLockUser in classes:
        classes[:] = [cls for cls in classes if cls not in USER_CLASSES.values()]


def _on_test_start(environment: Environment, **_: object) -> None:
    test = _TESTS[environment]
    if not isinstance(environment.runner, WorkerRunner) and test.side_by_side():
        _log.warning("%s", test.side_by_side())
    test.start_test()


def _on_test_stopping(environment: Environment, **_: object) -> None:
    process = _TESTS[environment].process
    if process is not None:
        process.close_window()


def _on_test_stop(environment: Environment, **_: object) -> None:
    _TESTS[environment].end_test()


def _on_quitting(environment: Environment, **_: object) -> None:
    # Locust fires this event in reverse order, so its own listener has run: the last reports are in.
    collector = _TESTS[environment].collector
    if collector is not None:
        collector.finish()


def _on_spawning_complete(test: LoadTest, **_: object) -> None:
    if test.environment.reset_stats:  # with --reset-stats Locust resets its numbers here, and tells nobody
        test.reset()


def _on_user_error(test: LoadTest, user_instance: object, exception: Exception, tb: object) -> None:
    """A client could not start. Locust would go on without it, and the window would wait for it for ever."""
    if test.process is not None and type(user_instance).__module__ == LockUser.__module__:
        test.process.fail(f"a client could not start: {type(exception).__name__}: {exception}")


def _on_ready(test: LoadTest, environment: Environment, msg: Message) -> None:
    if test.collector is not None:
        test.collector.on_ready(msg)


def _on_failed(test: LoadTest, environment: Environment, msg: Message) -> None:
    if test.collector is not None:
        test.collector.fail(msg.data["reason"])


def _on_window(test: LoadTest, environment: Environment, msg: Message) -> None:
    if test.process is not None:
        test.process.open_window(msg.data["clients"])


def _on_climbed(test: LoadTest, environment: Environment, msg: Message) -> None:
    if test.collector is not None:
        test.collector.on_climbed(msg)


def _on_top(test: LoadTest, environment: Environment, msg: Message) -> None:
    if test.process is not None:
        test.process.go_to_top(msg.data["step"])


def _on_report_to_master(test: LoadTest, client_id: str, data: dict[str, Any]) -> None:
    if test.process is not None:
        data[_KEY] = test.process.report()
        if test.process.shown:
            data[_SECOND] = test.process.second()


def _on_worker_report(test: LoadTest, client_id: str, data: dict[str, Any]) -> None:
    if test.collector is not None and _KEY in data:
        test.collector.add(client_id, data[_KEY])
    if test.forwarder is not None and _SECOND in data:
        test.forwarder.add(client_id, data[_SECOND])
