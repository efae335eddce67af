"""Something that is done while the window is open: begun and ended at instants of the window, by who started the load.

The instants are those of the load process's own clock, which is the machine's (see `window_view`). What is done, and to
whom, is the caller's affair.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic_ns
from typing import Protocol

from bench.errors import LockbenchError
from bench.load.window_view import edges_of
from bench.records.schema import Struck

_NS_PER_S = 1e9
_TOO_LATE = (
    "the fault came too late: the window had closed, or the load had ended, before it struck; lengthen the window, "
    "or measure on a quieter machine"
)


class Interference(Protocol):
    """One fault, begun once; ended once where it was begun, unless the load failed before."""

    after_s: float  # from the window's opening
    lasts_s: float

    def begin(self) -> None:
        """Bring it about. Raises LockbenchError where that cannot be done."""

    def end(self) -> None:
        """Undo it, and wait until all is as before. Raises LockbenchError."""

    def struck(self, window_opens_ns: int) -> tuple[Struck, ...]:
        """What was done, after its end."""


class Done:
    """What was done, once the block has ended."""

    faults: tuple[Struck, ...] = ()


@contextmanager
def interfered(interference: Interference | None, folder: Path) -> Iterator[Done]:
    """Have it done while the block runs the load. Raises what beginning or ending raised, after the block, and
    LockbenchError where it struck only when the window had closed.

    A block that fails leaves a fault that was begun to the caller: to mend, or to end with the servers.
    """
    done = Done()
    if interference is None:
        yield done
        return
    hand = _Hand(interference, folder)
    hand.start()
    try:
        yield done
    except Exception:
        hand.load_fails()
        hand.join()
        raise
    except BaseException:
        hand.load_fails()  # whoever owns the servers is about to end them, which ends the thread's work as well
        raise
    hand.load_over.set()
    hand.join()
    if hand.failure is not None:
        raise hand.failure
    done.faults = hand.faults


class _Hand(threading.Thread):
    def __init__(self, interference: Interference, folder: Path) -> None:
        super().__init__(name="interference", daemon=True)
        self.load_over = threading.Event()  # well or not
        self._load_failed = threading.Event()
        self.failure: LockbenchError | None = None
        self.faults: tuple[Struck, ...] = ()
        self._interference = interference
        self._folder = folder

    def run(self) -> None:
        try:
            self._interfere()
        except LockbenchError as failure:
            self.failure = failure

    def load_fails(self) -> None:
        self._load_failed.set()
        self.load_over.set()

    def _interfere(self) -> None:
        edges = edges_of(self._folder, self.load_over)
        if edges is None:
            raise LockbenchError(_TOO_LATE)
        opens_ns, closes_ns = edges
        due_ns = opens_ns + round(self._interference.after_s * _NS_PER_S)
        if not _reached(due_ns, unless=self.load_over) or monotonic_ns() >= closes_ns:
            raise LockbenchError(_TOO_LATE)
        self._interference.begin()
        over_ns = monotonic_ns() + round(self._interference.lasts_s * _NS_PER_S)
        if _reached(over_ns, unless=self._load_failed):
            self._interference.end()
            self.faults = self._interference.struck(opens_ns)
        if any(one.began_ns >= closes_ns for one in self.faults):
            raise LockbenchError(_TOO_LATE)


def _reached(instant_ns: int, *, unless: threading.Event) -> bool:
    """Wait for an instant; False where the event came before."""
    return not unless.wait(max(0, instant_ns - monotonic_ns()) / _NS_PER_S)
