"""docs/calibration.md: every line of the record, and nothing that is not in it."""

from bench.analysis.places import project_root
from bench.records.calibration import Calibration, read_calibration
from bench.report.documents.calibration import calibration_document, line_texts, rounded
from bench.report.reference import CALIBRATION, CALIBRATION_RECORD
from bench.report.writers.markdown import markdown
from tests.calibrate.records import COST, INFORMATION, RATE, calibration


def page_of(record: Calibration) -> str:
    return markdown(calibration_document(record), generated="")


def test_every_line_and_every_miss_is_on_the_page() -> None:
    page = page_of(calibration(RATE, COST, INFORMATION))
    assert (
        "| a rate | 30 000 commands/s | a native tool: 100 000 commands/s | 0.3 (0.2–0.4) | ≥ 0.35 | **no** |" in page
    )
    assert "| a cost | 0.05 ms | - | 0.05 ms (0.04–0.06) | ≤ 0.06 ms | yes |" in page
    assert "| for information | 3 µs | a mean: 2 µs | 1.5 (1.5–1.5) | - | - |" in page
    assert "- **a rate:** the loop took it." in page
    assert "- **a cost" not in page


def test_without_a_miss_the_page_says_so() -> None:
    assert "Every target was met." in page_of(calibration(COST))


def test_three_digits() -> None:
    assert [rounded(value) for value in (0.123456, 98_765.4, 2.0)] == [0.123, 98_800.0, 2.0]
    assert line_texts(RATE)[0] == "30 000 commands/s"


def test_the_committed_page_is_the_record_rendered() -> None:
    record = read_calibration(project_root() / "data" / "reference" / CALIBRATION_RECORD)
    assert (project_root() / CALIBRATION).read_text(encoding="utf-8") == page_of(record)
