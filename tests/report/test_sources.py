"""No file that a reader may open has a name of our own for a page: each is cited by its title."""

import re

import pytest

from bench.analysis.places import project_root

ROOT = project_root()
# Our own names for the pages, from before they had titles: "seed 1", 000_08ac….txt, "the first page of our sources".
_INTERNAL = re.compile(
    r"\bseed [1-9]\b(?![0-9])|\b\d{3}_[0-9a-f]{4,}|\b[0-9a-f]{16}\.txt|first page of our|seed_?label", re.I
)
_READ = ("*.md", "*.csv", "*.ipynb", "*.html", "*.svg", "*.py", "*.yaml")
_PLACES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs",
    "data/claims.csv",
    "data/seed_table.csv",
    "figures",
    "notebooks",
    "bench",
)


@pytest.mark.parametrize("place", _PLACES)
def test_no_page_has_an_internal_name(place: str) -> None:
    path = ROOT / place
    files = [path] if path.is_file() else sorted(one for kind in _READ for one in path.rglob(kind))
    assert files
    found = {str(one.relative_to(ROOT)): _INTERNAL.findall(one.read_text(encoding="utf-8")) for one in files}
    assert {name: words for name, words in found.items() if words} == {}
