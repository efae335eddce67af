"""The rows of Redlock."""

from functools import partial

from bench.systems.entry import DASHED, Look, System

_COLOUR, _MARKER = "#E69F00", "s"
_redlock = partial(
    System,
    client_path="bench.systems.redlock.lock:RedlockLock",
    servers_path="bench.systems.redlock.server:RedlockServers",
    server_set="redlock",
    leftovers_path="bench.systems.redis.leftovers:leftovers",
    presence_path="bench.systems.redis.leftovers:presence",
    default_wait="poll-5ms-j20",
    patient_variant={"node_timeout_ms": "3000"},
)

ENTRIES = (
    _redlock(
        name="redlock",
        title="Redlock",
        look=Look(_COLOUR, _MARKER),
        headline=True,
        durable_variant="redlock-aof",
    ),
    _redlock(
        name="redlock-aof",
        title="Redlock, appendfsync always",
        look=Look(_COLOUR, _MARKER, DASHED, hollow=True),
        server_variant={"durability": "always"},
    ),
)
