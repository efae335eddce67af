"""`lockbench conform`: does an adapter keep the contract?"""

from contextlib import ExitStack

import typer

from bench.commands.terminal import OUT, print_json, steps
from bench.servers.running.state import exclusive
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import server_sets, system


def register(app: typer.Typer) -> None:
    """Add this command to the app."""
    app.command()(conform)


def conform(
    name: str = typer.Argument(..., metavar="SYSTEM", help="The system, one from a package included."),
    checks: list[str] = typer.Option([], "--check", "-c", help="Only this check; may be repeated. Default: all."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Run the conformance suite on one system, on its real servers. Exits with 1 when a check fails.

    Example: lockbench conform redis
    """
    from bench.campaign.servers import servers_up
    from bench.conformance.play import Result, Verdict, chosen_checks, results

    entry = system(name)
    chosen = chosen_checks(entry, checks)
    supervisor, specs = Supervisor.default(), server_sets([entry])
    found: list[Result] = []
    with exclusive(supervisor.home, "campaign"), ExitStack() as opened:
        with steps("starting servers") as show:
            opened.enter_context(servers_up(supervisor, specs, False, show))
        for spec in specs:
            supervisor.configure(spec, entry.server_variant)
        endpoint = supervisor.endpoint(specs[0]) if specs else None
        for result in results(entry, endpoint, chosen):
            found.append(result)
            if not as_json:
                why = f": {result.why}" if result.why else ""
                OUT.print(f"{result.verdict:<14}  {result.check}{why}", highlight=False, soft_wrap=True, markup=False)
    if as_json:
        print_json([{"check": one.check, "result": one.verdict, "why": one.why} for one in found])
    else:
        counted = [f"{sum(one.verdict is verdict for one in found)} {verdict}" for verdict in Verdict]
        OUT.print(f"{entry.name}: {', '.join(counted)}", highlight=False)
    if any(one.verdict is Verdict.FAILED for one in found):
        raise typer.Exit(1)
