"""What each scenario is evidence for: which fault, and how its hazard shows in a trial's record.

Records name their scenario; what a scenario's hazard looks like is said here, by that name, since an analysis reads no
scenario file. A scenario that is not listed is judged by two holders at once, under its own name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from bench.analysis.hazards.nodes import got_it, nodes_down_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.tolerance import nodes_held
from bench.analysis.hazards.validity import left_ms

Predicate = Callable[[TrialRow], bool]
LOOKING_MS = 50.0  # a client that looks every 5 ms whether it lost its lock may wake late on a busy machine
ASKING_MS = 100.0  # between the end of a lease and the grant to one who polls for it on a busy machine


class Hazard(StrEnum):
    """The harm that a scenario looks for."""

    TWO_HOLDERS = "two holders"
    LOST_LOCK = "lost lock"  # two holders, because the servers forgot the first one
    FREED_FOR_ANOTHER = "freed for another"  # a release that frees a lock of somebody else
    DEAD_WAITER = "dead waiter"  # a grant to a waiter whose lease had ended
    LATE_GRANT = "late grant"  # a grant of which nothing is left
    AVAILABILITY = "availability"  # nobody gets the lock
    BLOCKED = "blocked"  # others are shut out for longer than a lease

    @property
    def of_availability(self) -> bool:
        """Is it about getting the lock at all? Then trials count in which nobody did, not those with two holders."""
        return self in (Hazard.AVAILABILITY, Hazard.BLOCKED)

    @property
    def words(self) -> str:
        """What happened, for a sentence: "... in 0 of 6"."""
        return _HARMS[self]


_HARMS: Mapping[Hazard, str] = {
    Hazard.TWO_HOLDERS: "two holders",
    Hazard.LOST_LOCK: "two holders",
    Hazard.FREED_FOR_ANOTHER: "another's lock was freed",
    Hazard.DEAD_WAITER: "a waiter whose lease had ended got the lock",
    Hazard.LATE_GRANT: "a grant with nothing left of its validity",
    Hazard.AVAILABILITY: "nobody got the lock",
    Hazard.BLOCKED: "the key was blocked for longer than a lease",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """One scenario. A trial that is not `exposed` cannot show the hazard, so it proves no safety and is not counted."""

    fault: str
    hazard: Hazard
    shows: Predicate
    exposed: Predicate
    unavailable: Predicate
    variant: Callable[[TrialRow], str | None]  # what sets lines of one fault apart; "" where nothing does

    def label(self, row: TrialRow) -> str | None:
        """The fault in words, with what sets this line apart: "restart of all servers (durability none)".

        None where nothing was done: a control belongs to no fault.
        """
        variant = self.variant(row)
        if variant is None:
            return None
        return f"{self.fault} ({variant})" if variant else self.fault


def two_holders(row: TrialRow) -> bool:
    """Two clients believed in the key at once, or a write came after a later grant, whatever a fence did about it.

    Not where the late write was refused without any fence: the resource was the lock's own database, and no harm came.
    """
    return bool(row.checked.overlap_ns or row.checked.stale_writes) and not refused_by_itself(row)


def refused_by_itself(row: TrialRow) -> bool:
    """Was a late write refused, or lost with its transaction, where no fence was checked?"""
    if row.fence or row.checked.stale_accepted or not row.checked.stale_writes:
        return False
    return row.checked.stale_refused > 0 or row.measure("late_write_accepted") == 0.0


def told_too_late(row: TrialRow) -> bool:
    """The same for a holder that is awake and looks at what it knows: some ms of it are its looking, not the lock.

    What counts is how long it believed on after the next grant, however soon the next holder let go.
    """
    return two_holders(row) and (believed_on_ms(row) > LOOKING_MS or bool(row.checked.stale_writes))


def believed_on_ms(row: TrialRow) -> float:
    """The longest that a client believed in its grant after a later one had been told; 0 where none did."""
    ends = {one.grant: row.trial.ended_ns if one.until_ns is None else one.until_ns for one in row.trial.beliefs}
    return max(
        ((max(one.until_ns, ends.get(one.earlier, 0)) - one.from_ns) / 1e6 for one in row.checked.overlaps),
        default=0.0,
    )


def believed_on_awake(row: TrialRow) -> bool:
    """Did a client whose machine was suspended go on as the holder when it woke, beside a later one?

    What it believed in its sleep it could not act on. Awake it may take as long as any client that looks what it knows.
    """
    woke_ns = max((fault.ended_ns or 0 for fault in row.faults if fault.kind == "suspend"), default=0)
    awake_ms = max(((one.until_ns - max(one.from_ns, woke_ns)) / 1e6 for one in row.checked.overlaps), default=0.0)
    return bool(row.checked.stale_writes) or awake_ms > LOOKING_MS


def stopped_beyond_its_lease(row: TrialRow) -> bool:
    """Was the holder stopped for longer than its lease may last, by all that the system allows itself?"""
    return (row.measure("pause_ms") or 0.0) > row.ttl_ms + row.capability_ms("ttl_granularity_ms")


def _asleep_beside_another(row: TrialRow) -> bool:
    """Was another granted the lock while the holder slept, or did it sleep for longer than a lease may last?"""
    return bool(row.checked.overlaps) or stopped_beyond_its_lease(row)


def released_late(row: TrialRow) -> bool:
    """Did the holder release while another believed in the key, or at least later than a lease may last?"""
    longest_ms = row.ttl_ms + row.capability_ms("ttl_granularity_ms")
    return bool(row.checked.overlaps) or (row.longest_fault_ms("pause") or 0.0) > longest_ms


def _transaction_stopped(row: TrialRow) -> bool:
    """Was the holder stopped for longer than the server may leave its transaction idle?"""
    return (row.longest_fault_ms("pause") or 0.0) > row.ttl_ms


def stalled_beyond_its_lease(row: TrialRow) -> bool:
    """The same; where the watchdog lives, a stall beyond the TTL is what it is there for."""
    if row.parameter("stalled") == "worker":
        return (row.measure("pause_ms") or 0.0) > row.ttl_ms
    return stopped_beyond_its_lease(row)


def nobody_served(row: TrialRow) -> bool:
    """A waiter timed out at a free key, or was never answered."""
    return row.checked.never_served > 0


def _measured(name: str) -> Predicate:
    return lambda row: bool(row.measure(name))


def _not(name: str) -> Predicate:
    """Was this measured, and false?"""
    return lambda row: row.measure(name) == 0.0


def _died_and_acquired(row: TrialRow) -> bool:
    return bool(row.measure("waiter_acquired") or row.measure("neglected_acquired")) or two_holders(row)


def _answered_too_late(row: TrialRow) -> bool:
    return row.measure("elapsed_ms") is not None and left_ms(row) <= 0.0


def _granted_too_late(row: TrialRow) -> bool:
    granted_late = bool(row.measure("granted")) and (row.measure("validity_ms") or 0.0) <= 0.0
    return granted_late or two_holders(row)


def _clock_jumped(row: TrialRow) -> bool:
    return any(fault.amount for fault in row.faults)


def _jumped_back_within_the_lease(row: TrialRow) -> bool:
    """Did the clocks go back while a killed holder's lease ran? Later, there is nothing left to keep waiting for."""
    kills = [fault.began_ns for fault in row.faults if fault.kind == "kill"]
    jumps = [fault.began_ns for fault in row.faults if (fault.amount or 0.0) < 0.0]
    return bool(kills) and bool(jumps) and max(jumps) - min(kills) < row.ttl_ms * 1e6


