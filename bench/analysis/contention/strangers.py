"""Strangers: clients with keys of their own, beside those that meet at a hot key and on the same servers.

Their operations are in every record of a run; the numbers of their keys set them apart. What is said of
waiting is said of the clients that meet; what strangers notice of it has metrics of its own.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from bench.analysis.holds import Column, Mask, Refused, RunEvents
from bench.records.workload import Workload

_ACQUIRED = "acquired"


class Populations(NamedTuple):
    """The events of a run by who they are of."""

    meeting: RunEvents
    strangers: RunEvents | None  # None: there were none


def populations(workload: Workload, events: RunEvents) -> Populations:
    """Split by keys. Without strangers the clients that meet are all, and their events are the run's own."""
    if workload.strangers_from is None:
        return Populations(events, None)
    granted, refused = events.holds.key >= workload.strangers_from, events.refused.key >= workload.strangers_from
    return Populations(_part(events, ~granted, ~refused), _part(events, granted, refused))


def _part(events: RunEvents, granted: Mask, refused: Mask) -> RunEvents:
    holds = events.holds.where(granted)
    others = Refused(
        key=events.refused.key[refused],
        intended_ns=events.refused.intended_ns[refused],
        started_ns=events.refused.started_ns[refused],
        answered_ns=events.refused.answered_ns[refused],
        outcome=events.refused.outcome[refused] if len(events.refused.outcome) else events.refused.outcome,
        client=_of(events.refused.client, refused),
    )
    acquires = Counter(map(str, others.outcome))
    if len(holds):
        acquires[_ACQUIRED] = len(holds)
    clients = len(np.union1d(holds.client, others.client))
    return RunEvents(dict(acquires), holds, clients, holds.intended_ns, holds.acquired_ns - holds.intended_ns, others)


def _of(values: Column, which: Mask) -> Column:
    """The values of some rows; a column that is not recorded stays empty."""
    return values[which] if len(values) else values
