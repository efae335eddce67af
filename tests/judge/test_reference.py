"""Every printed count of a hazard in the reference is what an independent judge finds in its histories."""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench.analysis.places import project_root
from bench.records.packed import unpack_campaign
from bench.records.store import HazardFolder
from tests.judge.printed import COUNT, SAFETY
from tests.judge.records import Run
from tests.judge.renderings import Rendered, judged

REFERENCE = project_root() / "data" / "reference"
HAZARDS = REFERENCE / "hazards"
# Cells in which lockbench is known to be wrong by its own definitions. A mended one must be taken from this list.
KNOWN: dict[str, list[str]] = {}  # cells of which the bench is known to be wrong
# How many cells there are at least: a comparison that finds nothing to compare must not pass.
LEAST = {
    "hazard_verdicts.csv": 1_000,
    "hazards.csv": 20_000,
    "hazards.md": 4_000,
    "claims.csv": 200,
    "comparison.md": 25,
}


@pytest.fixture(scope="module")
def rendered() -> Rendered:
    return Rendered.of(HAZARDS, REFERENCE)


@pytest.fixture(scope="module")
def runs() -> Sequence[Run]:
    return judged(HAZARDS)


@pytest.mark.parametrize("name", LEAST)
def test_every_printed_count_is_the_judges(
    rendered: Rendered, runs: Sequence[Run], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = rendered.against(runs, name)[name]
    with capsys.disabled():
        print(f"\n{name}: {compared.cells:,} cells compared, {len(compared.wrong)} unlike")
    assert [wrong.removeprefix(f"{name}, ") for wrong in compared.wrong] == KNOWN.get(name, [])
    assert compared.cells >= LEAST[name]


def _altered(rendered: Rendered, name: str, pattern: str, by: Callable[[re.Match[str]], str]) -> tuple[Rendered, int]:
    text, changed = re.subn(pattern, by, rendered.texts[name])
    return Rendered({**rendered.texts, name: text}), changed


def _once(by: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """Changes the first match, and leaves the others as they are."""
    left = [by]
    return lambda match: left.pop()(match) if left else match.group()


def _three_more(match: re.Match[str]) -> str:
    return f"{match.group(1)}{int(match.group(2)) + 3}"


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("hazard_verdicts.csv", r"(,pause of the holder,two holders,[a-z ]+,)(\d+)"),
        ("hazard_verdicts.csv", r"(,pause of the holder,two holders,[a-z ]+,\d+,)(\d+)"),
        ("hazards.csv", r"(checked,,[^,]*,)(\d+)"),
        ("hazards.md", r"(\*\* \()(\d+)"),
        ("hazards.md", r"( in )(\d+)(?= runs?, ≤)"),
        ("hazards.md", r"(≤ )(\d+)(?= % of runs)"),
        ("hazards.md", r"(\| (?:on|off) \| [\d.]+ \| )(\d+)"),
        ("claims.csv", r"(out of order in )(\d+)"),
        ("claims.csv", r"(TTL \+)(\d+)"),
        ("claims.csv", r"(the runs' medians range from )(\d+)"),
        ("claims.csv", r"(over )(\d+)(?= pauses)"),
        ("claims.csv", r"(the lock outlived it in )(\d+)"),
        ("comparison.md", r"(two holders in )(\d+)(?= of \d+ pauses)"),
        ("comparison.md", r"(two holders in )(\d+)(?= of \d+ jumps)"),
    ],
)
def test_a_single_altered_number_is_found(rendered: Rendered, runs: Sequence[Run], name: str, pattern: str) -> None:
    before = rendered.against(runs, name)[name].wrong
    altered, changed = _altered(rendered, name, pattern, _once(_three_more))
    assert changed, f"nothing in {name} is like {pattern}"
    assert altered.against(runs, name)[name].wrong != before, "the altered number passed"


@pytest.mark.parametrize(
    ("name", "word", "other"),
    [
        ("hazard_verdicts.csv", ",unsafe,", ",safe only with fencing,"),
        ("hazards.md", r"\*\*safe\*\*", "**not seen**"),
        ("comparison.md", "unsafe: ", "safe: "),
    ],
)
def test_a_single_altered_word_is_found(
    rendered: Rendered, runs: Sequence[Run], name: str, word: str, other: str
) -> None:
    altered, changed = _altered(rendered, name, word, _once(lambda _: other))
    assert changed
    assert len(altered.against(runs, name)[name].wrong) > len(KNOWN.get(name, []))


@pytest.mark.parametrize(("name", "least"), [("hazards.md", 500), ("hazard_verdicts.csv", 100)])
def test_no_printed_count_escapes(rendered: Rendered, runs: Sequence[Run], name: str, least: int) -> None:
    """Every "k of n" is altered at once, but for those in the names of faults: as many cells are found to be wrong."""
    of_no_fault = f"{COUNT.pattern}(?! held nodes)"
    altered, changed = _altered(rendered, name, of_no_fault, lambda match: f"{match.group(1)} of 9999")
    assert changed >= least
    assert len(altered.against(runs, name)[name].wrong) >= changed


def test_no_count_of_a_claim_escapes(rendered: Rendered, runs: Sequence[Run]) -> None:
    rows = list(csv.DictReader(io.StringIO(rendered.texts["claims.csv"])))
    changed = 0
    for row in rows:
        for column in ("found", "why"):
            row[column], times = COUNT.subn(lambda match: f"{match.group(1)} of 9999", row[column])
            changed += times if row["id"] in SAFETY else 0
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    wrong = Rendered({"claims.csv": text.getvalue()}).against(runs)["claims.csv"].wrong
    assert changed >= 200
    assert len(wrong) >= changed


def test_a_single_altered_event_of_a_history_is_found(rendered: Rendered, tmp_path: Path) -> None:
    """One refused write is accepted in one history of all. What lockbench concluded before stays as it is."""
    folder = tmp_path / "unpacked"
    unpack_campaign(HazardFolder(HAZARDS), folder)
    for history in sorted(folder.glob("page-scenario-*/history.json")):
        told = json.loads(history.read_text())
        refused = [one for trial in told["trials"] for one in trial["writes"] if one["accepted"] is False]
        if refused:
            refused[0]["accepted"] = True
            history.write_text(json.dumps(told))
            break
    else:
        pytest.fail("no write of this scenario was refused")
    for name, compared in rendered.against(judged(folder)).items():
        more = len(compared.wrong) - len(KNOWN.get(name, []))
        assert more > 0 or name == "comparison.md", f"{name} still agrees with a history that was altered"