def _waited_for_the_clock(row: TrialRow) -> bool:
    """Did the next client wait for longer than a lease, by at least half of what the clocks went back?"""
    recovery_ms = row.measure("recovery_ms") or 0.0
    back_ms = max((-(fault.amount or 0.0) for fault in row.faults), default=0.0)
    return recovery_ms < 0.0 or recovery_ms > longest_block_ms(row) + back_ms / 2


def _free_and_not_granted(row: TrialRow) -> bool:
    """Was the lock refused although its holder had lost it? One that is kept alive is refused rightly."""
    return row.measure("granted") == 0.0 and all(one.until_ns is not None for one in row.trial.beliefs)


def _never_recovered(row: TrialRow) -> bool:
    return (row.measure("recovery_ms") or 0.0) < 0.0


def longest_block_ms(row: TrialRow) -> float:
    """How long a client that is gone may block its key: a lease, and the asking of whoever waits for it."""
    return row.ttl_ms + max(row.capability_ms("ttl_granularity_ms"), ASKING_MS)


def _jumped(row: TrialRow) -> str | None:
    return "" if _clock_jumped(row) else None


def _blocked_beyond_its_lease(row: TrialRow) -> bool:
    blocked_ms = row.measure("blocked_ms") or 0.0
    return blocked_ms < 0.0 or blocked_ms > longest_block_ms(row)


