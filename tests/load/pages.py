"""Locust's page as a browser, or somebody who only pretends to be one, would use it."""

import http.client
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from bench.load.child import locust_running
from bench.load.live import live_command
from bench.servers.running.ports import free_ports
from tests.report.browser import Browser

FORM = {"user_count": "2", "spawn_rate": "2", "host": "", "workload": "uncontended", "warmup_s": "0.2"}
# As a person who types: React hears of a value only by the element's own setter and an event.
FILL = """
const field = document.querySelector('[name="%s"]');
const kind = field instanceof HTMLSelectElement ? HTMLSelectElement : HTMLInputElement;
Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(field, '%s');
for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }));
"""
Stats = Mapping[str, Any]


def fill_in(window: Browser, fields: Mapping[str, str], mistakes: int) -> None:
    """Fill in Locust's form in a browser, send it, and wait until so many of its fields are refused."""
    for name, value in fields.items():
        window.run(FILL % (name, value))
    window.run("document.querySelector('form button[type=submit]').click()")
    window.wait_for(f"document.querySelectorAll('.lockbench-mistake').length == {mistakes}")


def told_beside(window: Browser, field: str) -> str:
    """What stands beside a field of that form."""
    holder = f"document.getElementsByName('{field}')[0].closest('.MuiFormControl-root')"
    return str(window.run(f"return {holder}.nextSibling.textContent"))


class Page:
    """What a browser would ask of the page."""

    def __init__(self, port: int, process: "subprocess.Popen[bytes]") -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.process = process

    def get(self, path: str) -> str:
        with urlopen(self.address + path, timeout=10) as answer:
            return str(answer.read().decode())

    def post(self, path: str, form: Mapping[str, str]) -> Any:
        with urlopen(self.address + path, data=urlencode(form).encode(), timeout=30) as answer:
            return json.loads(answer.read())

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: str = "") -> http.client.HTTPResponse:
        """One request with exactly these headers, whatever its answer."""
        host, _, port = self.address.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        sent = body.encode() if method == "POST" else b""
        if sent:
            if "Content-Type" not in headers:
                connection.putheader("Content-Type", "application/x-www-form-urlencoded")
            connection.putheader("Content-Length", str(len(sent)))
        connection.endheaders(sent)
        return connection.getresponse()

    def stats(self) -> Stats:
        found: Stats = json.loads(self.get("/stats/requests"))
        return found

    def row(self, name: str) -> Stats | None:
        return next((row for row in self.stats()["stats"] if row["name"] == name), None)

    def until(self, what: Callable[[], Any], within_s: float = 30.0) -> Any:
        deadline = time.monotonic() + within_s
        while not (found := what()):
            assert self.process.poll() is None, "Locust ended"
            assert time.monotonic() < deadline, self.get("/logs")
            time.sleep(0.1)
        return found

    def stop(self) -> None:
        """End the test, and wait until it has ended."""
        self.post("/stop", {})
        self.until(lambda: self.stats()["state"] in ("ready", "stopped"))

    def until_row(self, name: str, requests: int) -> Stats:
        def enough() -> Stats | None:
            row = self.row(name)
            return row if row is not None and row["num_requests"] >= requests else None

        found: Stats = self.until(enough)
        return found


@contextmanager
def page(environment: Mapping[str, str] | None = None, processes: int = 1, more: Sequence[str] = ()) -> Iterator[Page]:
    """The page of `lockbench live`, with `more` on Locust's command line in place of its user class."""
    (port,) = free_ports(1)
    command = live_command(["memory"], port, processes)
    with (
        locust_running([*command[:-1], *more] if more else command, environment or {}) as process,
        opened(port, process) as found,
    ):
        yield found


@contextmanager
def opened(port: int, process: "subprocess.Popen[bytes]", within_s: float = 60) -> Iterator[Page]:
    """A page, once it answers."""
    found = Page(port, process)

    def answers() -> bool:
        try:
            return "<html" in found.get("/")
        except (URLError, ConnectionError):
            return False

    deadline = time.monotonic() + within_s
    while not answers():
        assert process.poll() is None, "Locust ended"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield found
