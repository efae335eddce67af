"""A document as LaTeX: `booktabs` tables that break over pages, and nothing that a user named becomes a command.

It compiles with pdfLaTeX, XeLaTeX and LuaLaTeX of any TeX Live. Its figures are the PDF files beside it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
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

_PREAMBLE = r"""% Written by lockbench from recorded runs. It is rendered again: copy what you want to change.
\documentclass[10pt,a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage[margin=20mm]{geometry}
\usepackage{booktabs,longtable,array,graphicx}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\LTpre}{4pt}
\setlength{\LTpost}{8pt}
"""
# Every sign that our documents have and TeX reads as something else, or has under another name.
SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_\allowbreak{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "[": "{[}",  # after the end of a row it would be a length
        "]": "{]}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "\u00a0": "~",
        "\u2013": "--",
        "\u2014": "---",
        "\u2026": r"\ldots{}",
        "\u2212": "$-$",
        "\u00d7": r"$\times$",
        "\u00f7": r"$\div$",
        "\u2264": r"$\leq$",
        "\u2265": r"$\geq$",
        "\u00b1": r"$\pm$",
        "\u00b5": r"\textmu{}",
        "\u03bc": r"\textmu{}",
        "\u201c": "``",
        "\u201d": "''",
        "\u2018": "`",
        "\u2019": "'",
        "\u2192": r"$\rightarrow$",
        "\u2248": r"$\approx$",
        "\u00b7": r"$\cdot$",
        "\u00e9": r"\'e",
    }
)
_LEVELS = {1: "section", 2: "section", 3: "subsection", 4: "subsubsection"}
_NAME = re.compile("`([^`]*)`")
_FULL_MM = 168.0  # of the text's width, less what lies between columns
_GAP_MM = 3.0
_ROOMY = 6  # columns; more of them are set smaller
_CROWDED = 9  # columns; more of them stand closer
_SIGN_MM = {"footnotesize": 1.65, "scriptsize": 1.4}  # of a bold letter's width, at most in the mean of a word
_BREAKS = re.compile(r"(?<=[-\u2013])|[ ]")  # where a line of a cell may end


def latex(document: Document) -> str:
    """The whole document, to be compiled."""
    body = "\n\n".join(filter(None, map(_block, document.blocks)))
    title = escaped(document.title)
    return f"{_PREAMBLE}\\begin{{document}}\n{{\\Large\\bfseries {title}\\par}}\n\n{body}\n\n\\end{{document}}\n"


def escaped(words: str) -> str:
    """Words in which nothing is a command. A sign that TeX does not have by a name of ours is left out as `?`."""
    return "".join(SIGNS.get(sign, sign if " " <= sign < "\x7f" else "?") for sign in " ".join(words.split("\n")))


def _block(block: Block) -> str:
    match block:
        case Heading(words, level, about):
            return f"\\{_LEVELS[level]}*{{{escaped(f'{words}: {about}' if about else words)}}}"
        case Paragraph(words):
            return _running(words)
        case FactList():
            return _list("description", [f"[{escaped(name.words)}] {_running(value)}" for name, value in block.texts])
        case Bullets(lines):
            return _list("itemize", map(_running, lines))
        case Notes(texts):
            return _list("enumerate", map(_running, texts))
        case Figure(drawing, folder):
            path = f"{folder}/{drawing.name}.pdf" if folder else f"{drawing.name}.pdf"
            return f"\\begin{{center}}\n\\includegraphics[width=\\linewidth]{{{path}}}\n\\end{{center}}"
        case Table():
            return _table(block)


def _list(kind: str, items: Iterable[str]) -> str:
    lines = "\n".join(f"\\item{'' if item.startswith('[') else ' '}{item}" for item in items)
    return f"\\begin{{{kind}}}\n{lines}\n\\end{{{kind}}}" if lines else ""


def _running(words: str) -> str:
    """Running text, in which what stands between backticks is a name."""
    parts = _NAME.split(words)
    return "".join(f"\\texttt{{{escaped(part)}}}" if at % 2 else escaped(part) for at, part in enumerate(parts))


def _table(table: Table[Any]) -> str:
    if not table.rows:
        return escaped(table.empty)
    columns = table.page_columns
    cells = [[column.text(row) for column in columns] for row in table.rows]
    size = "footnotesize" if len(columns) <= _ROOMY else "scriptsize"
    gap_mm = _GAP_MM if len(columns) <= _CROWDED else _GAP_MM / 2
    # The space without a width lets TeX hyphenate the first word as well.
    column_types = [
        f">{{\\raggedright\\arraybackslash\\hspace{{0pt}}}}p{{{mm:.1f}mm}}"
        for mm in _widths_mm(columns, cells, gap_mm, _SIGN_MM[size])
    ]
    headings = [f"\\textbf{{{_heading(column)}}}" for column in columns]
    lines = (
        f"{{\\{size}\\setlength{{\\tabcolsep}}{{{gap_mm / 2:.2f}mm}}",
        f"\\begin{{longtable}}{{@{{}}{''.join(column_types)}@{{}}}}",
        "\\toprule",
        _row(headings),
        "\\midrule",
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        "\n\\addlinespace[2pt]\n".join(_row(list(map(_cell, columns, row))) for row in cells),
        "\\end{longtable}}",
    )
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _widths_mm(
    columns: Sequence[Column[Any]], cells: Sequence[Sequence[Text]], gap_mm: float, sign_mm: float
) -> list[float]:
    """Room for the longest word of each column; what is left beside the gaps is shared by the square root of the
    longest cell: long ones break over lines."""
    room_mm = _FULL_MM - gap_mm * (len(columns) - 1)
    texts = [[column.heading, *(_shown(row[at]) for row in cells)] for at, column in enumerate(columns)]
    least = [sign_mm * max(len(part) for words in one for part in _BREAKS.split(words)) for one in texts]
    weights = [max(4, *map(len, one)) ** 0.5 for one in texts]
    spare_mm = max(0.0, room_mm - sum(least))
    widths = [mm + spare_mm * weight / sum(weights) for mm, weight in zip(least, weights, strict=True)]
    return [width * room_mm / sum(widths) for width in widths]


def _shown(text: Text) -> str:
    return " ".join(filter(None, (text.words, text.below, ", ".join(text.tags))))


def _heading(column: Column[Any]) -> str:
    return escaped(f"{column.heading} ({', '.join(column.tags)})" if column.tags else column.heading)


def _cell(column: Column[Any], text: Text) -> str:
    words = escaped(text.words)
    shown = f"\\textbf{{{words}}}" if column.strong and (text.measured or text.look) else words
    tags = f" ({escaped(', '.join(text.tags))})" if text.tags else ""
    below = f" ({escaped(text.below)})" if text.below else ""
    marks = "".join(f"\\textsuperscript{{{mark}}}" for mark in text.marks[:1])
    marks += "".join(f"\\textsuperscript{{,{mark}}}" for mark in text.marks[1:])
    return f"{shown}{tags}{below}{marks}"
