"""`lockbench calibrate`: is the instrument lighter than what it measures?"""

from pathlib import Path
from typing import Any

import typer

from bench.commands.endings import say_how_to_end
from bench.commands.files import require_writable
from bench.commands.terminal import ERR, OUT, campaign_progress, print_json
from bench.records.calibration import Calibration, Line
from bench.records.store import write_atomically
from bench.servers.running.supervisor import Supervisor

_BUSY_SHARE = 0.25


def register(app: typer.Typer) -> None:
    """Add this command to the app."""
    app.command()(calibrate)


def calibrate(
    pairs: int = typer.Option(5, "--pairs", min=1, max=100, help="Repetitions; 5 take about 4 minutes."),
    save: Path = typer.Option(None, "--save", help="Also write the record to this file."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document instead of a table."),
) -> None:
    """Compare Locust with redis-benchmark and pgbench on the same servers, and the client's CPU with its budgets.

    Example: lockbench calibrate --pairs 5
    """
    from bench.calibrate.calibrate import calibrate as carry_out

    if save is not None:
        require_writable("--save", save)
    say_how_to_end()
    supervisor = Supervisor.default()
    if not ERR.is_terminal:
        ERR.print(f"calibrating with {pairs} pairs: about {30 + 40 * pairs} s", highlight=False)
    with campaign_progress() as bar:
        task = bar.add_task("starting", total=None)

        def show(words: str, done: int, total: int) -> None:
            bar.update(task, description=words, completed=done, total=total or None)

        calibration = carry_out(supervisor, pairs, show)
    if save is not None:
        write_atomically(save, calibration.model_dump_json(indent=1) + "\n")
    machine = calibration.environment
    if machine.load_average_1m > _BUSY_SHARE * machine.cpu_count:
        ERR.print(
            f"the machine was busy before the start (load average {machine.load_average_1m:g} on {machine.cpu_count} "
            "processors), which the instrument suffers from more than the native tools: repeat it on a quiet one",
            highlight=False,
        )
    if as_json:
        print_json(document(calibration))
    else:
        _show(calibration)


def document(calibration: Calibration) -> dict[str, Any]:
    """The record with what follows from it, for a script: median, range and verdict of every line."""
    tree = calibration.model_dump(mode="json")
    tree["lines"] = [_line_document(line) for line in calibration.lines]
    tree["missed"] = [line.name for line in calibration.missed]
    return tree


def _line_document(line: Line) -> dict[str, Any]:
    from bench.report.documents.calibration import rounded

    tree = line.model_dump(mode="json", exclude={"explanation"} if line.met is not False else None)
    values = line.values
    numbers = {"median": line.median, "min": min(values), "max": max(values)}
    shown = {name: rounded(value) for name, value in numbers.items()}
    return {**tree, **shown, "pairs": len(values), "met": line.met}


def _show(calibration: Calibration) -> None:
    from bench.report.documents.calibration import terminal_blocks
    from bench.report.writers.terminal import terminal

    OUT.print(terminal(terminal_blocks(calibration)), highlight=False)
