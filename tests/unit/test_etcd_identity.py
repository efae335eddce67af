"""Who a member is, before it runs; and the flags that make it so."""

from pathlib import Path

import pytest

from bench.servers.spec import Found, Node, NotReady
from bench.systems.etcd.identity import Topology, cluster_id, member_id
from bench.systems.etcd.server import ELECTION_TIMEOUT_MS, HEARTBEAT_MS, EtcdServers

# What etcd 3.4.23 said of itself when it was started with this token and peers on ports 23001, 23003 and 23005.
KNOWN_TOKEN = "lockbench-cc37c835471c43ddacc24b85436312aa"
KNOWN_MEMBERS = ["dfdf082aa9781cc1", "608a5e53e89ba029", "ca3239527b89f31f"]
KNOWN_CLUSTER = "c70fee70fbcfa9ea"
FOUND = Found({"etcd": "etcd"}, "3.4.23")


def _nodes(home: Path, first_port: int = 23500) -> list[Node]:
    nodes = []
    for index, name in enumerate(EtcdServers.node_names):
        (home / name).mkdir(exist_ok=True)
        ports = {"client": first_port + 2 * index, "peer": first_port + 2 * index + 1}
        nodes.append(Node(name, ports, home / name))
    return nodes


def _flag(argv: tuple[str, ...], name: str) -> str:
    return next(part.partition("=")[2] for part in argv if part.startswith(f"--{name}="))


def test_ids_are_those_of_etcd() -> None:
    members = [member_id(f"http://127.0.0.1:{port}", KNOWN_TOKEN) for port in (23001, 23003, 23005)]
    assert [f"{member:x}" for member in members] == KNOWN_MEMBERS
    assert f"{cluster_id(members):x}" == KNOWN_CLUSTER


def test_kept_folders_are_the_same_cluster_again(tmp_path: Path) -> None:
    assert Topology.lay_out(_nodes(tmp_path)) == Topology.lay_out(_nodes(tmp_path))


def test_other_ports_are_another_cluster_with_other_data(tmp_path: Path) -> None:
    spec = EtcdServers()
    before = spec.prepare(_nodes(tmp_path), FOUND)[0].argv
    after = spec.prepare(_nodes(tmp_path, 23600), FOUND)[0].argv
    assert _flag(before, "initial-cluster-token") != _flag(after, "initial-cluster-token")
    assert _flag(before, "data-dir") != _flag(after, "data-dir")


def test_a_broken_record_starts_afresh(tmp_path: Path) -> None:
    first = Topology.lay_out(_nodes(tmp_path))
    for record in tmp_path.glob("*/etcd-topology.json"):
        record.write_text('{"peers": ', encoding="utf-8")
    assert Topology.of(_nodes(tmp_path)[0]) is None
    assert Topology.lay_out(_nodes(tmp_path))[0].token != first[0].token


def test_the_user_s_own_settings_are_kept_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCD_NAME", "mine")
    argv = EtcdServers().prepare(_nodes(tmp_path), FOUND)[0].argv
    assert argv[:4] == ("env", "-u", "ETCD_NAME", "etcd")


def test_flags_carry_the_stated_durability(tmp_path: Path) -> None:
    spec = EtcdServers()
    argv = spec.prepare(_nodes(tmp_path), FOUND)[0].argv
    for name, value in spec.native_durability().items():
        assert _flag(argv, name) == value


def test_a_lease_may_last_one_second() -> None:
    """etcd's own arithmetic (minTTL), in whole ticks of one heartbeat."""
    ticks = ELECTION_TIMEOUT_MS // HEARTBEAT_MS
    assert 3 * ticks // 2 * HEARTBEAT_MS <= 1000


def test_nobody_answering_is_not_ready(tmp_path: Path) -> None:
    node = Node("etcd-1", {"client": 1, "peer": 2}, tmp_path)
    with pytest.raises(NotReady):
        EtcdServers().prove(node, None)


def test_a_missing_program_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCKBENCH_ETCD", str(tmp_path / "absent"))
    missing = EtcdServers().find()
    assert not isinstance(missing, Found)
    assert missing.install == "sudo apt-get install etcd-server"
