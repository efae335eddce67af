"""What Locust's page shows of locks: a table in a tab of its own, and a page with curves beside it.

Locust's supported extension points (`extended_tabs`, `extended_tables`) give a tab and its table, and no curves
(locustio/locust#2194). Its components for them (npm `locust-ui`) must be built anew for every version of Locust. So the
curves have a page of ours on the same server; the two link to each other.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, jsonify, make_response, request
from locust.web import WebUI

from bench.load.bounds import whole
from bench.load.forwarder import Forwarder
from bench.load.kept_page import hand_out_kept, kept_about
from bench.load.press import Presses
from bench.systems.registry import PROBES, SYSTEMS

_PAGE = Path(__file__).with_name("locks_page.html")
_LOOKS = "/* of each system */ {}"  # in the page: the figures' colours, markers and lines
_TOKEN = '/* of this start */ ""'
_KEY = "locks"
_BAD_REQUEST = 400
_NUMBER_AT_MOST = 10**9
# Single words: Locust turns the keys of cells into camel case, and those of columns not.
_COLUMNS: Mapping[str, str] = {
    "system": "System",
    "pairs": "Pairs/s",
    "p50": "Acquire p50 (µs)",
    "p99": "Acquire p99 (µs)",
    "p999": "Acquire p99.9 (µs)",
    "queued": "Queue wait p50 (µs)",
    "handoff": "Hand-off p50 (µs)",
    "streak": "Longest streak",
    "holders": "Holders now",
    "waiters": "Waiters now",
    "doubles": "Double holds",
    "failed": "Failed operations",
    "late": "Late writes accepted",
    "fenced": "Late writes refused",
}


def show_locks(web_ui: WebUI, forwarder: Forwarder, base_path: str, trouble: Callable[[], str] = lambda: "") -> None:
    """Add the tab to Locust's page, and the page of curves at `base_path`/locks. `trouble` tells why a test was ended,
    or that a worker is lost."""
    columns = [{"key": key, "title": title} for key, title in _COLUMNS.items()]
    web_ui.template_args |= {
        "extended_tabs": [{"title": "Locks", "key": _KEY}],
        "extended_tables": [{"key": _KEY, "structure": columns}],
        "extended_csv_files": [{"href": f"{base_path}/locks", "title": "Locks: the last ten minutes as curves"}],
    }
    presses = Presses(forwarder)
    routes = Blueprint(_KEY, __name__, url_prefix=base_path)

    def page() -> Response:
        response = Response(_page(presses.token), mimetype="text/html")
        response.headers["Cache-Control"] = "no-store"  # the token is new with each start
        return response

    def moments() -> Response:
        """Those that are newer than the one that the browser has, by `number`."""
        try:
            after = whole(0, _NUMBER_AT_MOST)(request.args.get("after", "0"))
        except ValueError as mistake:
            return make_response(jsonify({"message": f"after: {mistake}"}), _BAD_REQUEST)
        runner: Any = web_ui.environment.runner
        fresh = [moment for moment in forwarder.moments if moment["number"] > after]
        about = {name: getattr(forwarder, name) for name in ("session", "newest", "lost", "staged")}
        # Flask's own function would sort the systems by name.
        if not after:  # 50 kB, which change no more: not every second, out of the process that loads
            about["staging"] = forwarder.staging
        answer = {**about, "moments": fresh, "state": runner.state, "trouble": trouble(), "kept": kept_about(forwarder)}
        return Response(json.dumps(answer), mimetype="application/json")

    def add_table(response: Response) -> Response:
        if request.endpoint == "locust.request_stats" and response.status_code == 200 and response.is_json:
            rows = _rows(forwarder.moments[-1], forwarder.staged["systems"]) if forwarder.moments else []
            response.set_data(json.dumps({**response.get_json(), "extended_stats": [{"key": _KEY, "data": rows}]}))
        return response

    with_login: Any = web_ui.auth_required_if_enabled
    routes.add_url_rule("/locks", view_func=with_login(page))
    routes.add_url_rule("/locks/moments", view_func=with_login(moments))
    routes.add_url_rule("/locks/press", view_func=with_login(presses.view), methods=["POST"])
    hand_out_kept(routes, forwarder, with_login)
    app: Any = web_ui.app
    app.register_blueprint(routes)
    app.after_request(add_table)


def _page(token: str) -> str:
    looks = {
        name: {
            "title": entry.title,
            "colour": entry.look.colour,
            "marker": entry.look.marker,
            "dash": "" if isinstance(entry.look.line, str) else " ".join(f"{2 * one:g}" for one in entry.look.line[1]),
            "hollow": entry.look.hollow,
        }
        for name, entry in {**SYSTEMS, **PROBES}.items()
        if entry.look is not None
    }
    page = _PAGE.read_text(encoding="utf-8")
    return page.replace(_LOOKS, json.dumps(looks).replace("<", "\\u003c"), 1).replace(_TOKEN, json.dumps(token), 1)


def _rows(moment: Mapping[str, Any], staged: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One a system. What so few operations do not tell is left empty, and late writes where there are no holders."""

    def late(system: str, verdict: str) -> int | str:
        return staged[system]["counts"].get(verdict, 0) if system in staged else ""

    return [
        {
            "system": system,
            "pairs": "" if facts["pairs_per_s"] is None else round(facts["pairs_per_s"], 1),
            "p50": _us(facts, "acquire_us_p50"),
            "p99": _us(facts, "acquire_us_p99"),
            "p999": _us(facts, "acquire_us_p999"),
            "queued": _us(facts, "queue_wait_us_p50"),
            "handoff": _us(facts, "hand_off_us_p50"),
            "streak": facts.get("longest_streak", ""),
            "holders": moment["holders"],
            "waiters": moment["waiters"],
            "doubles": "" if facts["double_holds"] is None else facts["double_holds"],
            "failed": facts["failed"],
            "late": late(system, "stale_accepted"),
            "fenced": late(system, "stale_refused"),
        }
        for system, facts in moment["systems"].items()
    ]


def _us(facts: Mapping[str, Any], name: str) -> float | str:
    value = facts.get(name)
    return "" if value is None else float(f"{value:.3g}")
