"""What several load processes counted, added up: each at its end, or, of a live session, in its last report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.load.recorder import add_error

_ADDED_UP = ("aborted", "unsent", "lost_updates", "climb_requests", "cpu_s")
_BETTER_HIGH = ("overlap_rounds", "overlap_rounds_overlapping", "overlap_speedup")


def add_up(ends: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums, of one process at least; the window is the time in which those of all were open."""
    counts, lag, errors = Counter[str](), Counter[str](), Counter[str]()
    for end in ends:
        counts.update(end["counts"])
        lag.update(end["lag"])
        for reason, count in end["errors"].items():
            add_error(errors, reason, count)
    return {
        "counts": dict(counts),
        "errors": dict(errors),
        "lag": dict(lag),
        **{name: sum(end[name] for end in ends) for name in _ADDED_UP},
        "started_at": min(end["started_at"] for end in ends),
        "processes": len(ends),
        "observations": _worst([end["observations"] for end in ends]),
        "window_ns": [max(end["window_ns"][0] for end in ends), min(end["window_ns"][1] for end in ends)],
    }


def _worst(observations: list[Mapping[str, float]]) -> dict[str, float]:
    """Of each observation the least favourable among the processes: the least overlap, the most of anything else."""
    names = dict.fromkeys(name for one in observations for name in one)
    return {
        name: (min if name in _BETTER_HIGH else max)(one[name] for one in observations if name in one) for name in names
    }
