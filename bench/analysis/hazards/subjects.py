"""What each scenario is evidence for: which fault, which harm, which trials are exposed to it, and what it is called.

Records name their scenario; what a scenario's hazard looks like is said here, by that name, since an analysis reads no
scenario file. A scenario that is not listed is judged by two holders at once, under its own name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.analysis.hazards import exposure, harms
from bench.analysis.hazards.exposure import Unexposed
from bench.analysis.hazards.harms import Hazard, Predicate
from bench.analysis.hazards.nodes import KILL, got_it, how_of, nodes_down_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.tolerance import nodes_held


@dataclass(frozen=True, slots=True)
class Subject:
    """One scenario. Whether a trial is exposed is decided from its staging; one that is not proves no safety."""

    fault: str
    hazard: Hazard
    shows: Predicate
    unexposed: Unexposed  # why a trial could not have shown it; "" where it could
    unavailable: Predicate
    unexposed_to_that: Unexposed  # why a trial could not have shown that nobody gets the lock
    variant: Callable[[TrialRow], str | None]  # what sets lines of one fault apart; "" where nothing does
    searched: bool = False  # trials are steps of a search: harm outside the exposed ones is told as the smallest step

    def exposed(self, row: TrialRow) -> bool:
        """Could this trial have shown the harm?"""
        return not self.unexposed(row)

    def label(self, row: TrialRow) -> str | None:
        """The fault in words, with what sets this line apart: "restart of all servers (durability none)".

        None where nothing was done: a control belongs to no fault.
        """
        variant = self.variant(row)
        if variant is None:
            return None
        return f"{self.fault} ({variant})" if variant else self.fault


def _jumped(row: TrialRow) -> str | None:
    """None for a control, in which no clock was stepped."""
    return "" if any(fault.amount for fault in row.faults) else None


def _alike(_: TrialRow) -> str:
    return ""


def shown_at_write(row: TrialRow) -> bool:
    """Did the resource see a token only with its holder's first write, by choice of the protocol?"""
    return bool(row.fence) and row.parameter("presented") == "at_write"


def _protocol(row: TrialRow) -> str:
    return "token first shown with a write" if shown_at_write(row) else ""


def _stalled(row: TrialRow) -> str:
    return "watchdog alive" if row.parameter("stalled") == "worker" else "watchdog stopped too"


def _asks_first(row: TrialRow) -> str:
    return "" if row.parameter("asks_first", True) else "a holder that does not ask"


def _meanwhile(row: TrialRow) -> str:
    told = {"cut_off": "holder cut off meanwhile", "releases": "holder gave up and released meanwhile"}
    return told.get(str(row.parameter("meanwhile")), "")


def _held_up(row: TrialRow) -> str:
    return "its clean-up as well" if row.parameter("held_up") == "all" else ""


def _durability(row: TrialRow) -> str:
    told = row.parameter("durability")
    return "" if told in (None, "own") else f"durability {told}"


def _idle_timeout(row: TrialRow) -> str:
    told = row.parameter("idle_timeout")
    if isinstance(told, bool):
        told = "on" if told else "off"
    return "" if told is None else f"idle timeout {told}"


def _replicated(row: TrialRow) -> str:
    if row.capability_ms("quorum") > 1:  # it answers a majority's word only: there is nothing else to tell apart
        return ""
    return "after it replicated" if row.parameter("replicated") else "before it replicated"


def _direction(row: TrialRow) -> str | None:
    if _jumped(row) is None:
        return None
    return "back" if any((fault.amount or 0.0) < 0.0 for fault in row.faults) else "ahead"


def _whose_clock(row: TrialRow) -> str | None:
    direction = _direction(row)
    if direction is None:
        return None
    return f"{row.parameter('whose', 'client')} {'behind' if direction == 'back' else direction}"


def _nodes_jumped(row: TrialRow) -> str:
    if row.capability_ms("nodes") == 1:
        return "ahead"
    return f"{row.parameter('nodes_jumped', 0)} of {nodes_held(row)} held nodes ahead"


def _rate_of_drift(row: TrialRow) -> str:
    fast = f"fast by {row.parameter('rate_percent', 0)} %"
    if row.capability_ms("nodes") == 1:
        return fast
    return f"{row.parameter('nodes_drifting', 0)} of {nodes_held(row)} held nodes {fast}"


def _who_stalled(row: TrialRow) -> str:
    return str(row.parameter("who", ""))


def _share_stopped(row: TrialRow) -> str | None:
    if not nodes_down_of(row):
        return None
    left = row.capability_ms("nodes") - nodes_down_of(row)
    share = "a minority" if left >= row.capability_ms("quorum") else "a majority"
    return f"{share} {'killed' if how_of(row) == KILL else 'hanging'}"


def _subject(
    fault: str,
    hazard: Hazard = Hazard.TWO_HOLDERS,
    shows: Predicate = harms.two_holders,
    unexposed: Unexposed = exposure.always,
    unavailable: Predicate = harms.nobody_served,
    unexposed_to_that: Unexposed | None = None,  # as to the harm
    variant: Callable[[TrialRow], str | None] = _alike,
    searched: bool = False,
) -> Subject:
    return Subject(fault, hazard, shows, unexposed, unavailable, unexposed_to_that or unexposed, variant, searched)


