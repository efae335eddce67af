"""A new connection in the making, beside whatever else its client does meanwhile."""

import threading
from collections.abc import Callable

from bench.systems.redis.session import Session


class Opening:
    """Makes a session on a thread of its own (under gevent: a greenlet), however long its steps may take.

    A client that has less time than that looks in again later and finds the work gone on: where each attempt began
    anew, a round trip longer than a fraction of the client's patience would keep it from ever connecting.
    """

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._ended = threading.Event()
        self._turn = threading.Lock()
        self._unwanted = False
        self._session: Session | None = None
        self._failure: Exception | None = None
        threading.Thread(target=self._run, daemon=True, name="redis-opening").start()

    def wait(self, within_s: float) -> bool:
        """Whether it has ended, well or badly, within this time."""
        return self._ended.wait(max(0.0, within_s))

    @property
    def is_sound(self) -> bool:
        """Whether there is a session to take."""
        return self._session is not None

    def take(self) -> Session:
        """The session, once it has ended. Raises what ended it otherwise: RedisError or UnfitServer."""
        if self._session is None:
            assert self._failure is not None
            raise self._failure
        return self._session

    def discard(self) -> None:
        """Nobody will take it: disconnect as soon as it is made."""
        with self._turn:
            self._unwanted = True
            if self._session is not None:
                self._session.wire.disconnect()

    def _run(self) -> None:
        try:
            session = self._make()
        except Exception as failure:  # noqa: BLE001 - carried to the thread that takes the result
            self._failure = failure
        else:
            with self._turn:
                self._session = session
                if self._unwanted:
                    session.wire.disconnect()
        self._ended.set()
