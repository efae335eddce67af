"""What the form of Locust's page may ask for: the fields that it shows, values within bounds, nothing that would not be
done.

Locust obeys every option that a form names, shown or not, reads numbers generously, and answers "started" before it
knows whether it can. Here a form is checked as a whole before Locust sees it. A refusal changes nothing: no option, no
file, no running test. Locust's page shows its message above the button.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from flask import Response, jsonify, make_response, request
from flask_login import current_user
from locust import User
from locust.argument_parser import ui_extra_args_dict
from locust.env import Environment
from locust.runners import (
    STATE_CLEANUP,
    STATE_RUNNING,
    STATE_SPAWNING,
    STATE_STOPPING,
    MasterRunner,
)
from locust.web import WebUI

from bench.load.bounds import SPAWN_RATE_PER_S, number, run_time_s, whole
from bench.load.endpoints import check_served
from bench.load.load_test import LoadTest
from bench.load.options import BadOptions, LoadSettings
from bench.systems.registry import System

_LOCUSTS_OWN = ("user_count", "spawn_rate", "run_time", "host", "profile")
_OF_THE_PICKER = ("user_classes", "shape_class")
_REPEATED = "user_classes"  # the one field that may be sent several times
_REQUEST_BYTES_AT_MOST = 65_536
_PROFILE_CHARACTERS_AT_MOST = 100
_BAD_REQUEST, _FORBIDDEN = 400, 403

_log = logging.getLogger("lockbench")


class Form:
    """The checks of one page's form, and what the page shows in it."""

    def __init__(self, test: LoadTest, web_ui: WebUI) -> None:
        self._test = test
        self._environment: Environment = test.environment
        self._web_ui = web_ui
        self._opening = False  # a network, for a form that is being answered
        app: Any = web_ui.app
        app.config["MAX_CONTENT_LENGTH"] = _REQUEST_BYTES_AT_MOST
        app.before_request(self._check)
        app.after_request(self._add_notice)
        fill = web_ui.update_template_args
        web_ui.update_template_args = partial(self._fill, fill)  # type: ignore[method-assign]

    # -- what the page shows ---------------------------------------------------------------------------------------

    def _fill(self, fill: Any) -> None:
        """The form shows what was chosen last, and so, while a test runs, what runs. Locust would show its command
        line's values again each time that the page is loaded.
        """
        fill()
        current = vars(self._environment.parsed_options)
        self._web_ui.template_args["lockbench_notice"] = self._test.side_by_side()
        self._web_ui.template_args["extra_options"] = {
            name: {**option, "default_value": current[name]} for name, option in self._options().items()
        }

    def _options(self) -> dict[str, dict[str, Any]]:
        """The options that the form shows; `system` only where a class can follow it."""
        options = ui_extra_args_dict()
        if not any(self._test.follows_system(cls) for cls in self._choosable().values()):
            options.pop("system", None)
        return options

    def _choosable(self) -> Mapping[str, type[User]]:
        if self._web_ui.userclass_picker_is_active:
            return self._available
        return self._environment.user_classes_by_name

    @property
    def _available(self) -> Mapping[str, type[User]]:
        available: Any = self._environment.available_user_classes  # Locust's annotation says users, not classes
        return available or {}

    # -- what it may ask for ---------------------------------------------------------------------------------------

    def _check(self) -> Response | None:
        """Flask calls it before every request; an answer given here keeps Locust from seeing it."""
        if self._web_ui.web_login and not current_user.is_authenticated:
            return None  # Locust turns it away
        if request.endpoint == "locust.update_user":
            return self._check_user_settings()
        if request.endpoint != "locust.swarm" or request.method != "POST":
            return None
        if request.args:  # Locust reads the body alone: what stands in the address would be checked, and not done
            return self._refuse("the form is sent in the body of the request, not in its address", _BAD_REQUEST)
        sent = request.form.to_dict(flat=False)
        mistakes = self._stray({**sent, **{name: [""] for name in request.files}})
        if mistakes:
            return self._refuse("; ".join(mistakes), _BAD_REQUEST)
        try:
            self._accept({name: values[0] for name, values in sent.items()}, sent.get("user_classes", []))
        except BadOptions as wrong:
            return self._refuse(str(wrong))
        return None

    def _stray(self, sent: Mapping[str, list[str]]) -> list[str]:
        shown = {*_LOCUSTS_OWN, *self._options()}
        if self._web_ui.userclass_picker_is_active:
            shown.update(_OF_THE_PICKER)
        return [
            *(f"{name[:80]}: the form has no such field" for name in sent if name not in shown),
            *(f"{name}: given {len(all_)} times" for name, all_ in sent.items() if len(all_) > 1 and name != _REPEATED),
        ]

    def _refuse(self, message: str, status: int = 200) -> Response:
        """Locust's page shows a message that comes with status 200 only, and hides its dialog for changing a running
        test in any case: there `notice` is shown in its place.
        """
        _log.error("the form was refused: %s", message)
        answer = {"success": False, "message": message, "host": self._environment.host}
        return make_response(jsonify({**answer, "notice": message} if self._runs else answer), status)

    def _accept(self, form: Mapping[str, str], picked: list[str]) -> None:
        """Raises BadOptions with what is wrong; nothing was changed then."""
        options = vars(self._environment.parsed_options)
        mistakes = self._wrong_numbers(form)
        mistakes += [f"User class: there is no {name[:80]!r}" for name in picked if name not in self._choosable()]
        classes = [self._choosable()[name] for name in picked if name in self._choosable()]
        if not picked:
            classes = self._environment.user_classes
            if self._web_ui.userclass_picker_is_active and not self._runs:
                mistakes.append("User class: choose one")
        try:
            self._test.check_host(form.get("host"), classes)
            clients = self._clients(form)
            shown = "system" in form
            settings, entries = self._test.check({**options, **form}, classes, system_shown=shown, clients=clients)
        except BadOptions as wrong:
            raise BadOptions("; ".join([*mistakes, str(wrong)])) from None
        if mistakes:
            raise BadOptions("; ".join(mistakes))
        if self._runs:
            self._check_change(form, picked)
            return
        runner = self._environment.runner
        if isinstance(runner, MasterRunner) and not runner.worker_count:
            raise BadOptions("no worker has connected yet")
        if not isinstance(runner, MasterRunner) or options["processes"]:  # else the servers are its workers' to know
            for entry in entries:
                check_served(entry, settings)
        self._have_network(settings, entries)
        # Last, since connecting takes its time: from here to the start nothing else of this process gets a turn.
        if self._runs or runner is None or runner.state in (STATE_CLEANUP, STATE_STOPPING):
            raise BadOptions("the last test has not ended yet; try again in a moment")
        cancel_timer: Any = self._web_ui._cancel_run_time_timer
        cancel_timer()  # of a test that ended before its time, else it would end this one
        options["run_time"] = None

    def _have_network(self, settings: LoadSettings, entries: Sequence[System]) -> None:
        """It takes its time, and meanwhile nobody else may ask for another one. Raises BadOptions."""
        if self._opening:
            raise BadOptions("a test is about to start; try again in a moment")
        self._opening = True
        try:
            self._test.have_network(settings, entries)
        finally:
            self._opening = False

    def _clients(self, form: Mapping[str, str]) -> int | None:
        """How many clients it asks for; None where that is no number, which is a mistake of its own."""
        try:
            return whole(1, self._test.clients_at_most())(form.get("user_count", ""))
        except ValueError:
            return None

    def _wrong_numbers(self, form: Mapping[str, str]) -> list[str]:
        """Mistakes in the fields of Locust's own."""
        mistakes = []
        needed = {"user_count": "", "spawn_rate": ""}
        for name, text in {**needed, **form}.items():
            try:
                if name == "user_count":
                    whole(1, self._test.clients_at_most())(text)
                elif name == "spawn_rate":
                    number(*SPAWN_RATE_PER_S)(text)
                elif name == "run_time" and text:
                    run_time_s(text)
                elif name == "profile" and len(text) > _PROFILE_CHARACTERS_AT_MOST:
                    raise ValueError(f"longer than {_PROFILE_CHARACTERS_AT_MOST} characters")
            except ValueError as mistake:
                mistakes.append(f"{_LABELS.get(name, name)}: {mistake}")
        return mistakes

    @property
    def _runs(self) -> bool:
        """Does a test run, or is it about to? Locust's own state says so only once the first user is made."""
        runner: Any = self._environment.runner
        about_to = (self._web_ui._swarm_greenlet, runner and runner.spawning_greenlet)
        starting = any(greenlet is not None and not greenlet.ready() for greenlet in about_to)
        return starting or (runner is not None and runner.state in (STATE_SPAWNING, STATE_RUNNING))

    def _check_change(self, form: Mapping[str, str], picked: list[str]) -> None:
        """A running test changes its number of clients, and nothing else: the rest was handed out at its start."""
        options = vars(self._environment.parsed_options)
        changed = []
        for name, text in form.items():
            current = options.get(name)
            if name in ("user_count", "spawn_rate", "host", "shape_class") or (not text and not current):
                continue
            if name == "user_classes":
                same = set(picked) == {cls.__name__ for cls in self._environment.user_classes}
            elif name == "run_time":
                same = bool(text) and run_time_s(text) == current
            else:
                same = (text if current is None else type(current)(text)) == current
            if not same:
                changed.append(f"{_LABELS.get(name, '--' + name.replace('_', '-'))}: cannot be changed")
        if options["measure_s"]:
            changed.append(f"{_LABELS['user_count']}: fixed in a measured window")
        if changed:
            raise BadOptions("; ".join(changed) + " while a test runs; stop it first")

    def _check_user_settings(self) -> Response | None:
        """The class picker lets a class be changed. Ours have nothing that could be; others have what is shown."""
        try:
            wanted = json.loads(request.get_data())
            cls: Any = self._available[wanted["user_class_name"]]
            known = {"user_class_name", *cls.json()}
        except (ValueError, KeyError, TypeError):
            return self._refuse("no such user class", _BAD_REQUEST)
        if self._test.is_ours(cls):
            return self._refuse(f"the settings of {cls.__name__} cannot be changed", _FORBIDDEN)
        stray = [f"{name[:80]}: {cls.__name__} has no such setting" for name in wanted if name not in known]
        return self._refuse("; ".join(stray), _BAD_REQUEST) if stray else None

    def _add_notice(self, response: Response) -> Response:
        """What the page says once a test has started."""
        if request.endpoint == "locust.swarm" and request.method == "POST" and response.status_code == 200:
            answer = response.get_json()
            notice = " ".join(filter(None, self._notices())) if answer["success"] else ""
            if notice:
                response.set_data(json.dumps({**answer, "notice": notice}))
        return response

    def _notices(self) -> tuple[str, str]:
        """What several classes do to each other's numbers, and which network was measured."""
        forwarder = self._test.forwarder
        rtt_us = None if forwarder is None else forwarder.network["rtt_us"]
        if forwarder is None or rtt_us is None:
            return self._test.side_by_side(), ""
        asked = forwarder.network["asked"]
        return (
            self._test.side_by_side(),
            f"Network {asked}: the round trip measured through its lines is {rtt_us:,.0f} µs.",
        )


_LABELS = {
    "user_count": "Number of users",
    "spawn_rate": "Ramp up",
    "run_time": "Run time",
    "profile": "Profile",
    "user_classes": "User class",
}
