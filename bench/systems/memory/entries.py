"""The row of the lock within one process."""

from bench.systems.entry import DOTTED, Look, System, Trips

ENTRIES = (
    System(
        name="memory",
        title="In-process mutex",
        client_path="bench.systems.memory.lock:MemoryLock",
        leftovers_path="bench.systems.memory.leftovers:leftovers",
        default_wait="block",
        hand_off_trips={"block": Trips(0)},
        look=Look("#000000", "x", DOTTED),
        tags=("baseline",),
    ),
)
