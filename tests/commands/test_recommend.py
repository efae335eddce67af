"""`lockbench recommend`: options, questions on a terminal, JSON, and one message for each mistake."""

import json

import pytest
from typer.testing import CliRunner

from bench.analysis.advice.examples import examples
from bench.cli import app
from bench.commands import recommend


def test_options_lead_to_json() -> None:
    done = CliRunner().invoke(app, ["recommend", "--purpose", "efficiency", "--runs", "redis", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["answers"]["purpose"] == "efficiency"
    assert said["ranked"][0]["system"] == "redis"
    assert said["ranked"][0]["found"]["latency"]["runs"]


def test_it_asks_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommend, "_on_a_terminal", lambda: True)
    said = "9\n1\n2\n1\n1\n1\n1\nnosuch\nredis\n"  # twice an answer that there is none of
    done = CliRunner().invoke(app, ["recommend"], input=said)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "a number from 1 to 3" in done.stdout
    assert "no servers of that name" in done.stdout
    for title in ("Is a lock needed?", "The choice", "What to set", "What to write in the review"):
        assert title in done.stdout
    assert "lockbench show redis uncontended --campaign reference" in done.stdout


def test_the_commands_of_the_examples_are_read() -> None:
    for one in examples():
        name, *arguments = one.command.split()[1:]
        assert name == "recommend"
        options = {option for parameter in _parameters() for option in parameter}
        assert {word for word in arguments if word.startswith("--")} <= options


def _parameters() -> list[list[str]]:
    import typer

    command = typer.main.get_command(app).commands["recommend"]  # type: ignore[attr-defined]
    return [one.opts for one in command.params]
