"""Markdown that no cell can break: tables, and parts put together."""

from collections.abc import Iterable, Sequence

GENERATED = "<!-- Written by lockbench from recorded runs. Do not edit: it is rendered again. -->"


def joined(*parts: str) -> str:
    """Parts with an empty line between them, and one line's end after the last."""
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table; nothing in a cell can end it."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(safe(cell) for cell in row) + " |" for row in rows)


def safe(words: str) -> str:
    """A pipe would end a cell; a line break would end the table."""
    return " ".join(words.replace("|", "\\|").split("\n"))
