"""The steps of a saturation run's climb, from the rows of its operations."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bench.load.rows import CODES, Rows, column
from bench.records.histogram import LatencyHistogram
from bench.records.ladder import SETTLING_SHARE
from bench.systems.base import Outcome

_NO_STEP = -1


def step_of(rows: Rows, begins_ns: int, step_ns: int) -> npt.NDArray[np.int64]:
    """The number of the step in which each operation ended; -1 while the clients of the step before are finishing."""
    ended_ns = np.maximum(column(rows, "acquired_ns"), column(rows, "freed_ns"))
    number, within_ns = np.divmod(ended_ns - begins_ns, step_ns)
    number[within_ns < round(SETTLING_SHARE * step_ns)] = _NO_STEP
    return number


def acquires_by_step(climbs: Sequence[tuple[Rows, int]], step_ns: int, steps: int) -> tuple[LatencyHistogram, ...]:
    """Of all processes together; of each its rows, and when its climb began. Raises ValueError (a clock went wrong)."""
    numbers, took_ns = [], []
    for rows, begins_ns in climbs:
        acquired = rows[column(rows, "outcome") == CODES[Outcome.ACQUIRED]]
        numbers.append(step_of(acquired, begins_ns, step_ns))
        took_ns.append(column(acquired, "acquired_ns") - column(acquired, "started_ns"))
    number, took = np.concatenate(numbers), np.concatenate(took_ns)
    return tuple(LatencyHistogram.of(took[number == step]) for step in range(steps))
