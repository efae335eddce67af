"""The worked examples: situations of readers, from a file beside this one."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from bench.analysis.advice.rules import rules
from bench.analysis.advice.situation import Situation
from bench.records.yaml_text import read_yaml

_FILE = Path(__file__).with_name("examples.yaml")


class Example(NamedTuple):
    """One reader's situation with its story."""

    title: str
    story: str
    situation: Situation

    @property
    def command(self) -> str:
        """How to ask the same."""
        said = self.situation
        options = [f"--{name} {value}" for name, value in said.answers.items()]
        options += [f"--runs {name}" for name in sorted(said.runs)]
        numbers = {"budget-ms": said.budget_ms, "round-trip-ms": said.round_trip_ms}
        numbers["recover-within-s"] = said.recover_within_s
        options += [f"--{name} {value:g}" for name, value in numbers.items() if value is not None]
        return f"lockbench recommend {' '.join(options)}"


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str
    story: str
    answers: dict[str, str]
    runs: tuple[str, ...] = ()
    budget_ms: float | None = None
    round_trip_ms: float | None = None
    recover_within_s: float | None = None


@cache
def examples() -> tuple[Example, ...]:
    """In the order of the page."""
    found = [_Written.model_validate(one) for one in read_yaml(_FILE.read_text(encoding="utf-8"))]
    return tuple(
        Example(
            one.title,
            one.story,
            Situation(
                {**rules().defaults, **one.answers},
                frozenset(one.runs),
                one.budget_ms,
                one.round_trip_ms,
                one.recover_within_s,
            ),
        )
        for one in found
    )
