"""The event loop: fair turns, exact alarms, and a probe of how long a ready response waits for its greenlet's turn.

The probe is a kernel timer that makes a descriptor readable at known instants, every 10 ms; it waits as every response
of a server waits. A greenlet that sleeps would not do: libev rounds its waits to whole milliseconds, which here showed
0.8 ms of lag in a loop that was 95 % idle.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic_ns

import gevent

from bench.records.histogram import LatencyHistogram

_INTERVAL_NS = 10_000_000
_IDLE_SAMPLES = 25
_CLOCK_MONOTONIC = 1  # the clock of time.monotonic_ns; constants of timerfd_create(2)
_NONBLOCK = 0o4000
_CLOSE_ON_EXEC = 0o2000000
_ABSOLUTE = 1
_READ = 1
_COUNT_BYTES = 8
_NS_PER_S = 1_000_000_000


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("first", _Timespec))


_LIBC = ctypes.CDLL(None, use_errno=True)


def _make_timer() -> int:
    """A descriptor that becomes readable at an instant to be set. Raises OSError."""
    fd = int(_LIBC.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK | _CLOSE_ON_EXEC))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create")
    return fd


def _set_timer(fd: int, schedule: _Itimerspec) -> None:
    """Forget an earlier setting, and what came of it. Raises OSError."""
    if _LIBC.timerfd_settime(fd, _ABSOLUTE, ctypes.byref(schedule), None) < 0:
        raise OSError(ctypes.get_errno(), "timerfd_settime")


@contextmanager
def _kernel_timer() -> Iterator[tuple[int, int]]:
    """A descriptor that becomes readable every `_INTERVAL_NS`, and the instant of the first time. Raises OSError."""
    fd = _make_timer()
    try:
        first_ns = monotonic_ns() + _INTERVAL_NS
        _set_timer(
            fd, _Itimerspec(_Timespec(*divmod(_INTERVAL_NS, _NS_PER_S)), _Timespec(*divmod(first_ns, _NS_PER_S)))
        )
        yield fd, first_ns
    finally:
        os.close(fd)


class Alarm:
    """Wakes its greenlet at an instant, to the accuracy of the kernel. One instance for each greenlet.

    `gevent.sleep` rounds to whole milliseconds, so an arrival that was due in 0.3 ms would start 0.7 ms late, and an
    open loop would show that as the latency of a system that answers in 0.1 ms. Raises OSError.
    """

    def __init__(self) -> None:
        self._hub = gevent.get_hub()
        self._fd = _make_timer()
        self._watcher = self._hub.loop.io(self._fd, _READ)
        self._schedule = _Itimerspec()

    def wait_until(self, instant_ns: int) -> None:
        """Come back at `instant_ns` (monotonic) or a little later; at once when it has passed."""
        if instant_ns <= monotonic_ns():
            return
        first = self._schedule.first
        first.seconds, first.nanoseconds = divmod(instant_ns, _NS_PER_S)
        _set_timer(self._fd, self._schedule)
        self._hub.wait(self._watcher)

    def close(self) -> None:
        """Give the descriptor back; the instance is of no further use."""
        self._watcher.close()
        os.close(self._fd)


def measure_lag(record: Callable[[int, int], None], samples: int | None = None) -> None:
    """Report, for every 10 ms that pass, an instant and how late this greenlet learnt of it, in ns.

    A stall of a second is reported as a hundred latenesses, one for each response that would have waited. Runs until it
    is killed, or for `samples`. Raises OSError where the kernel has no such timer.
    """
    hub = gevent.get_hub()
    with _kernel_timer() as (fd, due_ns):
        watcher = hub.loop.io(fd, _READ)
        try:
            taken = 0
            while samples is None or taken < samples:
                hub.wait(watcher)
                passed = int.from_bytes(os.read(fd, _COUNT_BYTES), "little")
                woken_ns = monotonic_ns()
                for _ in range(passed):
                    record(due_ns, woken_ns - due_ns)
                    due_ns += _INTERVAL_NS
                taken += passed
        finally:
            watcher.close()


class Turn:
    """Lets everything else that is ready have one turn. One instance for each greenlet.

    `gevent.sleep(0)`, which is what Locust does between two operations, is not enough: gevent runs such sleepers again
    and again for up to 5 ms before it looks at any socket. Where a server answers faster than its client can ask for
    the answer, as Redis does on loopback, one client then keeps all others from their responses. An idle watcher of the
    highest priority comes back after exactly one look at the sockets. It costs 1.8 µs here, outside of every
    measurement.
    """

    def __init__(self) -> None:
        self._hub = gevent.get_hub()
        self._watcher = self._hub.loop.idle(True, self._hub.loop.MAXPRI)

    def pass_on(self) -> None:
        """Come back after one round of the event loop."""
        self._hub.wait(self._watcher)

    def close(self) -> None:
        """Give the watcher back; the instance is of no further use."""
        self._watcher.close()


def idle_lag_us_p50() -> float:
    """The median lag before any load, in µs: what waking up costs on this machine, and no fault of the load."""
    lags = LatencyHistogram()
    measure_lag(lambda _, late_ns: lags.record(late_ns), _IDLE_SAMPLES)
    return (lags.quantile_ns(0.5) or 0.0) / 1e3
