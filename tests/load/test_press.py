"""The buttons of the page of locks: who may press them, what they may ask for, and that nothing else passes."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any
from unittest.mock import Mock

import pytest

from bench.campaign.live.session import attend
from bench.campaign.live.staging.buttons import BUTTONS, SECONDS_MOST, buttons_of
from bench.campaign.live.staging.staging import Staging
from bench.hazards.faults.registry import FAULTS
from bench.load.live import live_running
from bench.load.press import PRESSES_PER_S, TOKEN_HEADER, Presses, Refused, checked
from bench.servers.running.ports import free_ports
from bench.systems.etcd.server import EtcdServers
from bench.systems.redis.server import RedisServers
from tests.load.pages import Page, opened

_REDIS = {"title": "Redis", "buttons": buttons_of(RedisServers()), "scenarios": {"gc-pause": "A pause"}}
OFFERED = {
    "systems": {"redis": _REDIS},
    "why_not": {"postgres-row": "its servers are your own"},
    "others": ["start", "stop", "fence", "end", "play"],
}
PAUSE = {"system": "redis", "what": "pause", "seconds": 2}


@pytest.mark.parametrize(
    "asked",
    [
        PAUSE,
        {"system": "redis", "what": "kill"},
        {"system": "redis", "what": "delay", "seconds": 1, "amount": 200},
        {"system": "redis", "what": "step-holder-clock", "seconds": 0.5, "amount": -3_600_000},
        {"system": "redis", "what": "fence", "on": True},
        {"system": "redis", "what": "play", "scenario": "gc-pause"},
        {"system": "redis", "what": "stop"},
    ],
)
def test_what_is_offered_passes(asked: Mapping[str, Any]) -> None:
    assert {name: value for name, value in checked(asked, OFFERED).items() if value is not None} == asked


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (None, "not a JSON object"),
        ([PAUSE], "not a JSON object"),
        ("pause", "not a JSON object"),
        ({**PAUSE, "command": "rm"}, "'command' is no field"),
        ({**PAUSE, "path": "/etc/passwd"}, "'path' is no field"),
        ({**PAUSE, "url": "redis://10.0.0.5"}, "'url' is no field"),
        ({**PAUSE, "what": "destroy"}, "no button 'destroy'"),
        ({**PAUSE, "what": None}, "no button"),
        ({**PAUSE, "what": ["pause"]}, "no button"),
        ({**PAUSE, "system": "nosuch"}, "there is no such system"),
        ({**PAUSE, "system": "postgres-row"}, "your own"),
        ({**PAUSE, "system": "10.0.0.5:6379"}, "there is no such system"),
        ({**PAUSE, "system": ["redis"]}, "name a system"),
        ({**PAUSE, "what": "stop-leader"}, "no button"),
        ({"system": "redis", "what": "pause"}, "seconds: a number from 0.5 to 60"),
        ({**PAUSE, "seconds": -1}, "seconds: a number from 0.5 to 60, not -1"),
        ({**PAUSE, "seconds": 0}, "seconds: a number from"),
        ({**PAUSE, "seconds": 10**9}, "seconds: a number from"),
        ({**PAUSE, "seconds": 10**400}, "seconds: a number from"),
        ({**PAUSE, "seconds": "2"}, "seconds: a number from"),
        ({**PAUSE, "seconds": True}, "seconds: a number from"),
        ({**PAUSE, "seconds": float("nan")}, "seconds: a number from"),
        ({**PAUSE, "seconds": float("inf")}, "seconds: a number from"),
        ({**PAUSE, "amount": 5}, "amount: this button takes none"),
        ({"system": "redis", "what": "kill", "seconds": 2}, "seconds: this button takes none"),
        ({"system": "redis", "what": "delay", "seconds": 2, "amount": 0}, "amount: a number from 1 to 5000"),
        ({**PAUSE, "on": True}, "only the fence"),
        ({"system": "redis", "what": "fence"}, "on: true or false"),
        ({"system": "redis", "what": "fence", "on": "yes"}, "only the fence"),
        ({"system": "redis", "what": "play"}, "plays no scenario"),
        ({"system": "redis", "what": "play", "scenario": "../../etc"}, "plays no scenario"),
        ({**PAUSE, "scenario": "gc-pause"}, "goes with play"),
    ],
)
def test_what_is_not_offered_is_refused(asked: Any, message: str) -> None:
    with pytest.raises(Refused, match=message.replace("(", r"\(")):
        checked(asked, OFFERED)


def test_every_button_is_a_fault_of_the_lab_and_ends() -> None:
    for name, button in BUTTONS.items():
        assert button.fault in FAULTS, name
        assert button.seconds <= SECONDS_MOST
        assert (button.amount is None) == (not button.argument)
    assert "stop-leader" in buttons_of(EtcdServers())


class _Recording(Staging):
    """Offers Redis, and keeps what it is asked for."""

    def __init__(self) -> None:
        super().__init__(None, {})
        self.pressed: list[Mapping[str, Any]] = []
        self.was_pressed = threading.Event()

    def about(self) -> dict[str, Any]:
        return OFFERED

    def press(self, asked: Mapping[str, Any]) -> None:
        self.pressed.append(asked)
        self.was_pressed.set()


@contextmanager
def _served(staging: Staging) -> Iterator[Page]:
    (port,) = free_ports(1)
    with live_running(["memory"], port) as (process, channel):
        attending = threading.Thread(target=attend, args=(channel, staging))
        attending.start()
        with opened(port, process) as page:
            page.until(
                lambda: json.loads(page.get("/locks/moments"))["staging"]["systems"] == staging.about()["systems"]
            )
            yield page
    attending.join(10)


@pytest.fixture(scope="module")
def recording() -> _Recording:
    return _Recording()


@pytest.fixture(scope="module")
def served(recording: _Recording) -> Iterator[Page]:
    with _served(recording) as page:
        yield page


def token_of(page: Page) -> str:
    return page.get("/locks").partition('const TOKEN = "')[2].partition('"')[0]


def send(
    page: Page, asked: Any, headers: Mapping[str, str | None] | None = None, body: str | None = None
) -> HTTPResponse:
    """As the page itself does, but for `headers`; None leaves one out."""
    own = {"Host": page.address.removeprefix("http://"), "Origin": page.address, TOKEN_HEADER: token_of(page)}
    all_ = {**own, "Content-Type": "application/json", **(headers or {})}
    kept = {name: value for name, value in all_.items() if value is not None}
    return page.ask("POST", "/locks/press", kept, json.dumps(asked) if body is None else body)


def test_the_page_itself_is_heard(served: Page, recording: _Recording) -> None:
    recording.was_pressed.clear()
    assert send(served, PAUSE).status == 202
    assert recording.was_pressed.wait(10)
    assert recording.pressed[-1] == {**PAUSE, "amount": None, "on": None, "scenario": None, "seconds": 2.0}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({TOKEN_HEADER: None}, 403),
        ({TOKEN_HEADER: ""}, 403),
        ({TOKEN_HEADER: "x" * 43}, 403),
        ({TOKEN_HEADER: "ü"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 400),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 400),
    ],
)
def test_who_is_not_the_page_is_refused(
    served: Page, recording: _Recording, headers: Mapping[str, str | None], status: int
) -> None:
    before = len(recording.pressed)
    assert send(served, PAUSE, headers).status == status
    assert len(recording.pressed) == before


@pytest.mark.parametrize("body", ["", "{", "[]", "pause", '{"system": "redis", "what": "pause", "seconds": Infinity}'])
def test_what_is_no_request_is_refused(served: Page, recording: _Recording, body: str) -> None:
    before = len(recording.pressed)
    answer = send(served, None, body=body)
    assert answer.status == 400
    assert json.loads(answer.read())["success"] is False
    assert len(recording.pressed) == before


def test_a_long_request_is_refused(served: Page) -> None:
    assert send(served, None, body=json.dumps({**PAUSE, "what": "x" * 100_000})).status in (400, 413)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_buttons_are_pressed_by_post_alone(served: Page, method: str) -> None:
    host = served.address.removeprefix("http://")
    assert served.ask(method, "/locks/press", {"Host": host, "Origin": served.address}).status in (403, 405)


def test_a_token_of_an_earlier_start_is_old(served: Page) -> None:
    with _served(_Recording()) as other:
        assert send(served, PAUSE, {TOKEN_HEADER: token_of(other)}).status == 403


def test_so_many_presses_a_second_and_no_more() -> None:
    instants_s = iter([*(n / 100 for n in range(PRESSES_PER_S)), 0.9, 1.5])
    presses = Presses(Mock(), lambda: next(instants_s))
    for _ in range(PRESSES_PER_S):
        presses.check_rate()
    with pytest.raises(Refused, match="more than 10 presses a second") as refused:
        presses.check_rate()
    assert refused.value.status == 429
    presses.check_rate()
