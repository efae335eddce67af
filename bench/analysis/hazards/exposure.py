"""Which trials could have shown the harm: decided from their staging, before and without their outcome.

Each function says why a trial was *not* exposed, in words for a table; "" means that it was. What it may look at: the
parameters, the confirmed windows of the faults, what the adapter says of itself, and, where the staging itself waits
for it, that another client had been granted the key before the fault was over. What came of the trial (overlaps, late
writes, who got the lock in the end) is nowhere read here; a test holds every scenario to that.
"""

from collections.abc import Callable, Mapping

from bench.analysis.hazards import clock_exposure
from bench.analysis.hazards.nodes import nodes_down_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.validity import nothing_left

Unexposed = Callable[[TrialRow], str]

BEYOND_TTLS = 1.01  # a stop that was asked for as one TTL is over it by a hair, and says nothing
NO_POWER_LOSS = "power loss not staged"  # a killed process loses nothing that the kernel has
_SYNCED_LATER = frozenset({"everysec", "no"})  # what a setting of Redis's log leaves to the kernel


def always(_: TrialRow) -> str:
    """Exposed by being played at all."""
    return ""


def stopped(*kinds: str) -> Unexposed:
    """Not where faults of these kinds lasted no longer than a lease may."""

    def why(row: TrialRow) -> str:
        longest_ms = row.longest_fault_ms(*kinds) or 0.0
        least_ms = BEYOND_TTLS * row.ttl_ms + row.capability_ms("ttl_granularity_ms")
        return "" if longest_ms > least_ms else "too short to outlast a lease"

    return why


def outlasted(kind: str) -> Unexposed:
    """As `stopped`; exposed as well where another was granted the key before the fault was over, as was waited for."""
    too_short = stopped(kind)

    def why(row: TrialRow) -> str:
        return "" if _granted_meanwhile(row, kind) else too_short(row)

    return why


def _granted_meanwhile(row: TrialRow, kind: str) -> bool:
    return any(
        fault.ended_ns is not None
        and any(
            belief.actor != fault.target and fault.began_ns < belief.from_ns <= fault.ended_ns
            for belief in row.trial.beliefs
        )
        for fault in row.faults
        if fault.kind == kind
    )


def struck(*kinds: str) -> Unexposed:
    """Not where no fault of these kinds was in force."""
    return lambda row: "" if any(fault.kind in kinds for fault in row.faults) else "the fault was not in force"


def servers_down(row: TrialRow) -> str:
    """Not where all servers were up: a control."""
    return "" if nodes_down_of(row) else "no server was stopped"


def restarted(row: TrialRow) -> str:
    """Servers end by SIGKILL: what they gave to the kernel survives, whether or not it was ever on a disk."""
    return NO_POWER_LOSS if row.parameter("durability") in _SYNCED_LATER else ""


def answered_late(row: TrialRow) -> str:
    """Redlock: not where the quorum's answer left something of the validity."""
    return "" if nothing_left(row) else "the quorum answered in time"


def jumped_past_the_lease(row: TrialRow) -> str:
    """Of a search: the jump that it begins with, which is longer than a lease. Its other steps only narrow it down."""
    return "" if float(row.parameter("jump_ms", 0.0)) >= row.ttl_ms else "one step of a search"


def servers_ahead(row: TrialRow) -> str:
    """The servers' clocks, ahead of a live holder's lease."""
    exposed = clock_exposure.servers_ahead(row)
    return "" if exposed else clock_exposure.why_not_by_servers(row) or clock_exposure.TOO_SHORT


def servers_drifted(row: TrialRow) -> str:
    """The servers' clocks, running ahead of a live holder's lease while it lasts."""
    exposed = clock_exposure.servers_drifted(row)
    return "" if exposed else clock_exposure.why_not_by_servers(row) or "the clock gained too little to end the lease"


def servers_back_after_crash(row: TrialRow) -> str:
    """The servers' clocks, back while a dead holder's lease runs."""
    exposed = clock_exposure.servers_back_after_crash(row)
    return "" if exposed else clock_exposure.why_not_by_servers(row) or "the clocks were not set back during the lease"


def client_refused(row: TrialRow) -> str:
    """A client's clock, in the direction in which a lock that is free looks held."""
    exposed = clock_exposure.client_wrong_the_other_way(row)
    return "" if exposed else clock_exposure.why_not_by_client(row) or clock_exposure.TOO_SHORT


def client_wrong(row: TrialRow) -> str:
    """A client's clock."""
    exposed = clock_exposure.client_wrong(row)
    return "" if exposed else clock_exposure.why_not_by_client(row) or clock_exposure.TOO_SHORT


PLAIN: Mapping[str, Unexposed] = {
    one.__name__: one
    for one in (
        *(always, servers_down, restarted, answered_late, jumped_past_the_lease, servers_ahead, servers_drifted),
        *(servers_back_after_crash, client_refused, client_wrong),
    )
}
MADE: Mapping[str, Callable[..., Unexposed]] = {one.__name__: one for one in (stopped, outlasted, struck)}
