"""Every way of doing a job, by the name that a workload gives it."""

import sys
from collections.abc import Mapping

from bench.jobs.for_update import ForUpdate
from bench.jobs.idempotency_key import IdempotencyKey
from bench.jobs.lock_and_fence import LockAndFence
from bench.jobs.row_version import RowVersion
from bench.jobs.unguarded import Unguarded
from bench.jobs.way import Way, lines_of
from bench.records.workload import BY_KEY, BY_LOCK, BY_ROW_LOCK, BY_VERSION, UNGUARDED

WAYS: Mapping[str, type[Way]] = {
    BY_LOCK: LockAndFence,
    BY_ROW_LOCK: ForUpdate,
    BY_VERSION: RowVersion,
    BY_KEY: IdempotencyKey,
    UNGUARDED: Unguarded,
}


def lines_of_way(name: str) -> int:
    """How long a way is: the lines of code of its file."""
    return lines_of(sys.modules[WAYS[name].__module__])
