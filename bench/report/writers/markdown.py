"""A document as Markdown: readable as text, rendered by any forge, and nothing that a user named becomes markup."""

import re
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

_CODE = re.compile(r"(`[^`]*`)")
# What would be markup, and no more than that: underscores within a word and `<` before a number are none.
_MARKUP = re.compile(r"[\\`*~$|]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])")

GENERATED = "<!-- Written by lockbench from recorded runs. Do not edit: it is rendered again. -->"


def markdown(document: Document, generated: str = GENERATED) -> str:
    """The whole page; `generated` is the comment at its top, and may be empty."""
    parts = (generated, f"# {_safe(document.title)}", *map(_block, document.blocks))
    return "\n\n".join(filter(None, parts)) + "\n"


def markdown_blocks(blocks: Iterable[Block]) -> str:
    """Blocks without a document around them."""
    return "\n\n".join(filter(None, map(_block, blocks)))


def _block(block: Block) -> str:
    match block:
        case Heading(words, level, about):
            return _safe(f"{'#' * level} {words}" + (f": {about}" if about else ""))
        case Paragraph(words):
            return _safe(words)
        case FactList():
            return "\n".join(f"- **{name.words}:** {_safe(value)}" for name, value in block.texts)
        case Bullets(lines):
            return "\n".join(f"- {_safe(line)}" for line in lines)
        case Notes(texts):
            return "\n".join(f"- [{number}] {_safe(note)}" for number, note in enumerate(texts, 1))
        case Figure(drawing, folder):
            return f"![{_safe(drawing.title)}]({f'{folder}/' if folder else ''}{drawing.name}.svg)"
        case Table():
            return _table(block)


def _table(table: Table[Any]) -> str:
    if not table.rows:
        return table.empty
    columns = table.page_columns
    rows = ([_cell(column, column.text(row)) for column in columns] for row in table.rows)
    return _lines([_heading(column) for column in columns], rows)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of words of our own, which may be Markdown."""
    return _lines(header, ([cell.replace("|", "\\|") for cell in row] for row in rows))


def _lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows))


def _heading(column: Column[Any]) -> str:
    return _verbatim(f"{column.heading} ({', '.join(column.tags)})" if column.tags else column.heading)


def _cell(column: Column[Any], text: Text) -> str:
    words = _verbatim(text.words)
    shown = f"**{words}**" if column.strong and (text.measured or text.look) else words
    return shown + (f" ({_verbatim(text.below)})" if text.below else "") + "".join(f" [{mark}]" for mark in text.marks)


def _safe(words: str) -> str:
    """Running text, in which what stands between backticks is a name. A pipe would end a cell even there."""
    parts = _CODE.split(" ".join(words.split("\n")))
    return "".join(part.replace("|", "\\|") if number % 2 else _verbatim(part) for number, part in enumerate(parts))


def _verbatim(words: str) -> str:
    """Nothing in it is markup. A line break would end a table."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(words.split("\n")))
