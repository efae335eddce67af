"""Keeps client libraries out of the main thread, where a signal's handler may raise at any instant.

Much of them is Python that holds locks in `with` blocks over threading's Condition, whose `__enter__` is Python: an
exception raised on its way out leaves the lock taken for ever. A gRPC channel's own thread then waits for it, or the
next to ask a pool for a connection, and so does every client of this process that shares it. Signals are handled in the
main thread only, so there a call is made by a thread of the client's own, and the main thread waits for it in C. What
was sent is answered then, whoever was interrupted meanwhile. Elsewhere, and under gevent, whose kills arrive only where
a greenlet waits, a call is made as it is.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, LockClient
from bench.systems.gevent_patches import gevent_patches

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Cut:
    """Tells an acquire in another thread that it is not wanted any more."""

    def __init__(self) -> None:
        self.reason: str | None = None  # set when it was asked for
        self.waiting: Any = None  # the stream that the acquire waits for, if it does

    def short(self) -> None:
        """Asked for before the stream is looked at: whoever begins to wait now sees that. May be asked again."""
        self.reason = "interrupted"
        waiting = self.waiting
        if waiting is not None:
            threading.Thread(target=waiting.cancel, daemon=True).start()  # gRPC: not in this thread


class Job(Generic[T]):
    """One call, its end and what came of it."""

    def __init__(self, call: Callable[..., T], *arguments: Any) -> None:
        self._call, self._arguments = call, arguments
        self._begun = self._over = False
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._value: T | None = None
        self._failure: BaseException | None = None

    def run(self) -> None:
        """In the thread that is to make the call. Once, however often it was asked for."""
        if self._begun:
            return
        self._begun = True
        try:
            self._value = self._call(*self._arguments)
        except BaseException as failure:  # noqa: BLE001 - raised again where the call was asked for
            self._failure = failure
        self._over = True
        self._ended.put(None)

    def result(self) -> T:
        """What the call returned or raised."""
        self._ended.get()
        if self._failure is not None:
            raise self._failure
        return cast(T, self._value)

    def settled(self, within_s: float) -> T | None:
        """What the call returned, after `result` was interrupted; None if it raised, or goes on for longer."""
        with suppress(Empty):
            if not self._over:  # whoever was interrupted may have taken the word of its end, and not know it
                self._ended.get(timeout=within_s)
        return self._value


class Apart:
    """The other thread of one client, started when it is first needed. It ends with the client, or with the process."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job[Any] | None] | None = None

    @staticmethod
    def needed() -> bool:
        """Could a signal's handler raise here?"""
        return threading.current_thread() is threading.main_thread() and gevent_patches() is None

    def done(self, job: Job[T]) -> T:
        """What comes of it, done apart where that is needed. Interrupted, it goes on to its own end there."""
        self._begin(job) if self.needed() else job.run()
        return job.result()

    def ended(self, job: Job[T], cut: Cut, within_s: float) -> T | None:
        """What came of it after `done` was interrupted, and it is cut short. May be asked again."""
        cut.short()
        if self.needed():
            self._begin(job)  # interrupted earlier than that, it has not begun, and now does nothing
        return job.settled(within_s)

    def _begin(self, job: Job[Any]) -> None:
        """After those that are still under way."""
        if self._jobs is None:
            jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
            threading.Thread(target=_work, args=(jobs,), name="lock client", daemon=True).start()
            self._jobs = jobs  # not before it has a thread: interrupted in between, it would never have one
        self._jobs.put(job)

    def do(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make a call, apart where that is needed."""
        return self.done(Job(call, *arguments)) if self.needed() else call(*arguments)

    def end(self) -> None:
        """After the calls that are still under way."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None


class ApartClient(LockClient):
    """A client that has such a thread."""

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._apart = Apart()


def apart(method: F) -> F:
    """A method of an ApartClient, whose calls are made so."""

    @wraps(method)
    def made_apart(self: Any, *arguments: Any) -> Any:
        return self._apart.do(method, self, *arguments)

    return cast(F, made_apart)


def _work(jobs: "SimpleQueue[Job[Any] | None]") -> None:
    while (job := jobs.get()) is not None:
        job.run()
