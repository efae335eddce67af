"""docker/stand-ins has an image for each that docker-compose.yml and docker/Dockerfile name."""

import re

import pytest

from bench.systems.dynamodb.engines import DYNALITE
from tests.packaging.compose_file import compose
from tests.packaging.pyproject import ROOT

FOLDER = ROOT / "docker/stand-ins"
STAGES = dict(
    re.findall(r"^FROM base AS (\S+)\n((?:(?!FROM ).*\n)*)", (FOLDER / "Dockerfile").read_text("utf-8"), re.MULTILINE)
)
BUILD = (FOLDER / "build.sh").read_text(encoding="utf-8")


def pulled() -> set[str]:
    (base,) = re.findall(r"^FROM (\S+)$", (ROOT / "docker/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    return {base, *(one["image"] for one in compose()["services"].values() if "build" not in one)}


def target(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]


def test_each_pulled_image_has_its_stand_in_and_no_other() -> None:
    assert {target(image) for image in pulled()} == set(STAGES)


@pytest.mark.parametrize("script", sorted(path.name for path in FOLDER.glob("*.sh") if path.name != "build.sh"))
def test_entry_points_can_be_run_and_are_used(script: str) -> None:
    path = FOLDER / script
    assert path.stat().st_mode & 0o111
    assert path.read_text(encoding="utf-8").startswith("#!/bin/")
    assert sum(f"COPY {script} " in stage for stage in STAGES.values()) == 1


def test_dynalite_is_the_pinned_one() -> None:
    """The script reads the version from the room that has it."""
    (pattern, file) = re.search(r"sed -n 's/(.*?)/\\1/p' (bench/\S+\.py)", BUILD).groups()  # type: ignore[union-attr]
    found = re.search(pattern.replace(r"\(", "(").replace(r"\)", ")"), (ROOT / file).read_text("utf-8"), re.MULTILINE)
    assert found
    assert found[1] == DYNALITE


def test_no_registry_is_named() -> None:
    for path in FOLDER.iterdir():
        assert "://" not in path.read_text(encoding="utf-8"), path
