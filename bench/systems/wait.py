"""How a client waits for a lock that is held: a parameter of every row, never a library's hidden default."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FULL, EQUAL, DECORRELATED = JITTERS = ("full", "equal", "decorrelated")
POLLING = ("poll", "backoff")  # the client asks again after a pause of its own
PLAIN = ("try", "watch", "block", "herd")  # no parameter of their own
# Something wakes the waiter, and it looks by itself once an interval in case the wake-up was lost.
WOKEN = ("pubsub", "blpop", "queue", "notify", "lock-timeout")

# A text for each strategy, with parameters that suit a server nearby.
EXAMPLES = {name: name for name in PLAIN} | {name: f"{name}-500ms" for name in WOKEN}
EXAMPLES |= {"poll": "poll-5ms", "backoff": "backoff-5ms-80ms-full"}

EVERY = "every"  # in a plan of runs: each strategy that the system knows, in a cell of its own

_NUMBER = r"(\d+(?:\.\d+)?)ms"
_POLL = re.compile(rf"poll-{_NUMBER}(?:-j(\d{{1,3}}))?")
_BACKOFF = re.compile(rf"backoff-{_NUMBER}-{_NUMBER}(?:-(?:({'|'.join(JITTERS)})|j(\d{{1,3}})))?")
_WOKEN = re.compile(rf"({'|'.join(WOKEN)})-{_NUMBER}")
_FORMS = "try, watch, block, herd, poll-5ms, poll-5ms-j20 (jitter 20 %), backoff-5ms-80ms-full or -j10"


def ways_to_wait(default: str, known: Sequence[str]) -> tuple[str, ...]:
    """A text for each strategy of `known` that waits: the system's own default first, examples of the others."""
    first = Wait.parse(default).strategy
    return (default, *(EXAMPLES[name] for name in known if name not in ("try", first)))


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait strategy, as text such as `poll-5ms-j20`. Which of them a system knows, its capabilities say.

    try            ask once
    poll           ask every `interval_ms`, each pause shortened at random by up to `jitter_percent`
    backoff        ask after pauses that double from `interval_ms` up to `cap_ms`, drawn as `jitter` says, or each
                   lengthened at random by up to `jitter_percent`
    watch, block   the server does the waiting: a watch on the predecessor, a blocking statement
    herd           every waiter watches the one thing that changes at each release
    pubsub, blpop, queue, notify, lock-timeout
                   woken by the server, with a look of its own every `interval_ms`: see the system's README
    """

    strategy: str
    interval_ms: float = 0.0
    jitter_percent: int = 0
    cap_ms: float = 0.0
    jitter: str = ""

    @classmethod
    def parse(cls, text: str) -> "Wait":
        """Read `try`, `block`, `poll-5ms-j20`, `backoff-5ms-160ms-full`, ... Raises ValueError with what exists."""
        if text in PLAIN:
            return cls(text)
        if match := _POLL.fullmatch(text):
            wait = cls("poll", float(match[1]), int(match[2] or 0))
        elif match := _BACKOFF.fullmatch(text):
            wait = cls("backoff", float(match[1]), int(match[4] or 0), float(match[2]), match[3] or "")
        elif match := _WOKEN.fullmatch(text):
            wait = cls(match[1], float(match[2]))
        else:
            wait = cls("")
        if not wait.interval_ms or wait.jitter_percent > 100 or (wait.cap_ms and wait.cap_ms < wait.interval_ms):
            woken = ", ".join(EXAMPLES[name] for name in WOKEN)
            raise ValueError(f"no wait strategy {text!r}: use {_FORMS}, or where a system knows them {woken}")
        return wait

    def __str__(self) -> str:
        if self.strategy in PLAIN:
            return self.strategy
        start = f"{self.strategy}-{self.interval_ms:g}ms"
        if self.strategy == "backoff":
            start += f"-{self.cap_ms:g}ms" + (f"-{self.jitter}" if self.jitter else "")
        return start + (f"-j{self.jitter_percent}" if self.jitter_percent else "")

    def pauses_s(self) -> Iterator[float]:
        """The pauses of one waiting client, in seconds, without end.

        Jitter of a backoff as in Marc Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
        """
        draw = random.random
        pause_ms = base_ms = self.interval_ms
        if self.strategy != "backoff":
            while True:
                yield base_ms * (1.0 - draw() * self.jitter_percent / 100.0) / 1000.0
        if self.jitter == DECORRELATED:
            while True:
                pause_ms = min(self.cap_ms, base_ms + draw() * (3 * pause_ms - base_ms))
                yield pause_ms / 1000.0
        fixed_share = {"": 1.0, EQUAL: 0.5, FULL: 0.0}[self.jitter]
        random_share = 1.0 - fixed_share + self.jitter_percent / 100.0
        while True:
            yield pause_ms * (fixed_share + random_share * draw()) / 1000.0
            pause_ms = min(self.cap_ms, 2 * pause_ms)
