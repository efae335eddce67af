"""What servers count is asked for just outside the window, and told with the time in between."""

import json
from pathlib import Path
from time import monotonic_ns

import pytest

from bench.load.window_view import counted_in_window, write_edges

MS = 1_000_000


class Clockwork:
    """Servers that count one request a microsecond; the instants of the looks are kept."""

    def __init__(self) -> None:
        self.looks_ns: list[int] = []

    def __call__(self) -> dict[str, float]:
        self.looks_ns.append(monotonic_ns())
        return {"requests": self.looks_ns[-1] / 1e3}


def wait_until(instant_ns: int) -> None:
    while monotonic_ns() < instant_ns:
        pass


def test_the_looks_enclose_the_window(tmp_path: Path) -> None:
    servers = Clockwork()
    with counted_in_window(servers, tmp_path) as counted:
        opens_ns = monotonic_ns() + 300 * MS
        write_edges(tmp_path, opens_ns, opens_ns + 200 * MS)
        wait_until(opens_ns + 400 * MS)
    before_ns, after_ns = servers.looks_ns
    assert before_ns <= opens_ns < opens_ns + 200 * MS <= after_ns
    rate = counted.counters["requests"] / counted.seconds
    assert rate == pytest.approx(1e6, rel=0.2), "requests and time go together"


@pytest.mark.parametrize("told", [False, True])
def test_a_load_that_ended_early_has_no_count(tmp_path: Path, told: bool) -> None:
    with counted_in_window(Clockwork(), tmp_path) as counted:
        if told:
            write_edges(tmp_path, monotonic_ns(), monotonic_ns() + 60_000 * MS)
    assert (counted.counters, counted.seconds) == ({}, 0.0)


def test_servers_that_do_not_answer_leave_no_count_and_no_error(tmp_path: Path) -> None:
    def silent() -> dict[str, float]:
        raise ConnectionError("planted")

    with counted_in_window(silent, tmp_path) as counted:
        write_edges(tmp_path, monotonic_ns(), monotonic_ns())
        wait_until(monotonic_ns() + 200 * MS)
    assert not counted.counters


def test_edges_are_written_whole(tmp_path: Path) -> None:
    write_edges(tmp_path, 1, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["window.json"]
    assert json.loads((tmp_path / "window.json").read_text()) == [1, 2]
