"""Processor time of the servers: of the nodes alone."""

from bench.records.processor_time import GENERATOR, LINES, PEER_LINES, REST, of_servers_s


def test_only_nodes_count() -> None:
    others = {GENERATOR: 1.0, LINES: 2.0, PEER_LINES: 4.0, REST: 8.0}
    assert of_servers_s({**others, "etcd-1": 0.25, "etcd-2": 0.5}) == 0.75
    assert of_servers_s(others) is None
    assert of_servers_s({}) is None
