"""The row of the planted faults."""

from bench.systems.entry import System, Trips

ENTRIES = (
    System(
        name="faulty",
        title="Faulty (planted faults)",
        client_path="bench.systems.faulty.lock:FaultyLock",
        leftovers_path="bench.systems.memory.leftovers:leftovers",
        presence_path="bench.systems.faulty.leftovers:presence",
        default_wait="poll-5ms",
        # Its wire is within the process, so an acquire has no round trips on a network; who asks again uses the wire.
        hand_off_trips={"poll": Trips(1), "backoff": Trips(1), "block": Trips(0), "queue": Trips(0)},
        tags=("planted",),
    ),
)
