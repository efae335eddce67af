"""The row of the planted faults."""

from bench.systems.entry import System

ENTRIES = (
    System(
        name="faulty",
        title="Faulty (planted faults)",
        client_path="bench.systems.faulty.lock:FaultyLock",
        leftovers_path="bench.systems.memory.leftovers:leftovers",
        presence_path="bench.systems.faulty.leftovers:presence",
        default_wait="poll-5ms",
        tags=("planted",),
    ),
)
