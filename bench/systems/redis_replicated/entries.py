"""The row of a Redis server whose replica has a lock before it is granted."""

from bench.systems.entry import DOTTED, Look, System

ENTRIES = (
    System(
        name="redis-replicated",
        title="Redis, WAIT for a replica",
        client_path="bench.systems.redis_replicated.lock:ReplicatedRedisLock",
        servers_path="bench.systems.redis_replicated.server:PairServers",
        server_set="redispair",
        leftovers_path="bench.systems.redis.leftovers:leftovers",
        presence_path="bench.systems.redis.leftovers:presence",
        default_wait="poll-5ms-j20",
        look=Look("#D55E00", "P", DOTTED, hollow=True),
    ),
)
