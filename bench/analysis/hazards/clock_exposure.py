"""Could this trial have shown that a clock breaks the lock? Decided from what was staged, never from what came of it.

A clock can end a lease too soon only if there is a lease, if it is the clock of whoever ends it, and if it goes ahead
by more than what is left. It can keep a dead client's lease only if it goes back while that runs. What the designers
say of *which* clock they ask (`lease_clock`) is not looked at: that they ask a monotonic one is what a trial tests.

Clients: what one client's clock says can matter only where clients judge the lease. There one who is ahead takes what
is not over, and one who is behind writes an end that lies in the past of the others.
"""

from bench.analysis.hazards.rows import TrialRow

NO_LEASE = "no lease that a clock could end"
CLIENTS_JUDGE = "no lease that a server's clock could end: the clients' clocks judge it"
SERVERS_JUDGE = "no client's clock judges the lease"
TOO_SHORT = "no jump long enough, in the direction that could end the lease"


def servers_ahead(row: TrialRow) -> bool:
    """Did clocks that judge the lease go ahead by more than what was left of it?"""
    return _judged_by_servers(row) and _ahead_ms(row) > left_ms(row)


def servers_drifted(row: TrialRow) -> bool:
    """Did clocks that judge the lease run ahead, while it lasted, by more than what was left of it? And had the other
    client its answer while the holder's validity lasted?"""
    rate_percent, held_ms = row.measure("rate_percent") or 0.0, row.measure("held_ms") or 0.0
    in_time = (row.measure("remaining_validity_ms") or 0.0) > 0.0
    return in_time and _judged_by_servers(row) and rate_percent / 100.0 * held_ms > left_ms(row)


def servers_back_after_crash(row: TrialRow) -> bool:
    """Did clocks that judge the lease go back by more than a lease while that of a killed holder ran?"""
    kills = [fault.began_ns for fault in row.faults if fault.kind == "kill"]
    back = [fault for fault in row.faults if fault.kind == "clock_jump" and (fault.amount or 0.0) < -longest_ms(row)]
    if not kills or not back or not _judged_by_servers(row):
        return False
    return max(fault.began_ns for fault in back) - min(kills) < row.ttl_ms * 1e6


def client_wrong(row: TrialRow) -> bool:
    """Where clients judge the lease: was who wants it ahead by more than a lease, or who held it behind by as much?"""
    return _judged_by_clients(row) and _ends_early_ms(row) > row.ttl_ms


def client_wrong_the_other_way(row: TrialRow) -> bool:
    """The same of who wants it and is behind, or held it and was ahead: not two holders, but nobody may get it."""
    return _judged_by_clients(row) and _ends_early_ms(row) < -row.ttl_ms


def why_not_by_servers(row: TrialRow) -> str:
    """Why no trial of this system with the servers' clocks could show two holders; "" if one could."""
    if not row.has_lease:
        return NO_LEASE
    return "" if _judged_by_servers(row) else CLIENTS_JUDGE


def why_not_by_client(row: TrialRow) -> str:
    """The same with a client's clock."""
    if not row.has_lease:
        return NO_LEASE
    return "" if row.capability("expiry_judge") == "client" else SERVERS_JUDGE


def longest_ms(row: TrialRow) -> float:
    """How long a lease may last from its last renewal on, by all that the system allows itself."""
    return row.ttl_ms + row.capability_ms("ttl_granularity_ms")


def left_ms(row: TrialRow) -> float:
    """What was at least left to the holder when another client had its answer. Where nobody measured it, all that a
    lease may last. What a lock sets aside for clocks does not count: whether that is enough is on trial."""
    left = row.measure("remaining_validity_ms")
    return longest_ms(row) if left is None else left


def _judged_by_servers(row: TrialRow) -> bool:
    return row.has_lease and row.capability("expiry_judge") == "server"


def _judged_by_clients(row: TrialRow) -> bool:
    return row.has_lease and row.capability("expiry_judge") == "client"


def _ends_early_ms(row: TrialRow) -> float:
    """How much too soon the lease is over by the clocks of the two clients; below 0: too late."""
    ahead_ms = sum(fault.amount or 0.0 for fault in row.faults if fault.kind == "client_clock")
    return -ahead_ms if row.parameter("whose", "contender") == "holder" else ahead_ms


def _ahead_ms(row: TrialRow) -> float:
    return max((fault.amount or 0.0 for fault in row.faults if fault.kind == "clock_jump"), default=0.0)
