"""Self-checks of a session on the live page: its numbers stand, and no reader takes them for those of a planned run."""

from bench.analysis.check_parts import check_of
from bench.analysis.holds import RunEvents
from bench.records.schema import Check, LiveSession, Measured, RunPlan, Severity


def live_session(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Never passed: whatever else is in order, somebody watched, and may have done things that no record has."""
    beside = _session(measured).beside
    return check_of(
        "live_session",
        False,
        Severity.NOTE,
        f"side by side with {', '.join(beside)}" if beside else "a session on the live page",
        "a planned run",
        "",
        "a live session: people changed things while it ran, and systems side by side shared the load generator; "
        "quote numbers from `lockbench run`",
    )


def live_clients(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Whether somebody asked for another number of clients meanwhile."""
    return check_of(
        "live_clients",
        not _session(measured).clients_changed,
        Severity.NOTE,
        f"{plan.workload.clients} clients at most",
        "one number of clients",
        "the number of clients stayed as it was",
        "the number of clients was changed during the session; the most that there were is shown",
    )


def live_whole(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Whether everything that was done is in the record."""
    session = _session(measured)
    lost, cut = session.processes_lost, session.cut_off
    return check_of(
        "live_whole",
        not lost and not cut,
        Severity.NOTE,
        f"{lost} load processes never reported their end" if lost else "cut off" if cut else "whole",
        "the whole session",
        "the session was received to its end",
        "only part of the session was received and kept; see log.txt",
    )


def _session(measured: Measured) -> LiveSession:
    assert measured.live is not None, "asked of live sessions only"
    return measured.live


LIVE_CHECKS = (live_session, live_clients, live_whole)
