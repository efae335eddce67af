"""`lockbench compare`: two campaigns side by side, in 80 columns, as Markdown and as CSV; one message for a mistake."""

import io
import shutil
from pathlib import Path

import pandas as pd
import pytest
from rich.cells import cell_len

from tests import campaigns
from tests.commands.command import lockbench


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two campaigns lie, the second with fewer systems."""
    root = tmp_path_factory.mktemp("compare")
    for name, systems in (("one", ("redis", "etcd")), ("two", ("redis",))):
        plans = campaigns.plans(systems, ("uncontended", "contended"), 3, campaign_id=name)
        made = campaigns.start(root / "runs", plans)
        for plan in plans:
            campaigns.add_run(made, plan, campaigns.measured(plan, campaigns.SHAPES[plan.system]))
    shutil.copytree(root / "runs" / "one", root / "runs" / "copied")
    for name in ("one", "two"):
        shutil.copytree(root / "runs" / name, root / "runs" / "several" / "load" / name)
    shutil.copytree(root / "runs" / "two", root / "runs" / "binary")
    next((root / "runs" / "binary").glob("*/measured.json")).write_bytes(b"\x00\xff{")
    return root


def test_the_tables_fit_80_columns(folder: Path) -> None:
    ended = lockbench(folder, "compare", "one", "two", more={"COLUMNS": "80"})
    assert ended.returncode == 0, ended.stderr
    assert max(cell_len(line) for line in ended.stdout.splitlines()) <= 80
    assert "Only in A: etcd" in " ".join(ended.stdout.split())
    for words in ("A: one", "B: two", "redis", "p50 / floor", "Meant to", "1 of 1 (100\u00a0%)", "The same in both"):
        assert words in ended.stdout


def test_narrower_nothing_is_dropped(folder: Path) -> None:
    wide, narrow = (
        lockbench(folder, "compare", "one", "two", more={"COLUMNS": columns}).stdout for columns in ("80", "40")
    )
    for word in ("floor", "durable", "pairs/s", "mean"):
        assert word in wide
        assert word in narrow


def test_markdown_and_csv(folder: Path) -> None:
    page = lockbench(folder, "compare", "one", "two", "--markdown").stdout
    assert page.startswith("# Two campaigns\n")
    assert "| redis uncontended | round trips | 1 | 1 |" in page
    frame = pd.read_csv(io.StringIO(lockbench(folder, "compare", "one", "two", "--csv").stdout))
    row = frame[(frame.workload == "uncontended") & (frame.column == "p50 / floor")].iloc[0]
    assert row.b_in_interval_of_a
    assert row.b_by_a_low <= row.b_by_a <= row.b_by_a_high


@pytest.mark.parametrize("sides", [("one", "runs/several"), ("runs/several", "two")])
def test_several_campaigns_are_one_side(folder: Path, sides: tuple[str, str]) -> None:
    ended = lockbench(folder, "compare", *sides)
    assert ended.returncode == 0, ended.stderr
    assert "one, two, 18 runs counted" in " ".join(ended.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["one", "three"], "no campaign 'three'"),
        (["one", "one"], "one and one are one campaign"),
        (["one", "copied"], "one and copied are one campaign"),
        (["one", "binary"], "measured.json is damaged"),
        (["one", "two", "--markdown", "--csv"], "exclude each other"),
    ],
)
def test_one_message(folder: Path, arguments: list[str], told: str) -> None:
    ended = lockbench(folder, "compare", *arguments)
    assert ended.returncode == 1
    assert told in " ".join(ended.stderr.split())
    assert ended.stderr.count("error:") == 1
    assert "Traceback" not in ended.stderr


def test_the_help_has_an_example(folder: Path) -> None:
    assert "lockbench compare reference latest" in " ".join(lockbench(folder, "compare", "--help").stdout.split())
