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
    KeepTogether,
    LongTable,
    PageBreak,
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
_FIGURE_HEIGHT = 0.27 * A4[1]  # at most: two fit on a page with their words
_HEADINGS = {1: 12.5, 2: 11.0, 3: 9.0, 4: 8.5}
_LEAST_SIZE = 5.2
_SMALL = 0.88  # of the sizes of letters, where a page is to be saved
_LEAST_AFTER = 24.0 * mm  # of room on a page, for a title and the beginning of what follows
APPENDIX = "Appendix"  # the title that begins a page, and after which all is set smaller


def pdf(
    document: Document, *, text_size: float = 8.0, appendix_size: float = 6.6, pages_max: int | None = None
) -> bytes:
    """The whole document; what follows the heading `Appendix` begins a page and is set smaller.

    With `pages_max` letters shrink where that is enough, and no further than they can be read. Where it is not, the
    appendix ends with the last section that fits, and a sentence says so.
    """
    if pages_max is None:
        return _built(document, document.blocks, text_size, appendix_size).content
    built = _built(document, document.blocks, text_size, appendix_size)
    if built.pages <= pages_max:
        return built.content
    text_size, appendix_size = text_size * _SMALL, appendix_size * _SMALL
    built, blocks = _built(document, document.blocks, text_size, appendix_size), list(document.blocks)
    while built.pages > pages_max and (beyond := [at for at, page in built.titles.items() if page > pages_max]):
        # The section before the first title that is too far may itself end too far.
        last = max((at for at in built.titles if at < beyond[0]), default=0)
        blocks = [*blocks[:last], Paragraph(_REST)]
        built = _built(document, blocks, text_size, appendix_size)
    while built.pages > pages_max and len(blocks) > 1:
        titles = [at for at, block in enumerate(blocks) if isinstance(block, Heading)]
        blocks = [*blocks[: titles[-1] if titles else -1], Paragraph(_REST)]
        built = _built(document, blocks, text_size, appendix_size)
    return built.content


_REST = "The rest of the appendix is in the HTML and Markdown files beside this one."


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
    story = list(_story(document, blocks, text_size, small_size, titles))
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
) -> Iterable[Any]:
    size = text_size
    yield Words(_safe(document.title), _style(15.0, bold=True, after=4.0))
    for at, block in enumerate(blocks):
        if not isinstance(block, Heading):
            yield from _block(block, size)
            continue
        appendix = block.words == APPENDIX
        size = small_size if appendix else size
        # No title stands alone at the end of a page.
        before_a_figure = at + 1 < len(blocks) and isinstance(blocks[at + 1], Figure)
        yield PageBreak() if appendix else CondPageBreak(_LEAST_AFTER + _FIGURE_HEIGHT * before_a_figure)
        about = f' <font size="{size:.1f}" color="#5c6268">{_safe(block.about)}</font>' if block.about else ""
        style = _style(_HEADINGS[block.level] * min(1.0, size / 8.0), bold=True, before=size * 0.8)
        yield _Title(_safe(block.words) + about, style, titles, at)


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
    return KeepTogether([Image(io.BytesIO(content), across * scale, down * scale, hAlign="LEFT"), Spacer(1, 4)])


def _table(table: Table[Any], size: float) -> Iterable[Any]:
    if not table.rows:
        if table.empty:
            yield Words(_safe(table.empty), _style(size))
        return
    columns = table.page_columns
    texts = [[column.text(row) for column in columns] for row in table.rows]
    small = max(_LEAST_SIZE, size * (0.92 if len(columns) <= 5 else 0.84 if len(columns) <= 9 else 0.72))
    style, head = _style(small, after=0.0), _style(small, bold=True, after=0.0)
    data = [[Words(_heading(column), head) for column in columns]]
    data += [
        [Words(_cell(*pair, first=at == 0), style) for at, pair in enumerate(zip(columns, row, strict=True))]
        for row in texts
    ]
    grid = LongTable(data, colWidths=_widths(columns, texts, small), repeatRows=1, hAlign="LEFT")
    grid.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LINEBELOW", (0, 0), (-1, 0), 0.8, _SOFT),
                ("LINEBELOW", (0, 1), (-1, -1), 0.3, _LINE),
                ("LEFTPADDING", (0, 0), (-1, -1), 2.0),
                ("RIGHTPADDING", (0, 0), (-1, -1), 2.0),
                ("TOPPADDING", (0, 0), (-1, -1), 1.2),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 1.6),
            ]
        )
    )
    yield grid
    yield Spacer(1, 5)


def _widths(columns: Sequence[Column[Any]], texts: Sequence[Sequence[Text]], size: float) -> list[float]:
    """The whole width, shared by the square root of the longest cell, but room for the longest word of each column."""
    needed, weights = [], []
    for at, column in enumerate(columns):
        words = [column.heading, *(_shown(row[at]) for row in texts)]
        longest = max((part for one in words for part in one.split(" ")), key=len)
        wide = pdfmetrics.stringWidth(longest[:26], "Lock-Bold", size) + 5.0
        needed.append(wide)
        weights.append(max(len(one) for one in words) ** 0.62)
    spare = max(0.0, _WIDTH - sum(needed))
    widths = [least + spare * weight / sum(weights) for least, weight in zip(needed, weights, strict=True)]
    return [width * _WIDTH / sum(widths) for width in widths]


def _heading(column: Column[Any]) -> str:
    return _safe(f"{column.heading} ({', '.join(column.tags)})" if column.tags else column.heading)


def _shown(text: Text) -> str:
    return " ".join(filter(None, (text.words, text.below, ", ".join(text.tags))))


def _cell(column: Column[Any], text: Text, *, first: bool) -> str:
    words = _safe(text.words)
    if text.look is not None and column.strong:
        words = f'<font color="{_LOOKS[text.look]}">\u25cf</font> <b>{words}</b>'
    elif first or (text.measured and column.strong):
        words = f"<b>{words}</b>"
    elif text.measured is False:
        words = f'<i><font color="#5c6268">{words}</font></i>'
    tags = f" ({_safe(', '.join(text.tags))})" if text.tags else ""
    below = f' <font color="#5c6268">({_safe(text.below)})</font>' if text.below else ""
    marks = f"<super>{','.join(map(str, text.marks))}</super>" if text.marks else ""
    return f"{words}{tags}{below}{marks}"


def _safe(words: str) -> str:
    return escape(" ".join(words.split("\n")), quote=False)


def _running(words: str) -> str:
    """Running text, in which what stands between backticks is a name."""
    return _NAME.sub(r"<b>\1</b>", _safe(words))
