"""Pages of a PDF: no word is broken in a table, no title stands alone, a figure takes what is left of a page."""

import re
from io import BytesIO

import pytest
from PIL import Image

from bench.report.model import Block, Column, Document, Figure, Heading, Paragraph, Table, Text
from bench.report.writers import pdf as writer
from bench.report.writers.pdf import pdf

_CELLS = (
    ("System", Text("DynamoDB API", tags=("emulator",), measured=None)),
    ("Claimed, ms", Text("0.5\u20132", measured=None)),
    *((f"p{share}, ms", Text("0.101 [0.069\u20130.15]", marks=(1,))) for share in (50, 99, 999)),
    ("Floor, ms", Text("0.016 [0.016\u20130.069]", measured=None)),
    ("p50 / floor", Text("6.0\u00a0\u00d7 [4.2\u20138.7]")),
    ("Claimed, per s", Text("50k\u2013100k", measured=None)),
    ("Pairs/s", Text("\u2265\u00a012,830 (generator-bound, machine-bound, still rising)", marks=(2, 3, 4))),
    ("Claimed contention", Text("10\u2013100 \u00d7", measured=None)),
    ("Contention", Text("8,144\u00a0\u00d7 [5,614\u201311,815] uncontended; held 5\u00a0ms")),
    ("Client CPU, \u00b5s/pair", Text("1,289 [1,000\u20131,662]")),
    ("Runs of each", Text("6")),
)


class Drawn:
    """A picture of a given shape."""

    name, title, caption, runs = "drawn", "Drawn", "A picture.", ("r-01",)

    def rendered(self, file_format: str) -> bytes:
        content = BytesIO()
        Image.new("RGB", (300, 200), "white").save(content, file_format)
        return content.getvalue()


def one_row(columns: int) -> Table[int]:
    def column(at: int) -> Column[int]:
        heading, text = _CELLS[at % len(_CELLS)]
        return Column(heading, lambda _: text)

    return Table([column(at) for at in range(columns)], [0])


@pytest.mark.parametrize(
    ("columns", "size"), [(2, 8.0), (4, 8.0), (5, 8.0), (9, 8.0), (4, 5.8), (9, 6.6), (10, 6.6), (13, 6.6), (13, 5.8)]
)
def test_no_word_is_broken_in_a_table(columns: int, size: float) -> None:
    writer._fonts()
    (grid, *_) = writer._table(one_row(columns), size)
    for row in grid._cellvalues:
        for cell, width in zip(row, grid._colWidths, strict=True):
            assert cell.minWidth() <= width - writer._INDENT, cell.text


@pytest.mark.parametrize("filled", range(30, 75))
@pytest.mark.parametrize("kind", ["table", "figure"])
def test_no_title_stands_alone(filled: int, kind: str) -> None:
    beginning: Block = one_row(5) if kind == "table" else Figure(Drawn(), "")
    blocks = [*[Paragraph("Filled.")] * filled, Heading("Title"), Paragraph("What follows."), beginning]
    built = writer._built(Document("Pages", blocks), blocks, 8.0, 6.6)
    assert built.titles[filled] == built.pages


def test_a_figure_takes_what_is_left_of_a_page() -> None:
    drawn = writer._figure(Drawn())
    across, down = drawn.wrap(1000.0, 1000.0)
    less = drawn.wrap(1000.0, 0.9 * down)
    assert less == pytest.approx((0.9 * across, 0.9 * down))
    assert drawn.wrap(1000.0, 1.0)[1] == pytest.approx(0.8 * down), "smaller it could not be read"
    assert drawn.wrap(1000.0, 1000.0) == (across, down)


def test_a_little_smaller_where_that_saves_a_page() -> None:
    """A few lines on a last page of their own; more of them would fill it all the same."""

    def pages(lines: int, size: float) -> int:
        blocks = [Paragraph("A line.")] * lines
        return writer._built(Document("Pages", blocks), blocks, 8.0 * size, 6.6 * size).pages

    few = next(lines for lines in range(30, 90) if pages(lines, 1.0) == 2)
    many = next(lines for lines in range(few, 120) if pages(lines, writer._CLOSER) == 2)
    assert few < many
    for lines, expected in ((few - 1, 1), (few, 1), (many, 2)):
        content = pdf(Document("Pages", [Paragraph("A line.")] * lines), pages_max=6)
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", content)) == expected


def test_a_table_takes_the_widths_by_which_it_is_lowest() -> None:
    """Where many cells are short and one is long, the short ones stand on one line."""
    writer._fonts()
    short = ("C01", "Redis", "a claim", "0.5 ms", "holds here with a condition")
    rows = [*[short] * 8, (*short[:3], "words of a measurement " * 12, short[4])]
    columns = [Column(f"Of {at}", lambda row, at=at: Text(row[at])) for at in range(len(short))]  # type: ignore[misc]
    (grid, *_) = writer._table(Table(columns, rows), 6.6)
    lines = [
        len(cell.breakLines(width - writer._INDENT - writer._GAP).lines)
        for cell, width in zip(grid._cellvalues[1], grid._colWidths, strict=True)
    ]
    assert lines == [1, 1, 1, 1, 1]


def test_the_last_section_that_fits_stays() -> None:
    """The second ends on the last page that may be; the third begins beyond it."""
    blocks = [block for number in "123" for block in (Heading(f"Part {number}"), *[Paragraph("A line.")] * 58)]
    built = writer._built(Document("Pages", blocks), blocks, 8.0 * writer._SMALL, 6.6 * writer._SMALL)
    assert list(built.titles.values()) == [1, 2, 3]
    document = Document("Pages", blocks)
    fitting = writer._fitting(document, 8.0, 6.6, 2)
    assert [blocks[at] for at in fitting.titles] == [Heading("Part 1"), Heading("Part 2")]
    assert writer._elsewhere(blocks[118:]) == Paragraph(
        "In the HTML and Markdown files beside this one: \u201cPart 3\u201d."
    )
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf(document, pages_max=2))) == 2
