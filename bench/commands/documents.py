"""How a command prints a document: tables for a terminal, Markdown, or its rows as CSV."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from bench.commands.terminal import OUT
from bench.errors import LockbenchError

if TYPE_CHECKING:
    from bench.report.model import Document


def refuse_both(markdown: bool, csv: bool) -> None:
    """Raises LockbenchError where two forms are asked for."""
    if markdown and csv:
        raise LockbenchError("--markdown and --csv exclude each other: choose one")


def print_document(
    document: "Document", rows: Sequence[Mapping[str, Any]], *, markdown: bool = False, csv: bool = False
) -> None:
    """On standard output; `rows` are what --csv prints."""
    if csv:
        from bench.report.writers.csv import csv as csv_text

        typer.echo(csv_text(rows), nl=False)
    elif markdown:
        from bench.report.writers.markdown import markdown as markdown_text

        typer.echo(markdown_text(document, generated=""), nl=False)
    else:
        from bench.report.writers.terminal import terminal

        OUT.print(terminal(document.blocks), highlight=False)
