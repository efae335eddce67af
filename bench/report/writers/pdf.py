"""A document as PDF: A4, real text, tables that break over pages with their headings, the same bytes every time.

By ReportLab, which is pure Python with its own layout: nothing of the operating system is needed, no browser and no
library for text, and `invariant` leaves dates and random names out. The font is the one that comes with Matplotlib.
"""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
from PIL import Image as Raster
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    CondPageBreak,
    Image,
    LongTable,
    SimpleDocTemplate,
    Spacer,
    TableStyle,
)
from reportlab.platypus import Paragraph as Words

from bench.report.model import (
    Block,
    Bullets,
    Column,
    Document,
    FactList,
    Figure,
    Heading,
    Look,
    Notes,
    Paragraph,
    Picture,
    Table,
    Text,
)

_FONTS = {"Lock": "DejaVuSans.ttf", "Lock-Bold": "DejaVuSans-Bold.ttf", "Lock-Oblique": "DejaVuSans-Oblique.ttf"}
_MARGIN = 15.0 * mm
_WIDTH = A4[0] - 2.0 * _MARGIN
_INK, _SOFT, _LINE = colors.HexColor("#1d2125"), colors.HexColor("#5c6268"), colors.HexColor("#c9ccd0")
_LOOKS = {  # as on a page; the word beside it says the same
    Look.HOLDS: "#009E73",
    Look.FAILS: "#D55E00",
    Look.CONDITION: "#E69F00",
    Look.FAVOURABLE: "#56768F",
    Look.UNAVAILABLE: "#7A4FA3",
    Look.UNDECIDED: "#888888",
}
_NAME = re.compile("`([^`]*)`")
_FIGURE_HEIGHT = 0.30 * A4[1]  # at most: two fit on a page with their words
_FIGURE_LEAST = 0.8  # of that, where no more is left of a page
_HEADINGS = {1: 12.5, 2: 11.0, 3: 9.0, 4: 8.5}
_LEAST_SIZE = 5.2
_CLOSER = 0.94  # of the sizes of letters, where that saves a page
_SMALL = 0.88  # of them, where there are too many pages
_LEAST_AFTER = 24.0 * mm  # of room on a page, for a title and the beginning of what follows
_LEAST_APPENDIX = 0.28 * A4[1]  # of room on a page, for the appendix to begin there
_INDENT, _GAP = 2.0, 5.0  # of a cell: before its words, and at least between them and the next column
_FEW = 9  # columns; more of them stand closer
_LONGEST = 26  # signs of a word that is not broken
# Ways to share a width, of which the lowest table wins: by these powers of the columns' lengths, and each with columns
# whose longest cell takes at most such a share of the width on one line.
_POWERS, _SHARES = (0.3, 0.45, 0.62, 0.8), (0.0, 0.13, 0.18, 0.25)
_POINT = "\u25cf"
_HYPHEN = re.compile(r"(?<=[^\W\d]-)(?=[^\W\d])")  # after which a line of a crowded table may end
_MAY_END = '<font size="0.01"> </font>'  # ReportLab ends lines at spaces alone, or loses the hyphen
APPENDIX = "Appendix"  # the title after which all is set smaller


def pdf(
    document: Document, *, text_size: float = 8.0, appendix_size: float = 6.6, pages_max: int | None = None
) -> bytes:
    """The whole document; what follows the heading `Appendix` is set smaller, and begins a page unless much is left.

    With `pages_max` letters shrink a little where that saves a page, and more where there are too many, but no further
    than they can be read. Where that is not enough, the appendix ends with the last section that fits, and a sentence
    says so.
    """
    if pages_max is None:
        return _built(document, document.blocks, text_size, appendix_size).content
    return _fitting(document, text_size, appendix_size, pages_max).content


def _fitting(document: Document, text_size: float, appendix_size: float, pages_max: int) -> "_Built":
    """The document on so many pages, with all of it or with what fits."""
    whole = document.blocks
    built = _built(document, whole, text_size, appendix_size)
    if built.pages <= pages_max:
        closer = _built(document, whole, text_size * _CLOSER, appendix_size * _CLOSER)
        return closer if closer.pages < built.pages else built
    text_size, appendix_size = text_size * _SMALL, appendix_size * _SMALL
    built, ends = _built(document, whole, text_size, appendix_size), len(whole)
    while built.pages > pages_max and (beyond := [at for at, page in built.titles.items() if page > pages_max]):
        ends = beyond[0]
        built = _built(document, [*whole[:ends], _elsewhere(whole[ends:])], text_size, appendix_size)
    while built.pages > pages_max and ends > 0:  # the last section begins in time, and ends too far
        ends = max((at for at in range(ends) if isinstance(whole[at], Heading)), default=ends - 1)
        built = _built(document, [*whole[:ends], _elsewhere(whole[ends:])], text_size, appendix_size)
    return built


