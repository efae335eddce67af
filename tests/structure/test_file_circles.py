"""No file needs another that needs it in turn, by whatever way: each can be read, and changed, after those it needs."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Needs = Mapping[str, set[str]]


def modules() -> Mapping[str, Path]:
    found = {}
    for path in sorted((ROOT / "bench").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(source: str, known: Mapping[str, Path]) -> Iterator[str]:
    """Modules that a file imports, also inside functions and for its types alone."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def circle(needs: Needs) -> list[str]:
    """Some circle, with its first module again at its end; empty where there is none."""
    finished: set[str] = set()
    for start in needs:
        way: list[str] = []
        open_choices = [iter([start])]
        while open_choices:
            module = next(open_choices[-1], None)
            if module is None:
                open_choices.pop()
                if way:
                    finished.add(way.pop())
            elif module in way:
                return [*way[way.index(module) :], module]
            elif module not in finished:
                way.append(module)
                open_choices.append(iter(sorted(needs.get(module, ()))))
    return []


def test_no_file_is_in_a_circle() -> None:
    known = modules()
    needs = {name: {*imported(path.read_text(), known)} & known.keys() - {name} for name, path in known.items()}
    assert sum(map(len, needs.values())) > 1000, "the house is not where this test looks for it"
    assert circle(needs) == []


@pytest.mark.parametrize(
    ("needs", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, ["a", "b", "c", "a"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c", "b"]),
        ({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}, []),
    ],
)
def test_a_circle_is_seen(needs: Needs, found: list[str]) -> None:
    assert circle(needs) == found


def test_imports_inside_functions_and_for_types_count() -> None:
    source = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bench import a\ndef f():\n    import bench.b\n"
    )
    known = {"bench.a": Path(), "bench.b": Path()}
    assert {*imported(source, known)} & known.keys() == known.keys()