def _always(_: TrialRow) -> bool:
    return True


def _never(_: TrialRow) -> bool:
    return False


def _alike(_: TrialRow) -> str:
    return ""


def _stalled(row: TrialRow) -> str:
    return "watchdog alive" if row.parameter("stalled") == "worker" else "watchdog stopped too"


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
    if not _clock_jumped(row):
        return None
    return "back" if any((fault.amount or 0.0) < 0.0 for fault in row.faults) else "ahead"


def _whose_clock(row: TrialRow) -> str | None:
    direction = _direction(row)
    if direction is None:
        return None
    return f"{row.parameter('whose', 'client')} {'behind' if direction == 'back' else direction}"


def _nodes_jumped(row: TrialRow) -> str:
    return f"{row.parameter('nodes_jumped', 0)} of {nodes_held(row)} held nodes ahead"


def _who_stalled(row: TrialRow) -> str:
    return str(row.parameter("who", ""))


def _share_stopped(row: TrialRow) -> str | None:
    if not nodes_down_of(row):
        return None
    left = row.capability_ms("nodes") - nodes_down_of(row)
    return "a minority" if left >= row.capability_ms("quorum") else "a majority"


def _subject(
    fault: str,
    hazard: Hazard = Hazard.TWO_HOLDERS,
    shows: Predicate = two_holders,
    exposed: Predicate = _always,
    unavailable: Predicate = nobody_served,
    variant: Callable[[TrialRow], str | None] = _alike,
) -> Subject:
    return Subject(fault, hazard, shows, exposed, unavailable, variant)


_PAUSE = _subject("pause of the holder", exposed=stopped_beyond_its_lease)
_CLOCKS = "clock jump of the servers"
SUBJECTS: Mapping[str, Subject] = {
    "gc-pause": _PAUSE,
    "page-scenario": _PAUSE,
    "suspended-client": _subject(
        "machine of the holder suspended", shows=believed_on_awake, exposed=_asleep_beside_another
    ),
    "watchdog": _subject("stall of a renewing holder", exposed=stalled_beyond_its_lease, variant=_stalled),
    "idle-in-transaction": _subject("pause inside a transaction", exposed=_transaction_stopped, variant=_idle_timeout),
    "cable-pulled": _subject("holder cut off", shows=told_too_late),
    "crash-recovery": _subject("crash of the holder", Hazard.AVAILABILITY, unavailable=_never_recovered),
    "late-release": _subject(
        "late release", Hazard.FREED_FOR_ANOTHER, shows=_measured("stolen"), exposed=released_late
    ),
    "swallowed-reply": _subject("reply to an acquire lost", Hazard.BLOCKED, unavailable=_blocked_beyond_its_lease),
    "lease-dies-in-queue": _subject(
        "lease dies in the queue",
        Hazard.DEAD_WAITER,
        shows=_died_and_acquired,
        unavailable=_not("next_served"),
    ),
    "late-quorum": _subject(
        "late quorum", Hazard.LATE_GRANT, shows=_granted_too_late, exposed=_answered_too_late, unavailable=_never
    ),
    "server-clock": _subject(
        _CLOCKS, shows=told_too_late, exposed=_clock_jumped, unavailable=_never, variant=_direction
    ),
    "redlock-clock": _subject(_CLOCKS, exposed=_clock_jumped, unavailable=_never, variant=_nodes_jumped),
    "client-clock": _subject(
        "clock of a client wrong",
        shows=told_too_late,
        exposed=_clock_jumped,
        unavailable=_free_and_not_granted,
        variant=_whose_clock,
    ),
    "clock-back-and-crash": _subject(
        "crash of the holder, clocks back",
        Hazard.BLOCKED,
        exposed=_jumped_back_within_the_lease,
        unavailable=_waited_for_the_clock,
        variant=_jumped,
    ),
    "restart": _subject("restart of all servers", Hazard.LOST_LOCK, variant=_durability),
    "restarted-node": _subject("restart of one node", Hazard.LOST_LOCK, variant=_durability),
    "failover": _subject("failover", Hazard.LOST_LOCK, variant=_replicated),
    "stalled-leader": _subject("server stalled", Hazard.LOST_LOCK, shows=told_too_late, variant=_who_stalled),
    "nodes-down": _subject(
        "servers stopped", Hazard.AVAILABILITY, unavailable=lambda row: not got_it(row), variant=_share_stopped
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
