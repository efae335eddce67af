"""What is done while the window is open: at its instants, undone, and left to the caller if the load fails."""

import threading
import time
from pathlib import Path
from time import monotonic_ns

import pytest

from bench.errors import LockbenchError
from bench.load.interference import interfered
from bench.load.window_view import write_edges
from bench.records.schema import Struck

MS = 1_000_000


class Planted:
    """A fault that only writes down when it was begun and ended."""

    def __init__(
        self, after_s: float = 0.1, lasts_s: float = 0.05, refuses: str = "", begins_within_s: float = 0.0
    ) -> None:
        self.after_s, self.lasts_s, self.refuses, self._begins_within_s = after_s, lasts_s, refuses, begins_within_s
        self.began_ns = self.ended_ns = 0
        self.begun = threading.Event()

    def begin(self) -> None:
        time.sleep(self._begins_within_s)
        self.began_ns = monotonic_ns()
        self.begun.set()
        if self.refuses:
            raise LockbenchError(self.refuses)

    def end(self) -> None:
        self.ended_ns = monotonic_ns()

    def struck(self, window_opens_ns: int) -> tuple[Struck, ...]:
        return (
            Struck(
                kind="leader-killed",
                target="it",
                window_opens_ns=window_opens_ns,
                began_ns=self.began_ns,
                ended_ns=self.ended_ns,
                confirmed="seen",
            ),
        )


def failing_load(planted: Planted, folder: Path, end: BaseException) -> None:
    """Once a fault that strikes at once is in force; before any other."""
    with interfered(planted, folder):
        write_edges(folder, monotonic_ns(), monotonic_ns() + 60_000 * MS)
        if not planted.after_s:
            planted.begun.wait(10.0)
        raise end


def whole_load(
    planted: Planted,
    folder: Path,
    opened_ms_ago: int | None = 0,
    window_ms: int = 2_000,
    ends_after_s: float = 10.0,
) -> None:
    """A load that ends well, at the latest when the fault has begun."""
    with interfered(planted, folder):
        if opened_ms_ago is not None:
            opens_ns = monotonic_ns() - opened_ms_ago * MS
            write_edges(folder, opens_ns, opens_ns + window_ms * MS)
        planted.begun.wait(ends_after_s)


def test_a_fault_begins_and_ends_at_its_instants_of_the_window(tmp_path: Path) -> None:
    planted, opens_ns = Planted(), monotonic_ns() + 50 * MS
    with interfered(planted, tmp_path) as done:
        write_edges(tmp_path, opens_ns, opens_ns + 1_000 * MS)
        assert planted.begun.wait(10.0)
    (one,) = done.faults
    assert one.window_opens_ns == opens_ns
    assert one.began_ns >= opens_ns + 100 * MS
    assert one.ended_ns is not None
    assert one.ended_ns >= one.began_ns + 50 * MS


def test_no_fault_leaves_no_record(tmp_path: Path) -> None:
    with interfered(None, tmp_path) as done:
        pass
    assert done.faults == ()


def test_a_fault_that_cannot_be_brought_about_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(LockbenchError, match="nobody held it"):
        whole_load(Planted(refuses="nobody held it"), tmp_path)


@pytest.mark.parametrize(
    ("opened_ms_ago", "ends_after_s"),
    [
        (0, 0.0),  # the load ended before the fault was due
        (5_000, 0.3),  # whoever strikes was late, and the window had closed
        (None, 0.0),  # the load ended before it had a window
    ],
)
def test_a_fault_that_comes_too_late_is_not_brought_about(
    tmp_path: Path, opened_ms_ago: int | None, ends_after_s: float
) -> None:
    planted = Planted()
    with pytest.raises(LockbenchError, match="the fault came too late"):
        whole_load(planted, tmp_path, opened_ms_ago, ends_after_s=ends_after_s)
    assert not planted.begun.is_set()


def test_a_fault_that_strikes_when_the_window_has_closed_is_undone_and_ends_the_run(tmp_path: Path) -> None:
    """The holder that was to be killed got the key only then."""
    planted = Planted(after_s=0.0, begins_within_s=0.2)
    with pytest.raises(LockbenchError, match="the fault came too late"):
        whole_load(planted, tmp_path, window_ms=100)
    assert planted.ended_ns > planted.began_ns


def test_a_load_that_fails_first_is_not_interfered_with(tmp_path: Path) -> None:
    planted = Planted(after_s=60.0)
    with pytest.raises(LockbenchError, match="the load"):
        failing_load(planted, tmp_path, LockbenchError("the load"))
    assert (planted.began_ns, planted.ended_ns) == (0, 0)


@pytest.mark.parametrize("end", [LockbenchError("the load"), KeyboardInterrupt(), SystemExit()])
def test_a_fault_in_force_is_left_to_the_caller_where_the_load_fails(tmp_path: Path, end: BaseException) -> None:
    planted = Planted(after_s=0.0, lasts_s=60.0)
    with pytest.raises(type(end)):
        failing_load(planted, tmp_path, end)
    assert planted.begun.is_set()
    assert planted.began_ns > planted.ended_ns == 0
