"""`lockbench run | live`: load."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import typer

from bench.campaign.asked import by_options
from bench.campaign.modes import FULL, QUICK, REFERENCE, Asked, Mode, choose_systems, choose_workloads
from bench.campaign.workload_file import PLAN_NAMES, plan_of_the_bench, read_workload_file
from bench.commands.campaign_runs import (
    CAMPAIGN_NAME,
    new_name,
    new_seed,
    refuse_a_second_plan,
    shown_runs,
    was_given,
)
from bench.commands.endings import say_how_to_end
from bench.commands.terminal import ERR, OUT, print_json, steps
from bench.commands.workload_options import OPTIONS, with_workload_options
from bench.errors import LockbenchError
from bench.records.store import CampaignFolder, Store
from bench.records.workload import PROCESSES_AT_MOST, WORKLOADS
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import HEADLINE, System

_SYSTEMS = typer.Option(["all"], "--system", "-s", help=f"Systems, or all: {', '.join(HEADLINE)}, ...")
_WORKLOADS = typer.Option(["all"], "--workload", "-w", help=f"{', '.join(WORKLOADS)}, or all.")


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    app.command()(run)
    app.command()(live)


@with_workload_options
def run(
    context: typer.Context,
    what: str = typer.Argument(
        "latest",
        metavar="[FILE|SWEEP|CAMPAIGN]",
        show_default=False,
        help=f"A workload file (cells under names of your own), or one of the bench's: {', '.join(PLAN_NAMES)}. "
        "With --resume: the campaign to resume (the latest).",
    ),
    resume: bool = typer.Option(False, "--resume", help="Resume a campaign that was interrupted."),
    add_to: str | None = typer.Option(
        None, "--add-to", help="Add runs of these systems and workloads to a campaign, as long as nothing has changed."
    ),
    systems: list[str] = _SYSTEMS,
    workloads: list[str] = _WORKLOADS,
    quick: bool = typer.Option(False, "--quick", help="The quick campaign (the default): a few minutes."),
    full: bool = typer.Option(False, "--full", help="Enough runs for intervals; takes about an hour."),
    reference: bool = typer.Option(
        False, "--reference", help="One campaign of a reference: long windows, two runs per cell, about 20 minutes."
    ),
    repetitions: int | None = typer.Option(
        None, "--repetitions", "-n", min=1, max=1000, help="Runs per cell. Default: set by the mode."
    ),
    seed: int | None = typer.Option(
        None, "--seed", min=0, help="Seed of the order and of every run. Default: a new one."
    ),
    name: str | None = CAMPAIGN_NAME,
    pin: bool = typer.Option(
        True, "--pin/--no-pin", help="Pin load and servers to separate processors, if there are two or more."
    ),
    keep_servers: bool = typer.Option(False, "--keep-servers", help="Leave the servers up afterwards."),
    as_json: bool = typer.Option(False, "--json", help="Print the campaign's folder and its runs' states as JSON."),
    *,
    own: Mapping[str, str],
) -> None:
    """Measure: systems x workloads x repetitions, in a seeded, interleaved order.

    Examples: lockbench run --quick;  lockbench run -s redis -s etcd -w contended -n 6;  lockbench run --resume;
    lockbench run --add-to latest -w rate;  lockbench run -s redis -w contended --clients 8,32 --hold 10ms;
    lockbench run workload.yaml;  lockbench run contention -s redis;  lockbench run availability;
    lockbench run strangers
    """
    from bench.campaign import carrying_out
    from bench.campaign.add import mode_to_add, runs_to_add
    from bench.campaign.load_plans import new_campaign, plan_runs
    from bench.campaign.load_runs import LoadRuns

    supervisor, store = Supervisor.default(), Store.default()
    if resume:
        refuse_a_second_plan(context, _OF_A_PLAN)
        folder = store.open(CampaignFolder, what)
        left = carrying_out.what_is_left(folder)
        with shown_runs(CampaignFolder, folder.path.name, len(left)) as (step, ended):
            carrying_out.resume(LoadRuns(supervisor, step, keep_servers=keep_servers), folder, ended)
    elif add_to is not None:
        refuse_a_second_plan(context, _OF_A_CAMPAIGN, "--add-to takes these from the campaign")
        if was_given(context, "what") and not _has_cells(what):
            raise LockbenchError(f"--add-to names the campaign, {add_to!r}: leave out {what!r}")
        folder = store.open(CampaignFolder, add_to)
        cells = _cells(context, what, mode_to_add(folder.campaign), systems, workloads, own)
        added = runs_to_add(folder.campaign, cells.systems, cells.asked, repetitions or cells.repetitions)
        with shown_runs(CampaignFolder, folder.path.name, len(added)) as (step, ended):
            carrying_out.add(LoadRuns(supervisor, step, keep_servers=keep_servers), folder, added, ended)
    else:
        if was_given(context, "what") and not _has_cells(what):
            raise LockbenchError(
                f"{what!r}: resume that campaign with --resume, or name a new one with --name; "
                "a workload file is not there"
            )
        if quick + full + reference > 1:
            raise LockbenchError("--quick, --full and --reference exclude each other: choose one")
        mode = FULL if full else REFERENCE if reference else QUICK
        kind = f"{what}-{mode.name}" if was_given(context, "what") and what in PLAN_NAMES else mode.name
        campaign_id, chosen_seed = new_name(name, kind), new_seed(seed)
        cells = _cells(context, what, mode, systems, workloads, own)
        count = repetitions or cells.repetitions or mode.repetitions
        runs = plan_runs(campaign_id, cells.systems, cells.asked, mode, count, chosen_seed)
        if mode is not QUICK:
            to_resume = CampaignFolder.to_resume(campaign_id)
            ERR.print(f"if interrupted, `{to_resume}` resumes it", highlight=False)
        campaign = new_campaign(mode.name, chosen_seed, runs, pin)
        with shown_runs(CampaignFolder, campaign_id, len(runs)) as (step, ended):
            folder = carrying_out.start(LoadRuns(supervisor, step, keep_servers=keep_servers), campaign, store, ended)
    _tell_end(folder, as_json)


class _Cells(NamedTuple):
    """What to measure, on which systems, and how often where a file says so."""

    asked: Sequence[Asked]
    systems: Sequence[System]
    repetitions: int | None = None


def _cells(
    context: typer.Context, what: str, mode: Mode, systems: list[str], workloads: list[str], own: Mapping[str, str]
) -> _Cells:
    """From a workload file, or else from the options."""
    chosen = choose_systems(systems)
    if not was_given(context, "what"):
        return _Cells(by_options(choose_workloads(workloads, mode), own, chosen, mode), chosen)
    beside = [option for name, option in {"workloads": "--workload", **OPTIONS}.items() if was_given(context, name)]
    if beside:
        raise LockbenchError(f"{what} says what the clients do: leave out {', '.join(beside)}, or change the file")
    path = plan_of_the_bench(what, mode.name) or Path(what)
    file = read_workload_file(path, mode, chosen if was_given(context, "systems") else None)
    return _Cells(file.cells, file.systems, file.repetitions)


def _has_cells(what: str) -> bool:
    return what in PLAN_NAMES or what.endswith((".yaml", ".yml")) or Path(what).is_file()


def _tell_end(folder: CampaignFolder, as_json: bool) -> None:
    states = {run.plan.run_id: run.state for run in folder.runs()}
    if as_json:
        print_json({"campaign": str(folder.path), "runs": states})
        return
    from bench.analysis.evidence import Evidence
    from bench.report.documents.comparison import numbers_blocks
    from bench.report.writers.terminal import terminal

    OUT.print(terminal(numbers_blocks(Evidence.load(folder, hazards=None))))
    counted = f"{len(states)} run{'s' if len(states) > 1 else ''} in {folder.path}"
    OUT.print(f"{counted}; `lockbench report` draws tables and figures", highlight=False, soft_wrap=True)


_OF_A_CAMPAIGN = {
    "quick": "--quick", "full": "--full", "reference": "--reference", "seed": "--seed", "name": "--name",
    "pin": "--pin/--no-pin",
}  # fmt: skip
_OF_A_PLAN = {
    **_OF_A_CAMPAIGN, "add_to": "--add-to", "systems": "--system", "workloads": "--workload",
    "repetitions": "--repetitions", **OPTIONS,
}  # fmt: skip


def live(
    system: list[str] = typer.Option(
        [],
        "--system",
        "-s",
        help="Starts these servers only, and is chosen in the form; several: side by side. "
        "Default: all servers, and Redis in the form.",
        show_default=False,
    ),
    port: int = typer.Option(8089, "--port", min=1024, max=65535, help="Port of Locust's page."),
    host: str = typer.Option(
        "127.0.0.1",
        "--host",
        help="Address on which the page listens. Beyond loopback it asks for a login, whose password is printed once, "
        "or is that of LOCKBENCH_WEB_PASSWORD.",
    ),
    processes: int = typer.Option(1, "--processes", min=1, max=PROCESSES_AT_MOST, help="Load processes."),
) -> None:
    """Open Locust's web page on servers of its own; Ctrl-C ends both.

    Its tab Locks shows what the locks do now; /locks has the same as curves, and buttons that pause, kill or cut off a
    holder. Each test is kept, as a campaign.

    Examples: lockbench live; lockbench live -s etcd; lockbench live -s redis -s etcd; lockbench live --host 0.0.0.0
    """
    from bench.campaign.live.servers import served
    from bench.campaign.live.session import run_live
    from bench.commands.live_keeping import keeper_of
    from bench.load.live import require_port

    chosen = choose_systems(system or ["redis"])
    require_port(port, host)
    say_how_to_end()
    with ExitStack() as ends:
        with steps("starting servers") as show:
            here = ends.enter_context(served(Supervisor.default(), chosen if system else choose_systems(["all"]), show))
        keeper = keeper_of(here)
        shown = f"[{host}]" if ":" in host else host
        OUT.print(
            f"Locust's page: http://{shown}:{port}  (Ctrl-C stops it and the servers)", highlight=False, markup=False
        )
        run_live([entry.name for entry in chosen], port, processes, here, keeper, host)
