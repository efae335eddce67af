"""A table on a terminal that is too narrow for it: the same cells one below the other, and none left out."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Styled

WIDTH = 100  # of our tables at least; narrower, words and numbers would be cut


class Fitting:
    """Shows a table where there is room for it, and elsewhere each row as a heading with a line for each cell."""

    def __init__(self, table: Table, width: int = WIDTH) -> None:
        self._table = table
        self._width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= self._width:
            if self._table.width is not None:  # wider where there is room for words that would be broken
                self._table.width = None
                unbroken = Measurement.get(console, options, self._table).maximum
                self._table.width = max(self._width, min(unbroken, options.max_width))
            yield self._table
            return
        if self._table.title:
            yield Styled(str(self._table.title), style="bold", overflow="fold")
        yield from self._records()
        yield ""

    def _records(self) -> Iterator[Padding]:
        headers = [_on_one_line(column.header) for column in self._table.columns]
        before = Styled("")
        for cells in zip(*(column.cells for column in self._table.columns), strict=True):
            first, *rest = (_on_one_line(cell) for cell in cells)
            before = first if first.plain else before  # an empty first cell stands under the one above
            heading = before.copy() if before.plain else Styled(headers[0].plain)
            heading.stylize("bold")
            yield Padding(heading, (0, 0, 0, 0))
            for header, cell in zip(headers[1:], rest, strict=True):
                if cell.plain.strip():
                    yield Padding(Styled.assemble(header, ": ", cell, overflow="fold"), (0, 0, 0, 2))


def _on_one_line(cell: object) -> Styled:
    """A cell of a table as running text: what was broken to fit a column is put together."""
    text = cell.copy() if isinstance(cell, Styled) else Styled(str(cell))
    lines = text.split("\n")
    joined = Styled(overflow="fold")
    for number, line in enumerate(lines):
        if number and not joined.plain.endswith("-"):
            joined.append(" ")
        joined.append_text(line)
    return joined
