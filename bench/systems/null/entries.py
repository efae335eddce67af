"""The row of the instrument's floor."""

from bench.systems.entry import DOTTED, Look, System

ENTRIES = (
    System(
        name="null",
        title="Null (instrument floor)",
        client_path="bench.systems.null.lock:NullLock",
        default_wait="try",
        look=Look("#777777", "+", DOTTED),
        client_cost_target_ms=0.06,
        tags=("baseline",),
        is_lock=False,
    ),
)
