"""Durations as people write them: `10ms`, `1.5s`, `2min`. A bare number is refused: nobody can know its unit."""

import re
from decimal import Decimal

_MS = {"ms": Decimal(1), "s": Decimal(1_000), "min": Decimal(60_000)}
_WRITTEN = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?(?P<unit>ms|s|min)?")
_LONGEST = 40  # characters; Python refuses to read thousands of digits, in words of its own
_FROM_MINUTES = 2  # one minute reads better as 60 s


def read_duration(text: str, unit: str) -> float:
    """A duration in `unit` (ms or s). Raises ValueError, which says how to write one."""
    written = _WRITTEN.fullmatch(text.strip())
    if written is None or len(text) > _LONGEST:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        raise ValueError(f"{shown!r} is not a duration such as 10ms, 1.5s or 2min")
    number = written["number"]
    if written["unit"] is None:
        raise ValueError(f"{number} has no unit: write {number}ms, {number}s or {number}min")
    return float(Decimal(number) * _MS[written["unit"]] / _MS[unit])


def duration_text(value: float, unit: str) -> str:
    """A duration in the unit in which people would say it: 250 ms, 1.5 s, 60 s, 2 min. Nothing is rounded."""
    ms = Decimal(repr(value)) * _MS[unit]
    minutes = ms / _MS["min"]
    if minutes >= _FROM_MINUTES and minutes == int(minutes):
        return f"{_plain(minutes)} min"
    return f"{_plain(ms / _MS['s'])} s" if ms >= _MS["s"] else f"{_plain(ms)} ms"


def _plain(number: Decimal) -> str:
    """Without an exponent and without zeros at its end."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
