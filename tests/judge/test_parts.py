"""A part of the reference is a campaign too: of few runs, and with runs that failed or were not as staged."""

import random
from pathlib import Path

import pytest

from tests.judge.hand_made import REFERENCE, campaign
from tests.judge.records import runs_of
from tests.judge.renderings import Rendered, judged


def _compared(folder: Path) -> None:
    compared = Rendered.of(folder).against(judged(folder))
    assert {name: one.wrong for name, one in compared.items() if one.wrong} == {}
    assert sum(one.cells for one in compared.values()) > 10_000


def test_one_run_of_each_is_counted_alike(tmp_path: Path) -> None:
    _compared(campaign(tmp_path, lambda plan: bool(plan["repetition"] == 1)))


@pytest.mark.parametrize("seed", range(3))
def test_any_part_with_void_runs_is_counted_alike(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    every = [run.run_id for run in runs_of(REFERENCE)]
    played = [one for one in every if chance.random() < 0.25]
    failed, not_as_staged = ([one for one in played if chance.random() < 0.1] for _ in range(2))
    _compared(campaign(tmp_path, lambda plan: plan["run_id"] in played, failed=failed, not_as_staged=not_as_staged))
