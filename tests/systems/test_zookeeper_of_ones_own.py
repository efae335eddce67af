"""A ZooKeeper server of the user's own: behind TLS that asks for the client's certificate, with digest authentication,
and below a node that is the user's. Each way to it of ours is tried: session, facts, view, erasure.
"""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from bench.servers.endpoint import Endpoint
from bench.servers.running.ports import free_ports
from bench.servers.running.settings import endpoint_from_url
from bench.servers.spec import Found
from bench.systems.base import RELEASED, ClientOptions, Grant, LockClient, Outcome, Refusal
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from bench.systems.zookeeper.lock import ZooKeeperLock
from bench.systems.zookeeper.server import ZooKeeperServers
from tests.certificates import Authority

pytestmark = pytest.mark.servers
SPEC = ZooKeeperServers()
TTL_MS = 4_000
TRY = Wait("try")
READY_WITHIN_S = 60.0
# Debian's jar leaves these two of Netty's out of its class path.
NETTY = ("/usr/share/java/netty-codec.jar", "/usr/share/java/netty-resolver.jar")


class Own:
    """One server: a plain port and an encrypted one, with the default whitelist of four-letter words."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.client = self.authority.sign("client")
        self.stranger = Authority(folder, "stranger")
        self.plain, self.secure = free_ports(2)

    def endpoint(self, url: str, **secrets: str) -> Endpoint:
        named = {f"LOCKBENCH_ZOOKEEPER_{name}": str(value) for name, value in secrets.items()}
        url = url.replace("SECURE", f"localhost:{self.secure}").replace("PLAIN", f"127.0.0.1:{self.plain}")
        return endpoint_from_url("zookeeper", url, SPEC.url_rules, named)

    @property
    def files(self) -> Mapping[str, str]:
        return {
            "TLS_CA": str(self.authority.certificate),
            "TLS_CERT": str(self.client.certificate),
            "TLS_KEY": str(self.client.key),
        }


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    folder = tmp_path_factory.mktemp("own")
    started = Own(folder)
    server = started.authority.sign("server", "localhost")
    config = folder / "zoo.cfg"
    config.write_text(
        f"tickTime=200\nminSessionTimeout=400\ndataDir={folder}/data\nadmin.enableServer=false\n"
        f"clientPort={started.plain}\nclientPortAddress=127.0.0.1\n"
        f"secureClientPort={started.secure}\nsecureClientPortAddress=127.0.0.1\n"
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\nssl.clientAuth=need\n"
        f"ssl.keyStore.location={folder}/server.pem\nssl.trustStore.location={started.authority.certificate}\n"
    )
    (folder / "server.pem").write_text(server.both.read_text())
    found = SPEC.find()
    assert isinstance(found, Found)
    classpath = ":".join((found.programs["classpath"], *NETTY))
    argv = [
        found.programs["java"],
        "-Dzookeeper.jmx.log4j.disable=true",
        "-Dzookeeper.superUser=none",
        "-cp",
        classpath,
    ]
    with (folder / "log").open("wb") as log:
        server_main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        process = subprocess.Popen([*argv, server_main, str(config)], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                ZooKeeperLock.open(started.endpoint("PLAIN"), ClientOptions(call_timeout_ms=1_000)).close()
                break
            except ConnectionError:
                assert process.poll() is None, (folder / "log").read_text(errors="replace")[-2_000:]
                assert time.monotonic() < deadline, "the server did not begin to serve"
        yield started
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def opened(endpoint: Endpoint, **options: int) -> Iterator[LockClient]:
    patient = ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=10_000)  # a cold Java machine takes its time for the first
    client = SYSTEMS["zookeeper"].client_class.open(endpoint, replace(patient, **options))  # type: ignore[arg-type]
    with client:
        yield client


@contextmanager
def looking(own: Own, *, joe: bool = True) -> Iterator[KazooClient]:
    """A client past ours, on the plain port, by default with joe's rights."""
    client = KazooClient(f"127.0.0.1:{own.plain}", auth_data=[("digest", "joe:a:b")] if joe else None)
    client.start(10)
    try:
        yield client
    finally:
        client.stop()
        client.close()


