"""How long two clients believed, against pause - TTL, over the pauses longer than the TTL."""

from collections.abc import Iterable
from statistics import linear_regression, median

from tests.judge.meanings import A_HAIR
from tests.judge.moments import MS, two_at_once_ns
from tests.judge.records import Trial

APART = 0.1  # of a TTL: lengths of pauses nearer to each other carry no slope


def beyond(trials: Iterable[Trial]) -> list[tuple[Trial, float]]:
    """The pauses longer than the TTL, with their length as measured."""
    paused = [(one, one.measured("pause_ms")) for one in trials]
    return [(one, told) for one, told in paused if told is not None and told > A_HAIR * one.ttl_ms]


def off_the_line(trials: Iterable[Trial]) -> tuple[float, float]:
    """The median distance of the window from pause - TTL, in ms and in TTLs."""
    off = [(abs(two_at_once_ns(one) / MS - (told - one.ttl_ms)), one.ttl_ms) for one, told in beyond(trials)]
    return median(ms for ms, _ in off), median(ms / ttl_ms for ms, ttl_ms in off)


def fit(trials: Iterable[Trial]) -> list[float] | None:
    """The slope where there is one, and the median distance from the line in ms; None for a lock without a lease."""
    found = beyond(trials)
    if not found or not found[0][0].has_lease:
        return None
    off_ms, _ = off_the_line(one for one, _ in found)
    opened = [(one, told) for one, told in found if two_at_once_ns(one)]
    expected = [(told - one.ttl_ms) / one.ttl_ms for one, told in opened]
    if not expected or max(expected) - min(expected) < APART:
        return [off_ms]
    measured = [two_at_once_ns(one) / MS / one.ttl_ms for one, _ in opened]
    return [linear_regression(expected, measured).slope, off_ms]
