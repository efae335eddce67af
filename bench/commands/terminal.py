"""How commands speak: people read standard error's progress and standard output's tables; scripts read `--json`."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

# A pipe or a file is as wide as COLUMNS says (rich reads it where no width is given), else as our tables are.
_WIDTH = None if os.environ.get("COLUMNS", "").isdigit() else 100
OUT = Console(width=None if sys.stdout is not None and sys.stdout.isatty() else _WIDTH)
ERR = Console(stderr=True, width=None if sys.stderr is not None and sys.stderr.isatty() else _WIDTH)


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, indent=1, sort_keys=True))


@contextmanager
def steps(text: str) -> Iterator[Callable[[str], None]]:
    """Show the steps of work of unknown length: a spinner on a terminal, a line each elsewhere. Yields `show(step)`."""
    if not ERR.is_terminal:
        yield lambda step: ERR.print(step, highlight=False)
        return
    with ERR.status(text) as status:
        yield lambda step: status.update(step)


def campaign_progress(*, by_hand: bool = False) -> Progress:
    """A bar over runs with the time left; drawn `by_hand` only when its `refresh` is called."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=ERR,
        auto_refresh=not by_hand,
        disable=not ERR.is_terminal,  # a log gets one line a run instead, from the command
    )
