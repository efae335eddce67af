"""The digest of the code that measures changes with that code and with nothing else."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import bench
from bench.campaign.measuring_code import measuring_code

PACKAGE = Path(bench.__file__).parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    place = tmp_path / "elsewhere" / "bench"
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def test_it_does_not_depend_on_the_folder(copy: Path) -> None:
    assert measuring_code(copy) == measuring_code()


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda package: (package / "load" / "users.py").write_text("#"), False),
        (lambda package: (package / "systems" / "redis" / "lock.py").unlink(), False),
        (lambda package: (package / "servers" / "one_more.py").write_text(""), False),
        (lambda package: (package / "report" / "table.py").write_text("#"), True),
        (lambda package: (package / "systems" / "redis" / "README.md").write_text("#"), True),
    ],
)
def test_it_changes_with_the_code_that_measures(change: Callable[[Path], object], same: bool, copy: Path) -> None:
    before = measuring_code(copy)
    change(copy)
    assert (measuring_code(copy) == before) == same
