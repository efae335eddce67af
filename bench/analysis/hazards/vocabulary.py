"""The words of a verdict."""

from enum import StrEnum


class HazardVerdict(StrEnum):
    """What becomes of a system under a fault; the last says that nothing is known."""

    SAFE = "safe"
    WITH_FENCING = "safe only with fencing"
    UNSAFE = "unsafe"
    UNAVAILABLE = "unavailable"
    NOT_MEASURED = "not measured"
