"""The docs name every scenario, and no other: a table says which argument each of them stages. No server, no actor."""

import re
from pathlib import Path

from bench.hazards.scenario import scenario_names

PAGE = Path(__file__).parents[3] / "docs" / "hazards.md"
TITLE = "## Argument by argument\n"


def rows() -> list[list[str]]:
    """The cells of the table's rows: argument, by, staged by."""
    section = PAGE.read_text(encoding="utf-8").split(TITLE)[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_scenario_stages_an_argument_and_every_name_is_a_scenario() -> None:
    named = {name for _, _, staged in rows() for name in re.findall(r"`([^`]+)`", staged)}
    assert named == set(scenario_names())


def test_every_argument_has_somebody_who_made_it_and_a_scenario_or_a_reason() -> None:
    for argument, by, staged in rows():
        assert re.fullmatch(r"[1-5](-[1-5])?( [1-5])*( K)?( A)?|K( A)?|A|R", by), argument
        assert "`" in staged or re.match(r"none: \w", staged), argument
