"""The recorder of pauses sees a clock that stands still for a known time, and an interruption keeps what there is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import LockbenchError
from bench.records.pauses import PauseRecorder, pauses_record, read_pauses

INTERVAL_NS = 1_000_000


class Machine:
    """Sleeps are as long as asked, and 50 µs more; some of them are pauses. `steps` counts looks at the clock."""

    def __init__(self, pauses_ns: dict[int, int], ends_at_ns: int | None = None) -> None:
        self.now_ns, self._pauses_ns, self._ends_at_ns = 0, dict(pauses_ns), ends_at_ns

    def clock(self) -> int:
        self.now_ns += 100
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9) + 50_000
        if self._ends_at_ns is not None and self.now_ns > self._ends_at_ns:
            raise KeyboardInterrupt
        due = [at_ns for at_ns in self._pauses_ns if at_ns <= self.now_ns]
        self.now_ns += sum(self._pauses_ns.pop(at_ns) for at_ns in due)


def test_pauses_are_seen_and_their_instants_not_counted_again() -> None:
    machine = Machine({200_000_000: 35_000_000, 700_000_000: 500_000_000})
    recorder = PauseRecorder(INTERVAL_NS, machine.clock, machine.sleep)
    recorder.run(2_000_000_000)
    counts = recorder.histogram.counts
    long_ns = sorted(edge for edge in counts if edge > INTERVAL_NS)
    assert [round(edge / 1e6) for edge in long_ns] == [35, 500]
    usual = [edge for edge in counts if edge < INTERVAL_NS]
    assert all(49_000 <= edge <= 52_000 for edge in usual)
    assert sum(counts[edge] for edge in usual) == pytest.approx(2_000 - 535, abs=4)
    assert recorder.observed_ns == pytest.approx(2_000_000_000, rel=0.001)


def test_progress_is_shown_between_observations() -> None:
    machine, shown = Machine({}), []
    PauseRecorder(INTERVAL_NS, machine.clock, machine.sleep).run(3_500_000_000, shown.append)
    assert [round(one) for one in shown] == [1, 2, 3, 4]


def test_an_interruption_keeps_what_was_recorded() -> None:
    machine = Machine({}, ends_at_ns=1_500_000_000)
    recorder = PauseRecorder(INTERVAL_NS, machine.clock, machine.sleep)
    with pytest.raises(KeyboardInterrupt):
        recorder.run(60_000_000_000)
    assert recorder.histogram.total == pytest.approx(1_500, abs=3)
    assert recorder.observed_ns == pytest.approx(1_500_000_000, rel=0.01)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    machine = Machine({200_000_000: 35_000_000})
    recorder = PauseRecorder(INTERVAL_NS, machine.clock, machine.sleep)
    recorder.run(1_000_000_000)
    file = tmp_path / "pauses.json"
    file.write_text(pauses_record(recorder, "2001-01-01T00:00:00+00:00").model_dump_json(indent=1))
    found = read_pauses(file)
    assert found.histogram.total == recorder.histogram.total
    assert found.interval_ns == INTERVAL_NS
    assert found.observed_s == pytest.approx(1.0, rel=0.01)


def damaged(text: str) -> str:
    return text.replace('"late": "H', '"late": "!')


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "of another kind": (lambda text: json.dumps({"kind": "receipt"}), "is no record of pauses"),
    "no JSON": (lambda text: text[:40], "is damaged"),
    "a list": (lambda text: "[]", "is damaged"),
    "a histogram that is none": (damaged, "is damaged"),
    "empty": (lambda text: "", "is damaged"),
}


@pytest.mark.parametrize(("broken", "why"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_one_message(tmp_path: Path, broken: Callable[[str], str], why: str) -> None:
    machine = Machine({})
    recorder = PauseRecorder(INTERVAL_NS, machine.clock, machine.sleep)
    recorder.run(100_000_000)
    text = pauses_record(recorder, "2001-01-01T00:00:00+00:00").model_dump_json(indent=1)
    file = tmp_path / "pauses.json"
    file.write_text(broken(text))
    with pytest.raises(LockbenchError, match=why):
        read_pauses(file)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(LockbenchError, match=r"cannot read nowhere/pauses\.json: No such file"):
        read_pauses(Path("nowhere/pauses.json"))
