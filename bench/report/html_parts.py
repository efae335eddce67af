"""HTML that all our pages and fragments are made from: the document, its style, tables, figures."""

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from bench.report.figures.drawing import Drawing
from bench.report.table_model import Text

_HERE = Path(__file__).parent
_BOUNDS = re.compile(r"(\[[^\]]*\])")  # kept on one line, and lighter than the value before them


def page(heading: str, body: str, extra: str = "") -> str:
    """A whole HTML document around a body: light or dark as the reader's system is, readable at phone width."""
    template = Template((_HERE / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(heading), style=style(), body=body, extra=extra)


def style() -> str:
    """The style element that every fragment needs once in its document."""
    return style_element("style.html")


def style_element(name: str) -> str:
    """A file of rules. Our class is named three times in each, so that ours win over those of JupyterLab for tables."""
    rules = (_HERE / name).read_text(encoding="utf-8").strip()
    return rules.replace(".lockbench", ".lockbench" * 3)


def figure_element(drawing: Drawing) -> str:
    """A drawing within the document, its title and caption as the text for whoever cannot see it."""
    encoded = base64.b64encode(drawing.rendered("svg")).decode("ascii")
    words = escape(f"{drawing.title}. {drawing.caption}", quote=True)
    return f'<figure class="scroll"><img src="data:image/svg+xml;base64,{encoded}" alt="{words}"></figure>'


def table(header: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> str:
    """A table that scrolls sideways where it is too wide. The first cell of a row is its heading, as HTML already."""
    lines = []
    for first, *rest in rows:
        cells = "".join(table_cell(cell) for cell in rest)
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return table_of(header, lines)


def table_of(header: Sequence[str], lines: Iterable[str], kind: str = "") -> str:
    """A table of rows that are HTML already."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    named = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll"><table{named}><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def table_cell(text: str | Text) -> str:
    """One cell of words, with the marks of their notes."""
    if isinstance(text, str):
        return f"<td>{escape(text)}</td>"
    marks = ",".join(f'<a href="#note-{mark}">{mark}</a>' for mark in text.marks)
    kind = "value" if text.measured else "absent"
    words = _BOUNDS.sub(r'<span class="bounds">\1</span>', escape(text.words))
    return f'<td class="{kind}"><span>{words}{f" <sup>{marks}</sup>" if marks else ""}</span></td>'


def tagged(words: str, tags: Sequence[str]) -> str:
    """A system's name with its tags."""
    return escape(words) + "".join(f' <span class="tag">{escape(tag)}</span>' for tag in tags)


def bullets(lines: Sequence[str]) -> str:
    """A list, one item a line."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
