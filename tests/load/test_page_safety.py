"""The page obeys itself and nobody else: every route of Locust's, asked as another web page would ask."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest

from bench.load.child import locust_command, locust_running
from bench.servers.running.ports import free_ports
from tests.load.pages import FORM, Page, opened, page

ROOT = Path(__file__).parents[2]
# In a process of its own: importing Locust patches this one.
_ROUTES = """
import json
from locust.env import Environment
app = Environment().create_web_ui(delayed_start=True).app
print(json.dumps([[rule.rule, sorted(rule.methods)] for rule in app.url_map.iter_rules()]))
"""
FOREIGN: dict[str, Mapping[str, str]] = {
    "a name that was made to point here": {"Host": "evil.example:{port}"},
    "its page": {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"},
    "another site": {"Host": "127.0.0.1:{port}", "Origin": "http://evil.example"},
    "another program on this machine": {"Host": "127.0.0.1:{port}", "Origin": "http://127.0.0.1:1"},
    "a sandboxed frame": {"Host": "127.0.0.1:{port}", "Origin": "null"},
    "an image or a script of another site": {"Host": "127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site"},
    "nobody": {},
}


def headers_of(opened: Page, who: str) -> dict[str, str]:
    port = opened.address.rpartition(":")[2]
    return {name: value.format(port=port) for name, value in FOREIGN[who].items()}


@contextmanager
def plain_locust_with_a_worker() -> Iterator[Page]:
    """What the README says: `locust` in this folder; here a master, and a worker on its port."""
    page_port, master_port = free_ports(2)
    master = [sys.executable, "-m", "locust", "--master", "--web-port", str(page_port), "--system", "memory"]
    worker = [sys.executable, "-m", "locust", "--worker", "--master-port", str(master_port)]
    with (
        locust_running([*master, "--master-bind-port", str(master_port)], {}) as process,
        locust_running(worker, {}),
        opened(page_port, process) as found,
    ):
        found.until(lambda: found.stats().get("worker_count") == 1)
        yield found


@pytest.fixture(scope="module", params=["lockbench live", "locust"])
def any_page(request: pytest.FixtureRequest) -> Iterator[Page]:
    with page() if request.param == "lockbench live" else plain_locust_with_a_worker() as found:
        yield found


@pytest.fixture(scope="module")
def routes() -> list[tuple[str, list[str]]]:
    found = subprocess.run([sys.executable, "-c", _ROUTES], capture_output=True, text=True, check=True, cwd=ROOT)
    listed: list[tuple[str, list[str]]] = json.loads(found.stdout)
    assert {"/swarm", "/stop", "/stats/reset", "/user", "/login"} <= {path for path, _ in listed}
    return listed


@pytest.mark.parametrize("who", FOREIGN)
def test_no_route_answers_another_page(any_page: Page, routes: list[tuple[str, list[str]]], who: str) -> None:
    body = urlencode({**FORM, "system": "memory"})
    for path, methods in routes:
        for method in {*methods, "GET", "POST", "OPTIONS"}:
            answer = any_page.ask(method, path.replace("<path:", "").replace(">", ""), headers_of(any_page, who), body)
            assert answer.status == 403, f"{method} {path}"
            assert not [name for name, _ in answer.getheaders() if name.lower().startswith("access-control-")]
    assert any_page.stats()["state"] == "ready", "nothing was started"


def test_no_answer_may_be_read_by_another_page(any_page: Page, routes: list[tuple[str, list[str]]]) -> None:
    own = {"Host": any_page.address.removeprefix("http://")}
    for path, methods in routes:
        for method in {*methods} - {"POST"}:
            answer = any_page.ask(method, path.replace("<path:", "").replace(">", ""), own)
            names = {name.lower() for name, _ in answer.getheaders()}
            assert not [name for name in names if name.startswith("access-control-")], f"{method} {path}"
            assert "x-frame-options" in names


@pytest.mark.parametrize("path", ["/swarm", "/stop", "/stats/reset"])
def test_looking_changes_nothing(any_page: Page, path: str) -> None:
    own = {"Host": any_page.address.removeprefix("http://")}
    assert any_page.ask("GET", path, own).status == 405


@pytest.mark.parametrize(
    "field",
    [
        *(
            "record_into",
            "measure_s",
            "client_variant",
            "give_up_s",
            "step_s",
            "csv_prefix",
            "html_file",
            "json_file",
            "logfile",
        ),
        *("headless", "web_host", "master_bind_host", "stop_timeout", "locustfile", "num_users", "users", "processes"),
        *("user_classes", "shape_class", "lockbench_systems", "lockbench_workers", "nonsense", "", "System", "ttl-ms"),
    ],
)
@pytest.mark.parametrize("place", ["body", "query"])
def test_a_field_that_the_form_does_not_show_is_refused(any_page: Page, tmp_path: Path, field: str, place: str) -> None:
    own = {"Host": any_page.address.removeprefix("http://")}
    form, more = {**FORM, "system": "memory"}, {field: str(tmp_path)}
    body, query = ({**form, **more}, {}) if place == "body" else (form, more)
    answer = any_page.ask("POST", f"/swarm?{urlencode(query)}", own, urlencode(body))
    assert answer.status == 400
    told = (
        f"{field}: the form has no such field" if place == "body" else "in the body of the request, not in its address"
    )
    assert told in json.loads(answer.read())["message"]
    assert any_page.stats()["state"] == "ready"
    assert list(tmp_path.iterdir()) == []


def test_a_field_that_is_given_twice_is_refused(any_page: Page) -> None:
    own = {"Host": any_page.address.removeprefix("http://")}
    answer = any_page.ask("POST", "/swarm", own, urlencode({**FORM, "system": "memory"}) + "&user_count=1000000000")
    assert answer.status == 400
    assert "user_count: given 2 times" in json.loads(answer.read())["message"]


@pytest.mark.parametrize(
    "settings",
    [
        {"user_class_name": "SelectedLockUser", "system_name": "null"},
        {"user_class_name": "SelectedLockUser", "weight": 5, "tasks": []},
        {"user_class_name": "Nobody"},
        {"user_class_name": ["SelectedLockUser"]},
        [],
    ],
)
def test_a_user_class_is_not_changed(any_page: Page, settings: object) -> None:
    own = {"Host": any_page.address.removeprefix("http://")}
    assert any_page.ask("POST", "/user", own, json.dumps(settings)).status in (400, 403)


def test_a_request_of_any_size_is_refused_in_time(any_page: Page) -> None:
    own = {"Host": any_page.address.removeprefix("http://")}
    answer = any_page.ask("POST", "/swarm", own, urlencode({**FORM, "system": "memory", "wait": "x" * 1_000_000}))
    assert answer.status == 413


def test_everything_listens_on_loopback_only(any_page: Page) -> None:
    master = psutil.Process(any_page.process.pid)
    listening = [one.laddr.ip for one in master.net_connections() if one.status == "LISTEN"]
    assert listening
    assert set(listening) == {"127.0.0.1"}


def test_the_page_of_locks_is_there(any_page: Page) -> None:
    """Of a master with a worker, and without lockbench beside it, too."""
    assert "Hand-off p50" in any_page.get("/")
    form = {**FORM, "system": "memory", "workload": "contended", "hold_ms": "2", "user_count": "4", "warmup_s": "0"}
    answer = any_page.post("/swarm", form)
    assert answer["success"] is True, answer["message"]

    def counted() -> Any:
        moments = json.loads(any_page.get("/locks/moments"))["moments"]
        return moments and moments[-1]["systems"]["memory"].get("hand_off_us_p50")

    any_page.until(counted)
    told = json.loads(any_page.get("/locks/moments"))
    assert (told["lost"], told["staging"]["systems"], told["kept"]) == (False, {}, None)
    assert "its servers are your own" in told["staging"]["why_not"]["redis"]
    any_page.stop()


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("--web-host", "0.0.0.0", "--master-bind-host", "0.0.0.0"), {}),
        (("--web-host", "*", "--master-bind-host", "*"), {}),
        ((), {"LOCUST_WEB_HOST": "0.0.0.0", "LOCUST_MASTER_BIND_HOST": "0.0.0.0"}),
        (("--config", "asked.conf"), {}),
    ],
)
def test_it_listens_elsewhere_where_the_user_says_so(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    (tmp_path / "asked.conf").write_text("web-host = 0.0.0.0\nmaster-bind-host = 0.0.0.0\n")
    page_port, master_port = free_ports(2)
    argv = [sys.executable, "-m", "locust", "--master", "--web-port", str(page_port), "--system", "memory"]
    argv += [
        "--master-bind-port",
        str(master_port),
        *(one.replace("asked", str(tmp_path / "asked")) for one in arguments),
    ]
    with locust_running(argv, environment) as process, opened(page_port, process):
        connections = psutil.Process(process.pid).net_connections()
        elsewhere = {
            one.laddr.port for one in connections if one.status == "LISTEN" and one.laddr.ip in ("0.0.0.0", "::")
        }
        assert elsewhere == {page_port, master_port}


def test_the_processes_of_a_run_talk_over_loopback_on_a_port_of_their_own() -> None:
    ports = set()
    for _ in range(2):
        command = locust_command({}, processes=2)
        assert command[command.index("--master-bind-host") + 1] == "127.0.0.1"
        ports.add(command[command.index("--master-bind-port") + 1])
        assert command[command.index("--master-port") + 1] in ports
    assert "5557" not in ports
