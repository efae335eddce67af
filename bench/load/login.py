"""A login before the page, wherever others than this machine's own users can reach it.

Locust has the login page, and leaves to its users who may enter. Here it is one account for each start: its password is
made up and printed once, or comes from the environment. Whoever binds the page wider than loopback gets the login
whether he asks for it or not: a page that starts load, and faults, is nothing for a whole network. Refusing would only
make people open a tunnel by hand. Everything is behind it, also what a later version of Locust or a locustfile adds;
only the login itself, and the script that draws it, are not.
"""

import hmac
import ipaddress
import os
import secrets
import socket
import sys
from collections import deque
from collections.abc import Mapping
from time import monotonic
from typing import Any, NamedTuple

from flask import Blueprint, Response, jsonify, make_response, redirect, request, session, url_for
from flask_login import LoginManager, UserMixin, current_user, login_user

from bench.errors import LockbenchError

USER_VARIABLE, PASSWORD_VARIABLE = "LOCKBENCH_WEB_USER", "LOCKBENCH_WEB_PASSWORD"
_USER = "lockbench"
_PASSWORD_CHARACTERS_AT_LEAST = 8
_PASSWORD_BYTES = 12
_FAILURES_A_MINUTE = 20
_OPEN = ("locust.login", "locust.send_assets", "lockbench_login.enter")
_SHOWN = ("locust.index", "locks.page")  # whoever opens these in a browser is led to the login
_UNAUTHORIZED = 401


class BadLogin(LockbenchError):
    """The environment names no account that could be used."""


class Account(NamedTuple):
    """Who may enter. `made_up`: nobody knows the password yet."""

    user: str
    password: str
    made_up: bool

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Account":
        """From the environment, or made up. Raises BadLogin."""
        user, password = environment.get(USER_VARIABLE) or _USER, environment.get(PASSWORD_VARIABLE, "")
        if password and len(password) < _PASSWORD_CHARACTERS_AT_LEAST:
            raise BadLogin(f"{PASSWORD_VARIABLE}: at least {_PASSWORD_CHARACTERS_AT_LEAST} characters, or leave it out")
        return cls(user, password or secrets.token_urlsafe(_PASSWORD_BYTES), not password)

    def is_right(self, user: str, password: str) -> bool:
        """Compared in the same time, however much of it is right."""
        right_user = hmac.compare_digest(self.user.encode(), user.encode())
        right_password = hmac.compare_digest(self.password.encode(), password.encode())
        return right_user and right_password


def is_loopback(host: str) -> bool:
    """Do only users of this machine reach an address, or all that a name stands for?"""
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)


class Login:
    """Of one page. `protect` puts it before everything."""

    def __init__(self, account: Account, base_path: str = "") -> None:
        self._account = account
        self._base_path = base_path
        self._failed_s: deque[float] = deque(maxlen=_FAILURES_A_MINUTE)

    def protect(self, web_ui: Any) -> None:
        """Let nobody see anything before he has logged in. `web_ui` is Locust's."""
        app = web_ui.app
        if not web_ui.web_login:
            web_ui.web_login, web_ui.login_manager = True, LoginManager(app)
            web_ui.login_manager.login_view = "locust.login"
        web_ui.login_manager.user_loader(self._load)
        web_ui.auth_args |= {"username_password_callback": f"{self._base_path}/login/enter"}
        app.config |= {
            "SECRET_KEY": secrets.token_bytes(32),  # sessions end with this start
            "SESSION_COOKIE_NAME": f"lockbench-{web_ui.port}",  # a browser sends cookies to every port of a host
            "SESSION_COOKIE_SAMESITE": "Strict",
            "SESSION_COOKIE_SECURE": bool(web_ui.tls_cert and web_ui.tls_key),
        }
        routes = Blueprint("lockbench_login", __name__, url_prefix=self._base_path or None)
        routes.add_url_rule("/login/enter", endpoint="enter", view_func=self._enter, methods=["POST"])
        app.register_blueprint(routes)
        app.before_request(_gate)

    def say(self, address: str) -> None:
        """Print who may enter: not into Locust's log, which the page shows and which may be a file."""
        password = self._account.password if self._account.made_up else f"that of {PASSWORD_VARIABLE}"
        print(f"Log in to {address} as {self._account.user}, password {password}", file=sys.stderr, flush=True)

    def _load(self, user: str) -> "_User | None":
        return _User(user) if user == self._account.user else None

    def _enter(self) -> Any:
        now_s = monotonic()
        if len(self._failed_s) == _FAILURES_A_MINUTE and now_s - self._failed_s[0] < 60:
            session["auth_error"] = "Too many wrong passwords: wait a minute"
        elif self._account.is_right(request.form.get("username", ""), request.form.get("password", "")):
            login_user(_User(self._account.user))
            return redirect(url_for("locust.index"))
        else:
            self._failed_s.append(now_s)
            session["auth_error"] = "Wrong user or password"
        return redirect(url_for("locust.login"))


class _User(UserMixin):  # type: ignore[misc]  # the package has no annotations
    def __init__(self, name: str) -> None:
        self.id = name


def _gate() -> Any:
    """Flask calls it before every request."""
    if request.endpoint in _OPEN or current_user.is_authenticated:
        return None
    if request.endpoint in _SHOWN and request.method in ("GET", "HEAD"):
        return redirect(url_for("locust.login"))
    refused: Response = make_response(jsonify({"success": False, "message": "log in first"}), _UNAUTHORIZED)
    return refused
