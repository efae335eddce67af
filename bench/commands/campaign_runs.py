"""What commands that carry out campaigns share: a bar over runs, and how an interrupted campaign goes on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import typer

from bench.commands.endings import say_how_to_end
from bench.commands.terminal import ERR, campaign_progress
from bench.errors import LockbenchError
from bench.records.schema import RunState
from bench.records.store import CampaignFolder, HazardFolder, Store


class _Plan(Protocol):
    @property
    def run_id(self) -> str: ...


class _End(Protocol):
    @property
    def plan(self) -> _Plan: ...
    @property
    def state(self) -> RunState: ...
    @property
    def note(self) -> str: ...


@contextmanager
def shown_runs(total: int) -> Iterator[tuple[Callable[[str], None], Callable[[_End], None]]]:
    """A bar over runs. Yields what shows the step that is under way, and what counts a run that ended."""
    say_how_to_end()
    with campaign_progress() as bar:
        task = bar.add_task("starting", total=total)

        def ended(end: _End) -> None:
            bar.advance(task)
            if end.note or not ERR.is_terminal:
                bar.console.print(
                    f"{end.plan.run_id}: {end.state}{': ' + end.note if end.note else ''}", highlight=False
                )

        yield lambda step: bar.update(task, description=step), ended


@contextmanager
def told_how_to_resume(
    campaign_id: str, kind: type[CampaignFolder] | type[HazardFolder], command: str
) -> Iterator[None]:
    """When Ctrl-C or SIGTERM ends the block and a campaign has begun, say by which command it goes on."""
    try:
        yield
    except SystemExit:
        if campaign_id in Store.default().names(kind):
            ERR.print(f"`{command}` goes on with it", highlight=False)
        raise


def was_given(context: typer.Context, parameter: str) -> bool:
    """Does this parameter stand on the command line, and not only by its default?"""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def refuse_a_second_plan(
    context: typer.Context, of_a_plan: Mapping[str, str], why: str = "--resume goes on with the campaign's own plan"
) -> None:
    """Raise LockbenchError when parameters that make a plan are given beside; `of_a_plan` has their options."""
    second = [option for name, option in of_a_plan.items() if was_given(context, name)]
    if second:
        raise LockbenchError(f"{why}: leave out {', '.join(second)}")
