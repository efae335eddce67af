"""What wakes a waiter: rung by the thread that takes notifications, heard by the one that waits."""

from queue import Empty, SimpleQueue


class Bell:
    """As a threading.Event, but nothing leaves it locked.

    An exception out of a signal's handler that strikes within an Event, between its locking and its `with`, locks it
    for ever: the waiter's next look at it hangs, and so does the session's thread that would set it. This queue locks
    in C, where no handler runs.
    """

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """Wake whoever waits, or whoever waits next."""
        self._rings.put(None)

    def clear(self) -> None:
        """Forget what rang before."""
        while not self._rings.empty():
            self.wait(0.0)

    def wait(self, seconds: float) -> None:
        """Until it rings, or has rung since the last wait, or the time is over."""
        try:
            self._rings.get(timeout=max(0.0, seconds))
        except Empty:
            return
