"""A browser for tests: Debian's chromium, driven over WebDriver's own HTTP, with nothing in between."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.servers.installing.apt import install
from bench.servers.running.ports import free_ports

_WITHIN_S = 90.0  # a page of JupyterLab on a busy machine with two processors
_POLL_S = 0.2
PACKAGES = ("chromium", "chromium-driver")


class Browser:
    """One window."""

    def __init__(self, url: str) -> None:
        self._url = url

    def open(self, address: str) -> None:
        self._ask("POST", "/url", {"url": address})

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def frame(self) -> None:
        """Go on in the first frame of the page."""
        self._ask("POST", "/frame", {"id": 0})

    def run(self, script: str) -> Any:
        """What a script returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def errors(self) -> list[str]:
        """What went wrong on its pages since the last call, as the console says it."""
        said = self._ask("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in said if entry["level"] == "SEVERE"]

    def screenshot(self, path: Path, width: int) -> None:
        """The whole page as a PNG."""
        self.resize(width, 800)
        frame = self.run("return window.outerHeight - window.innerHeight")
        self.resize(width, self.run("return document.documentElement.scrollHeight") + frame)
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def wait_for(self, condition: str) -> None:
        """Until a script's expression is true. Raises TimeoutError with the page's text."""
        end = time.monotonic() + _WITHIN_S
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(
                    f"never true: {condition}; the page says {self.run('return document.body.innerText')}"
                )
            time.sleep(_POLL_S)

    def _ask(self, method: str, path: str, body: dict[str, object] | None = None) -> Any:
        return _ask(method, self._url + path, body)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A headless chromium with a profile of its own under `folder`. Fails, and does not skip, where there is none."""
    driver = shutil.which("chromedriver")
    if driver is None:
        raise FileNotFoundError(f"no chromedriver: run `make browser`, which installs {' and '.join(PACKAGES)}")
    (port,) = free_ports(1)
    with (folder / "chromedriver.log").open("w") as log:
        process = subprocess.Popen([driver, f"--port={port}"], stdout=log, stderr=subprocess.STDOUT)
    base = f"http://127.0.0.1:{port}"
    try:
        until_it_answers(f"{base}/status", process)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += [f"--user-data-dir={folder / 'profile'}", "--no-first-run", "--proxy-server=direct://"]
        options = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        session = _ask("POST", f"{base}/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        try:
            yield Browser(f"{base}/session/{session}")
        finally:
            _ask("DELETE", f"{base}/session/{session}", None)
    finally:
        process.terminate()
        process.wait(timeout=20)


def until_it_answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Poll an address of a server that is starting, until the server has ended or takes too long."""
    end = time.monotonic() + _WITHIN_S
    while True:
        try:
            _open(url)
        except (urllib.error.URLError, ConnectionError):
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(_POLL_S)
        else:
            return


def _ask(method: str, url: str, body: dict[str, object] | None) -> Any:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    return json.loads(_open(request))["value"]


def _open(request: "urllib.request.Request | str") -> bytes:
    """Without the proxies of the environment: everything here is on this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_WITHIN_S) as answer:
        content: bytes = answer.read()
    return content


if __name__ == "__main__":
    install(PACKAGES)
