"""Numbers as people type them: what is read is exactly what stands there, and it lies within bounds.

Python reads more than a person means by a number: `１２` (digits of another script), `1_000`, `nan`. Locust's page
reads even more, `-3` as 3 and `1e9` as 19. Here each text is one number or a mistake, whose message names the bounds.
"""

import math
import re
from collections.abc import Callable
from typing import Any

SPAWN_RATE_PER_S = (0.01, 10_000.0)
RUN_TIME_S_AT_MOST = 86_400

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_TIME_SPAN = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?|([0-9]+)")
_LONGEST = 40  # characters; Python refuses to read thousands of digits, in words of its own


def exactly_whole(value: Any) -> int:
    """A whole number in ASCII digits. Raises ValueError."""
    text = str(value).strip()
    if not _WHOLE.fullmatch(text) or len(text) > _LONGEST:
        raise ValueError(f"{_shown(text)} is not a whole number")
    return int(text)


def exactly_number(value: Any) -> float:
    """A number in ASCII digits; it may be infinite, or none. Raises ValueError."""
    text = str(value).strip()
    if not _NUMBER.fullmatch(text) or len(text) > _LONGEST:
        raise ValueError(f"{_shown(text)} is not a number")
    return float(text)


def whole(lowest: int, highest: int) -> Callable[[Any], int]:
    """A reader of whole numbers within bounds, which raises ValueError."""

    def read(value: Any) -> int:
        number = exactly_whole(value)
        if not lowest <= number <= highest:
            raise ValueError(f"{number} is outside {lowest}..{highest}")
        return number

    return read


def number(lowest: float, highest: float) -> Callable[[Any], float]:
    """A reader of finite numbers within bounds, which raises ValueError."""

    def read(value: Any) -> float:
        found = exactly_number(value)
        if not (math.isfinite(found) and lowest <= found <= highest):
            raise ValueError(f"{value} is outside {lowest:g}..{highest:g}")
        return found

    return read


def run_time_s(value: Any) -> int:
    """A length of time as Locust's users write it (20, 20s, 3m, 2h, 1h20m), in seconds. Raises ValueError."""
    text = str(value).strip()
    parts = _TIME_SPAN.fullmatch(text)
    if not text or parts is None or len(text) > _LONGEST:
        raise ValueError(f"{_shown(text)} is not a length of time such as 20, 20s, 3m, 2h or 1h20m")
    hours, minutes, seconds, alone = (int(part or 0) for part in parts.groups())
    length_s = (hours * 60 + minutes) * 60 + seconds + alone
    if not 1 <= length_s <= RUN_TIME_S_AT_MOST:
        raise ValueError(f"{text} is outside 1s..{RUN_TIME_S_AT_MOST // 3600}h")
    return length_s


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")