def _elsewhere(left_out: Sequence[Block]) -> Paragraph:
    """What a reader finds in the files beside this one."""
    titles = [f"\u201c{block.words}\u201d" for block in left_out if isinstance(block, Heading)]
    return Paragraph(f"In the HTML and Markdown files beside this one: {', '.join(titles) or 'the rest'}.")


@dataclass(frozen=True, slots=True)
class _Built:
    content: bytes
    pages: int
    titles: Mapping[int, int]  # the page on which each title stands, by its place among the blocks


def _built(document: Document, blocks: Sequence[Block], text_size: float, small_size: float) -> _Built:
    _fonts()
    buffer, numbers = io.BytesIO(), _Pages(document.title)
    titles: dict[int, int] = {}
    template = SimpleDocTemplate(
        buffer,
        pagesize=A4,
        leftMargin=_MARGIN,
        rightMargin=_MARGIN,
        topMargin=14.0 * mm,
        bottomMargin=14.0 * mm,
        title=document.title,
        author="lockbench",
        invariant=1,
        pageCompression=0,  # builds of zlib differ
    )
    story = _story(document, blocks, text_size, small_size, titles)
    template.build(story, onFirstPage=numbers, onLaterPages=numbers)
    return _Built(buffer.getvalue(), numbers.last, titles)


class _Title(Words):  # type: ignore[misc]  # ReportLab has no types
    """A title that notes on which page it came to stand."""

    def __init__(self, words: str, style: ParagraphStyle, titles: dict[int, int], at: int) -> None:
        super().__init__(words, style)
        self._noted = (titles, at)

    def draw(self) -> None:
        """Note the page, and draw."""
        titles, at = self._noted
        titles[at] = int(self.canv.getPageNumber())
        super().draw()


