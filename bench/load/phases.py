"""How long each phase of the operations of a run took, from its rows and at no cost while it measures."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from bench.load.rows import NOTHING_HELD, OUTCOMES, Rows, by_population, column
from bench.records.histogram import LatencyHistogram

THINK = "think/all"  # closed loop: from the end of one operation to the start of the client's next
LAG = "loop_lag/all"  # how late the event loop woke a watcher; in no row, as it belongs to no operation
WAKE = "wake/all"  # open loop: from when an arrival was due and its client free, to its start


def generator_gaps(rows: Rows, open_loop: bool) -> tuple[str, LatencyHistogram]:
    """The name of the phase and its histogram; rows in any order.

    In a closed loop each client's first operation has no gap before it. In an open loop it has: its client was free.
    """
    order = np.lexsort((column(rows, "started_ns"), column(rows, "client")))
    client, intended, started = (column(rows, name)[order] for name in ("client", "intended_ns", "started_ns"))
    # freed is 0 where nothing was held
    ended = np.maximum(column(rows, "freed_ns"), column(rows, "acquired_ns"))[order]
    first = np.ones(len(client), dtype=np.bool_)
    first[1:] = client[1:] != client[:-1]
    free = np.zeros(len(client), dtype=np.int64)
    free[1:] = np.where(first[1:], 0, ended[:-1])
    if open_loop:
        return WAKE, LatencyHistogram.of(started - np.maximum(intended, free))
    return THINK, LatencyHistogram.of((started - free)[~first])


def phases_of(rows: Rows, strangers_from: int | None = None) -> Mapping[str, LatencyHistogram]:
    """By "phase/outcome"; strangers, whose keys have numbers from `strangers_from` up, have phases of their own.

    Raises ValueError when a duration is negative: a clock went wrong.
    """
    found: dict[str, LatencyHistogram] = {}
    for whose, part in by_population(rows, strangers_from):
        found |= {f"{whose}{name}": histogram for name, histogram in _phases_of(part).items()}
    return found


def _phases_of(rows: Rows) -> Mapping[str, LatencyHistogram]:
    intended, started, answered = (column(rows, name) for name in ("intended_ns", "started_ns", "acquired_ns"))
    sent, freed = column(rows, "released_ns"), column(rows, "freed_ns")
    found = {}
    for which, word in by_outcome(rows, "outcome"):
        found[f"acquire/{word}"] = LatencyHistogram.of((answered - started)[which])
        found[f"response/{word}"] = LatencyHistogram.of((answered - intended)[which])
    for which, word in by_outcome(rows, "released"):
        found[f"hold/{word}"] = LatencyHistogram.of((sent - answered)[which])
        found[f"release/{word}"] = LatencyHistogram.of((freed - sent)[which])
    return found


def by_outcome(rows: Rows, name: str) -> Iterator[tuple[npt.NDArray[np.bool_], str]]:
    """For each outcome in a column: which rows have it, and its word."""
    codes = column(rows, name)
    for code in np.unique(codes):
        if code != NOTHING_HELD:
            yield codes == code, OUTCOMES[code]
