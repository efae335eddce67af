"""Keeps gRPC out of the main thread, where a signal's handler may raise at any instant.

gRPC's Python code holds its locks in `with` blocks over threading's Condition, whose `__enter__` is Python: an
exception raised on its way out leaves the lock taken for ever. The channel's own thread then waits for it, and with it
every client of this process that shares the channel. Signals are handled in the main thread only, so there a call is
made by a thread of the client's own, and the main thread waits for it in C. Elsewhere, and under gevent, whose kills
arrive only where a greenlet waits, a call is made as it is.
"""

import threading
from collections.abc import Callable
from functools import wraps
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

from bench.systems.base import Grant, Refusal
from bench.systems.gevent_patches import gevent_patches

Answer = Grant | Refusal
F = TypeVar("F", bound=Callable[..., Any])


class Cut:
    """Tells an acquire in another thread that it is not wanted any more."""

    def __init__(self) -> None:
        self.asked = False
        self.waiting: Any = None  # the stream that the acquire waits for, if it does

    def short(self) -> None:
        """Asked for before the stream is looked at: whoever begins to wait now sees that."""
        self.asked = True
        waiting = self.waiting
        if waiting is not None:
            threading.Thread(target=waiting.cancel, daemon=True).start()  # gRPC: not in this thread


class Job:
    """One call, its end and what came of it."""

    def __init__(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._call, self._arguments = call, arguments
        self._ended: SimpleQueue[None] = SimpleQueue()
        self.value: Any = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        """In the other thread."""
        try:
            self.value = self._call(*self._arguments)
        except BaseException as failure:  # noqa: BLE001 - raised again where the call was asked for
            self.failure = failure
        # Twice: whoever is interrupted may have taken the first and not know it.
        self._ended.put(None)
        self._ended.put(None)

    def result(self) -> Any:
        """What the call returned or raised."""
        self._ended.get()
        if self.failure is not None:
            raise self.failure
        return self.value

    def settled(self, within_s: float) -> Any:
        """What the call returned, after `result` was interrupted; None if it raised, or goes on for longer."""
        try:
            self._ended.get(timeout=within_s)
        except Empty:
            return None
        return self.value


class Apart:
    """The other thread of one client, started when it is first needed. It ends with the client, or with the process."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] | None = None

    @staticmethod
    def needed() -> bool:
        """Could a signal's handler raise here?"""
        return threading.current_thread() is threading.main_thread() and gevent_patches() is None

    def begin(self, call: Callable[..., Any], *arguments: Any) -> Job:
        """Have a call made, after those that are still under way."""
        if self._jobs is None:
            self._jobs = SimpleQueue()
            threading.Thread(target=_work, args=(self._jobs,), name="etcd client", daemon=True).start()
        job = Job(call, arguments)
        self._jobs.put(job)
        return job

    def do(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make a call, apart where that is needed. Interrupted, it goes on to its own end."""
        return self.begin(call, *arguments).result() if self.needed() else call(*arguments)

    def take(
        self, call: Callable[..., Answer], let_go: Callable[[Grant], object], within_s: float, *arguments: Any
    ) -> Answer:
        """The same for an acquire: interrupted, it is cut short and waited for, and a grant that came is let go.

        `call` takes a Cut before the arguments.
        """
        cut = Cut()
        if not self.needed():
            return call(cut, *arguments)
        job = self.begin(call, cut, *arguments)
        try:
            answer: Answer = job.result()
        except BaseException:
            cut.short()
            got = job.settled(within_s)
            if isinstance(got, Grant):
                let_go(got)
            raise
        return answer

    def end(self) -> None:
        """After the calls that are still under way."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None


def apart(method: F) -> F:
    """A method of a client with an `apart`, whose calls are made so."""

    @wraps(method)
    def made_apart(self: Any, *arguments: Any) -> Any:
        return self.apart.do(method, self, *arguments)

    return cast(F, made_apart)


def _work(jobs: "SimpleQueue[Job | None]") -> None:
    while (job := jobs.get()) is not None:
        job.run()
