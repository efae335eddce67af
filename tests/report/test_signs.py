"""Numbers below nothing have the sign of print in everything that is committed for readers."""

import re
from pathlib import Path

import pytest

from bench.analysis.places import project_root

_HYPHEN = re.compile(r"(?:^|[ (\[|*])-\d[\d,.]*(?:%| ?(?:ms|s|µs|TTL|to)\b)", re.MULTILINE)
ROOT = project_root()
PAGES = [path for folder in ("docs", "notebooks/rendered") for path in sorted((ROOT / folder).glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_number_has_a_hyphen_for_a_sign(page: Path) -> None:
    assert _HYPHEN.findall(page.read_text(encoding="utf-8")) == []


def test_the_pattern_sees_what_it_looks_for() -> None:
    for wrong in ("TTL -1,981 ms", "| -3 TTL |", "(-6%)", "-1,991 to 3", "**-10 µs**"):
        assert _HYPHEN.search(wrong), wrong
    for right in ("gc-pause-redis-01, -02 and", "−6 %", "1-3 s", "2-5 ms", "a -1 b"):
        assert not _HYPHEN.search(right), right
