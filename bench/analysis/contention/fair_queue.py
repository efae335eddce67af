"""The yardstick: how long one would wait in a fair queue with this service time.

The service time is what a grant keeps from the others: from its answer until its release is answered, and the hand-off
after it.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from bench.analysis.holds import Column


def closed_wait_ns(clients: int, service_ns: float, think_ns: float = 0.0) -> float:
    """The mean wait in a closed loop of clients that think between two turns: at least 0, at least (n - 1) S - Z.

    The asymptotic bound of operational analysis (Denning and Buzen, 1978): while somebody always waits, a cycle of n
    services is a client's own wait, service and think time. Without think time it is exact.
    """
    return max(0.0, (clients - 1) * service_ns - think_ns)


def replayed_waits_ns(arrivals_ns: Column, service_ns: float, first_wait_ns: float = 0.0) -> npt.NDArray[np.float64]:
    """The wait of each arrival in a fair queue with a constant service time: Lindley's recursion over these arrivals.

    A finite window of random arrivals has a wait of its own, which may be far from the mean of all windows. So a run is
    held against its own arrivals, and begins with the wait of the first, which came to a queue that was there already.
    Lindley, "The theory of queues with a single server", 1952.
    """
    arrivals = np.sort(arrivals_ns).astype(np.float64)
    if not len(arrivals):
        return np.zeros(0)
    # W(i) = max(0, W(i-1) + S - gap(i)): the walk less its running minimum.
    walk = first_wait_ns + np.concatenate(([0.0], np.cumsum(service_ns - np.diff(arrivals))))
    waits: npt.NDArray[np.float64] = walk - np.minimum.accumulate(np.minimum(walk, 0.0))
    return waits


def md1_wait_mean(utilisation: float) -> float:
    """The mean wait of M/D/1 in service times: Pollaczek and Khinchine. Raises ValueError outside [0, 1)."""
    _check(utilisation)
    return utilisation / (2.0 * (1.0 - utilisation))


def md1_wait_quantile(utilisation: float, fraction: float) -> float:
    """The wait that a fraction of arrivals does not exceed, in service times. Raises ValueError outside [0, 1).

    Franx, "A simple solution for the M/D/c waiting time distribution" (Operations Research Letters 29, 2001): a sum
    without the alternating terms that spoil Crommelin's formula.
    """
    _check(utilisation)
    if not 0.0 <= fraction < 1.0:
        raise ValueError(f"a fraction lies in [0, 1), not at {fraction}")
    low, high = 0.0, 1.0
    while _md1_wait_cdf(utilisation, high) < fraction:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _md1_wait_cdf(utilisation, middle) < fraction else (low, middle)
    return high


def _md1_wait_cdf(utilisation: float, wait: float) -> float:
    """P(W <= wait), both in service times."""
    services = math.floor(wait) + 1
    rest = utilisation * (services - wait)
    # Q(m): at most m wait, so at most m + 1 are there. Enough of them for the next power of two, to be kept.
    at_most = np.cumsum(_md1_numbers(utilisation, 1 << services.bit_length()))[1:]
    terms = np.array([rest**power / math.factorial(power) for power in range(min(services, 100))])
    return float(math.exp(-rest) * (at_most[services - 1 :: -1][: len(terms)] * terms).sum())


@lru_cache(16)
def _md1_numbers(utilisation: float, count: int) -> Sequence[float]:
    """P(0), P(1), ... customers in M/D/1, by the chain embedded at departures. Sums of positive terms only."""
    arrive = [math.exp(-utilisation)]
    for number in range(1, count + 1):
        arrive.append(arrive[-1] * utilisation / number)
    beyond = [1.0 - arrive[0]]  # more than k arrivals within a service
    for number in range(1, count + 1):
        beyond.append(max(0.0, beyond[-1] - arrive[number]))
    there = [1.0 - utilisation]
    for state in range(1, count):
        # Level crossing: what goes up past a level comes down past it.
        up = there[0] * beyond[state - 1] + sum(there[i] * beyond[state - i] for i in range(1, state))
        there.append(up / arrive[0])
    return there


def _check(utilisation: float) -> None:
    if not 0.0 <= utilisation < 1.0:
        raise ValueError(f"a queue with a utilisation of {utilisation} has no steady state: it must lie in [0, 1)")
