"""Durations as options: written as people write them, and refused in one message."""

from bench.errors import LockbenchError
from bench.records.durations import duration_text, read_duration


def duration_option(option: str, text: str, unit: str, low: float, high: float) -> float:
    """What was asked for, in `unit`. Raises LockbenchError for what is no duration, or outside the bounds."""
    try:
        value = read_duration(text, unit)
    except ValueError as wrong:
        raise LockbenchError(f"{option}: {wrong}") from wrong
    if not low <= value <= high:
        bounds = f"{duration_text(low, unit)} to {duration_text(high, unit)}"
        raise LockbenchError(f"{option}: {text} is outside {bounds}")
    return value
