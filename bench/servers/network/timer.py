"""An alarm that an epoll can wait for, exact to what the kernel's high-resolution timers are.

epoll's own timeout has whole milliseconds. A timerfd is not subject to timer slack either. Python has it from 3.13 on
only, so libc is called.
"""

import ctypes
import os
import time

_LIBC = ctypes.CDLL(None, use_errno=True)
_NONBLOCK, _CLOEXEC, _ABSOLUTE = os.O_NONBLOCK, os.O_CLOEXEC, 1  # timerfd_create(2)
_NS = 1_000_000_000


class _Times(ctypes.Structure):
    """struct itimerspec: two of struct timespec."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class Timer:
    """Readable from an instant of `time.monotonic_ns` on. Raises OSError where the kernel has no timerfd."""

    def __init__(self) -> None:
        self._descriptor = _LIBC.timerfd_create(time.CLOCK_MONOTONIC, _NONBLOCK | _CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._times = _Times()
        self._at = ctypes.byref(self._times)

    def fileno(self) -> int:
        """For an epoll."""
        return int(self._descriptor)

    def set(self, due_ns: int) -> None:
        """Wake at this instant instead of any before; at once where it has passed; 0: not at all."""
        self._times.value_s, self._times.value_ns = divmod(due_ns, _NS)
        if _LIBC.timerfd_settime(self._descriptor, _ABSOLUTE, self._at, None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)
