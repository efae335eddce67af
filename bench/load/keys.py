"""Which key a client asks for next: seeded for each client, so that it does not depend on what the others do."""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol

Name = Callable[[int], str]


class Keys(Protocol):
    """One client's choice of keys."""

    def draw(self) -> tuple[int, str]:
        """The index and the name of the next key."""


class OwnKey:
    """Always the same one: a key of the client's own."""

    def __init__(self, index: int, name: Name) -> None:
        self._key = (index, name(index))

    def draw(self) -> tuple[int, str]:
        """The own key."""
        return self._key


class EvenKeys:
    """Every one of `count` keys as often as every other."""

    def __init__(self, count: int, name: Name, dice: random.Random) -> None:
        self._count, self._name, self._dice = count, name, dice

    def draw(self) -> tuple[int, str]:
        """Any key."""
        index = self._dice.randrange(self._count)
        return index, self._name(index)


class Deliveries:
    """The next message of a queue that all clients of the process share."""

    def __init__(self, queue: Iterator[int], name: Name) -> None:
        self._queue, self._name = queue, name

    def draw(self) -> tuple[int, str]:
        """What is delivered next."""
        index = next(self._queue)
        return index, self._name(index)


class ZipfKeys:
    """Key 0 is the hottest. `shares` come from `zipf_shares`; all clients may have them in common."""

    def __init__(self, shares: Sequence[float], name: Name, dice: random.Random) -> None:
        self._shares, self._name, self._random = shares, name, dice.random

    def draw(self) -> tuple[int, str]:
        """A hot key more often than a cold one."""
        index = bisect_right(self._shares, self._random())
        return index, self._name(index)


def zipf_shares(keys: int, exponent: float) -> list[float]:
    """Cumulated shares of requests of the keys 0, 1, ...: the n-th key gets one in proportion to n ** -exponent.

    The exponent 0 makes all keys alike; 0.99 is what YCSB uses (Cooper and others, SoCC 2010). The last share is
    exactly 1, above every draw, so a draw always finds a key.
    """
    cumulated = list(accumulate(number**-exponent for number in range(1, keys + 1)))
    total = cumulated[-1]
    return [share / total for share in cumulated[:-1]] + [1.0]
