"""The `lockbench` command. Each subcommand's work is in bench/commands/; here is what they share: how they end.

Exit codes: 0 done; 1 an expected failure, reported in one message; 2 wrong usage; 130 Ctrl-C; 143 ended by SIGTERM;
129 its terminal was closed.
"""

import sys
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from bench import __version__
from bench.commands import (
    calibrate,
    campaigns,
    claims,
    conformance,
    exports,
    hazards,
    history,
    pauses,
    predict,
    recommend,
    reports,
    servers,
    show,
    simulate,
)
from bench.commands.endings import end_in_order
from bench.commands.streams import mend_streams
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
simulate.register(app)
conformance.register(app)
calibrate.register(app)
reports.register(app)
exports.register(app)
recommend.register(app)
show.register(app)
claims.register(app)
history.register(app)
predict.register(app)
pauses.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Common options."""


def main() -> None:
    """Entry point of the `lockbench` command."""
    output = mend_streams()
    end_in_order()
    try:
        app()
    except LockbenchError as failure:
        _fail(str(failure))
    except OSError as refused:
        # What the machine refuses at a place that no room has a word of its own for.
        _fail(f"{refused.filename}: {refused.strerror}" if refused.filename else str(refused))
    except SystemExit as end:
        sys.stdout.flush()
        if end.code or output.problem is None:
            raise
        if output.left:
            sys.exit(1)
        _fail(f"standard output: {output.problem}: what was printed is lost")


def _fail(message: str) -> NoReturn:
    Console(stderr=True).print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    sys.exit(1)