class _Pages:
    """Writes the title and the number below each page."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.last = 0

    def __call__(self, canvas: Any, template: Any) -> None:
        self.last = max(self.last, int(template.page))
        canvas.setFont("Lock", 6.5)
        canvas.setFillColor(_SOFT)
        canvas.drawString(_MARGIN, 8.0 * mm, self.title[:120])
        canvas.drawRightString(A4[0] - _MARGIN, 8.0 * mm, str(template.page))


@cache
def _fonts() -> None:
    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    for name, file in _FONTS.items():
        pdfmetrics.registerFont(TTFont(name, str(folder / file)))
    pdfmetrics.registerFontFamily(
        "Lock", normal="Lock", bold="Lock-Bold", italic="Lock-Oblique", boldItalic="Lock-Bold"
    )


def _story(
    document: Document, blocks: Sequence[Block], text_size: float, small_size: float, titles: dict[int, int]
) -> list[Any]:
    size = text_size
    parts: list[list[Any]] = []
    for at, block in enumerate(blocks):
        if isinstance(block, Heading):
            size = small_size if block.words == APPENDIX else size
            parts.append([_title(block, size, titles, at)])
        else:
            parts.append(list(_block(block, size)))
    story: list[Any] = [Words(_safe(document.title), _style(15.0, bold=True, after=4.0))]
    for at, (block, part) in enumerate(zip(blocks, parts, strict=True)):
        if isinstance(block, Heading):
            least = _LEAST_APPENDIX if block.words == APPENDIX else _LEAST_AFTER
            story.append(CondPageBreak(max(least, _beginning(blocks[at:], parts[at:]))))
        story += part
    return story


def _title(block: Heading, size: float, titles: dict[int, int], at: int) -> Any:
    about = f' <font size="{size:.1f}" color="#5c6268">{_safe(block.about)}</font>' if block.about else ""
    style = _style(_HEADINGS[block.level] * min(1.0, size / 8.0), bold=True, before=size * 0.8)
    return _Title(_safe(block.words) + about, style, titles, at)


def _beginning(blocks: Sequence[Block], parts: Sequence[Sequence[Any]]) -> float:
    """The height of a title with the words below it and the beginning of what follows: they share a page."""
    height = 0.0
    for block, part in zip(blocks, parts, strict=True):
        if part:
            begins = part[0].head if isinstance(part[0], _Grid) else part[0]
            height += begins.wrap(_WIDTH, 1.0)[1] + begins.getSpaceBefore() + begins.getSpaceAfter()
        if height > _LEAST_AFTER or not isinstance(block, Heading | Paragraph):
            break
    return height


class _Grid(LongTable):  # type: ignore[misc]  # ReportLab has no types
    """A table that may break over pages; `head` is its headings and first row alone."""

    head: Any = None


def _style(
    size: float, *, bold: bool = False, soft: bool = False, after: float = 2.0, before: float = 0.0, indent: float = 0.0
) -> ParagraphStyle:
    return ParagraphStyle(
        "words",
        fontName="Lock-Bold" if bold else "Lock",
        fontSize=size,
        leading=size * 1.28,
        textColor=_SOFT if soft else _INK,
        spaceAfter=after,
        spaceBefore=before,
        leftIndent=indent,
        bulletIndent=0.0,
        bulletFontName="Lock",
        bulletFontSize=size,
        splitLongWords=True,
    )


def _block(block: Block, size: float) -> Iterable[Any]:
    match block:
        case Paragraph(words):
            yield Words(_running(words), _style(size, after=3.0))
        case FactList():
            for name, value in block.texts:
                yield Words(f"<b>{_safe(name.words)}:</b> {_running(value)}", _style(size, after=1.5))
        case Bullets(lines):
            for line in lines:
                yield Words(_running(line), _style(size, after=1.0, indent=size), bulletText="\u2022")
        case Notes(texts):
            for number, note in enumerate(texts, 1):
                yield Words(_running(note), _style(size, after=0.5, indent=2.2 * size), bulletText=f"{number}.")
        case Figure(drawing):
            yield _figure(drawing)
        case Table():
            yield from _table(block, size)


def _figure(drawing: Picture) -> Any:
    content = drawing.rendered("png")
    with Raster.open(io.BytesIO(content)) as image:
        across, down = image.size
    scale = min(_WIDTH / across, _FIGURE_HEIGHT / down)
    return _Drawn(content, across * scale, down * scale)


class _Drawn(Image):  # type: ignore[misc]  # ReportLab has no types
    """A figure that takes what is left of a page, where that is little less than it would have."""

    def __init__(self, content: bytes, across: float, down: float) -> None:
        super().__init__(io.BytesIO(content), across, down, hAlign="LEFT")
        self.spaceAfter = 4.0
        self._full = (across, down)

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        """Its size in what is left."""
        scale = min(1.0, max(_FIGURE_LEAST, height / self._full[1]))
        self.drawWidth, self.drawHeight = (scale * one for one in self._full)
        return self.drawWidth, self.drawHeight


def _table(table: Table[Any], size: float) -> Iterable[Any]:
    if not table.rows:
        if table.empty:
            yield Words(_safe(table.empty), _style(size))
        return
    columns = table.page_columns
    texts = [[column.text(row) for column in columns] for row in table.rows]
    small = max(_LEAST_SIZE, size * (0.92 if len(columns) <= 5 else 0.84 if len(columns) <= _FEW else 0.72))
    style, head = _style(small, after=0.0), _style(small, bold=True, after=0.0)
    crowded = len(columns) > _FEW
    data = [[Words(_heading(column), head) for column in columns]]
    for row in texts:
        cells = [_cell(column, text, first=at == 0) for at, (column, text) in enumerate(zip(columns, row, strict=True))]
        data.append([Words(_HYPHEN.sub(_MAY_END, cell) if crowded else cell, style) for cell in cells])
    gap = _GAP if not crowded else 0.6 * _GAP
    ruled = TableStyle(
        [
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LINEBELOW", (0, 0), (-1, 0), 0.8, _SOFT),
            ("LINEBELOW", (0, 1), (-1, -1), 0.3, _LINE),
            ("LEFTPADDING", (0, 0), (-1, -1), _INDENT),
            ("RIGHTPADDING", (0, 0), (-1, -1), gap),
            ("TOPPADDING", (0, 0), (-1, -1), 1.2),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 1.6),
        ]
    )
    breaks = re.compile(f"{_HYPHEN.pattern}|[ ]" if crowded else "[ ]")
    widths = min(_layouts(*_needs(columns, texts, small, gap, breaks)), key=lambda one: _height(data, one, gap))
    grid = _Grid(data, colWidths=widths, repeatRows=1, hAlign="LEFT", style=ruled)
    grid.head = LongTable(data[:2], colWidths=widths, style=ruled)
    yield grid
    yield Spacer(1, 5)


def _needs(
    columns: Sequence[Column[Any]], texts: Sequence[Sequence[Text]], size: float, gap: float, breaks: re.Pattern[str]
) -> tuple[list[float], list[float], list[int]]:
    """Of each column: room for its longest word, room for its longest cell on one line, and the length of that."""
    needed, wanted, lengths = [], [], []
    around = _INDENT + gap + 0.5
    for at, column in enumerate(columns):
        cells = [_heading(column), *(_looked(column, row[at]) + _shown(row[at]) for row in texts)]
        parts = {part for one in cells for part in breaks.split(one)}
        needed.append(around + max(pdfmetrics.stringWidth(part[:_LONGEST], "Lock-Bold", size) for part in parts))
        wanted.append(around + max(pdfmetrics.stringWidth(one, "Lock-Bold", size) for one in cells))
        lengths.append(max(map(len, cells)))
    return needed, wanted, lengths


def _layouts(needed: Sequence[float], wanted: Sequence[float], lengths: Sequence[int]) -> Iterable[list[float]]:
    """Ways to share the width; the first has room for every word, if the page has it."""
    for share in _SHARES:
        least = [want if want <= share * _WIDTH else need for need, want in zip(needed, wanted, strict=True)]
        if share and sum(least) > _WIDTH:
            break
        for power in _POWERS:
            yield _widths(least, wanted, [length**power for length in lengths])


def _widths(needed: Sequence[float], wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The whole width: what each column needs, then by weight up to what it wants, and what is left by weight."""
    widths, short = list(needed), list(range(len(needed)))
    while short and (spare := _WIDTH - sum(widths)) > 0.01:
        whole = sum(weights[at] for at in short)
        for at in short:
            widths[at] = min(wanted[at], widths[at] + spare * weights[at] / whole)
        short = [at for at in short if widths[at] < wanted[at] - 0.01]
    spare = max(0.0, _WIDTH - sum(widths))
    widths = [width + spare * weight / sum(weights) for width, weight in zip(widths, weights, strict=True)]
    return [width * _WIDTH / sum(widths) for width in widths]  # too narrow a page narrows all


