"""Each part of a Redis URL, and each variable, is honoured by a real server, or refused by name with nothing sent."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.running.ports import free_ports
from bench.servers.running.settings import endpoint_from_url
from bench.systems.base import ClientOptions, Grant, LockClient, Released
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.server import RedisServers
from bench.systems.redlock.lock import RedlockLock
from bench.systems.redlock.server import RedlockServers
from bench.systems.wait import Wait
from tests.certificates import Authority
from tests.servers.one_redis import OneRedis

pytestmark = pytest.mark.servers
OPTIONS = ClientOptions(ttl_ms=10_000, call_timeout_ms=2_000)
SETS: dict[str, tuple[type[LockClient], type[RedisServers]]] = {
    "redis": (RedisLock, RedisServers),
    "redlock": (RedlockLock, RedlockServers),
}
PASSWORD = "hunter2"


class Servers:
    """A server with a port for TLS as well, and with users."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder / "tls")
        self.certificate, self.own = authority.certificate, authority.sign("server", "127.0.0.1")
        self.other_certificate = Authority(folder / "other").certificate
        (self.tls_port,) = free_ports(1)
        tls = (
            f"tls-cert-file {self.own.certificate}",
            f"tls-key-file {self.own.key}",
            f"tls-ca-cert-file {self.certificate}",
        )
        self.one = OneRedis(folder / "one", *tls, f"tls-port {self.tls_port}", "tls-auth-clients optional")
        self.port = self.one.node.port
        self.one.say("ACL", "SETUSER", "me@work", "on", f">{PASSWORD}", "~*", "+@all")
        self.one.say("ACL", "SETUSER", "anyone", "on", "nopass", "~*", "+@all")

    def endpoint(self, server_set: str, url: str, variables: Mapping[str, str]) -> Endpoint:
        prefix = f"LOCKBENCH_{server_set.upper()}_"
        named = {
            "ca": self.certificate,
            "own": self.own.certificate,
            "key": self.own.key,
            "other": self.other_certificate,
        }
        environment = {prefix + name: str(named.get(value, value)) for name, value in variables.items()}
        places = url.replace("PORT", str(self.port)).replace("TLS", str(self.tls_port))
        return endpoint_from_url(server_set, places, SETS[server_set][1].url_rules, environment)

    def clients(self) -> list[dict[str, str]]:
        """What the server knows of each connection."""
        listed = self.one.say("CLIENT", "LIST")
        assert isinstance(listed, bytes)
        return [dict(word.split("=", 1) for word in line.split()) for line in listed.decode().splitlines()]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    started = Servers(tmp_path_factory.mktemp("urls"))
    yield started
    started.one.kill()


