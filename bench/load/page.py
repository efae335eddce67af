"""Small repairs of Locust's page in the browser: its number fields, its host field, and messages that it keeps back.

Its number fields drop every character that is no digit, so `-3` becomes 3 and `1e9` becomes 19 while one types, and an
empty field of ours is sent as 0. With both gone the server gets what was typed and says what is wrong with it. A later
Locust's script that does not have these two places any more is passed on as it is; a test says so.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

_INTO_HEAD = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
AS_TYPED = (
    (re.compile(r"""(\.target\.value)\.replace\(/\[\^0-9\.\]/g,(?:``|""|'')\)"""), r"\1"),
    (re.compile(r"""(getAttribute\([`"']data-type[`"']\)===[`"']number[`"']\?)Number\((\w+\.value)\)"""), r"\1\2"),
)


def adapt(app: Flask) -> None:
    """Mend what one page sends to browsers."""
    send_assets = app.view_functions["locust.send_assets"]
    app.view_functions["locust.send_assets"] = lambda path: _send(send_assets, path)
    app.after_request(_add_to_head)


def as_typed(script: str) -> str:
    """Locust's script, with number fields that keep what is typed."""
    for place, instead in AS_TYPED:
        script = place.sub(instead, script)
    return script


def _send(send_assets: Callable[..., Any], path: str) -> Response:
    if not path.endswith(".js"):
        return send_assets(path)  # type: ignore[no-any-return]
    # A browser may have Locust's own script from the same address, and would hear that it has not changed.
    for header in ("HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_RANGE"):
        request.environ.pop(header, None)
    response: Response = send_assets(path)
    response.direct_passthrough = False
    response.set_data(as_typed(response.get_data(as_text=True)))
    for header in ("ETag", "Last-Modified"):
        response.headers.pop(header, None)
    response.headers["Cache-Control"] = "no-store"
    return response


def _add_to_head(response: Response) -> Response:
    if request.endpoint == "locust.index" and response.status_code == 200:
        response.set_data(response.get_data(as_text=True).replace("</head>", f"{_INTO_HEAD}</head>", 1))
    return response
