"""Where the median hand-off goes: round trips, durable writes, the servers' work, the client's processor, and the rest.

By most ways to wait a hand-off is an acquire of a key that is free now, which polling makes late by the rest of a
pause. By others the waiter only looks, or is handed the lock: the system's entry says which (`System.hand_off_trips`).
"""

import statistics
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.floor import client_cpu_us_of_acquire, median_and_path, network_us, server_mean_us
from bench.records.schema import Environment


@dataclass(frozen=True, slots=True)
class HandOffParts:
    """In µs. As in `Parts` the clocks differ, so the sum of the parts may exceed the median: nothing is cut to fit."""

    median_us: float  # below 0: the server answered the next client before it answered the releaser
    client_us: float | None  # processor time of an acquire without contention, at most; None: not measured
    client_round_trips: int
    network_us: float
    durable_us: float
    server_us: float | None  # None: the server does not tell
    pauses: bool  # the rest is a pause until the client asks again

    @property
    def known_us(self) -> float:
        return (self.client_us or 0.0) + self.network_us + self.durable_us + (self.server_us or 0.0)

    @property
    def rest_us(self) -> float:
        return max(0.0, self.median_us - self.known_us)


def hand_off_parts(cell: Cell, alone: Cell | None, environment: Environment) -> HandOffParts | Absent:
    """Of a contended cell; `alone` is its system's cell without contention. Absent, with the reason, where the runs do
    not tell."""
    found = median_and_path(cell, "hand_off_us_p50", environment)
    if isinstance(found, Absent):
        return found
    value, path = found
    strategy = names.strategy(cell.workload.wait)
    handed = names.hand_off_trips(cell.system, strategy)
    durable_us = 0.0
    if handed is not None:
        client_trips, peer_trips = handed
        # Servers tell the mean of a statement that waited, and of reads only where they time those apart.
        server_us = server_mean_us(cell.used, "read_answer") if handed.client else None
    else:
        answer_us, fsync_us = (server_mean_us(cell.used, name) for name in ("answer", "fsync"))
        durable_us = path.durable_writes * (environment.fdatasync_us_p50 if fsync_us is None else fsync_us)
        client_trips = path.client_round_trips
        peer_trips = path.peer_round_trips if answer_us is None else 0
        executed_us = server_mean_us(cell.used, "execute")
        server_us = executed_us if answer_us is None else max(0.0, answer_us - durable_us)
    spent_us = [one for run in alone.used if (one := client_cpu_us_of_acquire(run)) is not None] if alone else []
    return HandOffParts(
        median_us=value.value,
        client_us=statistics.median(spent_us) if spent_us else None,
        client_round_trips=client_trips,
        network_us=network_us(cell, client_trips, peer_trips, environment),
        durable_us=durable_us,
        server_us=server_us,
        pauses=names.polls(strategy),
    )