# A URL and variables; what CLIENT LIST says of the connection that they make.
HONOURED: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "nothing": ("127.0.0.1:PORT", {}, {"db": "0", "name": "", "user": "default"}),
    "a scheme": ("redis://127.0.0.1:PORT", {}, {"db": "0"}),
    "a slash": ("redis://127.0.0.1:PORT/", {}, {"db": "0"}),
    "a path": ("redis://127.0.0.1:PORT/3", {}, {"db": "3"}),
    "a parameter": ("redis://127.0.0.1:PORT?db=3", {}, {"db": "3"}),
    "a slash and a parameter": ("redis://127.0.0.1:PORT/?db=15", {}, {"db": "15"}),
    "database 0": ("redis://127.0.0.1:PORT/0", {}, {"db": "0"}),
    "a name": ("redis://127.0.0.1:PORT/3?client_name=bench-7", {}, {"db": "3", "name": "bench-7"}),
    "a user in the URL": ("redis://me%40work@127.0.0.1:PORT/2", {"PASSWORD": PASSWORD}, {"user": "me@work", "db": "2"}),
    "a user in a variable": ("127.0.0.1:PORT", {"USER": "me@work", "PASSWORD": PASSWORD}, {"user": "me@work"}),
    "a user without a password": ("127.0.0.1:PORT", {"USER": "anyone"}, {"user": "anyone"}),
    "TLS": ("rediss://127.0.0.1:TLS/4", {"TLS_CA": "ca"}, {"db": "4"}),
    "TLS by a variable": ("127.0.0.1:TLS", {"TLS_CA": "ca"}, {"db": "0"}),
    "TLS with a certificate of one's own": (
        "rediss://127.0.0.1:TLS?client_name=both",
        {"TLS_CA": "ca", "TLS_CERT": "own", "TLS_KEY": "key", "USER": "me@work", "PASSWORD": PASSWORD},
        {"name": "both", "user": "me@work"},
    ),
}
# Refused at connect, by the server or by its certificate: what must be told.
UNABLE: dict[str, tuple[str, dict[str, str], str]] = {
    "a database that is not there": ("127.0.0.1:PORT/16", {}, "out of range"),
    "a wrong password": ("127.0.0.1:PORT", {"USER": "me@work", "PASSWORD": "guess"}, "WRONGPASS"),
    "a password that nobody has": ("127.0.0.1:PORT", {"PASSWORD": "guess"}, "AUTH"),
    "no password": ("127.0.0.1:PORT", {"USER": "me@work"}, "WRONGPASS"),
    "TLS where there is none": (
        "rediss://127.0.0.1:PORT",
        {"TLS_CA": "ca"},
        "SSL|reset|closed|Timeout|no connection by TLS",
    ),
    "TLS by somebody else": ("rediss://127.0.0.1:TLS", {"TLS_CA": "other"}, "certificate verify failed"),
    "TLS by nobody known": ("rediss://127.0.0.1:TLS", {}, "certificate verify failed"),
    "no TLS where there is one": ("redis://127.0.0.1:TLS", {}, "closed|reset|Protocol|Timeout"),
    "TLS for another name": ("rediss://localhost:TLS", {"TLS_CA": "ca"}, "certificate verify failed"),
}
# Refused by name, before anything is sent.
REFUSED: dict[str, tuple[str, dict[str, str], str]] = {
    "a path that is no number": ("redis://127.0.0.1:PORT/abc", {}, "db cannot be 'abc'"),
    "a path of two": ("redis://127.0.0.1:PORT/3/4", {}, "db cannot be '3/4'"),
    "a negative database": ("127.0.0.1:PORT?db=-1", {}, "db cannot be '-1'"),
    "an empty database": ("127.0.0.1:PORT?db=", {}, "db cannot be ''"),
    "two databases": ("127.0.0.1:PORT/3?db=4", {}, "say the same"),
    "an empty name": ("127.0.0.1:PORT?client_name=", {}, "client_name cannot be ''"),
    "a name with a space": ("127.0.0.1:PORT?client_name=a%20b", {}, "client_name cannot be 'a b'"),
    **{
        f"redis-py's {name}": (f"127.0.0.1:PORT?{name}={value}", {}, f"{name!r} is not known")
        for name, value in {
            "socket_timeout": "1", "socket_connect_timeout": "1", "socket_keepalive": "1", "retry_on_timeout": "1",
            "max_connections": "5", "health_check_interval": "30", "protocol": "3", "timeout": "20",
            "decode_responses": "1", "username": "me", "password": PASSWORD, "database": "3", "virtual_host": "x",
            "ssl_cert_reqs": "none", "ssl_check_hostname": "0", "ssl_ca_certs": "ca.pem", "ssl": "true", "ttl": "1",
        }.items()
    },
    "a socket": ("unix:///run/redis.sock", {}, "."),
    "a sentinel": ("redis+sentinel://127.0.0.1:PORT/mymaster", {}, r"redis\+sentinel:// is not known"),
    "a fragment": ("127.0.0.1:PORT#3", {}, "#3 means nothing"),
    "two users": ("me@127.0.0.1:PORT", {"USER": "you"}, "keep one"),
    "half a certificate": ("127.0.0.1:TLS", {"TLS_CERT": "own"}, "set both, or neither"),
    "the other half": ("127.0.0.1:TLS", {"TLS_KEY": "key"}, "set both, or neither"),
    "a certificate without TLS": ("redis://127.0.0.1:PORT", {"TLS_CA": "ca"}, "not encrypted"),
}  # fmt: skip


@pytest.mark.parametrize(("server_set", "name"), list(itertools.product(SETS, HONOURED)))
def test_what_is_written_is_what_the_server_sees(servers: Servers, server_set: str, name: str) -> None:
    url, variables, seen = HONOURED[name]
    endpoint = servers.endpoint(server_set, url, variables)
    client_class, spec = SETS[server_set]
    before = {each["id"] for each in servers.clients()}
    with client_class.open(endpoint, OPTIONS) as client:
        grant = client.acquire("key", 10_000, 0, Wait("try"))
        assert isinstance(grant, Grant), grant
        ours = [each for each in servers.clients() if each["id"] not in before and each["cmd"] in ("evalsha", "set")]
        assert [{key: each[key] for key in seen} for each in ours] == [seen]
        assert isinstance(client.release(grant), Released)
    assert spec().view(endpoint), "the server's own view was not read"
    spec().erase(endpoint, "key")


@pytest.mark.parametrize(("server_set", "name"), list(itertools.product(SETS, UNABLE)))
def test_what_cannot_be_had_is_told_at_connect(servers: Servers, server_set: str, name: str) -> None:
    url, variables, told = UNABLE[name]
    endpoint = servers.endpoint(server_set, url, variables)
    with pytest.raises(ConnectionError, match=told) as refused:
        SETS[server_set][0].open(endpoint, OPTIONS)
    assert PASSWORD not in str(refused.value)
    with pytest.raises(ConnectionError):
        SETS[server_set][1]().view(endpoint)


@pytest.mark.parametrize(("server_set", "name"), list(itertools.product(SETS, REFUSED)))
def test_what_is_not_honoured_is_refused_by_name(servers: Servers, server_set: str, name: str) -> None:
    url, variables, told = REFUSED[name]
    with pytest.raises(LockbenchError, match=told) as refused:
        servers.endpoint(server_set, url, variables)
    assert PASSWORD not in str(refused.value)
