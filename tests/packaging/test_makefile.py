"""make's targets, and what CI makes of them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.packaging.pyproject import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[0].split()


def make(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Without what an outer make (`make test`) hands down."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_make_alone_lists_every_target_with_its_meaning() -> None:
    shown = make()
    assert shown.returncode == 0
    told = dict(re.findall(r"^    make (\w+) +(\S.*)$", shown.stdout, re.MULTILINE))
    assert sorted(told) == sorted(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_well_formed(target: str) -> None:
    done = make("--dry-run", target)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("target", "commands"),
    [
        (
            "tables",
            ["lockbench servers --yes", "lockbench run --quick", "lockbench hazard run all", "lockbench report"],
        ),
        (
            "test",
            [
                "lockbench servers --yes",
                "python -m tests.report.browser",
                "ruff check .",
                "ruff format --check .",
                "mypy",
            ],
        ),
        ("live", ["lockbench servers --yes", "lockbench live"]),
        ("up", ["lockbench servers --yes", "lockbench up"]),
        ("down", ["lockbench down"]),
        ("doctor", ["lockbench doctor"]),
    ],
)
def test_a_target_runs_its_commands_in_order(target: str, commands: list[str]) -> None:
    shown = make("--dry-run", target).stdout
    assert [line.removeprefix(".venv/bin/") for line in shown.splitlines() if line.startswith(".venv/bin/")] == commands


@pytest.fixture
def pytests(tmp_path: Path) -> Path:
    """A stand-in for pytest: it says how it was called, leaves a file in its folder, and ends as it is told."""
    stand_in = tmp_path / "pytest"
    stand_in.write_text("""#!/bin/sh
echo "pytest $*"
if [ -n "${PYTEST_DEBUG_TEMPROOT:-}" ]; then touch "$PYTEST_DEBUG_TEMPROOT/left" && echo "$PYTEST_DEBUG_TEMPROOT"; fi
case "$*" in *--last-failed*) exit "$AGAIN" ;; *-n*) exit "$WAITING" ;; *) exit "$MEASURING" ;; esac
""")
    stand_in.chmod(0o755)
    return stand_in


@pytest.mark.parametrize(
    ("waiting", "again", "measuring", "code"),
    [(0, 7, 0, 0), (0, 7, 1, 1), (2, 7, 5, 5), (2, 7, 0, 2), (1, 0, 0, 0), (1, 1, 0, 1), (1, 0, 1, 1)],
)
def test_all_tests_are_run_and_a_failure_of_any_is_told(
    pytests: Path, waiting: int, again: int, measuring: int, code: int
) -> None:
    """Tests that failed beside others are run once more alone, and are named."""
    done = subprocess.run(
        [ROOT / "tools/tests.sh", pytests],
        env={**os.environ, "WAITING": str(waiting), "AGAIN": str(again), "MEASURING": str(measuring)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    beside, *once_more, alone = re.findall(r"^pytest (.*)$", done.stdout, re.MULTILINE)
    assert [("--last-failed " in one, "--verbose" in one) for one in once_more] == [(True, True)] * (waiting == 1)
    assert ("Run once more, alone" in done.stdout) == (waiting == 1)
    assert alone == "-m measures and not thorough"
    assert beside.endswith("-m not measures and not thorough")
    assert not [folder for folder in re.findall(r"^/.*$", done.stdout, re.MULTILINE) if Path(folder).exists()]


def test_jupyter_is_allowed_to_be_root_only_for_root() -> None:
    assert ("--allow-root" in make("--dry-run", "lab").stdout) == (os.geteuid() == 0)


def test_an_environment_that_was_moved_is_made_anew() -> None:
    """The stamp that make looks for carries the folder's path, and is handed to the script that writes it last."""
    shown = make("--dry-run", "--always-make", "env").stdout
    assert f"tools/environment.sh .venv .venv/.complete{str(ROOT).replace('/', '-').replace(' ', '-')}" in shown


FAKE_MAKE = """#!/bin/sh
echo "asked for $*"
cat "$ANSWER"
echo "make: *** [test] Error 1" >&2
exit "$CODE"
"""


@pytest.mark.parametrize(
    ("closing", "code"),
    [
        ("============= 412 passed, 3 skipped in 301.22s (0:05:01) =============", 0),
        ("\x1b[31m====== \x1b[31m\x1b[1m1 failed\x1b[0m, 5 passed in 0.12s ======\x1b[0m", 1),
        ("============= no tests ran in 0.01s =============", 5),
    ],
)
def test_ci_runs_make_test_and_ends_as_it_did(tmp_path: Path, closing: str, code: int) -> None:
    (tmp_path / "make").write_text(FAKE_MAKE, encoding="utf-8")
    (tmp_path / "make").chmod(0o755)
    (tmp_path / "answer").write_text(f"collected\n{closing}\n", encoding="utf-8")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "ANSWER": str(tmp_path / "answer"), "CODE": str(code)}
    done = subprocess.run(
        ["bash", ROOT / ".ci/run"],
        cwd=tmp_path,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == code
    assert lines[0] == "asked for test"
    assert lines[-1] == re.sub(r"\x1b\[\d*m", "", closing)
