"""Many clients of one process that wait for one key: gathered, partly interrupted, dispersed again."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from bench.conformance.bounds import PATIENCE_MS
from bench.systems.base import Grant, LockClient
from bench.systems.wait import Wait

KILLED = "killed"
# A busy machine that starts a process for each of 64 sessions lets the last ones in later than they wait for that.
_OPENED_AT_ONCE = 8


class Task(Protocol):
    """One function on its way: a thread, or a greenlet."""

    def join(self, timeout: float | None = None) -> object: ...


class Tasks:
    """How functions are run at once. Threads cannot be ended from outside; see `greenlet_actor` for those that can."""

    def start(self, function: Callable[[], None]) -> Task:
        """Run it beside the others."""
        thread = threading.Thread(target=function, daemon=True)
        thread.start()
        return thread

    def kill(self, tasks: Sequence[Task]) -> None:
        """End them where they are, and wait until they have cleaned up."""
        raise NotImplementedError("a thread cannot be killed")


class Crowd:
    """One client for each of `patience_ms`, which is how long it waits. Who is granted releases at once."""

    def __init__(
        self, tasks: Tasks, opener: Callable[[int], LockClient], key: str, wait: Wait, patience_ms: Sequence[int]
    ) -> None:
        self._tasks, self._key, self._wait = tasks, key, wait
        self._clients: list[LockClient] = []
        self._answers: Counter[str] = Counter()
        numbers = range(len(patience_ms))
        for first in numbers[::_OPENED_AT_ONCE]:
            self._all(lambda number: self._clients.append(opener(number)), numbers[first : first + _OPENED_AT_ONCE])
        self._waiting = [
            tasks.start(partial(self._pass_through, client, one_ms))
            for client, one_ms in zip(self._clients, patience_ms, strict=True)
        ]

    def interrupt(self, count: int) -> None:
        """Kill the first `count` of those who wait."""
        if count:
            self._tasks.kill(self._waiting[:count])

    def disperse(self) -> dict[str, int]:
        """Wait until everybody has an answer, and close all clients. How often each answer was given."""
        for task in self._waiting:
            task.join(PATIENCE_MS / 1000)
        self._all(LockClient.close, self._clients)
        return dict(self._answers)

    def _all(self, function: Callable[[Any], object], each_of: Sequence[Any]) -> None:
        errors: list[Exception] = []

        def carry(one: Any) -> None:
            try:
                function(one)
            except Exception as error:  # noqa: BLE001 - raised below
                errors.append(error)

        for task in [self._tasks.start(partial(carry, one)) for one in each_of]:
            task.join(PATIENCE_MS / 1000)
        if errors:
            raise errors[0]

    def _pass_through(self, client: LockClient, patience_ms: int) -> None:
        said = KILLED
        try:
            answer = client.acquire(self._key, client.options.ttl_ms, patience_ms, self._wait)
            said = str(client.release(answer).outcome if isinstance(answer, Grant) else answer.outcome)
        except Exception as error:  # noqa: BLE001 - an answer like others, which the check does not expect
            said = f"{type(error).__name__}: {error}"
        finally:
            self._answers[said] += 1
