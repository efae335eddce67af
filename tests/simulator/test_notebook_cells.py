"""The simulator's notebook runs from top to bottom, and what its words say is what its cells find."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from bench.report.figures.drawing import Drawing

NOTEBOOK = Path(__file__).parents[2] / "notebooks/simulator.ipynb"


@pytest.fixture(scope="module")
def executed() -> dict[str, tuple[dict[str, Any], Any]]:
    """By cell: the names that there are after it, and its last value."""
    names: dict[str, Any] = {}
    found = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and not cell["metadata"].get("tags"):
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, cell["id"], "exec"), names)
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names) if last else None  # type: ignore[attr-defined]
            found[cell["id"]] = (dict(names), value)
    return found


def test_every_cell_draws_or_shows(executed: dict[str, tuple[dict[str, Any], Any]]) -> None:
    values = {cell: value for cell, (_, value) in executed.items() if cell not in ("load", "knobs-drawn")}
    assert all(isinstance(value, Drawing) for cell, value in values.items() if cell != "fenced-found")
    assert all(
        "two holders" in value.rendered("svg").decode() for value in values.values() if isinstance(value, Drawing)
    )


def test_the_fence_decides(executed: dict[str, tuple[dict[str, Any], Any]]) -> None:
    pauses = executed["pause-played"][0]["pauses"]
    assert [checked.lost_updates for _, checked in pauses.values()] == [1, 0]
    gap = executed["gap-played"][0]["gap"]
    assert [checked.stale_accepted for _, checked in gap.values()] == [1, 0]


def test_one_clock_is_enough(executed: dict[str, tuple[dict[str, Any], Any]]) -> None:
    trial, checked = executed["clock-found"][0]["clock"]["two holders"]
    assert checked.overlaps
    assert [fault.kind for fault in trial.faults] == ["partition_nodes", "clock_jump"]


def test_no_update_is_lost_behind_the_fence(executed: dict[str, tuple[dict[str, Any], Any]]) -> None:
    shown = executed["fenced-found"][1]
    assert {found["lost update"] for found in shown.values()} == {0}
    assert all(found["two holders"] > 0 for found in shown.values())
