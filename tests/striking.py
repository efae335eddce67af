"""An exception of a signal's handler at one chosen instant of a call, at which one can be raised."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Generic, TypeVar

from bench.conformance.interrupted import ended_by
from bench.conformance.interruptions import LOOKS_FOR_SIGNALS, out_of_reach

T = TypeVar("T")


class Struck(KeyboardInterrupt):
    """Ctrl-C, at an instant that the test chose."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """How a call ended: `answer` is None where `raised` ended it; `struck` is false where it has fewer instants."""

    answer: T | None
    raised: BaseException | None
    struck: bool


def strike(call: Callable[[], T], within: CodeType, instant: int) -> Call[T]:
    """Call, and raise Struck at an instant of the function with that code, counted from 0."""
    left, answer, by = instant, None, None

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal left
        if event not in LOOKS_FOR_SIGNALS or out_of_reach(frame):
            return
        callers: FrameType | None = frame
        while callers is not None and callers.f_code is not within:
            callers = callers.f_back
        if callers is None:
            return
        left -= 1
        if left < 0:
            sys.setprofile(None)
            raise Struck

    sys.setprofile(profile)
    try:
        answer = call()
    except BaseException as raised:
        if not ended_by(raised, Struck):
            raise
        by = raised
    finally:
        sys.setprofile(None)
    return Call(answer, by, left < 0)