def _height(data: Sequence[Sequence[Any]], widths: Sequence[float], gap: float) -> float:
    """How high the rows are together."""
    rooms = [width - _INDENT - gap for width in widths]
    highest = (max(cell.wrap(room, A4[1])[1] for cell, room in zip(row, rooms, strict=True)) for row in data)
    return float(sum(highest))


def _heading(column: Column[Any]) -> str:
    return _safe(f"{column.heading} ({', '.join(column.tags)})" if column.tags else column.heading)


def _looked(column: Column[Any], text: Text) -> str:
    """The point before a verdict, as wide as `_cell` has it."""
    return f"{_POINT} " if text.look is not None and column.strong else ""


def _shown(text: Text) -> str:
    """As `_cell` has it, without the looks."""
    below = f"({text.below})" if text.below else ""
    return " ".join(filter(None, (text.words, *(f"({tag})" for tag in text.tags), below))) + _marks(text)


def _marks(text: Text) -> str:
    return ",".join(map(str, text.marks))


def _cell(column: Column[Any], text: Text, *, first: bool) -> str:
    words = _safe(text.words)
    if text.look is not None and column.strong:
        words = f'<font color="{_LOOKS[text.look]}">{_POINT}</font> <b>{words}</b>'
    elif first or (text.measured and column.strong):
        words = f"<b>{words}</b>"
    elif text.measured is False:
        words = f'<i><font color="#5c6268">{words}</font></i>'
    tags = f" ({_safe(', '.join(text.tags))})" if text.tags else ""
    below = f' <font color="#5c6268">({_safe(text.below)})</font>' if text.below else ""
    marks = f"<super>{_marks(text)}</super>" if text.marks else ""
    return f"{words}{tags}{below}{marks}"


def _safe(words: str) -> str:
    return escape(" ".join(words.split("\n")), quote=False)


def _running(words: str) -> str:
    """Running text, in which what stands between backticks is a name."""
    return _NAME.sub(r"<b>\1</b>", _safe(words))
