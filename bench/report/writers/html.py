"""A document as HTML: a fragment for a notebook, or one page that needs no other file and runs nothing.

The templates escape whatever they are given; what is markup already is made here, and from our own words alone.
"""

import base64
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bench.report.model import Block, Column, Document, Heading, Picture, Text
from bench.report.run_ranges import run_ranges

_TEMPLATES = Path(__file__).parent / "templates"
_BOUNDS = re.compile(r"(\[[^\]]*\])")  # kept on one line, and lighter than the value before them
_NAME = re.compile("`([^`]*)`")
_SIZE = re.compile(r'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"')
_PASTED_PX = 600  # of a figure's width, where no rule of style says another
_SECTION = 2  # the level of the titles whose sections open and close


def html_page(document: Document, opened: Collection[str] | None = None) -> str:
    """The whole document: light or dark as the reader's system is, readable at phone width.

    With `opened` it has a table of contents, and each of its sections opens and closes: those of these titles are open.
    """
    heading = Markup("<h1>{}</h1>\n").format(document.title)
    body = html_fragment(document.blocks) if opened is None else _in_sections(document.blocks, opened)
    return page(document.title, heading + Markup(body))


def page(title: str, body: str, extra: str = "") -> str:
    """A page around a body that is HTML already; `extra` are further rules of style."""
    return _ENVIRONMENT.get_template("page.html").render(
        title=title, body=Markup(body), style=Markup(style()), extra=Markup(extra)
    )


def html_fragment(blocks: Iterable[Block]) -> str:
    """Blocks without a document around them; where they stand, `style` is needed once."""
    return str(Markup('<div class="lockbench">{}</div>').format(_rendered(blocks)))


def _in_sections(blocks: Sequence[Block], opened: Collection[str]) -> str:
    """What stands before the first title of the second level, the contents, and each section by its title."""
    starts = [at for at, block in enumerate(blocks) if isinstance(block, Heading) and block.level == _SECTION]
    ends = [*starts[1:], len(blocks)]
    sections = [
        {"id": f"section-{number}", "title": blocks[at], "body": _rendered(blocks[at + 1 : end])}
        for number, (at, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]
    before = _rendered(blocks[: starts[0]] if starts else blocks)
    macros = _ENVIRONMENT.get_template("sections.html").module
    return str(getattr(macros, "sections")(before, sections, opened))  # noqa: B009 - made by the template


def style() -> str:
    """The style element. Our class is named three times in each rule, so that ours win over JupyterLab's for tables."""
    return (_TEMPLATES / "style.html").read_text(encoding="utf-8").strip().replace(".lockbench", ".lockbench" * 3)


def _rendered(blocks: Iterable[Block]) -> Markup:
    """Each block by the macro that has its name."""
    macros = _ENVIRONMENT.get_template("blocks.html").module
    return Markup("").join(getattr(macros, type(block).__name__.lower())(block) for block in blocks)


def _cell_class(column: Column[Any], text: Text) -> str:
    if column.small:
        return "runs"
    if text.look and column.strong:
        return f"verdict {text.look}"
    if text.measured is False:
        return "absent"
    return "value" if text.measured and column.strong else ""


def _hint(text: Text, with_runs: bool) -> str:
    """What a cell says to whoever points at it: more words, and its runs."""
    runs = f"runs: {', '.join(run_ranges(text.runs))}" if with_runs and text.runs else ""
    return "; ".join(filter(None, (text.hint, runs)))


def _with_bounds(words: str) -> Markup:
    return Markup(_BOUNDS.sub(r'<span class="bounds">\1</span>', str(escape(words))))


def _with_names(words: str) -> Markup:
    return Markup(_NAME.sub(r"<code>\1</code>", str(escape(words))))


def _source(drawing: Picture) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing.rendered('svg')).decode('ascii')}"


def _size(drawing: Picture) -> Markup:
    """Width and height for programs that do not know rules of style, such as editors of documents."""
    head = _SIZE.search(drawing.rendered("svg").decode("utf-8"))
    if head is None:
        return Markup("")
    across, down = map(float, head.groups())
    return Markup(' width="{}" height="{}"').format(_PASTED_PX, round(_PASTED_PX * down / across))


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "with_bounds": _with_bounds,
        "with_names": _with_names,
        "source": _source,
        "size": _size,
        "hint": _hint,
    }
    made.globals |= {"cell_class": _cell_class, "rendered": _rendered}
    return made


_ENVIRONMENT = _environment()
