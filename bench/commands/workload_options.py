"""The options of `lockbench run` that say what the clients do: one for every parameter of a workload."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer

from bench.campaign.asked import BY_OPTION
from bench.records.workload import Parameter

_PANEL = "What the clients do (lists are swept: --clients 8,32)"
OPTIONS = {f"own_{one.field}": f"--{option}" for option, one in BY_OPTION.items()}  # by the name of the argument


def with_workload_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options. It gets what was given as `own`, text by option."""
    signature = inspect.signature(command)
    added = [_argument(one) for one in BY_OPTION.values()]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        own = {
            one.option: arguments.pop(argument.name) for argument, one in zip(added, BY_OPTION.values(), strict=True)
        }
        command(**arguments, own={option: text for option, text in own.items() if text is not None})

    kept = [one.replace(kind=one.KEYWORD_ONLY) for one in signature.parameters.values() if one.name != "own"]
    run.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*kept, *added)}
    return run


def _argument(one: Parameter) -> inspect.Parameter:
    text = f"{one.help}. Example: --{one.option} {one.example_text}"
    option = typer.Option(None, f"--{one.option}", help=text, rich_help_panel=_PANEL, metavar="VALUES")
    return inspect.Parameter(f"own_{one.field}", inspect.Parameter.KEYWORD_ONLY, default=option, annotation=str | None)
