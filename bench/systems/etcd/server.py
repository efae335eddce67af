"""Three etcd members on this machine: how they are found, started, proven and reached."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Found, Launch, Missing, Node, NotReady, ServerSpec, ToldTime, WrongServer
from bench.servers.url import EVERY_SECRET, UrlRules
from bench.systems.etcd import leader, upkeep, view
from bench.systems.etcd.gateway import Gateway, NoAnswer
from bench.systems.etcd.identity import Topology, peer_url
from bench.systems.http_date import SECOND_NS, date_header
from bench.systems.identity import seen_by

# etcd raises every lease to ceil(1.5 x election timeout) seconds (server.go, minTTL), so 650 ms is nearly the longest
# election timeout that still lets a lease last 1 s. 13 heartbeats fit in it: a machine that stalls for half a second
# keeps its leader.
HEARTBEAT_MS = 50
ELECTION_TIMEOUT_MS = 650
_ANSWER_WITHIN_S = 2.0
_DURABILITY = {"unsafe-no-fsync": "false"}


class EtcdServers(ServerSpec):
    """A cluster of three with fsync, its history compacted as a production cluster's is."""

    name = "etcd"
    title = "etcd"
    node_names = ("etcd-1", "etcd-2", "etcd-3")
    port_names = ("client", "peer")
    peer_port_names = ("peer",)
    debian_packages = ("etcd-server",)
    compose_services = ("etcd-1", "etcd-2", "etcd-3")
    compose_port = 2379
    url_rules = UrlRules(
        schemes={"http": False, "https": True, "etcd": None},
        secrets=EVERY_SECRET,
        password_needs_user=True,
    )
    elects = True
    why_no_empty_disk = (
        "an etcd member without its data is refused by its cluster: it must be removed and added as a new one"
    )

    def find(self) -> Found | Missing:
        """`LOCKBENCH_ETCD`, then this environment's own etcd, then the PATH's."""
        own = Path(sys.prefix) / "bin" / "etcd"
        program = os.environ.get("LOCKBENCH_ETCD") or (str(own) if own.exists() else shutil.which("etcd"))
        if program is None:
            return Missing("the etcd server", "sudo apt-get install etcd-server")
        try:
            # Without this variable etcd 3.4 refuses to run on ARM, even for its version.
            answer = subprocess.run(
                [*_without_etcd_variables(), program, "--version"],
                env={**os.environ, **_architecture()},
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as failed:
            return Missing(f"an etcd that starts ({program}: {failed})", "sudo apt-get install etcd-server")
        version = re.search(r"etcd Version: (\S+)", answer.stdout)
        if version is None:
            return Missing(f"an etcd that tells its version ({program} does not)", "sudo apt-get install etcd-server")
        return Found({"etcd": program}, version[1])

    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        """Kept folders continue as the same cluster if every node has its ports again; else a new cluster begins."""
        program = (*_without_etcd_variables(), found.programs["etcd"])
        return [
            Launch((*program, *_flags(node, topology)), _architecture())
            for node, topology in zip(nodes, Topology.lay_out(nodes), strict=True)
        ]

    def prove(self, node: Node, pid: int | None) -> str:
        """The member's own ids. Those of a member that we started were known before it ran: see `Topology`."""
        try:
            status, names = _gateway(node).status(), _gateway(node).member_names()
        except NoAnswer as silent:
            raise NotReady(str(silent)) from silent
        identity = f"cluster {status.cluster_id:x} member {status.member_id:x}"
        expected = Topology.of(node)
        if expected and (status.cluster_id, status.member_id) != (expected.cluster_id, expected.member_id):
            raise WrongServer(f"port {node.port} is answered by etcd {identity}, which is not {node.name}")
        name = names.get(status.member_id, "")
        if not name:
            raise NotReady(f"{node.name} has not joined its cluster yet")
        if name != node.name and (expected or name in self.node_names):
            raise WrongServer(f"port {node.port} is answered by the etcd member {name}, not {node.name}")
        if pid is not None and not _listens(pid, node.port):
            raise WrongServer(f"port {node.port} answers as {identity}, but process {pid} does not listen on it")
        return identity

    def identify(self, endpoint: Endpoint) -> str:
        # Not before it is needed: it imports gRPC, which has to wait for gevent.
        from bench.systems.etcd.lock import EtcdLock

        return seen_by(EtcdLock, endpoint)

    def settle(self, nodes: Sequence[Node]) -> None:
        """One leader for all, and each member serves a read that a majority has confirmed."""
        try:
            leaders = {_gateway(node).status().leader_id for node in nodes}
            if len(leaders) != 1 or 0 in leaders:
                raise NotReady(f"no leader agreed: {leaders}")
            for node in nodes:
                _gateway(node).read_through_quorum()
        except NoAnswer as silent:
            raise NotReady(str(silent)) from silent

    def leader(self, nodes: Sequence[Node]) -> str:
        return leader.find(nodes, self.quorum)

    def tell_time(self, node: Node, log_path: Path) -> ToldTime:
        asked_ns, date_ns = date_header(node)
        return ToldTime(asked_ns, date_ns, SECOND_NS, "etcd's HTTP Date")

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        return view.read(endpoint)

    def erase(self, endpoint: Endpoint, key: str) -> str:
        return upkeep.erase(endpoint, key)

    def touch(self, endpoint: Endpoint, key: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
        return upkeep.touch(endpoint, key)

    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        return Endpoint(tuple((node.host, node.port) for node in nodes))

    def native_durability(self) -> Mapping[str, str]:
        return dict(_DURABILITY)


def _flags(node: Node, topology: Topology) -> tuple[str, ...]:
    client_url = f"http://{node.host}:{node.port}"
    flags = {
        "name": node.name,
        "data-dir": str(node.directory / topology.token),  # by token: data of another cluster can never be picked up
        "listen-client-urls": client_url,
        "advertise-client-urls": client_url,
        "listen-peer-urls": f"http://{node.host}:{node.ports['peer']}",
        "initial-advertise-peer-urls": peer_url(node),
        "initial-cluster": topology.peers,
        "initial-cluster-token": topology.token,
        "initial-cluster-state": "new",  # ignored by a member that finds its data
        "heartbeat-interval": str(HEARTBEAT_MS),
        "election-timeout": str(ELECTION_TIMEOUT_MS),
        # Each lock writes two revisions. Uncompacted, the 2 GiB quota would end a long campaign with "no space".
        "auto-compaction-mode": "revision",
        "auto-compaction-retention": "100000",
        "metrics": "extensive",  # adds the histogram of gRPC calls, some µs a call, without which `view` has no answer
        "logger": "zap",
        "log-level": "warn",
        "log-outputs": "stderr",
        **_DURABILITY,
    }
    return tuple(f"--{name}={value}" for name, value in flags.items())


def _architecture() -> Mapping[str, str]:
    """etcd 3.4 runs on 64-bit ARM only when its variable says that its maker does not support that."""
    return {"ETCD_UNSUPPORTED_ARCH": "arm64"} if platform.machine() in ("aarch64", "arm64") else {}


def _without_etcd_variables() -> tuple[str, ...]:
    """Takes the user's own ETCD_* settings away: etcd refuses to start when one of them meets a flag."""
    names = sorted(name for name in os.environ if name.startswith("ETCD_") and name != "ETCD_UNSUPPORTED_ARCH")
    return ("env", *(part for name in names for part in ("-u", name))) if names else ()


def _gateway(node: Node) -> Gateway:
    return Gateway(Endpoint(((node.host, node.port),)), _ANSWER_WITHIN_S)


def _listens(pid: int, port: int) -> bool:
    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error:
        return False
    return any(line.status == psutil.CONN_LISTEN and line.laddr.port == port for line in connections)
