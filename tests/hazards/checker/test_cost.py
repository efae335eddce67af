"""The cost is that of sorting: histories in which every sweep has much to find, of one size and of a multiple of it."""

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from bench.hazards.checker import check_trial
from bench.records.hazards import Ask, Belief, EndOfBelief, FaultWindow, Trial, Write
from tests.hazards.checker.choices import TTL_MS, TTL_NS


def nested(number: int, count: int) -> tuple[int, int, int]:
    """Each belief lies within all those before it: everybody overlaps everybody."""
    return 2 * number, 2 * number + 1, 10 * count - number


def staircase(number: int, count: int) -> tuple[int, int, int]:
    """Each belief overlaps the half of all others; asked for long before."""
    return number, 2 * count + number, 3 * count + 2 * number


def in_turn(number: int, count: int) -> tuple[int, int, int]:
    """One after the other."""
    return 4 * TTL_NS * number, 4 * TTL_NS * number + 1, 4 * TTL_NS * number + 3


SHAPES = (nested, staircase, in_turn)


def history(count: int, shape: Callable[[int, int], tuple[int, int, int]]) -> Trial:
    """`count` of each kind of event in one key; tokens fall, nearly every write is stale, every other ask unserved."""
    beliefs, writes, asks, faults = [], [], [], []
    for number in range(count):
        asked_ns, from_ns, until_ns = shape(number, count)
        actor = f"actor{number % 7}"
        beliefs.append(
            Belief(
                actor=actor,
                key="k",
                grant=f"g{number}",
                token=count - number,
                asked_ns=asked_ns,
                from_ns=from_ns,
                until_ns=until_ns,
                ended_by=EndOfBelief.LOST,
                ttl_ms=TTL_MS,
            )
        )
        writes.append(
            Write(
                actor=actor,
                key="k",
                grant=f"g{number}",
                token=count - number,
                sent_ns=10**12 + number,  # after everything else
                answered_ns=None,
                fence=True,
                order=number + 1,
                accepted=True,
                highest_before=number,
                value_read=0,
                value_before=number % 2,
                value_written=0,
            )
        )
        answered_ns = asked_ns + 3 * TTL_NS
        asks.append(
            Ask(
                actor="waiter",
                key="k",
                asked_ns=asked_ns,
                answered_ns=answered_ns,
                outcome=("timeout", "lost")[number % 2],
            )
        )
        faults.append(
            FaultWindow(kind="pause", target=actor, began_ns=asked_ns, ended_ns=asked_ns + 1, confirmed="generated")
        )
    last_ns = max(belief.until_ns or 0 for belief in beliefs)
    return Trial(
        name="long",
        ttl_ms=TTL_MS,
        began_ns=0,
        ended_ns=last_ns,
        asks=tuple(asks),
        beliefs=tuple(beliefs),
        writes=tuple(writes),
        faults=tuple(faults),
    )


def lines_run(trial: Trial) -> int:
    """How many lines of the checker one judgement executes: the same every time, on any machine."""
    lines = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return count if frame.f_globals.get("__name__", "").startswith("bench.hazards.checker") else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        check_trial(trial)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_twice_the_events_run_twice_the_lines(shape: Any) -> None:
    one, two = lines_run(history(400, shape)), lines_run(history(800, shape))
    assert one > 400 * 10, "the lines of the checker were not counted"
    assert two < 2.2 * one


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_sixteen_times_the_events_cost_nothing_like_256_times_as_much(shape: Any) -> None:
    """Also where the cost lies within one line (a slice, a `max`): processor time, the least of a few."""

    def cost_s(trial: Trial) -> float:
        began = time.process_time()
        check_trial(trial)
        return time.process_time() - began

    small, large = history(500, shape), history(8_000, shape)
    gc.collect()
    gc.disable()  # its passes over all that other tests left would count as well
    try:
        assert min(cost_s(large) for _ in range(2)) < 64 * min(cost_s(small) for _ in range(5))
    finally:
        gc.enable()


def test_these_histories_have_much_to_find() -> None:
    found = [check_trial(history(300, shape)) for shape in SHAPES]
    assert min(len(found[0].overlaps), len(found[1].overlaps)) == 299
    assert min(len(one.stale_writes) for one in found) >= 298
    assert min(len(found[0].token_faults), len(found[2].token_faults)) == 299
    assert min(one.fence_faults for one in found) >= 298
    assert max(one.never_served for one in found) >= 100
