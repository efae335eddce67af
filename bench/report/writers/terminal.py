"""A document on the terminal: tables where there is room for them, and elsewhere each row as a list of its cells."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text as Styled

from bench.report.fitting import Fitting
from bench.report.model import (
    Block,
    Bullets,
    Column,
    FactList,
    Figure,
    Fit,
    Heading,
    Look,
    Notes,
    Paragraph,
    RowKind,
    Table,
    Text,
)

_LOOKS = {
    Look.HOLDS: "green",
    Look.FAILS: "red",
    Look.CONDITION: "yellow",
    Look.UNAVAILABLE: "magenta",
    Look.UNDECIDED: "dim",
    Look.FAVOURABLE: "",
}
# A table would break these long words anywhere.
_LONG_WORDS = re.compile(r"(generator|machine|client)-bound")


def terminal(blocks: Iterable[Block]) -> RenderableType:
    """Blocks one below the other, for `rich` to print. Columns without a `Fit` are left out."""
    return Group(*(part for block in blocks for part in _block(block)))


def _block(block: Block) -> Iterable[RenderableType]:
    match block:
        case Heading(words, _, about):
            yield Styled(f"{words}: {about}" if about else words, style="bold")
        case Paragraph(words):
            yield _small(words)
        case FactList():
            for name, value in block.texts:
                yield _small(f"{name.short} ({name.words}): {value}" if name.short else f"{name.words}: {value}")
        case Bullets(lines):
            yield from map(_small, lines)
        case Notes(texts):
            yield from (_small(f"[{number}] {note}") for number, note in enumerate(texts, 1))
        case Table():
            yield from _table(block)
        case Figure():
            pass


def _small(words: str) -> RenderableType:
    return Padding(Styled(words, style="dim"), (0, 0, 0, 1))


def _table(table: Table[Any]) -> Iterable[RenderableType]:
    fitted = [(column, column.fit) for column in table.columns if column.fit is not None]
    if not table.rows or not fitted:
        yield from ([_small(table.empty)] if table.empty else [])
        return
    grid = Grid(
        box=box.SIMPLE_HEAD,
        width=None if table.dense else table.width,
        pad_edge=False,
        padding=(0, 0) if table.dense else (0, 1, 0, 0),
    )
    for column, fit in fitted:
        grid.add_column(
            _heading(column, fit),
            justify="right" if fit.right else "left",
            width=fit.width,
            min_width=fit.least,
            max_width=fit.most,
            ratio=None if table.dense or fit.width else 1,
            overflow="fold",
            no_wrap=fit.whole,
        )
    asides: list[str] = []
    before: Sequence[Text] = ()
    for row in table.rows:
        texts = [column.text(row) for column, _ in fitted]
        kind = table.kind_of(row)
        cells = []
        for number, ((column, fit), text) in enumerate(zip(fitted, texts, strict=True)):
            again = fit.once and before and (before[0].words, before[number].words) == (texts[0].words, text.words)
            cells.append(Styled("") if again else _cell(column, fit, text, kind, heading=number == 0))
            if text.aside:
                asides.append(text.aside)
                cells[-1].append(f" [{len(asides)}]", style="dim")
        grid.add_row(*cells, end_section=kind == "measured")
        before = texts
    yield Fitting(grid, table.width)
    yield from (_small(f"[{number}] {aside}") for number, aside in enumerate(asides, 1))
    yield from (_small(f"{fit.header or column.heading}: {column.note}") for column, fit in fitted if column.note)


def _heading(column: Column[Any], fit: Fit) -> Styled:
    heading = Styled(fit.header or column.heading)
    if column.tags:
        heading.append("\n" + ", ".join(column.tags), style="yellow")
    return heading


def _cell(column: Column[Any], fit: Fit, text: Text, kind: RowKind, *, heading: bool) -> Styled:
    words = text.short or text.words
    if fit.brief:
        words = words.partition(" [")[0]
    styled = Styled(_LONG_WORDS.sub("\\1-\nbound", words), style=_style(column, text, kind, heading=heading))
    if text.tags:
        styled.append(f" ({', '.join(text.tags)})", style="yellow")
    for mark in text.marks:
        styled.append(f" [{mark}]", style="dim")
    if text.below:
        styled.append(f"\n{text.below}", style="dim")
    return styled


def _style(column: Column[Any], text: Text, kind: RowKind, *, heading: bool) -> str:
    if heading:
        return "" if kind == "measured" else "bold"
    if text.look is not None:
        return _LOOKS[text.look]
    if text.measured is False:
        return "dim italic"
    if text.measured and column.strong:
        return "bold"
    return "dim" if kind == "claimed" else ""
