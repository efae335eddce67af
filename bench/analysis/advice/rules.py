"""The table of rules, read strictly: a question, an answer or a lookup that there is none of fails when it is read."""

from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bench.errors import LockbenchError
from bench.records.yaml_text import read_yaml

TABLE = Path(__file__).with_name("rules.yaml")
Answers = Mapping[str, str]  # by question
When = Mapping[str, str | tuple[str, ...]]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    when: When = {}

    def applies(self, answers: Answers) -> bool:
        """Do the answers meet its `when`?"""
        return all(answers[question] in _several(wanted) for question, wanted in self.when.items())


class Question(BaseModel):
    """`answers` by name, in words; the first is taken where nobody answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    ask: str
    answers: Mapping[str, str]


class Need(_Entry):
    """One sentence about whether a lock is needed; `crossing`: with the point from which optimism loses."""

    says: str
    crossing: bool = False


class Step(_Entry):
    """What a system must show."""

    id: str
    title: str
    looks_up: str
    effect: Literal["excludes", "warns", "informs"]


class ToDo(_Entry):
    """What to set or to do, whichever system is chosen."""

    says: str
    looks_up: str


class Rank(_Entry):
    """What orders those that pass."""

    by: Literal["fewest_warnings", "runs_already", "shortest_wait", "least_latency"]
    says: str


class Rules(BaseModel):
    """The whole table."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    questions: tuple[Question, ...]
    need: tuple[Need, ...]
    steps: tuple[Step, ...]
    set: tuple[ToDo, ...]
    rank: tuple[Rank, ...]

    @model_validator(mode="after")
    def _names(self) -> "Rules":
        known = {question.id: set(question.answers) for question in self.questions}
        for entry in (*self.need, *self.steps, *self.set, *self.rank):
            for question, wanted in entry.when.items():
                if question not in known or not set(_several(wanted)) <= known[question]:
                    raise ValueError(f"no answer {wanted} to a question {question}")
        return self

    @property
    def defaults(self) -> dict[str, str]:
        """The first answer to each question."""
        return {question.id: next(iter(question.answers)) for question in self.questions}

    def question(self, name: str) -> Question:
        """One of them by its name."""
        return next(question for question in self.questions if question.id == name)

    def all_answers(self) -> list[dict[str, str]]:
        """Every combination of answers."""
        names = [question.id for question in self.questions]
        return [
            dict(zip(names, one, strict=True)) for one in product(*(question.answers for question in self.questions))
        ]


@cache
def rules() -> Rules:
    """The bench's own table."""
    return read_rules(TABLE.read_text(encoding="utf-8"))


def read_rules(text: str) -> Rules:
    """A table of rules. Raises LockbenchError that says what is wrong with it."""
    try:
        return Rules.model_validate(read_yaml(text))
    except (ValidationError, yaml.YAMLError) as wrong:
        raise LockbenchError(f"{TABLE.name}: {wrong}") from wrong


def _several(wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    return (wanted,) if isinstance(wanted, str) else wanted
