"""Which requests are the page's own: by its names (Host), and by what a browser says of who asks."""

from typing import Any

import pytest

from bench.load.guard import Guard, Names

LIVE = Names("127.0.0.1", 8089)
OPEN = Names("", 8089)
TLS = Names("127.0.0.1", 8089, tls=True)
NAMED = Names("0.0.0.0", 8089, reached_by="https://bench.example")
TUNNEL = Names("127.0.0.1", 8089, reached_by="http://localhost:9000")
OWN = "127.0.0.1:8089"


def answer(names: Names, method: str = "POST", path: str = "/swarm", **headers: str) -> tuple[str, dict[str, str]]:
    """Status and headers of a request to an application that allows every origin, as Locust's does."""
    told: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Credentials", "true")])
        return [b"obeyed"]

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        told["answer"] = status, dict(headers)

    environ = {"REQUEST_METHOD": method, "PATH_INFO": path}
    environ |= {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    body = b"".join(Guard(application, names)(environ, start))
    status, answered = told["answer"]
    assert (body == b"obeyed") == (status == "200 OK")
    return status, answered


@pytest.mark.parametrize(
    ("names", "host"),
    [
        *((LIVE, one) for one in (OWN, "localhost:8089", "LOCALHOST:8089", "[::1]:8089", "127.0.0.2:8089")),
        *((OPEN, one) for one in (OWN, "localhost:8089", "192.0.2.7:8089", "[2001:db8::7]:8089")),
        (TLS, OWN),
        *((NAMED, one) for one in (OWN, "bench.example", "bench.example:443", "192.0.2.7:8089")),
        *((TUNNEL, one) for one in (OWN, "localhost:9000")),
        (Names("192.0.2.7", 80), "192.0.2.7"),
        (Names("bench.example", 8089), "bench.example:8089"),
    ],
)
def test_the_page_answers_to_its_own_names(names: Names, host: str) -> None:
    status, headers = answer(names, host=host)
    assert status == "200 OK"
    assert not any(name.startswith("Access-Control") for name in headers), "no other page may read the answer"
    assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    ("names", "host"),
    [
        *((LIVE, one) for one in ("evil.example", "evil.example:8089", "127.0.0.1.evil.example:8089")),
        *((LIVE, one) for one in ("localhost.evil:8089", "", "127.0.0.1", "localhost", "127.0.0.1:9999")),
        *((LIVE, one) for one in ("127.0.0.1:80890", ":8089", "[::1:8089", "192.0.2.7:8089", "0.0.0.0:8089")),
        *((LIVE, one) for one in ("2130706433:8089", "127.1:8089", "localhost.:8089", "evil@127.0.0.1:8089")),
        *((LIVE, one) for one in ("127.0.0.1:8089/x", f"{OWN},evil.example", f"{OWN} evil", "localhost:８０８９")),
        *((OPEN, one) for one in ("evil.example:8089", "127.0.0.1.evil.example:8089", "192.0.2.7:1", "192.0.2.7")),
        *((NAMED, one) for one in ("evil.example", "bench.example:8090", "bench.example.evil")),
        *((TUNNEL, one) for one in ("evil.example:9000", "127.0.0.1:9001")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_it_answers_to_no_other_name(names: Names, host: str, method: str) -> None:
    status, headers = answer(names, method, host=host)
    assert status == "403 FORBIDDEN"
    assert not any(name.startswith("Access-Control") for name in headers)


@pytest.mark.parametrize(
    ("names", "headers"),
    [
        (LIVE, {}),
        (LIVE, {"origin": f"http://{OWN}"}),
        (LIVE, {"origin": f"http://{OWN}", "referer": f"http://{OWN}/?tab=charts", "sec_fetch_site": "same-origin"}),
        (LIVE, {"referer": f"http://{OWN}/"}),
        (LIVE, {"host": "localhost:8089", "origin": "http://localhost:8089"}),
        (TLS, {"origin": f"https://{OWN}"}),
        (NAMED, {"host": "bench.example", "origin": "https://bench.example"}),
        (TUNNEL, {"host": "localhost:9000", "origin": "http://localhost:9000"}),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_the_page_itself_and_programs_are_served(names: Names, headers: dict[str, str], method: str) -> None:
    assert answer(names, method, **{"host": OWN, **headers})[0] == "200 OK"


FOREIGN: list[dict[str, str]] = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": "http://127.0.0.1:9000"},
    {"origin": "http://127.0.0.1"},
    {"origin": "http://localhost:8089"},  # another name than the request's: another page to a browser
    {"origin": f"https://{OWN}"},
    {"origin": f"http://{OWN}.evil.example"},
    {"origin": f"http://{OWN}@evil.example"},
    {"origin": f"http://evil.example@{OWN}"},
    {"origin": "http://[::1"},
    {"origin": f"http://{OWN},http://evil.example"},
    {"origin": "file://"},
    {"origin": "chrome-extension://abcdefgh"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},  # a page on another port of this machine
    {"sec_fetch_site": "cross-site", "origin": f"http://{OWN}"},
    {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"},
    {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/swarm", "/anything"])
def test_another_page_is_refused(headers: dict[str, str], method: str, path: str) -> None:
    assert answer(LIVE, method, path, host=OWN, **headers)[0] == "403 FORBIDDEN"


@pytest.mark.parametrize("referrer", ["http://evil.example/", "", f"http://{OWN}.evil.example/", "about:blank"])
def test_a_browser_that_tells_only_a_referrer_changes_nothing_for_another_page(referrer: str) -> None:
    assert answer(LIVE, "POST", host=OWN, referer=referrer)[0] == "403 FORBIDDEN"
    assert answer(LIVE, "GET", "/", host=OWN, referer=referrer)[0] == "200 OK", "a link to the page"


def test_a_link_to_the_page_opens_it_and_does_nothing_else() -> None:
    link = {"host": OWN, "sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert answer(LIVE, "GET", "/", **link)[0] == "200 OK"
    assert answer(LIVE, "GET", "/stats/reset", **link)[0] == "403 FORBIDDEN"
    assert answer(LIVE, "POST", "/", **link)[0] == "403 FORBIDDEN"
