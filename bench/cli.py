"""The `lockbench` command. Each subcommand's work is in bench/commands/; here is what they share: how they end.

Exit codes: 0 done; 1 an expected failure, told in one message; 2 wrong usage; 130 Ctrl-C; 143 ended by SIGTERM.
"""

import signal
import sys
from types import FrameType

import typer
from rich.console import Console

from bench import __version__
from bench.commands import calibrate, campaigns, hazards, reports, servers
from bench.errors import LockbenchError

app = typer.Typer(
    name="lockbench",
    help="Measure distributed locks on real servers, and say which of them can be trusted.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
servers.register(app)
campaigns.register(app)
hazards.register(app)
calibrate.register(app)
reports.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Common options."""


def _ended(number: int, _frame: FrameType | None) -> None:
    # As an exception the signal runs every `finally`: servers are stopped and the unfinished run stays marked.
    Console(stderr=True).print("interrupted; finished runs are kept", highlight=False)
    raise SystemExit(128 + number)


def main() -> None:
    """Entry point of the `lockbench` command."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ended)
    try:
        app()
    except LockbenchError as failure:
        Console(stderr=True).print(f"[bold red]error:[/] {failure}", highlight=False, soft_wrap=True)
        sys.exit(1)
