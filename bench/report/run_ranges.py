"""Many run ids in few words: `gc-pause-redis-01..06`."""

import itertools
import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*-)(\d+)")


def run_ranges(run_ids: Iterable[str]) -> list[str]:
    """Ids that end with successive numbers as one range, in the order of the ids; any other as it is."""
    ranges = []
    for (stem, width), group in itertools.groupby(sorted(set(run_ids), key=_place), lambda run_id: _place(run_id)[:2]):
        numbers = [_place(run_id)[2] for run_id in group]
        if not width:
            ranges.append(stem)
            continue
        for _, successive in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
            ends = [number for _, number in successive]
            first, last = (f"{stem}{number:0{width}}" for number in (ends[0], ends[-1]))
            ranges.append(first if first == last else f"{first}..{last.removeprefix(stem)}")
    return ranges


def _place(run_id: str) -> tuple[str, int, int]:
    """Its stem, the digits of its number, and the number; without a number the stem is all of it."""
    found = _NUMBERED.fullmatch(run_id)
    return (found[1], len(found[2]), int(found[2])) if found else (run_id, 0, 0)
