"""The order of a campaign: every repetition is a block in which all cells run once, shuffled by the campaign's seed.

Drift of the machine then falls on all cells alike instead of on whichever system came last (random interleaving; Duet
benchmarking, arXiv 2001.05811).
"""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

_Cell = TypeVar("_Cell")


class Place(NamedTuple):
    """Where a run stands in its campaign."""

    position: int  # from 0
    repetition: int  # from 1
    seed: int  # the run's own


def interleaved(
    cells: Iterable[_Cell], repetitions_of: Callable[[_Cell], int], seed: int
) -> Iterator[tuple[_Cell, Place]]:
    """Each cell as often as it is to run, in the order of the seed."""
    dice = random.Random(seed)
    order = list(cells)
    position = 0
    for repetition in range(1, max(map(repetitions_of, order), default=0) + 1):
        dice.shuffle(order)
        for cell in order:
            if repetition <= repetitions_of(cell):
                yield cell, Place(position, repetition, dice.getrandbits(32))
                position += 1
