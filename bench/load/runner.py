"""One run of a campaign: Locust in a process of its own, and what it measured as a record."""

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import LockbenchError
from bench.jobs.keeper import keeper
from bench.load.bounds import SPAWN_RATE_PER_S
from bench.load.child import locust_command, locust_running
from bench.load.endpoints import to_environment
from bench.load.events import write_events
from bench.load.interference import Interference, interfered
from bench.load.measured import Surroundings, histograms_of, measured_of
from bench.load.options import GIVE_UP_S, option_of
from bench.load.result import read_failure, read_jobs, read_result
from bench.load.rows import Rows, read_rows
from bench.load.steps import acquires_by_step
from bench.load.watch import reading_of, watch_variable
from bench.load.window_view import View, counted_in_window
from bench.records.ladder import steps_to
from bench.records.processor_time import LINES, PEER_LINES, used
from bench.records.schema import Facts, JobsDone, LadderStep, Measured, RecordsServers, RunPlan
from bench.records.store import RunFolder
from bench.records.workload import CONSUME, JOBS, SATURATION, Behaviour, parameters
from bench.servers.endpoint import Endpoint
from bench.servers.network.lines import Lines
from bench.servers.running.pinning import Placement, place
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import ClientOptions, ServerFacts
from bench.systems.registry import System, server_sets, system

if TYPE_CHECKING:
    from bench.jobs.records import Found

_LOG_LINES = 4
# Around the measurement: imports, connections (a DynamoDB client costs 0.2 s of CPU), the probe, Locust's own ways.
_OVERHEAD_S = 30.0
_OVERHEAD_PER_CLIENT_S = 0.5
_BACK_WITHIN_S = 30.0  # until servers that were killed serve again


class LoadFailed(LockbenchError):
    """A run gave no measurement; the message says why."""


def run_load(
    plan: RunPlan,
    folder: RunFolder,
    supervisor: Supervisor,
    client_variant: Mapping[str, str] | None = None,
    placement: Placement | None = None,
    view: View | None = None,
    interference: Interference | None = None,
    lines: Lines | None = None,
    peer_lines: Lines | None = None,
    only_at: Sequence[tuple[str, int]] = (),
) -> Measured:
    """Carry out one planned run against servers that are up. Writes events.parquet and log.txt into its folder.

    `client_variant` is laid over the system's own (planted faults, in tests). The load processes go where `placement`
    says; who brought up the servers has seen to theirs. `view` asks the servers what they counted so far. With an
    `interference` something is done to them meanwhile; where this call raises, that may still be in force. Clients
    reach them over `lines`, if any; nothing else does. `peer_lines` are those between servers, to be looked at.
    `only_at` are the addresses, of those of the run's own system, that its clients may use. Whatever ends this call, no
    load process is left. Raises LoadFailed, and NotRunning when the servers are not up.
    """
    entry = system(plan.system)
    source, endpoint = where(entry, supervisor)
    behind = systems_behind(plan)
    pids = {name: pid for spec in server_sets(behind) for name, pid in supervisor.running(spec).pids.items()}
    placed = placement or place(False, plan.workload.processes)
    of_lines = {LINES: lines, PEER_LINES: peer_lines}
    watched = {**pids, **{name: one.pid for name, one in of_lines.items() if one}}
    surroundings = watch_variable(placed.generator | placed.servers, watched)
    for one in behind:
        reached = endpoint.at(tuple(only_at)) if one is entry and only_at else where(one, supervisor)[1]
        surroundings |= to_environment(one, lines.through(reached) if lines else reached)
    facts_before = _facts_of_all(behind, supervisor, "before")
    if plan.workload.name in JOBS:
        _begin_records(plan, supervisor)
    try:
        with tempfile.TemporaryDirectory(dir=folder.path, prefix=".load-") as name:
            argv = _command(plan, Path(name), client_variant or {})
            with counted_in_window(view, Path(name)) as counted, interfered(interference, Path(name)) as done:
                result = _run_locust(plan, entry, argv, surroundings, placed, Path(name), folder.log_path)
            facts_after = _facts_of_all(behind, supervisor, "after")
            rows, climbs = _rows(Path(name), result)
            jobs = _jobs(plan, Path(name), result["processes"], supervisor) if plan.workload.name in JOBS else None
            write_events(folder.events_path, rows)
            if result["around"]:
                write_events(folder.around_path, read_rows([Path(name) / part for part in result["around"]]))
    except OSError as refused:
        raise LoadFailed(
            f"cannot write into {folder.path}: {refused.strerror}. Free space there, or make it writable"
        ) from refused
    try:
        histograms, ladder = histograms_of(plan.workload, rows, result), _ladder(plan, result["ladder"], climbs)
    except ValueError as backwards:
        raise LoadFailed(f"the rows of the load cannot be right: {backwards}") from backwards
    before, after = map(reading_of, result["machine"])
    around = Surroundings(
        source=source,
        endpoint=endpoint,
        facts_before=facts_before[entry.name],
        facts_after=facts_after[entry.name],
        records_servers=_records_servers(plan, supervisor, facts_before, facts_after),
        use=used(before, after, result["cpu_s"], plan.workload.measure_s),
        placement=placed.words(bool(pids) or entry.servers is None),
        window_view=counted.counters,
        window_view_s=counted.seconds,
        faults=done.faults,
    )
    return measured_of(plan, result, histograms, around, ladder, jobs)


