"""Every fault by the name that scenarios call it."""

from collections.abc import Mapping

from bench.hazards.faults import on_actors, on_clocks, on_clusters, on_servers
from bench.hazards.faults.base import Strike

FAULTS: Mapping[str, Strike] = {
    "pause": on_actors.pause,
    "kill": on_actors.kill,
    "stall": on_actors.stall,
    "partition": on_actors.partition,
    "slow_link": on_actors.slow_link,
    "swallow_reply": on_actors.swallow_reply,
    "request_held": on_actors.request_held,
    "write_held": on_actors.write_held,
    "client_clock": on_clocks.client_clock,
    "suspend": on_clocks.suspend,
    "restart": on_servers.restart,
    "erase": on_servers.erase,
    "touch": on_servers.touch,
    "nodes": on_clusters.nodes,
    "server_stall": on_clusters.server_stall,
    "replication_cut": on_clusters.replication_cut,
    "failover": on_clusters.failover,
    "clock_jump": on_clocks.clock_jump,
    "clock_drift": on_clocks.clock_drift,
}
