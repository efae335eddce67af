"""The rows of ZooKeeper."""

from functools import partial

from bench.systems.entry import Look, System, Trips

_zookeeper = partial(
    System,
    servers_path="bench.systems.zookeeper.server:ZooKeeperServers",
    server_set="zookeeper",
    leftovers_path="bench.systems.zookeeper.leftovers:leftovers",
    presence_path="bench.systems.zookeeper.leftovers:presence",
    default_wait="watch",
    # The look after the watch, which the client's own server answers from memory.
    hand_off_trips={"watch": Trips(1), "herd": Trips(1)},
)

ENTRIES = (
    _zookeeper(
        name="zookeeper",
        title="ZooKeeper",
        client_path="bench.systems.zookeeper.lock:ZooKeeperLock",
        look=Look("#009E73", "^"),
        headline=True,
        client_cost_target_ms=1.8,
    ),
    _zookeeper(
        name="zookeeper-sequence-token",
        title="ZooKeeper, sequence number as token",
        client_path="bench.systems.zookeeper.lock:SequenceTokenZooKeeperLock",
        tags=("unsound token",),
    ),
)
