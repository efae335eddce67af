"""The bell of a ZooKeeper waiter, and an exception that strikes anywhere within it."""

import sys
import threading
import time
from types import FrameType
from typing import Any

import pytest

from bench.systems.zookeeper import bell as bell_module
from bench.systems.zookeeper.bell import Bell


class Struck(Exception):
    """What a signal's handler raises."""


def test_a_ring_is_heard_once_also_by_who_comes_later() -> None:
    bell = Bell()
    bell.ring()
    began_s = time.monotonic()
    bell.wait(30)
    assert time.monotonic() - began_s < 10
    bell.ring()
    bell.clear()
    began_s = time.monotonic()
    bell.wait(0.05)
    assert time.monotonic() - began_s >= 0.05


@pytest.mark.parametrize("method", ["ring", "clear", "wait"])
def test_an_exception_at_any_line_leaves_it_as_good_as_before(method: str) -> None:
    strikes = 0
    for place in range(12):
        bell, steps = Bell(), 0

        def strike(frame: FrameType, event: str, _: Any, place: int = place) -> None:
            nonlocal steps
            if frame.f_code.co_filename == bell_module.__file__ and event != "c_exception":
                steps += 1
                if steps == place + 1:
                    raise Struck

        sys.setprofile(strike)
        try:
            getattr(bell, method)(*([0.0] if method == "wait" else []))
        except Struck:
            strikes += 1
        finally:
            sys.setprofile(None)
        other = threading.Thread(target=bell.ring, daemon=True)
        other.start()
        other.join(10)
        assert not other.is_alive(), "the thread that rings hangs"
        bell.wait(10)
        bell.clear()
    assert strikes >= 2
