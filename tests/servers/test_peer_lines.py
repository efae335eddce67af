"""Delay lines between servers: where they are, what their connections become, and that a way past them is seen."""

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bench.records.round_trip import echoing
from bench.servers.network.peers import PEER_HOST, PeerLines, past_lines, peer_lines
from bench.servers.running.ports import free_ports
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import Found, Launch, Node
from bench.systems.etcd.identity import Topology, member_id
from bench.systems.etcd.server import EtcdServers
from bench.systems.redis.server import RedisServers
from bench.systems.zookeeper.server import ZooKeeperServers

PATIENT_S = 20.0
ETCD = EtcdServers()


@pytest.fixture
def lines() -> Iterator[PeerLines]:
    with echoing() as echo, peer_lines(echo) as made:
        yield made


def nodes(root: Path, *names: str, port_names: tuple[str, ...] = ("client", "peer", "election")) -> list[Node]:
    ports = iter(free_ports(len(names) * len(port_names)))
    made = [Node(name, {one: next(ports) for one in port_names}, root / name) for name in names]
    for node in made:
        node.directory.mkdir()
    return made


def test_what_comes_past_a_line_is_seen(lines: PeerLines, tmp_path: Path) -> None:
    """Both ends are in this process, which stands for a server."""
    (node,) = nodes(tmp_path, "etcd-1")
    with socket.create_server(("127.0.0.1", node.ports["peer"])) as listener:
        (laid,) = lines.lay(ETCD, [node])
        assert (laid.reached_at, laid.host, laid.ports) == (PEER_HOST, "127.0.0.1", node.ports)
        pids = {"etcd-1": os.getpid()}
        with (
            closing(socket.create_connection((PEER_HOST, node.ports["peer"]), timeout=PATIENT_S)) as through,
            listener.accept()[0] as accepted,
        ):
            through.sendall(b"through")
            assert accepted.recv(7) == b"through"
            assert lines.of("etcd").counts().messages == 1
            assert past_lines(ETCD, [laid], pids) == ()
            with (
                closing(socket.create_connection(("127.0.0.1", node.ports["peer"]), timeout=PATIENT_S)) as past,
                listener.accept()[0],
            ):
                (words,) = past_lines(ETCD, [laid], pids)
                assert str(past.getsockname()[1]) in words


def test_lives_are_drawn_anew_for_each_run_and_end_the_connections_that_there_are(
    lines: PeerLines, tmp_path: Path
) -> None:
    (node,) = nodes(tmp_path, "etcd-1")
    with socket.create_server(("127.0.0.1", node.ports["peer"])) as listener:
        lines.lay(ETCD, [node])
        own = lines.of("etcd")
        with (
            closing(socket.create_connection((PEER_HOST, node.ports["peer"]), timeout=PATIENT_S)) as first,
            listener.accept()[0] as accepted,
        ):
            accepted.settimeout(PATIENT_S)
            first.sendall(b"1")
            assert accepted.recv(1) == b"1"
            own.become(0.0, 0.05, 1)
            own.become(0.0, 0.0, 1)  # what was drawn before counts no more
            time.sleep(0.4)
            first.sendall(b"2")
            assert accepted.recv(1) == b"2"
            own.become(0.0, 0.05, 1)
            with pytest.raises(ConnectionResetError):
                accepted.recv(1)


def test_servers_started_anew_get_new_lines_and_those_that_never_talk_get_none(
    lines: PeerLines, tmp_path: Path
) -> None:
    made = nodes(tmp_path, "etcd-1")
    lines.lay(ETCD, made)
    before = lines.of("etcd").pid
    lines.lay(ETCD, made)
    assert lines.of("etcd").pid != before
    assert lines.lay(RedisServers(), made) == made
    with pytest.raises(KeyError):
        lines.of("redis")


def test_etcd_members_know_each_other_by_their_lines_and_listen_behind_them(lines: PeerLines, tmp_path: Path) -> None:
    laid = lines.lay(ETCD, nodes(tmp_path, "etcd-1", "etcd-2", "etcd-3"))
    launches = ETCD.prepare(laid, Found({"etcd": "etcd"}, "3"))
    for node, launch in zip(laid, launches, strict=True):
        flags = dict(one.removeprefix("--").split("=", 1) for one in launch.argv if one.startswith("--"))
        port = node.ports["peer"]
        assert flags["listen-peer-urls"] == f"http://127.0.0.1:{port}"
        assert flags["initial-advertise-peer-urls"] == f"http://{PEER_HOST}:{port}"
        assert flags["initial-cluster"].count(PEER_HOST) == 3
        topology = Topology.of(node)
        assert topology is not None
        assert topology.member_id == member_id(f"http://{PEER_HOST}:{port}", topology.token)


def test_zookeeper_servers_reach_the_others_over_lines_and_no_lower_one_asks_a_higher_one_to_call_back(
    lines: PeerLines, tmp_path: Path
) -> None:
    spec = ZooKeeperServers()
    plain = nodes(tmp_path, *spec.node_names)
    laid = lines.lay(spec, plain)
    spec.prepare(laid, Found({"java": "java", "classpath": ""}, "3"))
    for own, node in enumerate(laid, 1):
        config = (node.directory / "zoo.cfg").read_text()
        for number, other in enumerate(laid, 1):
            host = "127.0.0.1" if number == own else PEER_HOST
            election = other.ports["client" if own < number else "election"]
            assert f"server.{number}={host}:{other.ports['peer']}:{election}\n" in config
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((PEER_HOST, other.ports["client"]))
    spec.prepare(plain, Found({"java": "java", "classpath": ""}, "3"))
    configs = [(node.directory / "zoo.cfg").read_text() for node in plain]
    members = {text[text.index("server.1") :] for text in configs}
    assert len(members) == 1, "without lines all have the same"


class SlowFirst(ZooKeeperServers):
    """Its first server takes longer to start than the others take to elect a leader."""

    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        first, *others = super().prepare(nodes, found)
        return [replace(first, argv=("sh", "-c", 'sleep 8; exec "$@"', "sh", *first.argv)), *others]


@pytest.mark.servers
def test_a_zookeeper_server_that_is_slow_to_start_is_called_by_the_others(lines: PeerLines, tmp_path: Path) -> None:
    spec = SlowFirst()
    supervisor = Supervisor(tmp_path, lay_peers=lines.lay)
    try:
        supervisor.up([spec])  # which waits until all three follow one leader
    finally:
        supervisor.down([spec])
