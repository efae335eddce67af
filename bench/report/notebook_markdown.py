"""An executed notebook as Markdown: what a forge shows of it, small, and the same bytes for the same outputs.

Tables that are ours come as Markdown (`Shown`); pandas' own are read from their HTML. A picture that figures/ has, to
the byte, is linked there; any other lies beside the page.
"""

from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import nbformat

from bench.analysis.places import FIGURES
from bench.report.notebook_list import Notebook
from bench.report.writers.markdown import markdown_table

_Picture = Callable[[str, str], str]  # from a drawing and its cell to its address
_UP = "../.."  # from notebooks/rendered/ to the project's folder


def notebook_markdown(content: nbformat.NotebookNode, notebook: Notebook, root: Path) -> dict[str, bytes]:
    """The page and its pictures, by file name. `root` is the folder with figures/."""
    known = {path.read_bytes(): f"{_UP}/{FIGURES}/{path.name}" for path in sorted((root / FIGURES).glob("*.svg"))}
    pictures: dict[str, bytes] = {}

    def picture(svg: str, cell: str) -> str:
        drawn = svg.encode("utf-8")
        if drawn in known:
            return known[drawn]
        name = f"{notebook.name}-{cell}.svg"
        pictures[name] = drawn
        return name

    parts = [
        f"<!-- Written by `make notebooks` from notebooks/{notebook.path.name} on data/reference. Do not edit. -->",
        *_parts(content, picture),
        f"[All notebooks](../README.md) · [this one, to run](../{notebook.path.name})",
    ]
    return {f"{notebook.name}.md": ("\n\n".join(parts) + "\n").encode("utf-8"), **pictures}


def _parts(content: nbformat.NotebookNode, picture: _Picture) -> Iterator[str]:
    for cell in content.cells:
        if cell.cell_type == "markdown":
            yield cell.source.strip()
            continue
        yield f"```python\n{cell.source.strip()}\n```"
        for output in cell.outputs:
            if shown := _output(output, cell.id, picture):
                yield shown


def _output(output: nbformat.NotebookNode, cell: str, picture: _Picture) -> str:
    bundle = output.get("data", {})
    if svg := bundle.get("image/svg+xml"):
        return f"![{_title(svg)}]({picture(svg, cell)})"
    if text := bundle.get("text/markdown"):
        return str(text).strip()
    if '<table border="1" class="dataframe">' in bundle.get("text/html", ""):
        reader = _Rows()
        reader.feed(bundle["text/html"])
        # pandas has a second line of headings for the index's name, which is empty where it has none
        head, *rows = (row for row in reader.rows if any(row))
        return markdown_table(head, rows)
    plain = str(bundle.get("text/plain") or output.get("text") or "").strip()
    return f"```text\n{plain}\n```" if plain else ""


def _title(svg: str) -> str:
    """What the figure calls itself, in its metadata."""
    _, _, rest = svg.partition("<dc:title>")
    return rest.partition("</dc:title>")[0].replace("[", "(").replace("]", ")") or "figure"


class _Rows(HTMLParser):
    """The texts of a table's cells, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._within = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        self._within = tag in ("td", "th")
        if self._within:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = False

    def handle_data(self, text: str) -> None:
        if self._within:
            self.rows[-1][-1] += text.strip()