FORMS = {
    "plain, at the root": ("PLAIN", "", {}),
    "plain scheme": ("zookeeper://PLAIN", "", {}),
    "below a node": ("PLAIN/tenant-a", "/tenant-a", {}),
    "far below, in another script": ("zk://PLAIN/teams/l%C3%A5s%20team", "/teams/lås team", {}),
    "below a node, as a parameter": ("zk://PLAIN?chroot=tenant-b/x", "/tenant-b/x", {}),
    "as joe": ("PLAIN/joes", "/joes", {"USER": "joe", "PASSWORD": "a:b"}),
    "as joe in the URL": ("zookeeper://joe@PLAIN/joes", "/joes", {"PASSWORD": "a:b"}),
    "encrypted": ("zookeepers://SECURE", "", {"tls": True}),
    "encrypted by the files alone": ("SECURE", "", {"tls": True}),
    "all of it": ("zks://SECURE/joes/secure", "/joes/secure", {"tls": True, "USER": "joe", "PASSWORD": "a:b"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_ways_to_the_server_take_what_is_named(own: Own, form: str) -> None:
    url, chroot, named = FORMS[form]
    secrets = {name: str(value) for name, value in named.items() if name != "tls"}
    endpoint = own.endpoint(url, **secrets, **(own.files if "tls" in named else {}))
    key = f"k-{form}"
    with opened(endpoint) as client, looking(own) as kazoo:
        grant = client.acquire(key, TTL_MS, 0, TRY)
        assert isinstance(grant, Grant)
        (parent,) = (name for name in kazoo.get_children(f"{chroot}/lockbench") if name.startswith("k-"))
        (node,) = kazoo.get_children(f"{chroot}/lockbench/{parent}")
        assert node.startswith(client.options.client)
        entries, _ = kazoo.get_acls(f"{chroot}/lockbench/{parent}/{node}")
        # A certificate of the client's is an identity as well; without a user, it is not made use of.
        wanted = {"digest", "x509"} if "joe" in url or "USER" in secrets else {"world"}
        assert {entry.id.scheme for entry in entries} <= wanted
        assert client.renew(grant) == grant
        assert client.release(grant) is RELEASED
        facts = client.server_facts()
        assert (facts.version, facts.nodes) == ("3.8.0", 1)
        SPEC.view(endpoint)  # this server allows no mntr: what counts is that it was asked, and answered
        assert "deleted" in SPEC.erase(endpoint, key)
        assert parent not in kazoo.get_children(f"{chroot}/lockbench")


@pytest.mark.parametrize("files", ["stranger's authority", "no certificate of ours", "another host's name"])
def test_what_cannot_be_believed_is_refused_with_the_reason(own: Own, files: str, tmp_path: Path) -> None:
    url, secrets = "zookeepers://SECURE", dict(own.files)
    if files == "stranger's authority":
        secrets["TLS_CA"] = str(own.stranger.certificate)
    elif files == "no certificate of ours":
        del secrets["TLS_CERT"], secrets["TLS_KEY"]
    else:
        url = f"zookeepers://127.0.0.1:{own.secure}"  # the certificate is for localhost
    told = "gave a session in" if "ours" in files else "CERTIFICATE_VERIFY_FAILED"
    with pytest.raises(ConnectionError, match=told), opened(own.endpoint(url, **secrets), call_timeout_ms=1_000):
        pass


def test_the_machines_own_authorities_are_not_believed_beside_the_one_named(
    own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(own.authority.certificate))
    for secrets in ({**own.files, "TLS_CA": str(own.stranger.certificate)}, {}):
        with pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            ZooKeeperLock.open(own.endpoint("zookeepers://SECURE", **secrets), ClientOptions(call_timeout_ms=1_000))


def test_a_refusal_is_an_error_with_the_servers_word(own: Own) -> None:
    """What joe made is joe's alone: others are told so, and leave nothing."""
    joe = own.endpoint("PLAIN/private", USER="joe", PASSWORD="a:b")
    with opened(joe) as client, opened(own.endpoint("PLAIN/private")) as other, looking(own) as kazoo:
        grant = client.acquire("k", TTL_MS, 0, TRY)
        assert isinstance(grant, Grant)
        for wait in (TRY, Wait("watch")):
            answer = other.acquire("k", TTL_MS, 500, wait)
            assert isinstance(answer, Refusal)
            assert answer.outcome is Outcome.ERROR, answer
            assert "NoAuth" in answer.reason
        assert len(kazoo.get_children("/private/lockbench/k")) == 1
        assert client.lost(grant) is None
