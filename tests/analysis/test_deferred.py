"""What is measured apart is read when somebody asks for it, and not before."""

import pytest

from bench.analysis.deferred import Deferred


def test_a_value_is_made_once_and_only_when_it_is_asked_for() -> None:
    made: list[str] = []
    of = Deferred({name: lambda name=name: made.append(name) or name.upper() for name in ("a", "b")})
    assert (list(of), len(of), "a" in of, made) == (["a", "b"], 2, True, [])


def test_asking_makes_it() -> None:
    made: list[str] = []
    of = Deferred({"a": lambda: made.append("a") or "A"})
    assert (of["a"], of.get("a"), made) == ("A", "A", ["a"])
    with pytest.raises(KeyError):
        of["b"]
    assert of.get("b") is None
