"""The row of etcd."""

from bench.systems.entry import Look, System, Trips

ENTRIES = (
    System(
        name="etcd",
        title="etcd",
        client_path="bench.systems.etcd.lock:EtcdLock",
        servers_path="bench.systems.etcd.server:EtcdServers",
        server_set="etcd",
        leftovers_path="bench.systems.etcd.leftovers:leftovers",
        presence_path="bench.systems.etcd.leftovers:presence",
        default_wait="watch",
        # The look after the watch: it writes nothing, and a majority confirms it to the leader. Of clients that meet
        # most ask a follower, which asks the leader first.
        hand_off_trips={"watch": Trips(1, peers=2), "herd": Trips(1, peers=2)},
        look=Look("#0072B2", "D"),
        headline=True,
        client_cost_target_ms=1.8,
    ),
)
