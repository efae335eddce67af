"""A document as Markdown: readable as text, rendered by any forge, and nothing in a cell can break it."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench.report.model import (
    Block,
    Bullets,
    Column,
    Document,
    FactList,
    Figure,
    Heading,
    Notes,
    Paragraph,
    Table,
    Text,
)

GENERATED = "<!-- Written by lockbench from recorded runs. Do not edit: it is rendered again. -->"


def markdown(document: Document, generated: str = GENERATED) -> str:
    """The whole page; `generated` is the comment at its top, and may be empty."""
    parts = (generated, f"# {document.title}", *map(_block, document.blocks))
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(words, level, about):
            return f"{'#' * level} {words}" + (f": {about}" if about else "")
        case Paragraph(words):
            return words
        case FactList():
            return "\n".join(f"- **{name.words}:** {_safe(value)}" for name, value in block.texts)
        case Bullets(lines):
            return "\n".join(f"- {_safe(line)}" for line in lines)
        case Notes(texts):
            return "\n".join(f"- [{number}] {_safe(note)}" for number, note in enumerate(texts, 1))
        case Figure(drawing, folder):
            return f"![{_safe(drawing.title)}]({folder}/{drawing.name}.svg)"
        case Table():
            return _table(block)


def _table(table: Table[Any]) -> str:
    if not table.rows:
        return table.empty
    columns = table.page_columns
    rows = ([_cell(column, column.text(row)) for column in columns] for row in table.rows)
    return markdown_table([_heading(column) for column in columns], rows)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of words alone."""
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join("| " + " | ".join(_safe(cell) for cell in row) + " |" for row in lines)


def _heading(column: Column[Any]) -> str:
    return f"{column.heading} ({', '.join(column.tags)})" if column.tags else column.heading


def _cell(column: Column[Any], text: Text) -> str:
    words = f"**{text.words}**" if column.strong and (text.measured or text.look) else text.words
    return words + (f" ({text.below})" if text.below else "") + "".join(f" [{mark}]" for mark in text.marks)


def _safe(words: str) -> str:
    """A pipe would end a cell; a line break would end the table."""
    return " ".join(words.replace("|", "\\|").split("\n"))
