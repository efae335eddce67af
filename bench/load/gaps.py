"""What the generator itself did between the operations of a client, from the rows of a run and at no cost while it
measures.
"""

import numpy as np
import numpy.typing as npt

from bench.load.recorder import bucket_all_ns
from bench.load.rows import Rows, column
from bench.records.histogram import LatencyHistogram

THINK = "think/all"  # closed loop: from the end of one operation to the start of the client's next
WAKE = "wake/all"  # open loop: from when an arrival was due and its client free, to its start


def generator_gaps(rows: Rows, open_loop: bool) -> tuple[str, LatencyHistogram]:
    """The name of the phase and its histogram; rows in any order.

    In a closed loop each client's first operation has no gap before it. In an open loop it has: its client was free.
    """
    order = np.lexsort((column(rows, "started_ns"), column(rows, "client")))
    client, intended, started = (column(rows, name)[order] for name in ("client", "intended_ns", "started_ns"))
    ended = np.maximum(column(rows, "freed_ns"), column(rows, "acquired_ns"))[
        order
    ]  # freed is 0 where nothing was held
    first = np.ones(len(client), dtype=np.bool_)
    first[1:] = client[1:] != client[:-1]
    free = np.zeros(len(client), dtype=np.int64)
    free[1:] = np.where(first[1:], 0, ended[:-1])
    if open_loop:
        return WAKE, _histogram(started - np.maximum(intended, free))
    return THINK, _histogram((started - free)[~first])


def _histogram(values_ns: npt.NDArray[np.int64]) -> LatencyHistogram:
    edges, counts = np.unique(bucket_all_ns(values_ns), return_counts=True)
    return LatencyHistogram(dict(zip(edges.tolist(), counts.tolist(), strict=True)))
