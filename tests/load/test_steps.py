"""An operation of the climb belongs to the step in which it ended."""

import numpy as np

from bench.load.recorder import Recorder
from bench.load.rows import CODES, NO_TOKEN, NOTHING_HELD, Rows, as_rows
from bench.load.steps import acquires_by_step, step_of
from bench.systems.base import Outcome

BEGINS_NS, STEP_NS = 5_000, 1_000


def rows(*ends_ns: int, outcome: Outcome = Outcome.ACQUIRED) -> Rows:
    """Operations of 10 ns to the grant and 5 ns more, which end at these instants after the beginning."""
    recorder = Recorder(keep_rows=True)
    for end_ns in ends_ns:
        freed = BEGINS_NS + end_ns
        released = CODES[Outcome.RELEASED] if outcome is Outcome.ACQUIRED else NOTHING_HELD
        recorder.record(0, 0, freed - 15, freed - 15, freed - 5, freed - 5, freed, CODES[outcome], released, NO_TOKEN)
    return as_rows(recorder.packed_rows)


def test_the_first_fifth_of_a_step_belongs_to_nobody() -> None:
    found = step_of(rows(100, 199, 200, 999, 1_199, 1_200, 3_500), BEGINS_NS, STEP_NS)
    assert found.tolist() == [-1, -1, 0, 0, -1, 1, 3]


def test_acquires_of_all_processes_are_in_the_histogram_of_their_step() -> None:
    late = rows(500, 1_500).copy()
    late[:, 2:7] += 70  # the climb of the other process began later by so much
    first, second = acquires_by_step([(rows(500, 1_500, 1_600), BEGINS_NS), (late, BEGINS_NS + 70)], STEP_NS, 2)
    assert (dict(first.counts), dict(second.counts)) == ({10: 2}, {10: 3})


def test_what_got_no_lock_and_what_ended_after_the_last_step_is_in_none() -> None:
    busy = rows(500, outcome=Outcome.BUSY)
    together = np.concatenate([busy, rows(2_500)])
    assert [one.total for one in acquires_by_step([(together, BEGINS_NS)], STEP_NS, 2)] == [0, 0]
