"""Think time: how long a client of a closed loop does something else before it asks again."""

import random
from collections.abc import Callable

EXPONENTIAL = "exponential"
_NS_PER_MS = 1e6


def think_ns(think_ms: float, thinking: str, dice: random.Random) -> Callable[[], int] | None:
    """The next pauses of one client in ns, `fixed` or `exponential` with that mean; None: it never pauses."""
    if not think_ms:
        return None
    mean_ns = think_ms * _NS_PER_MS
    if thinking == EXPONENTIAL:
        return lambda: round(dice.expovariate(1.0) * mean_ns)
    return lambda: round(mean_ns)
