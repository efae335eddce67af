"""Every subcommand, wherever it is started: with closed streams, an encoding without our signs, a terminal that can do
nothing. One message at most, no traceback, and an exit code that is true."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import typer

from bench.cli import app
from tests.commands.command import LOCKBENCH, environment_of
from tests.thorough import case, one_in


@dataclass(frozen=True)
class Surroundings:
    """`redirected` is what a shell would do to the streams; of `lost` nobody can read anything."""

    redirected: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    loses_output: bool = False


ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "TERM": "dumb", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
HARSH: Mapping[str, Surroundings] = {
    "ascii": Surroundings(environment=ASCII),
    "all closed": Surroundings("<&- >&- 2>&-", loses_output=True),
}
SURROUNDINGS: Mapping[str, Surroundings] = {
    **HARSH,
    "latin-1": Surroundings(environment={"PYTHONIOENCODING": "latin-1"}),
    "ascii:strict": Surroundings(environment={"PYTHONIOENCODING": "ascii:strict"}),
    "cp437": Surroundings(environment={"PYTHONIOENCODING": "cp437"}),
    "LC_ALL=C": Surroundings(environment={"LC_ALL": "C", "LANG": "C"}),
    "LC_ALL=POSIX": Surroundings(environment={"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "a locale that is not there": Surroundings(environment={"LC_ALL": "xx_XX.UTF-8"}),
    "TERM=dumb": Surroundings(environment={"TERM": "dumb"}),
    "no TERM, no COLUMNS": Surroundings(environment={"TERM": "", "COLUMNS": ""}),
    "one column": Surroundings(environment={"COLUMNS": "1"}),
    "stdout closed": Surroundings(">&-", loses_output=True),
    "stdin closed": Surroundings("<&-"),
    "stderr closed": Surroundings("2>&-"),
    "both closed": Surroundings(">&- 2>&-", loses_output=True),
    "a full disk": Surroundings(">/dev/full", loses_output=True),
    "stderr on a full disk": Surroundings("2>/dev/full"),
}


@dataclass(frozen=True)
class Case:
    """Arguments of a subcommand that cost little; `code` is how it ends in ordinary surroundings."""

    arguments: Sequence[str]
    code: int = 0


# A subcommand that is not here fails `test_no_subcommand_is_left_out`.
COMMANDS: Mapping[str, Case] = {
    "doctor": Case(["doctor"]),
    "servers": Case(["servers", "redis", "--yes"]),
    "up": Case(["up", "redis"]),
    "status": Case(["status"]),
    "down": Case(["down"]),
    "run": Case(["run", "--name", "latest"], 1),
    "live": Case(["live", "--system", "nosuch"], 1),
    "hazard list": Case(["hazard", "list"]),
    "hazard run": Case(["hazard", "run", "nosuch"], 1),
    "conform": Case(["conform", "memory", "--check", "tokens_rise"]),
    "calibrate": Case(["calibrate", "--save", "nosuch/file"], 1),
    "report": Case(["report", "--campaign", "reference", "--no-notebook", "--no-hazards"]),
    "simulate": Case(["simulate", "page-scenario", "-s", "redis"]),
    "export folder": Case(["export", "out", "--campaign", "never"], 1),
    "export pack": Case(["export", "pack", "-s", "redis", "--out", "out", "--campaign", "never"], 1),
    "recommend": Case(["recommend", "--purpose", "nosuch"], 1),
    "notebooks": Case(["notebooks", "nosuch"], 1),
    "claims": Case(["claims", "--campaign", "never"], 1),
    "history": Case(["history"]),
    "show": Case(["show", "nosuch", "--campaign", "reference"], 1),
    "predict": Case(["predict", "--rtt", "1ms", "--campaign", "never"], 1),
    "pauses": Case(["pauses", "--for", "1s"]),
    "ttl": Case(["ttl", "--pauses", "nosuch", "--rtt", "1ms"], 1),
    "compare": Case(["compare", "reference", "never"], 1),
}
SOME = ("doctor", "up", "status", "down", "hazard list", "simulate", "recommend")


def subcommands() -> set[str]:
    def names(command: object, above: str = "") -> set[str]:
        below = getattr(command, "commands", None)
        if below is None:
            return {above}
        return {name for word, one in below.items() for name in names(one, f"{above} {word}".strip())}

    return names(typer.main.get_command(app))


def test_no_subcommand_is_left_out() -> None:
    assert subcommands() == set(COMMANDS)


def start(folder: Path, arguments: Sequence[str], around: Surroundings) -> "subprocess.CompletedProcess[bytes]":
    environment = {**environment_of(folder), **around.environment}
    environment = {name: value for name, value in environment.items() if value or name not in around.environment}
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {around.redirected}', "sh", *LOCKBENCH, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )


def is_in_order(ended: "subprocess.CompletedProcess[bytes]", case: Case, around: Surroundings) -> None:
    said = ended.stderr.decode("utf-8", "replace")
    assert "Traceback" not in said, said
    assert "Exception ignored" not in said, said
    assert len(re.findall("^error:", said, re.MULTILINE)) <= 1, said
    wanted = case.code or int(around.loses_output)
    assert ended.returncode == wanted, (ended.returncode, said, ended.stdout)
    if wanted == 1 and "2>" not in around.redirected:
        assert "error:" in said


@pytest.mark.parametrize(
    ("around", "names"),
    [("ascii", tuple(COMMANDS)), ("all closed", SOME), case("all closed", tuple(COMMANDS), rare=True)],
    ids=["ascii", "all closed", "all closed, every one"],
)
@pytest.mark.servers
@pytest.mark.timeout(300)  # two dozen commands, each a second alone
def test_every_subcommand(tmp_path: Path, around: str, names: Sequence[str]) -> None:
    """One after the other, as a session goes: `status` has servers to show, and `down` stops them."""
    try:
        for name in names:
            asked = COMMANDS[name]
            ended = start(tmp_path, asked.arguments, HARSH[around])
            is_in_order(ended, asked, HARSH[around])
            if around == "ascii":
                ended.stdout.decode("ascii")
                ended.stderr.decode("ascii")
                assert ended.stdout or asked.code, name
    finally:
        start(tmp_path, ["down"], Surroundings())


@pytest.mark.parametrize("around", one_in(3, SURROUNDINGS))
def test_every_surrounding(tmp_path: Path, around: str) -> None:
    """One that prints a table of many signs."""
    case = COMMANDS["hazard list"]
    is_in_order(start(tmp_path, case.arguments, SURROUNDINGS[around]), case, SURROUNDINGS[around])


def test_a_reader_that_wanted_no_more(tmp_path: Path) -> None:
    """As `| head -1` does. No message: whoever reads knows."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ended = subprocess.run(
            [*LOCKBENCH, "hazard", "list"],
            cwd=tmp_path,
            env=environment_of(tmp_path),
            stdout=gone,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (1, b"")
