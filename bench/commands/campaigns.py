"""`lockbench run | live`: load."""

import secrets
from datetime import UTC, datetime

import typer

from bench.campaign.modes import FULL, QUICK, WORKLOADS, choose_systems, choose_workloads, plan_runs
from bench.commands.terminal import ERR, OUT, campaign_progress, print_json, steps
from bench.errors import LockbenchError
from bench.records.store import Store
from bench.servers.supervisor import Supervisor
from bench.systems.registry import HEADLINE, server_sets

_SYSTEMS = typer.Option(["all"], "--system", "-s", help=f"Systems, or all: {', '.join(HEADLINE)}, ...")
_WORKLOADS = typer.Option(["all"], "--workload", "-w", help=f"{', '.join(WORKLOADS)}, or all.")


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    app.command()(run)
    app.command()(live)


def run(
    systems: list[str] = _SYSTEMS,
    workloads: list[str] = _WORKLOADS,
    quick: bool = typer.Option(False, "--quick", help="The quick campaign (the default): a look, in minutes."),
    full: bool = typer.Option(False, "--full", help="Enough runs for intervals; takes about an hour."),
    repetitions: int = typer.Option(0, "--repetitions", "-n", min=0, help="Runs of each cell; 0: as the mode says."),
    seed: int = typer.Option(0, "--seed", min=0, help="Seed of the order and of every run; 0: a new one."),
    name: str = typer.Option("", "--name", help="Name of the campaign; default: date, time and mode."),
    keep_servers: bool = typer.Option(False, "--keep-servers", help="Leave the servers up afterwards."),
    as_json: bool = typer.Option(False, "--json", help="Print the campaign's folder and its runs' states as JSON."),
) -> None:
    """Measure: systems x workloads x repetitions, in a seeded, interleaved order.

    Examples: lockbench run --quick;  lockbench run -s redis -s etcd -w contended -n 6
    """
    from bench.campaign.execute import RunEnd, new_campaign, run_campaign

    if quick and full:
        raise LockbenchError("--quick and --full exclude each other: choose one")
    mode = FULL if full else QUICK
    campaign_id = name or f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{mode.name}"
    chosen_seed = seed or secrets.randbits(31)
    runs = plan_runs(
        campaign_id,
        choose_systems(systems),
        choose_workloads(workloads),
        mode,
        repetitions or mode.repetitions,
        chosen_seed,
    )
    with campaign_progress() as bar:
        task = bar.add_task("starting", total=len(runs))

        def ended(end: RunEnd) -> None:
            bar.advance(task)
            if end.note or not ERR.is_terminal:
                bar.console.print(
                    f"{end.plan.run_id}: {end.state}{': ' + end.note if end.note else ''}", highlight=False
                )

        folder = run_campaign(
            new_campaign(mode.name, chosen_seed, runs),
            Store.default(),
            Supervisor.default(),
            keep_servers=keep_servers,
            progress=lambda step: bar.update(task, description=step),
            on_run_end=ended,
        )
    if as_json:
        print_json({"campaign": str(folder.path), "runs": {run.plan.run_id: run.state for run in folder.runs()}})
    else:
        OUT.print(f"{len(runs)} runs in {folder.path}; `lockbench report` shows the table", highlight=False)


def live(
    system: str = typer.Option("redis", "--system", "-s", help="The system chosen in the form when the page opens."),
    port: int = typer.Option(8089, "--port", min=1024, max=65535, help="Port of Locust's page on 127.0.0.1."),
) -> None:
    """Bring the servers up and open Locust's web page on them; Ctrl-C ends both.

    Example: lockbench live --system etcd
    """
    from bench.load.live import run_live

    supervisor = Supervisor.default()
    specs = server_sets(choose_systems(["all"]))
    with steps("starting servers") as show:
        supervisor.up(specs, show)
    try:
        OUT.print(f"Locust's page: http://127.0.0.1:{port}  (Ctrl-C stops it and the servers)", highlight=False)
        run_live(system, port)
    finally:
        supervisor.down(specs)
