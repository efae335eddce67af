"""What the clients were answered is held beside what the table says, and each kind of harm has a number of its own."""

from collections.abc import Sequence

import pytest

from bench.jobs.records import Found
from bench.load.runner import jobs_done
from bench.records.workload import Workload


def answered(acknowledged: int, unknown: int = 0, messages: Sequence[int] = ()) -> dict[str, object]:
    return {"acknowledged": acknowledged, "unknown": unknown, "messages": list(messages), "retries": {"0": 1, "2": 1}}


@pytest.mark.parametrize(
    ("unknown", "found", "harms"),
    [
        (0, Found(20, 0, 1, 19), (0, 0, 0)),
        (0, Found(20, 3, 1, 19), (3, 0, 0)),
        (0, Found(18, 0, 1, 17), (0, 2, 0)),
        (0, Found(21, 0, 1, 20), (0, 0, 1)),
        (1, Found(21, 0, 1, 20), (0, 0, 0)),  # it may have been carried out
        (1, Found(22, 0, 1, 21), (0, 0, 1)),
    ],
)
def test_each_update_leaves_one_write(unknown: int, found: Found, harms: tuple[int, int, int]) -> None:
    workload = Workload(name="update", clients=2, keys=1, way="version")
    done = jobs_done(workload, [answered(9, unknown), answered(11)], found, 24)
    assert (done.lost_updates, done.missing, done.repeated) == harms
    assert (done.acknowledged, done.due, done.retries) == (20, 20, {"0": 2, "2": 2})


@pytest.mark.parametrize(
    ("found", "harms"),
    [
        (Found(3, 0, 3, 0), (0, 0, 0)),
        (Found(4, 1, 3, 1), (0, 0, 1)),  # the second effect of one message
        (Found(2, 0, 2, 0), (0, 1, 0)),
    ],
)
def test_each_message_takes_effect_once(found: Found, harms: tuple[int, int, int]) -> None:
    workload = Workload(name="consume", clients=2, keys=10, way="idempotency-key")
    done = jobs_done(workload, [answered(4, messages=[1, 2]), answered(2, messages=[2, 7])], found, 12)
    assert (done.lost_updates, done.missing, done.repeated) == harms
    assert (done.acknowledged, done.due) == (6, 3)