def systems_behind(plan: RunPlan) -> tuple[System, ...]:
    """Those whose servers a run needs: its own system's, and of a workload of jobs those that keep the records."""
    entries = [system(plan.system), *([keeper()] if plan.workload.name in JOBS else [])]
    return tuple({entry.name: entry for entry in entries}.values())


def _facts_of_all(entries: Sequence[System], supervisor: Supervisor, when: str) -> dict[str, Facts]:
    return {one.name: facts_of(one, where(one, supervisor)[1], when) for one in entries}


def _records_servers(
    plan: RunPlan, supervisor: Supervisor, before: Mapping[str, Facts], after: Mapping[str, Facts]
) -> RecordsServers | None:
    if plan.workload.name not in JOBS:
        return None
    kept_by = keeper()
    return RecordsServers(
        system=kept_by.name,
        source=where(kept_by, supervisor)[0],
        facts_before=before[kept_by.name],
        facts_after=after[kept_by.name],
    )


def _begin_records(plan: RunPlan, supervisor: Supervisor) -> None:
    """A run that is begun again finds no records: each load process makes those that are missing. Raises NoRecords."""
    from bench.jobs.records import drop, schema_of  # here, as below

    drop(where(keeper(), supervisor)[1], schema_of(plan.seed))


def _jobs(plan: RunPlan, folder: Path, processes: int, supervisor: Supervisor) -> JobsDone:
    """What the clients were answered, and what the table says. Raises OSError, and NoRecords where it is silent."""
    found = ask_records(plan.seed, supervisor)
    return jobs_of(plan.workload, read_jobs(folder, processes), found)


def ask_records(seed: int, supervisor: Supervisor) -> "Found":
    """What the table of a test with this seed says, which is then gone. Raises NoRecords."""
    from bench.jobs.records import audit_and_drop, schema_of  # here: it imports the database's client library

    return audit_and_drop(where(keeper(), supervisor)[1], schema_of(seed))


def jobs_of(does: Behaviour, answered: Sequence[Mapping[str, Any]], found: "Found") -> JobsDone:
    """As their clients were answered, held against the table."""
    from bench.jobs.ways import lines_of_way  # here, as above

    return jobs_done(does, answered, found, lines_of_way(does.way))


def jobs_done(
    workload: Behaviour, answered: Sequence[Mapping[str, Any]], found: "Found", lines_of_code: int
) -> JobsDone:
    """Both together. Of `update` each job leaves a write, of `consume` each message."""
    acknowledged, unknown = (sum(one[name] for one in answered) for name in ("acknowledged", "unknown"))
    retries = Counter[str]()
    for one in answered:
        retries.update(one["retries"])
    if workload.name == CONSUME:
        due = len({message for one in answered for message in one["messages"]})
        lost, missing, repeated = 0, due - found.written_records, found.repeated
    else:
        due, lost = acknowledged, found.overwritten
        missing, repeated = due - found.writes, found.writes - due - unknown
    return JobsDone(
        way=workload.way,
        lines_of_code=lines_of_code,
        acknowledged=acknowledged,
        unknown=unknown,
        due=due,
        writes=found.writes,
        lost_updates=lost,
        missing=max(0, missing),
        repeated=max(0, repeated),
        retries=dict(sorted(retries.items(), key=lambda item: int(item[0]))),
    )


def where(entry: System, supervisor: Supervisor) -> tuple[str, Endpoint]:
    """Where a system's servers come from, and how to reach them. Raises NotRunning."""
    spec = entry.servers
    if spec is None:
        return "none", Endpoint(())
    running = supervisor.running(spec)
    return running.source, running.endpoint


