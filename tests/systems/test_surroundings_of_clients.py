"""No variable of a client library reaches a connection: not where it goes, not whom it believes, not what it writes.

libpq's and botocore's own variables have tests of their own (tests/unit/test_postgres_surroundings.py and
test_aws_surroundings.py). Here are all the others', on every system. Each list says where it is from; what an installed
library reads and its documentation leaves out is looked for in the library itself.
"""

import hashlib
import itertools
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import grpc
import kazoo
import pytest
import redis
from cryptography.x509 import load_pem_x509_certificate
from gevent import _config as gevent_config

from bench.conformance.together import Running
from bench.load.endpoints import endpoint_of
from bench.servers.endpoint import Endpoint
from bench.servers.running.settings import endpoint_from_url
from bench.servers.surroundings import NameInDoubt
from bench.systems.registry import SERVER_SETS, SYSTEMS, System
from tests.certificates import Authority
from tests.systems.connecting import ENDED_WITHIN_MS, LOCKS, SSL_REQUEST, connect
from tests.thorough import one_in

NOBODY = "db.staging.invalid"  # such names lead nowhere (RFC 6761)
CALL_TIMEOUT_MS = 300
_LINES_MOST = 10  # of what gRPC prints of one connection: GRPC_TRACE=all prints thousands
ROOT = Path(__file__).parents[2]

