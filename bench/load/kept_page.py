"""The files of the session that was kept last, at addresses that never change.

Which files these are lockbench said, over the channel: no request names a file or a folder.
"""

from pathlib import Path
from typing import Any

from flask import Blueprint, Response, jsonify, make_response, send_file

from bench.load.forwarder import Forwarder

_TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
_NOT_FOUND = 404


def hand_out_kept(routes: Blueprint, forwarder: Forwarder, with_login: Any) -> None:
    """Add /locks/kept.svg, .png, .csv and .parquet."""
    for ending in _TYPES:
        view = with_login(_view(ending, forwarder))
        routes.add_url_rule(f"/locks/kept.{ending}", endpoint=f"kept_{ending}", view_func=view)


def kept_about(forwarder: Forwarder) -> dict[str, Any] | None:
    """The campaign's name, and which of the files there are; None where nothing was kept yet."""
    kept = forwarder.kept
    if kept is None:
        return None
    return {"campaign": kept["campaign"], "files": [ending for ending in _TYPES if ending in kept["files"]]}


def _view(ending: str, forwarder: Forwarder) -> Any:
    def view() -> Response:
        kept = forwarder.kept
        path = None if kept is None else kept["files"].get(ending)
        if kept is None or path is None or not Path(path).is_file():
            return make_response(jsonify({"message": "nothing was kept yet, or its file is gone"}), _NOT_FOUND)
        name = f"{kept['campaign']}.{ending}"
        # The address stays and the file changes: nobody may keep a copy.
        response: Response = send_file(path, _TYPES[ending], as_attachment=True, download_name=name, etag=False)
        response.headers["Cache-Control"] = "no-store"
        return response

    return view
