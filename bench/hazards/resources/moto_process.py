"""A server of the S3 API: moto's, one request at a time.

    python -m bench.hazards.resources.moto_process

Prints the port that it listens on, at 127.0.0.1, and ends when its standard input ends.

moto looks at a condition and then stores, in a thread for each request and without a lock, so that two conditional
writes could both succeed: S3 promises that only one does ("Conditional writes", Amazon S3 User Guide). The gate below
keeps that promise. It closes only behind a request that has arrived whole: a writer that is stopped while it sends
holds up nobody.
"""

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from bench.hazards.resources.child import listening

_Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class OneAtATime:
    """A WSGI application behind a gate that lets in one whole request at a time."""

    def __init__(self, application: _Wsgi) -> None:
        self._application = application
        self._gate = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
        with self._gate:
            return [b"".join(self._application(environ, start_response))]


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # a connection serves more than one request

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, OneAtATime(create_backend_app("s3")), threaded=True, request_handler=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    listening(server.port)
    sys.stdin.read()


if __name__ == "__main__":
    main()
