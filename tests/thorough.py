"""Which cases of one kind `make test` runs, and which `make thorough` adds."""

from collections.abc import Iterable
from typing import Any

import pytest


def case(*values: Any, rare: bool, **of: Any) -> Any:
    """A case for `parametrize`; a `rare` one is left to `make thorough`."""
    marks = [*of.pop("marks", ()), *([pytest.mark.thorough] if rare else ())]
    return pytest.param(*values, marks=marks, **of)


def one_in(count: int, cases: Iterable[Any]) -> list[Any]:
    """Of so many that follow each other, `make test` runs the first."""
    return [
        case(*(each if isinstance(each, tuple) else (each,)), rare=number % count != 0)
        for number, each in enumerate(cases)
    ]
