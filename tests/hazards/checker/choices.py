"""Choices out of a string of bytes: one draw of hypothesis for a history that still shrinks (zero is the simplest)."""

import random
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

Option = TypeVar("Option")

NS = 1
TTL_MS = 1
TTL_NS = 1_000_000
_STEPS_NS = (TTL_NS // 4, NS, 0, TTL_NS, 3 * TTL_NS, TTL_NS // 4, 2 * NS)


class Choices:
    """Bytes, used up one a choice; zero when there are none left."""

    def __init__(self, entropy: bytes) -> None:
        self._left = iter(entropy)

    def below(self, bound: int) -> int:
        return next(self._left, 0) % bound

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1

    def of(self, options: Sequence[Option]) -> Option:
        return options[self.below(len(options))]

    def step_ns(self) -> int:
        """A length of time: none at all, a nanosecond, a part of the TTL, several TTLs."""
        return self.of(_STEPS_NS)

    def dice(self) -> random.Random:
        return random.Random(bytes(self.below(256) for _ in range(4)))


def entropy(length: int) -> st.SearchStrategy[Choices]:
    return st.binary(min_size=length, max_size=length).map(Choices)