_PAUSE = _subject("pause of the holder", unexposed=exposure.stopped("pause"), variant=_protocol)
_CLOCKS = "clock jump of the servers"
SUBJECTS: Mapping[str, Subject] = {
    "gc-pause": _PAUSE,
    "page-scenario": _PAUSE,
    "fence-gap": _subject(
        "late write ahead of the new holder's first",
        unexposed=exposure.outlasted("pause"),
        variant=lambda row: _protocol(row) or "token presented before the first read",
    ),
    "late-on-the-wire": _subject(
        "write late on the wire",
        Hazard.LATE_WRITE,
        shows=harms.wrote_over,
        unexposed=exposure.outlasted("write_held"),
        variant=_meanwhile,
    ),
    "suspended-client": _subject(
        "machine of the holder suspended",
        Hazard.WENT_ON,
        shows=harms.believed_on_awake,
        unexposed=exposure.outlasted("suspend"),
    ),
    "watchdog": _subject("stall of a renewing holder", unexposed=exposure.stopped("pause", "stall"), variant=_stalled),
    "idle-in-transaction": _subject(
        "pause inside a transaction", unexposed=exposure.stopped("pause"), variant=_idle_timeout
    ),
    "cable-pulled": _subject(
        "holder cut off", shows=harms.told_too_late, unexposed=exposure.outlasted("partition"), variant=_asks_first
    ),
    "crash-recovery": _subject(
        "crash of the holder",
        Hazard.AVAILABILITY,
        unexposed=exposure.struck("kill"),
        unavailable=harms.never_recovered,
    ),
    "crash-and-failover": _subject(
        "crash of the holder, then a failover",
        Hazard.BLOCKED,
        unexposed=exposure.struck("failover"),
        unavailable=harms.recovered_beyond_its_lease,
        variant=lambda row: str(row.parameter("failover", "")),
    ),
    "late-release": _subject(
        "late release",
        Hazard.FREED_FOR_ANOTHER,
        shows=harms.measured("stolen"),
        unexposed=exposure.outlasted("pause"),
    ),
    "swallowed-reply": _subject(
        "reply to an acquire lost",
        Hazard.BLOCKED,
        unexposed=exposure.struck("swallow_reply"),
        unavailable=harms.blocked_beyond_its_lease,
    ),
    "late-request": _subject(
        "acquire late on the wire",
        Hazard.BLOCKED,
        unexposed=exposure.struck("request_held", "partition"),
        unavailable=harms.blocked_beyond_its_lease,
        variant=_held_up,
    ),
    "lease-dies-in-queue": _subject(
        "lease dies in the queue",
        Hazard.DEAD_WAITER,
        shows=harms.died_and_acquired,
        unexposed=exposure.stopped("pause"),
        unavailable=harms.measured_not("next_served"),
    ),
    "late-quorum": _subject(
        "late quorum",
        Hazard.LATE_GRANT,
        shows=harms.granted_too_late,
        unexposed=exposure.answered_late,
        unavailable=harms.never,
    ),
    "server-clock": _subject(
        _CLOCKS,
        shows=harms.told_too_late,
        unexposed=exposure.servers_ahead,
        unavailable=harms.never,
        variant=_direction,
    ),
    "redlock-clock": _subject(
        _CLOCKS,
        unexposed=exposure.jumped_past_the_lease,
        unavailable=harms.never,
        variant=_nodes_jumped,
        searched=True,
    ),
    "redlock-drift": _subject(
        "clock drift of the servers",
        unexposed=exposure.servers_drifted,
        unavailable=harms.never,
        variant=_rate_of_drift,
    ),
    "client-clock": _subject(
        "clock of a client wrong",
        shows=harms.told_too_late,
        unexposed=exposure.client_wrong,
        unavailable=harms.free_and_not_granted,
        unexposed_to_that=exposure.client_refused,
        variant=_whose_clock,
    ),
    "clock-back-and-crash": _subject(
        "crash of the holder, clocks back",
        Hazard.BLOCKED,
        unexposed=exposure.servers_back_after_crash,
        unavailable=harms.waited_for_the_clock,
        variant=_jumped,
    ),
    "restart": _subject("restart of all servers", Hazard.LOST_LOCK, unexposed=exposure.restarted, variant=_durability),
    "restarted-node": _subject(
        "restart of one node", Hazard.LOST_LOCK, unexposed=exposure.restarted, variant=_durability
    ),
    "failover": _subject("failover", Hazard.LOST_LOCK, unexposed=exposure.struck("failover"), variant=_replicated),
    "stalled-leader": _subject(
        "server stalled",
        Hazard.LOST_LOCK,
        shows=harms.told_too_late,
        unexposed=exposure.stopped("server_stall"),
        variant=_who_stalled,
    ),
    "nodes-down": _subject(
        "servers stopped",
        Hazard.AVAILABILITY,
        unexposed=exposure.servers_down,
        unavailable=lambda row: not got_it(row),
        variant=_share_stopped,
    ),
}
# These are about tokens, resources and rules rather than about a system under a fault: they have tables of their own.
OF_OTHER_TABLES = frozenset({"token-sources", "naive-fence", "mod-revision", "resources", "second-write"})


def place_of(scenario: str) -> int:
    """Where the scenario's fault stands in a table: at the first scenario that has the fault."""
    faults = [subject.fault for subject in SUBJECTS.values()]
    fault = subject_of(scenario).fault
    return faults.index(fault) if fault in faults else len(faults)


def subject_of(scenario: str) -> Subject:
    """What a scenario is evidence for."""
    return SUBJECTS.get(scenario) or _subject(scenario)
