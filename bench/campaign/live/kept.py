"""A live session as a campaign like any other, with a run for each system: rows, counts, facts, faults, and checks."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic_ns
from typing import Any

import numpy as np

from bench.analysis.selfchecks import check_run
from bench.campaign.live.looks import Look, surroundings, view_gained
from bench.campaign.live.network import Crossed
from bench.campaign.live.plans import live_plans
from bench.campaign.live.received import NotKept, Received
from bench.campaign.load_plans import new_campaign
from bench.load.events import write_events
from bench.load.measured import histograms_of, measured_of
from bench.load.rows import Rows, as_rows, column
from bench.load.totals import add_up
from bench.records.hazards import FaultWindow
from bench.records.schema import (
    LIVE,
    Environment,
    Failed,
    JobsDone,
    LiveSession,
    Measured,
    NetworkMeasured,
    RunPlan,
    Struck,
)
from bench.records.store import CampaignFolder, RunFolder, Store
from bench.records.workload import JOBS

SHORTEST_S = 2.0


@dataclass(frozen=True, slots=True)
class Fault:
    """What was done, and to which systems of the session; None: to all."""

    window: FaultWindow
    systems: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """All that is known of one session, once it is over."""

    received: Received
    before: Look
    after: Look
    faults: Sequence[Fault] = field(default_factory=tuple)
    crossed: Crossed | None = None  # its network, where it had one
    jobs: JobsDone | None = None  # of a workload of jobs

    def network_of(self, plan: RunPlan) -> NetworkMeasured | None:
        """What the clients of one run had between them and the servers. A job has those of its records too."""
        if self.crossed is None or plan.workload.name in JOBS:
            return None if self.crossed is None else self.crossed.measured
        places = self.before.places.get(plan.system)
        return self.crossed.of(places[1].addresses if places else ())

    def faults_of(self, system: str, window_ns: tuple[int, int]) -> tuple[Struck, ...]:
        """Those that were in force while operations were counted, as the record of a system has them."""
        opens_ns, closes_ns = window_ns
        mine = (one.window for one in self.faults if one.systems is None or system in one.systems)
        return tuple(
            _struck(one, opens_ns)
            for one in sorted(mine, key=lambda one: one.began_ns)
            if one.began_ns < closes_ns and (one.began_ns if one.ended_ns is None else one.ended_ns) > opens_ns
        )


def keep(session: Session, name: str, store: Store, environment: Environment) -> CampaignFolder:
    """Write the campaign, all of it. Raises NotKept where there is nothing to keep, and StoreError."""
    received = session.received
    if received.elsewhere:
        raise NotKept("its load processes ran on several machines, whose clocks differ")
    window_ns = received.window_ns
    window_s = 0.0 if window_ns is None else round((window_ns[1] - window_ns[0]) / 1e9, 3)
    if window_ns is None or window_s < SHORTEST_S:
        raise NotKept(f"it was shorter than {SHORTEST_S:g} s after its warm-up")
    clients = {one: received.clients_most[one] for one in received.systems if received.has_rows(one)}
    plans = live_plans(name, received.begin, clients, max(1, received.processes), window_s)
    if not plans:
        raise NotKept("no operation ended in it")
    campaign = new_campaign(LIVE, received.begin["seed"], plans, pinned=False)
    folder = store.start(CampaignFolder, campaign, environment)
    try:
        for plan in plans:
            _keep_run(plan, folder.start_run(plan), session, window_ns)
    except BaseException:  # half a campaign is none, and where the disk is full it would keep it so
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return folder


def _keep_run(plan: RunPlan, run: RunFolder, session: Session, window_ns: tuple[int, int]) -> None:
    received = session.received
    rows, around = (
        _sorted(as_rows(packed)) for packed in (received.packed_rows(plan.system), received.packed_around(plan.system))
    )
    try:
        measured = _measured(plan, rows, session, window_ns)
    except ValueError as backwards:
        run.write(Failed(phase="load", reason=f"the rows of the load cannot be right: {backwards}"))
        return
    try:
        write_events(run.events_path, rows)
        if plan.workload.shared_keys and plan.workload.name not in JOBS:
            write_events(run.around_path, around)
        run.log_path.write_text("".join(f"{line}\n" for line in _log(session)), encoding="utf-8")
    except OSError as refused:
        raise NotKept(f"cannot write into {run.path}: {refused.strerror}. Free space there") from refused
    run.write(measured)
    run.write(check_run(plan, measured, run.events_path))


def _sorted(rows: Rows) -> Rows:
    return rows[np.argsort(column(rows, "started_ns"), kind="stable")]


def _measured(plan: RunPlan, rows: Rows, session: Session, window_ns: tuple[int, int]) -> Measured:
    received, name = session.received, plan.system
    since = timedelta(microseconds=(monotonic_ns() - window_ns[0]) / 1e3)
    started_at = (datetime.now(UTC) - since).isoformat(timespec="milliseconds")
    result = _result(plan, received, started_at)
    around = surroundings(
        name,
        session.before,
        session.after,
        plan.workload.measure_s,
        result["cpu_s"],
        session.faults_of(name, window_ns),
    )
    live = LiveSession(
        beside=tuple(one for one in received.systems if one != name),
        clients_changed=received.clients_changed,
        processes_lost=received.missing,
        cut_off=bool(received.cut_off),
    )
    measured = measured_of(
        plan, result, histograms_of(plan.workload, rows, result), around, jobs=session.jobs, live=live
    )
    view = view_gained(name, session.before, session.after)
    return measured.model_copy(update={"server_view": view, "network": session.network_of(plan)})


def _result(plan: RunPlan, received: Received, started_at: str) -> Mapping[str, Any]:
    """As the collector of a planned run writes it down."""
    result = add_up(received.ends(plan.system, plan.workload.measure_s, started_at))
    arrivals = 0
    if plan.workload.open_loop:
        # Of several systems that share one schedule nobody can say whose an arrival was that nobody sent. And a
        # schedule is compared with what a load process did only where that has reported its end.
        sent = sum(count for phase, count in result["counts"].items() if phase.startswith("acquire/"))
        whole = len(received.systems) == 1 and not received.missing and not received.cut_off
        arrivals = received.arrivals() if whole else sent + result["aborted"] + result["unsent"]
    return {
        **result,
        "arrivals": arrivals,
        "window_clients": None,
        "locust_requests": received.locust_requests(plan.system),
    }


def _struck(fault: FaultWindow, opens_ns: int) -> Struck:
    return Struck(
        kind=fault.kind,
        target=fault.target,
        window_opens_ns=opens_ns,
        began_ns=fault.began_ns,
        ended_ns=fault.ended_ns,
        in_force_ns=fault.began_ns,
        confirmed=fault.confirmed,
    )


def _log(session: Session) -> Sequence[str]:
    received = session.received
    lines = [f"A session on the live page: {', '.join(received.systems)}, {received.processes} load processes."]
    if received.cut_off:
        lines.append(f"Only its beginning is kept: {received.cut_off}.")
    if received.missing:
        lines.append(f"{received.missing} load processes never reported their end.")
    return lines
