"""TLS that was asked for is spoken, or refused: on every system, by every way of asking, nothing is sent in the clear.

A listener records what a client sends to it. It answers as a server without TLS would, so that a client which asks
first (PostgreSQL's does) could go on in the clear, and must not.
"""

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from bench.conformance.together import Running
from bench.errors import LockbenchError
from bench.servers.running.settings import endpoint_from_url
from tests.certificates import Authority
from tests.systems.connecting import CLIENTS, ENDED_WITHIN_MS, SSL_REQUEST, Listener, connect
from tests.thorough import case

PASSWORD = "hunter2-in-the-clear"
TLS_HANDSHAKE = b"\x16\x03"  # record type 22, version 3.x (RFC 8446, section 5.1)

# The scheme that a system's own users write without TLS, for the ways of asking that are not a scheme.
PLAIN = {
    "redis": "redis://", "redispair": "redis://", "redlock": "redis://", "zookeeper": "", "etcd": "http://",
    "postgres": "postgresql://", "dynamodb": "http://",
}  # fmt: skip
SCHEMES = (
    "rediss", "valkeys", "redis+tls", "rediss+sentinel", "https", "etcds", "etcd+tls", "zookeepers", "zks",
    "zookeeper+tls", "postgress", "postgresqls", "postgresql+tls", "dynamodbs", "tls", "ssl", "REDISS", "HTTPS",
)  # fmt: skip
QUERIES = (
    "sslmode=require", "sslmode=verify-full", "ssl=true", "tls=true", "secure=true", "use_ssl=1",
    "ssl_cert_reqs=required", "ssl_ca_certs=ca.pem", "sslrootcert=ca.pem", "verify=ca.pem", "ca=ca.pem",
)  # fmt: skip
VARIABLES = (
    ("TLS_CA",), ("TLS_CERT", "TLS_KEY"), ("TLS_CA", "TLS_CERT", "TLS_KEY"), ("TLS_CERT",), ("TLS_KEY",),
    ("TLS_CA", "TLS_CERT"), ("TLS_CA", "TLS_KEY"),
)  # fmt: skip
WAYS = {
    **{f"scheme {scheme}": (f"{scheme}://", (), "") for scheme in SCHEMES},
    **{f"query {query}": (None, (), f"?{query}") for query in QUERIES},
    **{"variables " + " ".join(names): (None, names, "") for names in VARIABLES},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A certificate of its own signing, and its key, by the name of the variable that would name them."""
    authority = Authority(tmp_path_factory.mktemp("tls"))
    client = authority.sign("client")
    return {"TLS_CA": authority.certificate, "TLS_CERT": client.certificate, "TLS_KEY": client.key}


@pytest.fixture
def listeners() -> Iterator[list[Listener]]:
    """As many as any system has nodes."""
    every = [Listener() for _ in range(5)]
    yield every
    for listener in every:
        listener.close()


def is_rare(name: str, way: str) -> bool:
    """ZooKeeper's client tries for ten seconds where it does not know a way at once: one of those is enough."""
    return name == "zookeeper" and way in (
        "scheme zookeepers",
        "scheme zks",
        "variables TLS_CA",
        "variables TLS_CERT TLS_KEY",
    )


CASES = [case(name, way, rare=is_rare(name, way)) for name, way in itertools.product(CLIENTS, WAYS)]


@pytest.mark.parametrize(("name", "way"), CASES)
def test_nothing_is_sent_in_the_clear(
    name: str, way: str, files: Mapping[str, Path], listeners: list[Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = CLIENTS[name]
    spec = system.servers
    assert spec is not None
    scheme, variables, query = WAYS[way]
    places = ",".join(f"127.0.0.1:{listener.port}" for listener in listeners[: len(spec.node_names)])
    prefix = f"LOCKBENCH_{spec.name.upper()}_"
    environment = {prefix + "PASSWORD": PASSWORD, **{prefix + each: str(files[each]) for each in variables}}
    if "user" in spec.url_rules.secrets:
        environment[prefix + "USER"] = "somebody"
    url = (PLAIN[spec.name] if scheme is None else scheme) + places + query
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "of-the-test")
    try:
        endpoint = endpoint_from_url(spec.name, url, spec.url_rules, environment)
    except LockbenchError:
        return
    Running(partial(connect, system, endpoint)).result(ENDED_WITHIN_MS)
    heard = [bytes(each) for listener in listeners for each in listener.heard if each]
    in_the_clear = [each for each in heard if not each.startswith(TLS_HANDSHAKE) and each != SSL_REQUEST]
    assert not in_the_clear, f"{name} was asked for TLS by {way} and sent {in_the_clear[0][:60]!r}"