# docs.python.org: `ssl` (SSLKEYLOGFILE of create_default_context; SSL_CERT_FILE and SSL_CERT_DIR of
# get_default_verify_paths) and `urllib.request` (getproxies, proxy_bypass). `http.client` documents none.
BY_PYTHON = {
    "SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD",
}  # fmt: skip
# openssl-env(7), but for OPENSSL_CONF and its like, which OpenSSL takes when the process starts, for all of it.
BY_OPENSSL = {"CTLOG_FILE", "QLOGDIR", "OSSL_QFILTER", "RANDFILE", "TSGET", "OPENSSL_TRACE", "OPENSSL_ENGINES"}
# Requests' "Advanced usage" and urllib3's documentation, for those who use them below: nobody by our intent.
BY_REQUESTS = {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
# doc/environment_variables.md of gRPC's source, all versions of it.
BY_GRPC = {
    "grpc_proxy", "https_proxy", "http_proxy", "no_grpc_proxy", "no_proxy", "GRPC_ABORT_ON_LEAKS",
    "GOOGLE_APPLICATION_CREDENTIALS", "GRPC_SSL_CIPHER_SUITES", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "GRPC_POLL_STRATEGY", "GRPC_TRACE", "GRPC_VERBOSITY", "GRPC_DNS_RESOLVER",
    "GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS",
    "GRPC_EXPERIMENTS", "GRPC_CFSTREAM", "GRPC_XDS_BOOTSTRAP", "GRPC_XDS_BOOTSTRAP_CONFIG", "GRPC_PROXY_EXP",
}  # fmt: skip
# What the installed gRPC has the names of: src/core/config/config_vars.yaml, http_proxy_mapper.cc and others.
_BINARY = next(Path(grpc.__file__).parent.glob("_cython/cygrpc*")).read_bytes()
IN_GRPC = {
    name.decode()
    for name in re.findall(rb"\0(GRPC_[A-Z0-9_]{3,60}|CARES_HOSTS)(?=\0)", _BINARY)
    if not name.startswith(b"GRPC_CALL_ERROR")
} | {
    name
    for path in Path(grpc.__file__).parent.glob("*.py")
    for name in re.findall(r"['\"](GRPC_[A-Z0-9_]+)['\"]", path.read_text(encoding="utf-8"))
}
# docs/python-reference of protobuf ("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION") and its api_implementation.py.
BY_PROTOBUF = {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION_VERSION"}
# hostname(7), resolver(5); and gevent's "gevent.config", which names each setting's variable.
BY_RESOLVER = {"HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS"}
BY_GEVENT = {
    setting.environment_key
    for setting in vars(gevent_config).values()
    if isinstance(setting, type)
    and str(getattr(setting, "environment_key", None)).startswith(("GEVENT_RES", "GEVENTAR"))
}
VARIABLES = sorted(BY_PYTHON | BY_OPENSSL | BY_REQUESTS | BY_RESOLVER)
TRUST = {"SSL_CERT_FILE", "SSL_CERT_DIR", *BY_REQUESTS}
OF_GRPC = sorted(BY_GRPC | IN_GRPC | BY_PROTOBUF | BY_PYTHON | BY_RESOLVER)


@pytest.mark.parametrize("library", [redis, kazoo])
def test_these_read_no_variable(library: object) -> None:
    """Neither redis-py nor kazoo documents one; kazoo's tests and test servers are no part of a client."""
    folder = Path(str(library.__file__)).parent  # type: ignore[attr-defined]
    reading = [
        path.relative_to(folder)
        for path in folder.rglob("*.py")
        if re.search(r"\benviron\b[.\[]|\bgetenv\(", path.read_text(encoding="utf-8"))
    ]
    assert [path for path in reading if path.parts[0] not in ("tests", "testing")] == []


def test_the_installed_grpc_was_looked_into() -> None:
    assert {"GRPC_EXPERIMENTS", "GRPC_DNS_RESOLVER", "GRPC_ADDRESS_HTTP_PROXY", "CARES_HOSTS"} <= IN_GRPC


class Server:
    """Speaks TLS with a certificate of `authority`, records what clients say in it, and answers nothing of use."""

    def __init__(self, authority: Authority) -> None:
        signed = authority.sign("server", "127.0.0.1", NOBODY)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(signed.certificate, signed.key)
        self._context.set_alpn_protocols(["h2", "http/1.1"])
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.connections = 0
        self.heard: list[bytes] = []
        self.was_heard = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection: socket.socket) -> None:
        connection.settimeout(ENDED_WITHIN_MS / 1e3)
        with connection, suppress(OSError):
            if connection.recv(len(SSL_REQUEST), socket.MSG_PEEK) == SSL_REQUEST:
                connection.recv(len(SSL_REQUEST))
                connection.sendall(b"S")
            with self._context.wrap_socket(connection, server_side=True) as secure:
                if said := secure.recv(65_536):
                    self.heard.append(said)
                    self.was_heard.set()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # else accept(2) waits on, and keeps the number of a descriptor
        self._socket.close()


class Around:
    """The server that is named, another that nobody named, and a hostile value for each variable."""

    def __init__(self, folder: Path) -> None:
        self.ours, others = Authority(folder, "ours"), Authority(folder, "others")
        self.named, self.impostor = Server(self.ours), Server(others)
        self.believed = Server(others)  # at an address that is named, by an authority that is not
        self.keys = folder / "keys.log"
        self.before = 0  # connections to the impostor
        (folder / "hosts").write_text(f"127.0.0.1 {NOBODY}\n")
        (folder / "hash").mkdir()
        (folder / "hash" / f"{_hash_of(others.certificate)}.0").write_bytes(others.certificate.read_bytes())
        here = f"127.0.0.1:{self.impostor.port}"
        self.hostile = {
            **dict.fromkeys(sorted({*VARIABLES, *OF_GRPC}), "nonsense"),
            **dict.fromkeys([name for name in {*VARIABLES, *OF_GRPC} if name.lower().endswith("proxy")], f"http://{here}"),
            "no_proxy": "none.invalid", "NO_PROXY": "none.invalid", "no_grpc_proxy": "none.invalid",
            "GRPC_ADDRESS_HTTP_PROXY": here,
            "GRPC_ADDRESS_HTTP_PROXY_ENABLED_ADDRESSES": "127.0.0.0/8,0.0.0.0/0",
            "SSLKEYLOGFILE": str(self.keys),
            "SSL_CERT_FILE": str(others.certificate), "SSL_CERT_DIR": str(folder / "hash"),
            "REQUESTS_CA_BUNDLE": str(others.certificate), "CURL_CA_BUNDLE": str(others.certificate),
            "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(others.certificate),
            "GRPC_SYSTEM_SSL_ROOTS_DIR": str(folder / "hash"),
            "CARES_HOSTS": str(folder / "hosts"), "HOSTALIASES": str(folder / "hosts"), "RES_OPTIONS": "ndots:5",
            "GRPC_ENABLE_FORK_SUPPORT": "1", "GRPC_ABORT_ON_LEAKS": "1", "GRPC_TRACE": "all", "GRPC_VERBOSITY": "DEBUG",
            "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
        }  # fmt: skip

    def begin(self) -> None:
        """Forget what an earlier attempt did."""
        self.named.was_heard.clear()
        self.keys.unlink(missing_ok=True)
        self.before = self.impostor.connections

    def with_it(self, name: str) -> dict[str, str]:
        """A variable with what it needs beside it to do its worst."""
        together = [name, "GRPC_ADDRESS_HTTP_PROXY"] if name.startswith("GRPC_ADDRESS_HTTP_PROXY_") else [name]
        if name == "GRPC_ADDRESS_HTTP_PROXY":
            together.append("GRPC_ADDRESS_HTTP_PROXY_ENABLED_ADDRESSES")
        return {each: self.hostile[each] for each in together}

    def endpoint(self, system: System, server: Server) -> Endpoint:
        spec = system.servers
        assert spec is not None
        prefix = f"LOCKBENCH_{spec.name.upper()}_"
        variables = {"USER": "somebody", "PASSWORD": "hunter2", "TLS_CA": str(self.ours.certificate)}
        named = {prefix + variable: value for variable, value in variables.items()}
        return endpoint_from_url(spec.name, f"127.0.0.1:{server.port}", spec.url_rules, named)


def _hash_of(certificate: Path) -> str:
    """As OpenSSL names the files of a folder of authorities (X509_NAME_hash), for a name of one small word."""
    subject = load_pem_x509_certificate(certificate.read_bytes()).subject.public_bytes()
    without_head = subject[2:]
    return f"{int.from_bytes(hashlib.sha1(without_head).digest()[:4], 'little'):08x}"


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Around]:
    made = Around(tmp_path_factory.mktemp("around"))
    yield made
    for server in (made.named, made.impostor, made.believed):
        server.close()


