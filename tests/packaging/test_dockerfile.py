"""The image of jupyter and locust holds what it says, and nothing that a build would not find."""

import re
from fnmatch import fnmatch

from tests.packaging.compose_file import compose
from tests.packaging.pyproject import ROOT, project

DOCKERFILE = (ROOT / "docker/Dockerfile").read_text(encoding="utf-8")


def copied() -> list[str]:
    return [source for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE) for source in line.split()[:-1]]


def sent_to_the_engine(path: str) -> bool:
    """As .dockerignore says, whose last matching line decides; a folder's line covers what is in it."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern, keep = line.lstrip("!"), line.startswith("!")
        parents = [path, *("/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1))]
        if pattern and not pattern.startswith("#") and any(fnmatch(one, pattern) for one in parents):
            sent = keep
    return sent


def test_what_is_copied_is_there_and_is_sent() -> None:
    assert "bench" in copied()
    for source in copied():
        assert (ROOT / source).exists(), source
        assert sent_to_the_engine(source), source


def test_the_rest_of_the_tree_is_not_sent() -> None:
    for path in (
        ".git/config",
        ".venv/bin/python",
        ".lockbench/servers",
        "data/runs/1",
        "tests/packaging",
        "lockbench.toml",
    ):
        assert not sent_to_the_engine(path), path
    assert not sent_to_the_engine("bench/__pycache__/cli.cpython-311.pyc")


def test_the_base_is_pinned_and_new_enough() -> None:
    (base,) = re.findall(r"^FROM (\S+)$", DOCKERFILE, re.MULTILINE)
    found = re.fullmatch(r"python:(\d+)\.(\d+)\.\d+-slim-\w+", base)
    assert found, base
    oldest = re.search(r">=(\d+)\.(\d+)", project()["requires-python"])
    assert oldest
    assert (int(found[1]), int(found[2])) >= (int(oldest[1]), int(oldest[2]))


def test_the_packages_are_the_locked_ones() -> None:
    assert re.search(r"^RUN pip install .*--no-deps.* -r requirements\.lock$", DOCKERFILE, re.MULTILINE)


def test_services_run_programs_that_the_image_has() -> None:
    for name, service in compose()["services"].items():
        if "build" in service:
            first = service["command"][0]
            assert first == "jupyter" or ((ROOT / first).exists() and first in copied()), name
