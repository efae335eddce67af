"""Adapters stay small enough to read at a glance; the sizes are printed with every test run."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

from bench.systems.registry import SYSTEMS

ADAPTERS = Path(__file__).parents[2] / "bench/systems"
LINES_MAX = 120  # of code: blank lines, comments and docstrings do not count against explaining


def code_lines(path: Path) -> int:
    """Lines that are neither blank, nor a comment, nor inside a docstring."""
    text = path.read_text()
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in skipped
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - documented)


def test_adapter_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {
        folder: code_lines(ADAPTERS / folder / "lock.py")
        for folder in sorted({s.folder.rpartition(".")[2] for s in SYSTEMS.values()})
    }
    with capsys.disabled():
        print("\nlines of code per adapter: " + ", ".join(f"{name} {lines}" for name, lines in sizes.items()))
    # The planted faults of `faulty` are its subject; it is not an adapter that anyone reads to learn a lock.
    assert not {name: lines for name, lines in sizes.items() if lines > LINES_MAX and name != "faulty"}


MODEL_LINES_MAX = 1_000  # of the simulator's model: without the player of scenarios, the schedules and the search
BESIDE_THE_MODEL = {"by_name.py", "play.py", "schedules.py", "search.py"}


def test_the_model_is_small_enough_to_be_read() -> None:
    files = [path for path in sorted((ADAPTERS.parent / "simulator").glob("*.py")) if path.name not in BESIDE_THE_MODEL]
    assert len(files) > 5
    assert sum(map(code_lines, files)) <= MODEL_LINES_MAX
