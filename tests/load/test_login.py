"""Who binds the page wider than loopback gets a login before everything, whether or not he asked for one."""

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from bench.load.child import locust_running
from bench.load.live import LiveFailed, live_command, require_port
from bench.load.login import PASSWORD_VARIABLE, USER_VARIABLE, Account, BadLogin, is_loopback
from bench.load.press import TOKEN_HEADER
from bench.servers.running.ports import free_ports
from tests.load.pages import FORM, Page, opened
from tests.load.test_page_safety import routes

__all__ = ("routes",)  # a fixture
ACCOUNT = {USER_VARIABLE: "ops", PASSWORD_VARIABLE: "correct horse"}
OURS = ["/locks", "/locks/moments", "/locks/press", "/locks/kept.svg", "/locks/kept.parquet"]


@contextmanager
def bound_wide(
    folder: Path, environment: Mapping[str, str], *more: str, plain: bool = False
) -> Iterator[tuple[Page, Path]]:
    """A page on all addresses, and the file with what was printed."""
    page_port, master_port = free_ports(2)
    argv = live_command(["memory"], page_port, 1, "0.0.0.0")
    if plain:
        argv = [sys.executable, "-m", "locust", "--master", "--web-host", "0.0.0.0", "--web-port", str(page_port)]
        argv += ["--master-bind-port", str(master_port), "--master-bind-host", "0.0.0.0", "--system", "memory"]
    said = folder / "said.txt"
    with (
        said.open("wb") as log,
        locust_running([*argv, *more], environment, output=log) as process,
        opened(page_port, process) as page,
    ):
        yield page, said


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Path]]:
    with bound_wide(tmp_path_factory.mktemp("wide"), ACCOUNT) as found:
        yield found


def own(page: Page) -> dict[str, str]:
    return {"Host": page.address.removeprefix("http://"), "Origin": page.address}


def enter(page: Page, user: str, password: str) -> http.client.HTTPResponse:
    form = urlencode({"username": user, "password": password})
    return page.ask("POST", "/login/enter", own(page), form)


def cookie_of(answer: http.client.HTTPResponse) -> str:
    return str(answer.getheader("Set-Cookie")).partition(";")[0]


def test_nothing_is_seen_or_done_before_the_login(wide: tuple[Page, Path], routes: list[tuple[str, list[str]]]) -> None:
    page, _ = wide
    for path, methods in [*routes, *((path, ["GET", "POST"]) for path in OURS), ("/nothing", ["GET"])]:
        if path in ("/login", "/assets/<path:path>"):
            continue
        for method in {*methods} - {"OPTIONS"}:
            answer = page.ask(method, path, own(page), urlencode({**FORM, "system": "memory"}))
            is_shown = path in ("/", "/locks") and method in ("GET", "HEAD")
            assert answer.status == (302 if is_shown else 401), f"{method} {path}"
            if is_shown:
                assert answer.getheader("Location") == "/login"


def test_a_cookie_of_ones_own_making_opens_nothing(wide: tuple[Page, Path]) -> None:
    page, _ = wide
    port = page.address.rpartition(":")[2]
    forged = {**own(page), "Cookie": f"lockbench-{port}=eyJfdXNlcl9pZCI6Im9wcyJ9.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb"}
    assert page.ask("GET", "/locks/moments", forged).status == 401


@pytest.mark.parametrize(("user", "password"), [("ops", "wrong"), ("ops", ""), ("", "correct horse"), ("öps", "ü" * 9)])
def test_a_wrong_password_stays_outside(wide: tuple[Page, Path], user: str, password: str) -> None:
    page, _ = wide
    answer = enter(page, user, password)
    assert answer.getheader("Location") == "/login"
    assert page.ask("GET", "/locks/moments", {**own(page), "Cookie": cookie_of(answer)}).status == 401


def test_another_page_cannot_log_in(wide: tuple[Page, Path]) -> None:
    page, _ = wide
    foreign = {**own(page), "Origin": "http://evil.example"}
    form = urlencode({"username": "ops", "password": "correct horse"})
    assert page.ask("POST", "/login/enter", foreign, form).status == 403


def test_whoever_has_logged_in_sees_and_does_everything(wide: tuple[Page, Path]) -> None:
    page, said = wide
    answer = enter(page, "ops", "correct horse")
    assert answer.getheader("Location") == "/"
    told = str(answer.getheader("Set-Cookie"))
    assert "HttpOnly" in told
    assert "SameSite=Strict" in told
    inside = {**own(page), "Cookie": cookie_of(answer)}
    source = page.ask("GET", "/locks", inside).read().decode()
    token = source.partition('const TOKEN = "')[2].partition('"')[0]
    pressed = page.ask(
        "POST", "/locks/press", {**inside, TOKEN_HEADER: token, "Content-Type": "application/json"}, "{}"
    )
    assert pressed.status == 400, "a press of nothing is read, and refused for what it says"
    started = page.ask("POST", "/swarm", inside, urlencode({**FORM, "system": "memory", "beside": ""}))
    assert json.loads(started.read())["success"] is True
    assert "the page listens on 0.0.0.0" in said.read_text()
    assert "correct horse" not in said.read_text()


def test_too_many_wrong_passwords_are_refused_unread(wide: tuple[Page, Path]) -> None:
    """The last test of this page."""
    page, _ = wide
    for _ in range(25):
        answer = enter(page, "ops", "wrong again")
    assert cookie_of(enter(page, "ops", "correct horse")) != ""
    answer = enter(page, "ops", "correct horse")
    assert answer.getheader("Location") == "/login"
    shown = page.ask("GET", "/login", {**own(page), "Cookie": cookie_of(answer)}).read().decode()
    assert "wait a minute" in shown


def test_plain_locust_asks_for_a_login_too_and_prints_it_once(tmp_path: Path) -> None:
    """And warns of the master's port, which no password protects."""
    with bound_wide(tmp_path, {PASSWORD_VARIABLE: ""}, plain=True) as (page, said):
        page.until(lambda: "Log in to" in said.read_text())
        assert page.ask("GET", "/locks/moments", own(page)).status == 401
        (password,) = re.findall(r"as lockbench, password (\S+)", said.read_text())
        inside = {**own(page), "Cookie": cookie_of(enter(page, "lockbench", password))}
        logs = page.ask("GET", "/logs", inside).read().decode()
        assert "requires a login" in logs
        assert password not in logs
        assert "whoever reaches port" in said.read_text()


def test_a_short_password_is_no_password(tmp_path: Path) -> None:
    argv = live_command(["memory"], free_ports(1)[0], 1, "0.0.0.0")
    done = subprocess.run(
        argv, env={**os.environ, PASSWORD_VARIABLE: "short"}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert f"{PASSWORD_VARIABLE}: at least 8 characters" in done.stderr


def test_an_account_is_made_up_or_that_of_the_environment() -> None:
    one, other = Account.read({}), Account.read({})
    assert (one.user, one.made_up) == ("lockbench", True)
    assert len(one.password) >= 16
    assert one.password != other.password
    assert Account.read(ACCOUNT) == Account("ops", "correct horse", made_up=False)
    with pytest.raises(BadLogin):
        Account.read({PASSWORD_VARIABLE: "1234567"})


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("", False),
        ("::", False),
        ("10.1.2.3", False),
    ],
)
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback


def test_an_address_that_is_not_of_this_machine_is_refused() -> None:
    with pytest.raises(LiveFailed, match=r"--host 203.0.113.7: port \d+ cannot be had there"):
        require_port(free_ports(1)[0], "203.0.113.7")
