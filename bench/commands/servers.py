"""`lockbench doctor | servers | up | status | down`: the servers behind the systems."""

from dataclasses import asdict, dataclass

import typer
from rich.table import Table

from bench.commands.terminal import ERR, OUT, print_json, steps
from bench.hazards.lab.guardian import kill_strays
from bench.servers.running.state import HomeBusy
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import Missing, ServerSpec
from bench.systems.registry import SERVER_SETS, SYSTEMS, UnknownSystem, every_server_set

_NAMES = typer.Argument(None, help=f"Server sets: {', '.join(SERVER_SETS)}. Default: all of them.")
_JSON = typer.Option(False, "--json", help="Print JSON for a script instead of a table for a person.")


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    app.command()(doctor)
    app.command(name="servers")(install_servers)
    app.command()(up)
    app.command()(status)
    app.command()(down)


def chosen_specs(names: list[str] | None) -> tuple[ServerSpec, ...]:
    """Server sets by their own or a system's name; all of them when none is named."""
    every = every_server_set()
    if not names or "all" in names:
        return every
    by_name = {spec.name: spec for spec in every}
    for entry in SYSTEMS.values():
        if entry.server_set in by_name:
            by_name.setdefault(entry.name, by_name[entry.server_set])
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise UnknownSystem(f"no servers {unknown[0]!r}: choose from {', '.join(spec.name for spec in every)}")
    return tuple({by_name[name].name: by_name[name] for name in names}.values())


def doctor(as_json: bool = _JSON) -> None:
    """Show where each system's servers come from, and the exact command that installs what is missing.

    Example: lockbench doctor
    """
    supervisor = Supervisor.default()
    rows = [_diagnosis(spec, supervisor) for spec in chosen_specs(None)]
    serverless = [name for name, entry in SYSTEMS.items() if entry.server_set is None]
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        table = Table(title="Where each system's servers come from")
        for column in ("servers", "systems", "nodes", "source", "what was found", "to install"):
            table.add_column(column, overflow="fold")
        for row in rows:
            seen = row.version or (f"missing: {row.missing}" if row.missing else "")
            table.add_row(
                row.servers, ", ".join(row.systems), str(row.nodes), row.source or "none", seen, row.install or ""
            )
        OUT.print(table)
        OUT.print(f"need no servers: {', '.join(serverless)}", highlight=False)
    if any(row.source is None for row in rows):
        ERR.print("`lockbench servers` (or `make servers`) installs what is missing", highlight=False)
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Diagnosis:
    """One line of the doctor's table."""

    servers: str
    systems: tuple[str, ...]  # rows of the tables that they serve
    nodes: int
    source: str | None  # None: nothing here can serve it
    version: str | None  # of the native programs, where they are
    missing: str | None
    install: str | None


def _diagnosis(spec: ServerSpec, supervisor: Supervisor) -> _Diagnosis:
    source = supervisor.source(spec)
    found = spec.find()
    return _Diagnosis(
        servers=spec.name,
        systems=tuple(name for name, entry in SYSTEMS.items() if entry.server_set == spec.name),
        nodes=len(spec.node_names),
        source=None if isinstance(source, Missing) else source,
        version=found.version if source == "native" and not isinstance(found, Missing) else None,
        missing=source.what if isinstance(source, Missing) else None,
        install=source.install if isinstance(source, Missing) else None,
    )


def install_servers(
    names: list[str] = _NAMES,
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask before installing."),
) -> None:
    """Install the missing servers of Debian or Ubuntu (apt, npm). Says first what it will install.

    Example: lockbench servers --yes
    """
    from bench.servers.installing.install import install_missing

    specs, supervisor = chosen_specs(names), Supervisor.default()
    if not yes or not ERR.is_terminal:
        install_missing(specs, supervisor, ask=None if yes else typer.confirm)
        return
    with steps("installing servers") as show:
        install_missing(specs, supervisor, say=lambda line: ERR.print(line, highlight=False), progress=show)


def up(names: list[str] = _NAMES, as_json: bool = _JSON) -> None:
    """Start servers that are not running, and prove each one's identity.

    Example: lockbench up redis etcd
    """
    with steps("starting servers") as show:
        running = Supervisor.default().up(chosen_specs(names), show)
    if as_json:
        print_json({name: one.identity for name, one in running.items()})
    else:
        for one in running.values():
            OUT.print(f"{one.name}: {len(one.nodes)} up ({one.source}) at {one.endpoint}", highlight=False)


def status(as_json: bool = _JSON) -> None:
    """Ask every server that was started here who it is. Exits with 1 when one does not prove its identity.

    Example: lockbench status --json
    """
    lines = Supervisor.default().status(chosen_specs(None))
    if as_json:
        print_json([asdict(line) for line in lines])
    elif not lines:
        OUT.print("no servers are up; `lockbench up` starts them")
    else:
        table = Table(title="Servers")
        for column in ("servers", "node", "source", "address", "pid", "identity, as the server reports it"):
            table.add_column(column, overflow="fold")
        for line in lines:
            identity = line.identity if line.problem is None else f"[red]{line.problem}[/]"
            table.add_row(line.set_name, line.node, line.source, line.address, str(line.pid or "-"), identity)
        OUT.print(table)
    if any(line.problem is not None for line in lines):
        ERR.print("`lockbench up` starts what is down afresh", highlight=False)
        raise typer.Exit(1)


def down(names: list[str] = _NAMES) -> None:
    """Stop the servers that lockbench started here, strays of a killed lockbench included; never any other process.

    Without names also what a hazard lab left behind, which is nothing unless its guardian was killed as well.

    Example: lockbench down
    """
    supervisor = Supervisor.default()
    with steps("stopping servers") as show:
        stopped = supervisor.down(chosen_specs(names), show)
        if not names:
            try:
                stopped += kill_strays(supervisor.home)
            except HomeBusy:
                ERR.print("a hazard lab is at work: its servers are left to it", highlight=False)
    OUT.print(f"stopped {', '.join(stopped)}" if stopped else "nothing was running", highlight=False)
