"""What follows from the samples of a line, and what is told of it."""

from pathlib import Path

import pytest

from bench.commands.calibrate import document
from bench.records.calibration import Bound, read_calibration
from bench.records.store import StoreError
from tests.calibrate.records import COST, INFORMATION, RATE, calibration


def test_a_ratio_is_taken_within_each_repetition() -> None:
    assert RATE.values == pytest.approx((0.2, 0.3, 0.4))
    assert RATE.median == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("bound", "target", "met"),
    [
        (Bound.AT_LEAST, 0.29, True),
        (Bound.AT_LEAST, 0.31, False),
        (Bound.AT_MOST, 0.31, True),
        (Bound.AT_MOST, 0.29, False),
        (Bound.AT_MOST, None, None),
    ],
)
def test_the_median_decides(bound: Bound, target: float | None, met: bool | None) -> None:
    assert RATE.model_copy(update={"bound": bound, "target": target}).met is met


def test_a_side_with_a_repetition_missing_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        _ = RATE.model_copy(update={"native": (1.0,)}).values


def test_the_document_names_what_misses_and_why() -> None:
    tree = document(calibration(RATE, COST, INFORMATION))
    assert tree["missed"] == ["rate"]
    by_name = {line["name"]: line for line in tree["lines"]}
    rate = by_name["rate"]
    assert (rate["median"], rate["min"], rate["max"], rate["pairs"], rate["target"]) == (0.3, 0.2, 0.4, 3, 0.35)
    assert (rate["met"], rate["explanation"]) == (False, "the loop took it")
    assert by_name["cost"]["met"] is True
    assert "explanation" not in by_name["cost"]
    assert by_name["shown"]["met"] is None


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = calibration(RATE, COST)
    path = tmp_path / "calibration.json"
    path.write_text(written.model_dump_json())
    assert read_calibration(path) == written


@pytest.mark.parametrize("text", ["{", "{}", '{"schema_version": 1}'])
def test_a_damaged_record_is_one_clear_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(text)
    with pytest.raises(StoreError, match="is no calibration"):
        read_calibration(path)


def test_a_record_of_another_version_is_told(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(calibration(COST).model_copy(update={"schema_version": 99}).model_dump_json())
    with pytest.raises(StoreError, match="schema version 99"):
        read_calibration(path)
