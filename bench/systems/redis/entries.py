"""The rows of one Redis server, and the probe that `lockbench calibrate` drives."""

from functools import partial

from bench.systems.entry import DASHED, Look, System

_COLOUR, _MARKER = "#D55E00", "o"
_redis = partial(
    System,
    servers_path="bench.systems.redis.server:RedisServers",
    server_set="redis",
    leftovers_path="bench.systems.redis.leftovers:leftovers",
    presence_path="bench.systems.redis.leftovers:presence",
    default_wait="poll-5ms-j20",
)

ENTRIES = (
    _redis(
        name="redis",
        title="Redis",
        client_path="bench.systems.redis.lock:RedisLock",
        look=Look(_COLOUR, _MARKER),
        headline=True,
        durable_variant="redis-aof",
        client_cost_target_ms=0.18,
    ),
    _redis(
        name="redis-aof",
        title="Redis, appendfsync always",
        client_path="bench.systems.redis.lock:RedisLock",
        look=Look(_COLOUR, _MARKER, DASHED, hollow=True),
        server_variant={"durability": "always"},
    ),
    _redis(
        name="redis-naive-fence",
        title="Redis, INCR then SET",
        client_path="bench.systems.redis.variants:NaiveFenceRedisLock",
        tags=("unsound token",),
    ),
    _redis(
        name="redis-plain-delete",
        title="Redis, plain DEL",
        client_path="bench.systems.redis.variants:PlainDeleteRedisLock",
        tags=("unsound release",),
    ),
)
# One command alone: no lock, and no row of any table.
PROBES = (
    System(
        name="redis-set",
        title="Redis, SET NX PX alone",
        client_path="bench.systems.redis.probe:SetProbe",
        servers_path="bench.systems.redis.server:RedisServers",
        server_set="redis",
        default_wait="try",
        tags=("probe",),
        is_lock=False,
    ),
)
