"""The buttons of the page of locks: what a browser may ask for, checked before anybody does it.

A request must come from the page itself: with the page's own token, which another page cannot read, and with an Origin,
which a browser sets by itself. It names a system, a button and numbers, all among what lockbench has offered
(`Forwarder.staging`); it carries no command, no file name and no address.
"""

import hmac
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any

from flask import Response, jsonify, make_response, request

if TYPE_CHECKING:  # it imports locust, which patches whatever imports it
    from bench.load.forwarder import Forwarder

TOKEN_HEADER = "X-Lockbench-Token"
PRESSES_PER_S = 10
_FIELDS = {"system", "what", "seconds", "amount", "on", "scenario"}


class Refused(Exception):
    """What is wrong with a request, and the status of the answer."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


class Presses:
    """Of one page. `token` is new with each start of lockbench."""

    def __init__(self, forwarder: "Forwarder", now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self.token = secrets.token_urlsafe(32)
        self._forwarder = forwarder
        self._recent_s: deque[float] = deque(maxlen=PRESSES_PER_S)

    def view(self) -> Response:
        """Answer one press: 202, since it is carried out elsewhere, and what comes of it is shown with the moments."""
        try:
            self._check_sender()
            asked = checked(request.get_json(silent=True), self._forwarder.staging)
            self.check_rate()
            if self._forwarder.lost:
                raise Refused("lockbench has ended: nobody is left to do it", HTTPStatus.CONFLICT)
        except Refused as refused:
            return make_response(jsonify({"success": False, "message": str(refused)}), refused.status)
        self._forwarder.press(asked)
        return make_response(jsonify({"success": True}), HTTPStatus.ACCEPTED)

    def _check_sender(self) -> None:
        """The page's guard has refused foreign origins before."""
        if "Origin" not in request.headers:
            raise Refused("buttons are pressed on the page only: the request names no Origin", HTTPStatus.FORBIDDEN)
        if not hmac.compare_digest(request.headers.get(TOKEN_HEADER, "").encode(), self.token.encode()):
            raise Refused("this page is older than the lockbench that serves it: load it again", HTTPStatus.FORBIDDEN)

    def check_rate(self) -> None:
        """Count one press. Raises Refused where there were too many within a second."""
        now_s = self._now_s()
        if len(self._recent_s) == PRESSES_PER_S and now_s - self._recent_s[0] < 1:
            raise Refused(f"more than {PRESSES_PER_S} presses a second", HTTPStatus.TOO_MANY_REQUESTS)
        self._recent_s.append(now_s)


def checked(asked: Any, staging: Mapping[str, Any]) -> dict[str, Any]:
    """The request again, if it is one that `staging` offers. Raises Refused, with what is wrong."""
    if not isinstance(asked, dict):
        raise Refused("not a JSON object")
    if stray := sorted(map(str, asked.keys() - _FIELDS)):
        raise Refused(f"{stray[0][:40]!r} is no field of a button")
    name, what = asked.get("system"), asked.get("what")
    if not isinstance(name, str) or name not in staging["systems"]:
        why = staging["why_not"].get(name, "there is no such system") if isinstance(name, str) else "name a system"
        raise Refused(f"{str(name)[:40]}: {why}")
    buttons = staging["systems"][name]["buttons"]
    if not isinstance(what, str) or what not in (*buttons, *staging["others"]):
        raise Refused(f"{name} has no button {str(what)[:40]!r}")
    limits = buttons.get(what, {"seconds": None, "amount": None})
    seconds = limits["seconds"] and (limits["seconds"][0], limits["seconds"][2])
    amount = limits["amount"] and (limits["amount"]["low"], limits["amount"]["high"])
    if (on := asked.get("on")) is not None and (what != "fence" or not isinstance(on, bool)):
        raise Refused("on: only the fence is switched, to true or false")
    if what == "fence" and on is None:
        raise Refused("on: true or false")
    scenario, playable = asked.get("scenario"), staging["systems"][name]["scenarios"]
    if what == "play" and not (isinstance(scenario, str) and scenario in playable):
        raise Refused(f"{name} plays no scenario {str(scenario)[:40]!r} here")
    if what != "play" and scenario is not None:
        raise Refused("scenario: goes with play only")
    return {
        "system": name,
        "what": what,
        "seconds": _number("seconds", asked.get("seconds"), seconds),
        "amount": _number("amount", asked.get("amount"), amount),
        "on": on,
        "scenario": scenario,
    }


def _number(name: str, value: Any, limits: tuple[float, float] | None) -> float | None:
    if limits is None:
        if value is not None:
            raise Refused(f"{name}: this button takes none")
        return None
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:  # nor NaN
        raise Refused(f"{name}: a number from {low:g} to {high:g}, not {str(value)[:40]}")
    return float(value)
