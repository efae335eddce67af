"""How a client waits for a lock that is held: a parameter of every row, never a library's hidden default."""

import random
import re
from dataclasses import dataclass

_POLL = re.compile(r"poll-(?P<interval>\d+(?:\.\d+)?)ms(?:-j(?P<jitter>\d{1,3}))?")


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait strategy.

    `try` asks once. `poll` asks every `interval_ms`, each pause shortened at random by up to `jitter_percent`.
    `watch` and `block` leave the waiting to the server (a watch on the predecessor, a blocking statement).
    """

    strategy: str
    interval_ms: float = 0.0
    jitter_percent: int = 0

    @classmethod
    def parse(cls, text: str) -> "Wait":
        """Read `try`, `watch`, `block`, `poll-5ms` or `poll-5ms-j20`. Raises ValueError with the forms that exist."""
        if text in ("try", "watch", "block"):
            return cls(text)
        match = _POLL.fullmatch(text)
        if match is None or float(match["interval"]) <= 0 or int(match["jitter"] or 0) > 100:
            raise ValueError(
                f"no wait strategy {text!r}: use try, watch, block, poll-5ms or poll-5ms-j20 (jitter 20 %)"
            )
        return cls("poll", float(match["interval"]), int(match["jitter"] or 0))

    def __str__(self) -> str:
        if self.strategy != "poll":
            return self.strategy
        jitter = f"-j{self.jitter_percent}" if self.jitter_percent else ""
        return f"poll-{self.interval_ms:g}ms{jitter}"

    def pause_s(self) -> float:
        """The next pause of a poller, in seconds."""
        shortened = 1.0 - random.random() * self.jitter_percent / 100.0
        return self.interval_ms * shortened / 1000.0
