"""Who may ask Locust's page for anything: the person in front of it, and not every web page that person has open.

A browser lets any page send a form to 127.0.0.1, and lets a page whose name was made to point here (DNS rebinding) read
the answers too. So a request must name the page by one of its own names (Host), and where the browser says on whose
behalf it asks (Origin, Sec-Fetch-Site, Referer), that must be the page itself. A program that says nothing of the kind,
such as curl, is no browser and is trusted as far as it can reach the port. Locust would answer any origin with
Access-Control-Allow-Origin; no answer leaves here with it, and no other page can frame this one and guide a click.

This is a layer around the whole application, so that it holds for every route, also for those of Locust's next version.
"""

import ipaddress
import json
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}
_EVERYWHERE = ("", "*", "0.0.0.0", "::")
_READING = ("GET", "HEAD", "OPTIONS")
_OWN_SITE = ("same-origin", "none")  # none: typed, or chosen among the bookmarks
_HEADERS = (
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Place(NamedTuple):
    """An origin, as browsers compare them."""

    scheme: str
    name: str
    port: int


@dataclass(frozen=True)
class Names:
    """By which names the page may be called: those of loopback, the address that it was bound to, and the one that the
    user said to reach it by (`--web-host-display-name`, a URL).
    """

    host: str
    port: int
    tls: bool = False
    reached_by: str = ""

    def called(self, authority: str) -> Place | None:
        """Which place a Host header means; None where it is not ours."""
        named = self._named
        if named is not None and _place(named.scheme, authority) == named:
            return named
        place = _place(self.scheme, authority)
        if place is None or place.port not in (self.port, named and named.port):
            return None
        return place if self._is_ours(place.name) else None

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def _named(self) -> Place | None:
        return _origin(self.reached_by if "//" in self.reached_by else f"{self.scheme}://{self.reached_by}")

    def _is_ours(self, name: str) -> bool:
        address = _address(name)
        if address is not None and address.is_loopback:
            return True
        if self.host in _EVERYWHERE:  # a number cannot be made to point elsewhere, a name can
            return address is not None or name in ("localhost", socket.gethostname().lower())
        return name in ("localhost", self.host.lower(), f"[{self.host.lower()}]")


class Guard:
    """The application behind it sees only requests that its own page, or no page at all, has made."""

    def __init__(self, application: Application, names: Names, front_page: str = "/") -> None:
        self._application = application
        self._names = names
        self._front_page = front_page

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request (WSGI)."""
        refusal = self.refusal(environ)
        if refusal is not None:
            body = json.dumps({"success": False, "message": refusal}).encode()
            start_response("403 FORBIDDEN", [("Content-Type", "application/json"), *_HEADERS])
            return [body]

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            kept = [header for header in headers if not header[0].lower().startswith("access-control-")]
            return start_response(status, [*kept, *_HEADERS], *more)

        return self._application(environ, start)

    def refusal(self, environ: Mapping[str, Any]) -> str | None:
        """Why a request is refused; None where it is not."""
        host = environ.get("HTTP_HOST", "")
        own = self._names.called(host)
        if own is None:
            address = f"{self._names.scheme}://127.0.0.1:{self._names.port}"
            return (
                f"this page is {address} and does not answer to the host {host[:80]!r}. To reach it by another name, "
                "start Locust with --web-host-display-name http://NAME:PORT"
            )
        reading = environ["REQUEST_METHOD"] in _READING
        origin, referrer = environ.get("HTTP_ORIGIN"), environ.get("HTTP_REFERER")
        if origin is not None and _origin(origin) != own:
            return f"the request comes from {origin[:80]!r}, which is another page"
        if origin is None and referrer is not None and not reading and _origin(referrer) != own:
            return f"the request comes from {referrer[:80]!r}, which is another page"
        if environ.get("HTTP_SEC_FETCH_SITE", "none") not in _OWN_SITE and not (
            reading and self._follows_link(environ)
        ):
            return "the request comes from another page"
        return None

    def _follows_link(self, environ: Mapping[str, Any]) -> bool:
        """Did somebody follow a link to the page? It may be shown, in a window of its own."""
        asked = (environ.get("HTTP_SEC_FETCH_MODE"), environ.get("HTTP_SEC_FETCH_DEST"))
        return asked == ("navigate", "document") and environ.get("PATH_INFO") == self._front_page


def _place(scheme: str, authority: str) -> Place | None:
    parts = _AUTHORITY.fullmatch(authority.lower())
    if parts is None or scheme not in _PORTS:
        return None
    return Place(scheme, parts["name"], int(parts["port"] or _PORTS[scheme]))


def _origin(url: str) -> Place | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return _place(parts.scheme, parts.netloc)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None