attempt = partial(connect, call_timeout_ms=CALL_TIMEOUT_MS, with_operators=False)


@pytest.mark.parametrize(("name", "variable"), one_in(3, itertools.product(LOCKS, VARIABLES)))
def test_a_variable_changes_no_connection(
    name: str, variable: str, around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each, value in around.with_it(variable).items():
        monkeypatch.setenv(each, value)
    around.begin()
    Running(partial(attempt, LOCKS[name], around.endpoint(LOCKS[name], around.named))).result(ENDED_WITHIN_MS)
    assert around.named.was_heard.is_set(), "the server that was named was not spoken to"
    assert around.impostor.connections == around.before
    assert not around.keys.exists(), "keys of TLS were written to a file"
    if variable in TRUST:
        believed = len(around.believed.heard)
        Running(partial(attempt, LOCKS[name], around.endpoint(LOCKS[name], around.believed))).result(ENDED_WITHIN_MS)
        assert len(around.believed.heard) == believed, "an authority was believed that was not named"


# -- gRPC, which takes its variables once a process --------------------------------------------------------------------

OF_A_PROCESS = """
import json, os, sys, threading
from bench.servers.endpoint import Endpoint
from bench.systems.etcd import channels, stubs
tried = []
for tree in json.loads(sys.argv[1]):
    endpoint = Endpoint.from_tree(tree)
    channel = channels.take(endpoint.addresses[0], endpoint).channel
    ended = threading.Event()
    channel.subscribe(lambda state, ended=ended: state.name in ("READY", "TRANSIENT_FAILURE") and ended.set(), True)
    tried.append(ended)
print([ended.wait(10) for ended in tried])
from google.protobuf.internal import api_implementation
print(api_implementation.Type(), flush=True)
os._exit(0)  # gRPC's threads would go on trying
"""


def in_a_process(endpoints: Sequence[Endpoint], variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", OF_A_PROCESS, json.dumps([endpoint.to_tree() for endpoint in endpoints])],
        env={**os.environ, **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=ENDED_WITHIN_MS / 1e3,
        check=False,
    )


@pytest.mark.parametrize("variable", OF_GRPC)
def test_a_variable_changes_no_channel(variable: str, around: Around) -> None:
    around.begin()
    believed = len(around.believed.heard)
    endpoints = [around.endpoint(LOCKS["etcd"], server) for server in (around.named, around.believed)]
    ended = in_a_process(endpoints, around.with_it(variable))
    assert (ended.stdout, ended.returncode) == ("[True, True]\nupb\n", 0), ended.stderr
    assert ended.stderr.count("\n") < _LINES_MOST, ended.stderr
    assert any(said.startswith(b"PRI * HTTP/2.0") for said in around.named.heard)
    assert around.named.was_heard.is_set(), "the server that was named was not spoken to"
    assert around.impostor.connections == around.before
    assert not around.keys.exists()
    assert len(around.believed.heard) == believed, "an authority was believed that was not named"


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_file_of_hosts_does_not_lead_a_channel_elsewhere(around: Around) -> None:
    """gRPC's own resolver is c-ares, which has a variable for such a file."""
    before = around.named.connections
    named = replace(around.endpoint(LOCKS["etcd"], around.named), addresses=((NOBODY, around.named.port),))
    in_a_process([named], around.with_it("CARES_HOSTS"))
    assert around.named.connections == before


@pytest.mark.parametrize("variable", sorted(BY_RESOLVER | BY_GEVENT))
@pytest.mark.parametrize("name", SERVER_SETS)
def test_a_name_that_a_variable_would_lead_elsewhere_is_refused(name: str, variable: str, around: Around) -> None:
    entry = next(entry for entry in SYSTEMS.values() if entry.servers is not None and entry.servers.name == name)
    assert entry.servers is not None
    rules = entry.servers.url_rules
    with pytest.raises(NameInDoubt, match=f"{variable} decides where '{NOBODY}' leads"):
        endpoint_from_url(name, f"{NOBODY}:1", rules, {variable: "x"})
    assert endpoint_from_url(name, "127.0.0.1:1", rules, {variable: "x"}).addresses == (("127.0.0.1", 1),)
    assert endpoint_from_url(name, "[::1]:1", rules, {variable: "x"}).addresses == (("::1", 1),)
    by_hand = f"LOCKBENCH_ENDPOINT_{entry.name.upper().replace('-', '_')}"
    with pytest.raises(NameInDoubt, match=variable):
        endpoint_of(entry, {by_hand: f"{NOBODY}:1", variable: "x"})