def facts_of(entry: System, endpoint: Endpoint, when: str) -> Facts:
    """What the server says of itself, asked from this process `when` (before, after) the load. Raises LoadFailed."""
    try:
        with entry.client_class.open(endpoint, ClientOptions(variant=entry.client_variant)) as client:
            facts: ServerFacts = client.server_facts()
    except (OSError, RuntimeError) as refused:
        raise LoadFailed(f"{entry.title} did not tell who it is {when} the run: {refused}") from refused
    return Facts(version=facts.version, identity=facts.identity, durability=dict(facts.durability), nodes=facts.nodes)


def _run_locust(
    plan: RunPlan,
    entry: System,
    argv: Sequence[str],
    surroundings: Mapping[str, str],
    placed: Placement,
    folder: Path,
    log_path: Path,
) -> dict[str, Any]:
    with log_path.open("ab") as log, locust_running(argv, surroundings, folder, log, placed.generator) as process:
        within_s = _deadline_s(plan)
        try:
            exit_code = process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise LoadFailed(
                f"the load did not end within {within_s:.0f} s; {entry.title} may have stopped answering. "
                f"The log ends with: {_last_lines(log_path)}"
            ) from None
    reason = read_failure(folder)
    if reason is not None:
        raise LoadFailed(reason)
    result = read_result(folder)
    # Locust ends with 2 after an exception in one of its greenlets or listeners: something was then not counted.
    if result is None or exit_code != 0:
        raise LoadFailed(
            f"the load ended with exit code {exit_code} and no result. Its log ends with: {_last_lines(log_path)}"
        )
    return result


def _command(plan: RunPlan, folder: Path, client_variant: Mapping[str, str]) -> list[str]:
    workload = plan.workload
    does = {one: getattr(workload, one.field) for one in parameters(Behaviour)}
    options: dict[str, object] = {
        "users": workload.clients,
        "spawn-rate": min(workload.clients, SPAWN_RATE_PER_S[1]),
        "exit-code-on-error": 0,  # failed operations are part of a result; only a lost result is an error here
        "expect-workers-max-wait": 30,
        "system": plan.system,
        # A rate of 0 says that there is none: it cannot be asked for.
        **{option_of(one).removeprefix("--"): value for one, value in does.items() if value or not one.asked_from},
        "lock-seed": plan.seed,
        "record-into": folder,
        "give-up-s": GIVE_UP_S + (_BACK_WITHIN_S + workload.fault_s if workload.has_fault else 0.0),
        "client-variant": json.dumps(dict(client_variant)),
    }
    return locust_command(options, ["--headless", "--only-summary"], workload.processes)


def _deadline_s(plan: RunPlan) -> float:
    workload = plan.workload
    slowest_s = (workload.timeout_ms + workload.hold_ms + 4 * ClientOptions().call_timeout_ms) / 1e3
    climb_s = len(steps_to(workload.clients)) * workload.step_s if workload.name == SATURATION else 0.0
    if workload.has_fault:
        climb_s = workload.fault_s + _BACK_WITHIN_S  # such a run has no climb
    # The last operation, and the stop after it, take as long as the slowest.
    planned_s = workload.warmup_s + climb_s + workload.measure_s + 2 * slowest_s
    return planned_s + _OVERHEAD_S + _OVERHEAD_PER_CLIENT_S * workload.clients


def _rows(folder: Path, result: Mapping[str, Any]) -> tuple[Rows, Sequence[tuple[Rows, int]]]:
    """Of the window, and of the climb of each process with the instant at which it began. Raises OSError."""
    climbs = [(read_rows([folder / part]), began_ns) for part, began_ns in result["climbs"]]
    return read_rows([folder / part for part in result["rows"]]), climbs


def _ladder(
    plan: RunPlan, steps: Sequence[Mapping[str, Any]], climbs: Sequence[tuple[Rows, int]]
) -> tuple[LadderStep, ...]:
    if not steps:
        return ()
    acquired = acquires_by_step(climbs, round(plan.workload.step_s * 1e9), len(steps))
    return tuple(LadderStep(**step, acquire=one.encode()) for step, one in zip(steps, acquired, strict=True))


def _last_lines(log_path: Path) -> str:
    lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    # Locust prints its statistics last; what went wrong stands above them.
    telling = [line for line in lines if "/ERROR/" in line or "/CRITICAL/" in line or "Error:" in line]
    return " | ".join(line[:200] for line in (telling or lines)[-_LOG_LINES:]) or "(nothing)"
