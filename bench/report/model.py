"""What a report is made of: a document of blocks, whose tables are lists of columns. Writers make the formats from it.

Nothing here knows of a format but two things that a column decides for itself: whether pages show it, and how a
terminal, which has room for few columns, fits it in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, Literal, Protocol, TypeVar

Row = TypeVar("Row")


class Look(StrEnum):
    """How a verdict looks; the word is the class in the page's style."""

    HOLDS = "holds"
    FAILS = "fails"
    CONDITION = "condition"
    FAVOURABLE = "favourable"
    UNAVAILABLE = "unavailable"
    UNDECIDED = "untestable"  # neither green nor red


@dataclass(frozen=True, slots=True)
class Text:
    """One cell: words, the numbers of its footnotes, and the runs behind them."""

    words: str
    marks: tuple[int, ...] = ()
    measured: bool | None = True  # False: words instead of a number; None: nothing that is measured
    runs: tuple[str, ...] = ()  # ids
    look: Look | None = None  # of a verdict
    tags: tuple[str, ...] = ()  # of a system's name
    below: str = ""  # smaller, after the words: a range, a count
    hint: str = ""  # more, for whoever points at the cell of a page
    short: str = ""  # instead of the words, on a terminal
    aside: str = ""  # what `short` leaves out, below the terminal's table


@dataclass(frozen=True, slots=True)
class Fit:
    """A column on a terminal. Widths are characters."""

    width: int | None = None
    least: int | None = None
    most: int | None = None
    header: str = ""  # a shorter one than on a page
    right: bool = False  # aligned
    whole: bool = False  # its words are not broken over lines
    once: bool = False  # said once for rows that follow each other with the same heading
    brief: bool = False  # without the bounds in brackets


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column: its heading, and how the cell of a row is made."""

    header: str
    cell: Callable[[Row], Text | str]
    unit: str = ""
    note: str = ""  # what the heading means
    tags: tuple[str, ...] = ()  # of a system that is the heading
    strong: bool = True  # what is measured in it stands out
    small: bool = False  # run ids: there for whoever looks for them
    pages: bool = True  # False: on a terminal alone
    fit: Fit | None = None  # None: a terminal has no room for it

    @property
    def heading(self) -> str:
        return f"{self.header}, {self.unit}" if self.unit else self.header

    def text(self, row: Row) -> Text:
        """The cell of a row."""
        found = self.cell(row)
        return Text(found, measured=None) if isinstance(found, str) else found


RowKind = Literal["", "claimed", "measured", "context"]


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Columns over rows; the first column is each row's heading."""

    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    empty: str = ""  # a sentence in its place where it has no row
    kind: Literal["", "glance", "matrix", "sheet"] = ""  # a sheet is at most 600 px wide, to be pasted elsewhere
    row_kind: Callable[[Row], RowKind] | None = None
    narrow: tuple["Block", ...] = ()  # a phone's page shows these instead
    width: int = 100  # of a terminal at least; where there is less, a row is a list
    dense: bool = False  # on a terminal: as narrow as it can be

    @property
    def page_columns(self) -> tuple[Column[Row], ...]:
        return tuple(column for column in self.columns if column.pages)

    @property
    def names_runs(self) -> bool:
        """Has it a column of run ids? Else a page names the runs of each cell to whoever points at it."""
        return any(column.small for column in self.columns)

    def kind_of(self, row: Row) -> RowKind:
        return self.row_kind(row) if self.row_kind else ""


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows; `about` says in smaller letters what it is about."""

    words: str
    level: int = 2
    about: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text. What stands between backticks is a name."""

    words: str


@dataclass(frozen=True, slots=True)
class FactList:
    """Names, each with what belongs to it."""

    items: Sequence[tuple[Text | str, str]]

    @property
    def texts(self) -> list[tuple[Text, str]]:
        return [(name if isinstance(name, Text) else Text(name, measured=None), value) for name, value in self.items]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list, one item a line."""

    lines: Sequence[str]


class Picture(Protocol):
    """A drawing, as far as a writer needs it (`bench.report.figures.drawing`, which no terminal should wait for)."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def caption(self) -> str: ...

    @property
    def runs(self) -> Sequence[str]: ...

    def rendered(self, file_format: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing. Markdown looks for it in `folder`; a page holds it; a terminal shows none."""

    drawing: Picture
    folder: str = ""
    dark: Picture | None = None  # the same for a page on a dark ground


@dataclass(frozen=True, slots=True)
class Notes:
    """What the marks in the cells stand for, number 1 first."""

    texts: Sequence[str]


Block = Heading | Paragraph | FactList | Bullets | Table[Any] | Figure | Notes


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
