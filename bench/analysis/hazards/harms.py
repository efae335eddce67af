"""How the harm that a scenario looks for shows in a trial's record."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from bench.analysis.hazards.nodes import got_it
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.validity import nothing_left

Predicate = Callable[[TrialRow], bool]
LOOKING_MS = 50.0  # a client that looks every 5 ms whether it lost its lock may wake late on a busy machine
ASKING_MS = 100.0  # between the end of a lease and the grant to one who polls for it on a busy machine


class Hazard(StrEnum):
    """The harm that a scenario looks for."""

    TWO_HOLDERS = "two holders"
    LOST_LOCK = "lost lock"  # two holders, because the servers forgot the first one
    WENT_ON = "went on"  # a holder that slept through the end of its lease acts on it when it wakes
    FREED_FOR_ANOTHER = "freed for another"  # a release that frees a lock of somebody else
    DEAD_WAITER = "dead waiter"  # a grant to a waiter whose lease had ended
    LATE_WRITE = "late write"  # one that comes to the resource after the next grant, whenever it was sent
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
    Hazard.WENT_ON: "the woken holder carried on alongside the next one",
    Hazard.FREED_FOR_ANOTHER: "another client's lock was freed",
    Hazard.DEAD_WAITER: "a waiter whose lease had ended got the lock",
    Hazard.LATE_WRITE: "a write arrived after the next grant",
    Hazard.LATE_GRANT: "a grant with no validity left",
    Hazard.AVAILABILITY: "nobody got the lock",
    Hazard.BLOCKED: "the key was blocked for longer than a lease",
}


def never(_: TrialRow) -> bool:
    """No trial of this scenario shows it."""
    return False


def measured(name: str) -> Predicate:
    """Where this was measured, and true."""
    return lambda row: bool(row.measure(name))


def measured_not(name: str) -> Predicate:
    """Where this was measured, and false."""
    return lambda row: row.measure(name) == 0.0


# -- two holders -----------------------------------------------------------------------------------------------------


def two_holders(row: TrialRow) -> bool:
    """Two clients believed in the key at once, or a write was sent after a later grant, or came after one and was not
    read by the new holder; whatever a fence did about it.

    Not where the late write was refused without any fence: the resource was the lock's own database, and no harm came.
    """
    return (bool(row.checked.overlap_ns) or wrote_over(row)) and not refused_by_itself(row)


def wrote_over(row: TrialRow) -> bool:
    """Did a write come to the resource after the next grant, whatever a fence did about it?

    Of those that were sent in time, only one that a later holder had not read: what came of the others is as if they
    had come before the grant. One sent after the grant counts in any case: its writer believed in the lock then.
    """
    return bool(row.checked.stale_writes) or any(not one.read_by_next for one in row.checked.overtaken_writes)


def refused_by_itself(row: TrialRow) -> bool:
    """Was a late write refused, or lost with its transaction, where no fence was checked?"""
    accepted = row.checked.stale_accepted or row.checked.overtaken_accepted
    if row.fence or accepted or not row.checked.stale_writes:
        return False
    return row.checked.stale_refused > 0 or row.measure("late_write_accepted") == 0.0


def told_too_late(row: TrialRow) -> bool:
    """The same for a holder that is awake and looks at what it knows: some ms of it are its looking, not the lock.

    What counts is how long it believed on after the next grant, however soon the next holder let go.
    """
    return two_holders(row) and (believed_on_ms(row) > LOOKING_MS or wrote_over(row))


def believed_on_ms(row: TrialRow, since_ns: int = 0) -> float:
    """The longest that a client believed in its grant after a later one was reported, and after an instant; 0 where
    none did."""
    ends = {one.grant: row.trial.ended_ns if one.until_ns is None else one.until_ns for one in row.trial.beliefs}
    return max(
        (
            (max(one.until_ns, ends.get(one.earlier, 0)) - max(one.from_ns, since_ns)) / 1e6
            for one in row.checked.overlaps
        ),
        default=0.0,
    )


def believed_on_awake(row: TrialRow) -> bool:
    """Did a client whose machine was suspended go on as the holder when it woke, beside a later one?

    What it believed in its sleep it could not act on. Awake it may take as long as any client that looks what it knows.
    """
    woke_ns = max((fault.ended_ns or 0 for fault in row.faults if fault.kind == "suspend"), default=0)
    return wrote_over(row) or believed_on_ms(row, woke_ns) > LOOKING_MS


def died_and_acquired(row: TrialRow) -> bool:
    """Did a waiter whose lease had ended get the lock?"""
    return bool(row.measure("waiter_acquired") or row.measure("neglected_acquired")) or two_holders(row)


def granted_too_late(row: TrialRow) -> bool:
    """Was there a grant although its quorum had answered too late?"""
    return (nothing_left(row) and bool(row.measure("granted"))) or two_holders(row)


# -- nobody gets the lock --------------------------------------------------------------------------------------------


def nobody_served(row: TrialRow) -> bool:
    """A waiter timed out at a free key, or was never answered."""
    return row.checked.never_served > 0


def never_recovered(row: TrialRow) -> bool:
    """Did nobody get the lock after a crash, while the trial lasted?"""
    return (row.measure("recovery_ms") or 0.0) < 0.0


def recovered_beyond_its_lease(row: TrialRow) -> bool:
    """Was the lock of a dead holder kept for longer than a lease?"""
    return never_recovered(row) or (row.measure("recovery_ms") or 0.0) > longest_block_ms(row)


def free_and_not_granted(row: TrialRow) -> bool:
    """Was the lock refused although its holder had lost it? One that is kept alive is refused rightly."""
    return row.measure("granted") == 0.0 and all(one.until_ns is not None for one in row.trial.beliefs)


def blocked_beyond_its_lease(row: TrialRow) -> bool:
    """Was the key blocked by nobody for longer than a lease?"""
    blocked_ms = row.measure("blocked_ms") or 0.0
    return blocked_ms < 0.0 or blocked_ms > longest_block_ms(row)


def waited_for_the_clock(row: TrialRow) -> bool:
    """Did the next client wait for longer than a lease, by at least half of what the clocks went back?"""
    recovery_ms = row.measure("recovery_ms") or 0.0
    back_ms = max((-(fault.amount or 0.0) for fault in row.faults), default=0.0)
    return recovery_ms < 0.0 or recovery_ms > longest_block_ms(row) + back_ms / 2


def not_acquired(row: TrialRow) -> bool:
    """Did the client not get the lock with these servers down?"""
    return not got_it(row)


def longest_block_ms(row: TrialRow) -> float:
    """How long a client that is gone may block its key: a lease, and the asking of whoever waits for it."""
    return row.ttl_ms + max(row.capability_ms("ttl_granularity_ms"), ASKING_MS)


PLAIN: Mapping[str, Predicate] = {
    one.__name__: one
    for one in (
        *(never, two_holders, wrote_over, told_too_late, believed_on_awake, died_and_acquired, granted_too_late),
        *(nobody_served, never_recovered, recovered_beyond_its_lease, free_and_not_granted, blocked_beyond_its_lease),
        *(waited_for_the_clock, not_acquired),
    )
}
MADE: Mapping[str, Callable[..., Predicate]] = {one.__name__: one for one in (measured, measured_not)}
