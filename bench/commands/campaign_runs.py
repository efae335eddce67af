"""What commands that carry out campaigns share: a new one's name and seed, a bar over runs, how it is resumed."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from bench.commands.endings import say_how_to_end
from bench.commands.terminal import ERR, campaign_progress
from bench.errors import LockbenchError
from bench.records.store import AnyCampaignFolder, Store, require_name

if TYPE_CHECKING:  # it imports what carries out runs, which only some commands need
    from bench.campaign.carrying_out import RunEnd

CAMPAIGN_NAME = typer.Option(None, "--name", help="Name of the campaign; default: date, time and mode.")


def new_name(name: str | None, kind: str) -> str:
    """The name that was given, or one of date, time and kind. Raises StoreError for what cannot be one."""
    campaign_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{kind}" if name is None else name
    require_name(campaign_id)
    return campaign_id


def new_seed(seed: int | None) -> int:
    """The seed that was given, or a new one."""
    return secrets.randbits(31) if seed is None else seed


@contextmanager
def shown_runs(
    kind: type[AnyCampaignFolder[Any, Any]], campaign_id: str, total: int
) -> Iterator[tuple[Callable[[str], None], "Callable[[RunEnd], None]"]]:
    """A bar over runs. Yields what shows the step that is under way, and what counts a run that ended.

    When Ctrl-C or SIGTERM ends the block and the campaign has begun, it is said by which command it goes on.
    """
    say_how_to_end()
    with _told_how_to_resume(kind, campaign_id), campaign_progress() as bar:
        task = bar.add_task("starting", total=total)

        def ended(end: "RunEnd") -> None:
            bar.advance(task)
            if end.note or not ERR.is_terminal:
                bar.console.print(
                    f"{end.plan.run_id}: {end.state}{': ' + end.note if end.note else ''}", highlight=False
                )

        yield lambda step: bar.update(task, description=step), ended


@contextmanager
def _told_how_to_resume(kind: type[AnyCampaignFolder[Any, Any]], campaign_id: str) -> Iterator[None]:
    try:
        yield
    except SystemExit:
        if campaign_id in Store.default().names(kind):
            ERR.print(f"`{kind.to_resume(campaign_id)}` resumes it", highlight=False)
        raise


def was_given(context: typer.Context, parameter: str) -> bool:
    """Does this parameter stand on the command line, and not only by its default?"""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def refuse_a_second_plan(
    context: typer.Context, of_a_plan: Mapping[str, str], why: str = "--resume uses the campaign's own plan"
) -> None:
    """Raise LockbenchError when parameters that make a plan are given beside; `of_a_plan` has their options."""
    second = [option for name, option in of_a_plan.items() if was_given(context, name)]
    if second:
        raise LockbenchError(f"{why}: leave out {', '.join(second)}")
