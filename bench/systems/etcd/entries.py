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
        # The look after the watch, which a majority confirms; it writes nothing.
        hand_off_trips={"watch": Trips(1, peers=1), "herd": Trips(1, peers=1)},
        look=Look("#0072B2", "D"),
        headline=True,
        client_cost_target_ms=1.8,
    ),
)
