"""What each scenario is evidence for: which fault, and how its hazard shows in a trial's record.

Records name their scenario; what a scenario's hazard looks like is said here, by that name, since an analysis reads no
scenario file. A scenario that is not listed is judged by two holders at once, under its own name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from bench.analysis.hazards.nodes import got_it, nodes_down_of
from bench.analysis.hazards.rows import TrialRow

Predicate = Callable[[TrialRow], bool]


class Hazard(StrEnum):
    """The harm that a scenario looks for."""

    TWO_HOLDERS = "two holders"
    LOST_LOCK = "lost lock"  # two holders, because the servers forgot the first one
    FREED_FOR_ANOTHER = "freed for another"  # a release that frees a lock of somebody else
    AVAILABILITY = "availability"  # nobody gets the lock


@dataclass(frozen=True, slots=True)
class Subject:
    """One scenario. A trial that is not `exposed` cannot show the hazard, so it proves no safety and is not counted."""

    fault: str
    hazard: Hazard
    shows: Predicate
    exposed: Predicate
    unavailable: Predicate
    variant: Callable[[TrialRow], str]  # what sets lines of one fault apart; "" where nothing does

    def label(self, row: TrialRow) -> str:
        """The fault in words, with what sets this line apart: "restart of all servers (durability none)"."""
        variant = self.variant(row)
        return f"{self.fault} ({variant})" if variant else self.fault


def two_holders(row: TrialRow) -> bool:
    """Two clients believed in the key at once, or a write came after a later grant: whatever the fence did about it."""
    return bool(row.checked.overlap_ns or row.checked.stale_writes)


def stopped_beyond_its_lease(row: TrialRow) -> bool:
    """Was the holder stopped for longer than its lease may last, by all that the system allows itself?"""
    pause_ms = row.measure("pause_ms")
    return pause_ms is not None and pause_ms > row.ttl_ms + row.capability_ms("ttl_granularity_ms")


def stolen(row: TrialRow) -> bool:
    """Could a third client take the key while the second still held it?"""
    return bool(row.measure("stolen"))


def nobody_served(row: TrialRow) -> bool:
    """A waiter timed out at a free key, or was never answered."""
    return row.checked.never_served > 0


def _never_recovered(row: TrialRow) -> bool:
    return (row.measure("recovery_ms") or 0.0) < 0.0


def _blocked_beyond_its_lease(row: TrialRow) -> bool:
    blocked_ms = row.measure("blocked_ms")
    limit_ms = row.ttl_ms + max(row.capability_ms("ttl_granularity_ms"), _ASKING_MS)
    return blocked_ms is not None and (blocked_ms < 0.0 or blocked_ms > limit_ms)


def _always(_: TrialRow) -> bool:
    return True


def _subject(
    fault: str,
    hazard: Hazard = Hazard.TWO_HOLDERS,
    shows: Predicate = two_holders,
    exposed: Predicate = _always,
    unavailable: Predicate = nobody_served,
    variant: Callable[[TrialRow], str] = lambda _: "",
) -> Subject:
    return Subject(fault, hazard, shows, exposed, unavailable, variant)


def _by(*parameters: str) -> Callable[[TrialRow], str]:
    """Each value of these parameters has a line of its own."""

    def told(row: TrialRow) -> str:
        values = [(name, row.parameter(name)) for name in parameters]
        words = (_WORDS.get((name, value), f"{name} {value}") for name, value in values if value is not None)
        return ", ".join(words)

    return told


def _share_stopped(row: TrialRow) -> str:
    left = row.capability_ms("nodes") - nodes_down_of(row)
    if not nodes_down_of(row):
        return "none"
    return "a minority" if left >= row.capability_ms("quorum") else "a majority"


def _jumped(row: TrialRow) -> str:
    return f"{row.parameter('nodes_jumped', 0)} of {row.capability('nodes')}"


_ASKING_MS = 100.0  # between the end of a lease and the grant to one who polls for it on a busy machine
_WORDS: Mapping[tuple[str, object], str] = {
    ("stalled", "process"): "the watchdog stalls too",
    ("stalled", "worker"): "the watchdog lives",
}

SUBJECTS: Mapping[str, Subject] = {
    "gc-pause": _subject("pause of the holder", exposed=stopped_beyond_its_lease),
    "page-scenario": _subject("pause of the holder", exposed=stopped_beyond_its_lease),
    "watchdog": _subject("stall of a renewing holder", exposed=stopped_beyond_its_lease, variant=_by("stalled")),
    "idle-in-transaction": _subject("pause inside a transaction", variant=_by("idle_timeout")),
    "cable-pulled": _subject("holder cut off"),
    "late-release": _subject("late release", Hazard.FREED_FOR_ANOTHER, shows=stolen),
    "crash-recovery": _subject("crash of the holder", unavailable=_never_recovered),
    "swallowed-reply": _subject("reply to an acquire lost", unavailable=_blocked_beyond_its_lease),
    "lease-dies-in-queue": _subject("lease dies in the queue"),
    "late-quorum": _subject("slow nodes"),
    "server-clock": _subject("clock jump of the servers", variant=_by("direction")),
    "redlock-clock": _subject("clock jump of the servers", variant=_jumped),
    "client-clock": _subject("clock jump of a client", variant=_by("direction")),
    "restart": _subject("restart of all servers", Hazard.LOST_LOCK, variant=_by("durability")),
    "restarted-node": _subject("restart of one node", Hazard.LOST_LOCK, variant=_by("durability")),
    "failover": _subject("failover", Hazard.LOST_LOCK),
    "stalled-leader": _subject("stalled leader", Hazard.LOST_LOCK),
    "nodes-down": _subject(
        "servers stopped", Hazard.AVAILABILITY, unavailable=lambda row: not got_it(row), variant=_share_stopped
    ),
}
# These are about tokens, resources and rules rather than about a system under a fault: they have tables of their own.
OF_OTHER_TABLES = frozenset({"token-sources", "naive-fence", "mod-revision", "resources", "second-write"})


def subject_of(scenario: str) -> Subject:
    """What a scenario is evidence for."""
    return SUBJECTS.get(scenario) or _subject(scenario)
