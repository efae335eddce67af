"""What Redlock's own formula leaves of a grant: TTL - elapsed - drift (redis.io, "Distributed Locks with Redis")."""

from bench.analysis.hazards.rows import TrialRow

DRIFT_SHARE, DRIFT_MS = 0.01, 2.0  # set aside for clocks that drift: 1 % of the TTL and 2 ms


def left_ms(row: TrialRow) -> float:
    """What the formula leaves, in ms; nothing or less: there must be no grant."""
    drift_ms = row.ttl_ms * DRIFT_SHARE + DRIFT_MS
    return row.ttl_ms - (row.measure("elapsed_ms") or 0.0) - drift_ms


def nothing_left(row: TrialRow) -> bool:
    """Did the quorum answer so late that there must be no grant?"""
    return row.measure("elapsed_ms") is not None and left_ms(row) <= 0.0
