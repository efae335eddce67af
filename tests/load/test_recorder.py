"""The recorder keeps and counts every operation once, and its rows tell how long each phase took."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.load.phases import phases_of
from bench.load.recorder import OTHER_REASONS, REASONS_MAX, Recorder, acquires, add_error
from bench.load.rows import CODES, NO_TOKEN, NOTHING_HELD, OUTCOMES, as_rows, column
from bench.records.histogram import LatencyHistogram, bucket_ns, buckets_ns
from bench.systems.base import Outcome

_DURATIONS = st.integers(0, 1_800_000_000_000)


class Operation(NamedTuple):
    """One operation as durations: what the recorder should find again."""

    late: int
    acquire: int
    hold: int
    release: int
    outcome: Outcome
    released: Outcome

    @property
    def held(self) -> bool:
        return self.outcome is Outcome.ACQUIRED

    def record_in(self, recorder: Recorder) -> None:
        started = 10_000_000_000 + self.late
        answered = started + self.acquire
        sent = answered + self.hold if self.held else 0
        freed = sent + self.release if self.held else 0
        outcome, released = CODES[self.outcome], CODES[self.released] if self.held else NOTHING_HELD
        recorder.record(1, 0, 10_000_000_000, started, answered, sent, freed, outcome, released, NO_TOKEN)

    def expected(self) -> dict[str, int]:
        found = {f"acquire/{self.outcome}": self.acquire, f"response/{self.outcome}": self.late + self.acquire}
        if self.held:
            found |= {f"hold/{self.released}": self.hold, f"release/{self.released}": self.release}
        return found


_OPERATIONS = st.lists(
    st.builds(
        Operation,
        late=_DURATIONS,
        acquire=_DURATIONS,
        hold=_DURATIONS,
        release=_DURATIONS,
        outcome=st.sampled_from([o for o in Outcome if o is not Outcome.RELEASED]),
        released=st.sampled_from([Outcome.RELEASED, Outcome.LOST, Outcome.UNKNOWN, Outcome.ERROR]),
    ),
    max_size=60,
)


def by_hand(operations: list[Operation]) -> dict[str, LatencyHistogram]:
    found: dict[str, LatencyHistogram] = {}
    for operation in operations:
        for name, value_ns in operation.expected().items():
            found.setdefault(name, LatencyHistogram()).record(value_ns)
    return found


def same(found: Mapping[str, LatencyHistogram], expected: Mapping[str, LatencyHistogram]) -> bool:
    return {name: one.counts for name, one in found.items()} == {name: one.counts for name, one in expected.items()}


@given(st.lists(st.integers(0, 2**53), max_size=200))
def test_buckets_of_whole_arrays_are_those_of_single_values(values_ns: list[int]) -> None:
    assert buckets_ns(np.array(values_ns, dtype=np.int64)).tolist() == [bucket_ns(value) for value in values_ns]


def test_a_clock_that_runs_backwards_is_an_error() -> None:
    with pytest.raises(ValueError, match="a clock went wrong"):
        LatencyHistogram.of(np.array([5, -1], dtype=np.int64))


@settings(max_examples=40, deadline=None)
@given(_OPERATIONS, st.booleans())
def test_every_operation_is_counted_once(operations: list[Operation], keep_rows: bool) -> None:
    recorder = Recorder(keep_rows)
    for operation in operations:
        operation.record_in(recorder)
    assert recorder.counts() == {name: one.total for name, one in by_hand(operations).items()}
    assert recorder.counts() == recorder.counts(), "to ask changes nothing"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_OPERATIONS, st.integers(0, 3), st.text(max_size=5)), max_size=8))
def test_rows_of_several_processes_give_the_histograms_of_all(parts: list[tuple[list[Operation], int, str]]) -> None:
    packed = b""
    totals: Counter[str] = Counter()
    everything: list[Operation] = []
    for operations, aborted, reason in parts:
        recorder = Recorder(keep_rows=True)
        for operation in operations:
            operation.record_in(recorder)
        recorder.abort(aborted)
        recorder.add_error(reason)
        assert len(as_rows(recorder.packed_rows)) == len(operations)
        assert (recorder.aborted, recorder.errors) == (aborted, {reason: 1})
        packed += recorder.packed_rows
        totals += recorder.counts()
        everything += operations
    found = phases_of(as_rows(packed))
    assert same(found, by_hand(everything))
    assert totals == {name: one.total for name, one in found.items()}
    assert acquires(totals) == len(everything)


@pytest.mark.parametrize("rows", [4095, 4096, 9000])
def test_an_unbounded_run_forgets_rows_and_keeps_counts(rows: int) -> None:
    recorder = Recorder(keep_rows=False)
    for _ in range(rows):
        recorder.record(0, 0, 1, 1, 5, 0, 0, CODES[Outcome.BUSY], NOTHING_HELD, NO_TOKEN)
    assert len(recorder.packed_rows) < 4096 * 80
    assert recorder.counts() == {"acquire/busy": rows, "response/busy": rows}


def test_rows_say_what_was_recorded() -> None:
    recorder = Recorder(keep_rows=True)
    recorder.record(7, 3, 10, 11, 22, 33, 44, CODES[Outcome.ACQUIRED], CODES[Outcome.LOST], 2**62)
    rows = as_rows(recorder.packed_rows)
    read = {name: int(column(rows, name)[0]) for name in ("client", "key", "intended_ns", "released_ns", "token")}
    assert read == {"client": 7, "key": 3, "intended_ns": 10, "released_ns": 33, "token": 2**62}
    assert OUTCOMES[int(column(rows, "outcome")[0])] is Outcome.ACQUIRED
    assert OUTCOMES[int(column(rows, "released")[0])] is Outcome.LOST


def test_reasons_are_bounded_and_none_is_dropped() -> None:
    errors: Counter[str] = Counter()
    for number in range(REASONS_MAX + 50):
        add_error(errors, f"connection {number} was reset")
    assert len(errors) == REASONS_MAX + 1
    assert errors[OTHER_REASONS] == 50
    assert sum(errors.values()) == REASONS_MAX + 50


def test_reset_forgets_everything() -> None:
    recorder = Recorder(keep_rows=True)
    recorder.record(0, 0, 1, 1, 5, 0, 0, CODES[Outcome.BUSY], NOTHING_HELD, NO_TOKEN)
    recorder.abort()
    recorder.add_error("reset")
    recorder.reset()
    assert not recorder.counts()
    assert not recorder.errors
    assert recorder.aborted == 0
    assert recorder.packed_rows == b""
