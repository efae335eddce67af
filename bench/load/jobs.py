"""Jobs of one load process: how its clients do them, what they were answered, and which message is delivered next."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from time import monotonic_ns
from types import MappingProxyType
from typing import Any

from bench.jobs.keeper import keeper
from bench.jobs.lock_and_fence import LockAndFence
from bench.jobs.records import make, schema_of
from bench.jobs.way import Done, Way, Work
from bench.jobs.ways import WAYS
from bench.load.endpoints import Address, behind_lines, endpoint_of
from bench.load.loop import Alarm
from bench.load.options import LoadSettings
from bench.records.workload import CONSUME, DELIVERIES
from bench.systems.base import LockClient, Outcome, Refusal
from bench.systems.wait import Wait

_NS_PER_S = 1e9


class Jobs:
    """What the clients of this process did, from the first job to the last: all of it counts, the warm-up too."""

    def __init__(
        self, settings: LoadSettings, first_message: int, lines: Mapping[Address, Address] = MappingProxyType({})
    ) -> None:
        self._settings, self._does = settings, settings.workload
        self._endpoint, self._schema = behind_lines(endpoint_of(keeper()), lines), schema_of(settings.seed)
        self._next_delivery = first_message * DELIVERIES
        self._acknowledged = 0
        self._messages: set[int] = set()
        self._retries: Counter[int] = Counter()
        self.unknown = 0
        self.deliveries = self._deliver()  # to whichever client of this process asks next
        make(self._endpoint, self._schema, self._does.shared_keys)

    def way(self, lock: LockClient, wait: Wait, alarm: Alarm) -> Way:
        """How one client does its jobs. Raises ConnectionError."""
        does, settings = self._does, self._settings
        work = Work(does.name, does.compute_ms / 1e3, partial(_pause, alarm))
        kind, common = WAYS[does.way], (self._endpoint, self._schema, work, wait, settings.timeout_ms)
        if not issubclass(kind, LockAndFence):
            return kind(*common)
        return kind(
            *common,
            acquire=lambda record: lock.acquire(settings.key(record), settings.ttl_ms, settings.timeout_ms, wait),
            release=lock.release,
        )

    def _deliver(self) -> Iterator[int]:
        """Messages by their index; after the last comes the first."""
        while True:
            delivery, self._next_delivery = self._next_delivery, self._next_delivery + 1
            yield delivery // DELIVERIES % self._does.shared_keys

    def note(self, record: int, answer: Done | Refusal, counted: bool) -> None:
        """How one job ended."""
        if isinstance(answer, Done):
            self._acknowledged += 1
            if self._does.name == CONSUME:
                self._messages.add(record)
            if counted:
                self._retries[answer.retries] += 1
        elif answer.outcome is Outcome.UNKNOWN:
            self.unknown += 1

    def counted(self) -> dict[str, Any]:
        """All of it, once every client has ended."""
        return {
            "acknowledged": self._acknowledged,
            "unknown": self.unknown,
            "messages": sorted(self._messages),
            "retries": {str(retries): jobs for retries, jobs in self._retries.items()},
        }


def _pause(alarm: Alarm, seconds: float) -> None:
    alarm.wait_until(monotonic_ns() + round(seconds * _NS_PER_S))  # pace: the computing, or the pause, asked for
