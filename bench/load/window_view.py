"""What the servers counted while the window was open: asked by the process that started the load, at both its edges.

The load process writes down when its window opens and closes, on the machine's own clock, so both mean the same
instants. Asking takes some milliseconds of a processor, so the first look ends before the window opens, and the second
begins after it has closed. What was counted is told with the time in between, which is a little longer than the window.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns

from bench.errors import LockbenchError
from bench.servers.counters import gained

View = Callable[[], Mapping[str, float]]

_EDGES = "window.json"
_LEAD_NS = 150_000_000  # longer than any of the bench's systems takes to be asked
_LOOK_EVERY_S = 0.05
_NS_PER_S = 1e9


@dataclass
class Counted:
    """`counters` gained over `seconds`; empty where nothing could be asked, or servers were started anew."""

    counters: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


def write_edges(folder: Path, opens_ns: int, closes_ns: int) -> None:
    """Of the load process: its window is known now. Raises OSError."""
    aside = folder / f".{_EDGES}"
    aside.write_text(json.dumps([opens_ns, closes_ns]))
    aside.replace(folder / _EDGES)


@contextmanager
def counted_in_window(view: View | None, folder: Path) -> Iterator[Counted]:
    """Look while the block runs the load; the result is complete when the block has ended."""
    found, ended = Counted(), threading.Event()
    if view is None:
        yield found
        return
    looking = threading.Thread(target=_look, args=(view, folder, found, ended), daemon=True)
    looking.start()
    try:
        yield found
    finally:
        ended.set()
        looking.join()


def edges_of(folder: Path, ended: threading.Event) -> tuple[int, int] | None:
    """Wait until the load process knows its window; None where the load `ended` before."""
    edges = folder / _EDGES
    while not edges.exists():
        if ended.wait(_LOOK_EVERY_S):  # poll: the event is in another process
            return None
    opens_ns, closes_ns = json.loads(edges.read_text())
    return opens_ns, closes_ns


def _look(view: View, folder: Path, found: Counted, ended: threading.Event) -> None:
    if (edges := edges_of(folder, ended)) is None:
        return
    opens_ns, closes_ns = edges
    try:
        if ended.wait(max(0, opens_ns - _LEAD_NS - monotonic_ns()) / _NS_PER_S):
            return
        before, began_ns = view(), monotonic_ns()
        ended.wait(max(0, closes_ns - monotonic_ns()) / _NS_PER_S)
        ended_ns = monotonic_ns()
        if ended_ns < closes_ns:  # the load ended before its window did
            return
        found.counters, found.seconds = gained(before, view()), (ended_ns - began_ns) / _NS_PER_S
    except (LockbenchError, ConnectionError):
        return  # the run says by itself what is wrong with its servers
