"""Every printed count of a hazard in the reference is what an independent judge finds in its histories."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench.analysis.places import project_root
from bench.records.packed import unpack_campaign
from bench.records.store import HazardFolder
from tests.judge.records import Run
from tests.judge.renderings import Rendered, judged

HAZARDS = project_root() / "data" / "reference" / "hazards"
# Cells in which lockbench is known to be wrong by its own definitions. A mended one must be taken from this list.
KNOWN: dict[str, list[str]] = {}
# How many cells there are at least: a comparison that finds nothing to compare must not pass.
LEAST = {
    "hazard_verdicts.csv": 4_000,
    "hazards.csv": 80_000,
    "hazards.md": 13_000,
    "claims.csv": 800,
    "comparison.md": 60,
}


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
