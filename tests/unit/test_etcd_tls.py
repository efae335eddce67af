"""TLS to a real etcd: what is trusted, what is refused, and that every connection of ours goes by it."""

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.servers.running.settings import SettingsError, endpoint_from_url
from bench.systems.base import ClientOptions, Grant, Released
from bench.systems.etcd import upkeep, view
from bench.systems.etcd.lock import EtcdLock
from bench.systems.etcd.server import EtcdServers
from bench.systems.wait import Wait
from tests.certificates import Authority
from tests.unit.etcd_server import etcd

TTL_MS = 5_000
OPTIONS = ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=10_000)
FEW_TRIES = ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=2_000)  # a refusal is told when the time is over


@dataclass
class Servers:
    """Members that ask for TLS in several ways, and the files to meet them with."""

    ports: dict[str, int]
    files: dict[str, Path]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("tls")
    ours, other = Authority(folder, "ours"), Authority(folder, "other")
    server, elsewhere = ours.sign("server", "127.0.0.1"), ours.sign("elsewhere", "127.0.0.99")
    client = ours.sign("client")
    files = {
        "ca": ours.certificate,
        "other ca": other.certificate,
        "cert": client.certificate,
        "key": client.key,
        "gone": folder / "missing.pem",
    }

    def of(name: str, *flags: str) -> tuple[Path, tuple[str, ...]]:
        (folder / name).mkdir()
        return folder / name, flags

    speaks = (f"--cert-file={server.certificate}", f"--key-file={server.key}")
    asks_back = (*speaks, f"--trusted-ca-file={ours.certificate}", "--client-cert-auth")
    misnamed = (f"--cert-file={elsewhere.certificate}", f"--key-file={elsewhere.key}")
    (a, a_flags), (b, b_flags), (c, c_flags) = of("tls", *speaks), of("mutual", *asks_back), of("misnamed", *misnamed)
    d, _ = of("plain")
    with (
        etcd(a, *a_flags, scheme="https") as tls,
        etcd(b, *b_flags, scheme="https") as mutual,
        etcd(c, *c_flags, scheme="https") as misnamed_port,
        etcd(d) as plain,
    ):
        yield Servers({"tls": tls, "mutual": mutual, "misnamed": misnamed_port, "plain": plain}, files)


def _everything(servers: Servers, options: ClientOptions, server: str, scheme: str, **variables: str) -> None:
    """All the ways in which the bench connects to an etcd of the user's."""
    environment = {f"LOCKBENCH_ETCD_TLS_{name.upper()}": str(servers.files[file]) for name, file in variables.items()}
    url = f"{scheme}127.0.0.1:{servers.ports[server]}"
    endpoint = endpoint_from_url("etcd", url, EtcdServers.url_rules, environment)
    with EtcdLock.open(endpoint, options) as client:
        assert client.server_facts().version
        grant = client.acquire("key", TTL_MS, 0, Wait("try"))
        assert isinstance(grant, Grant), grant
        assert view.read(endpoint) is not None
        upkeep.touch(endpoint, "key")
        assert isinstance(client.release(grant), Released)
        assert upkeep.erase(endpoint, "key").startswith("deleted 0 keys")


Attempt = Callable[[Servers, ClientOptions], None]
TRUSTED: dict[str, tuple[str, Attempt]] = {
    "https and the CA": ("other ca", lambda *at: _everything(*at, "tls", "https://", ca="ca")),
    "only the CA": ("other ca", lambda *at: _everything(*at, "tls", "", ca="ca")),
    "etcd:// and the CA": ("other ca", lambda *at: _everything(*at, "tls", "etcd://", ca="ca")),
    "https and the system's trust store": ("ca", lambda *at: _everything(*at, "tls", "https://")),
    "a certificate and the system's trust store": (
        "ca",
        lambda *at: _everything(*at, "tls", "", cert="cert", key="key"),
    ),
    "a certificate that is asked for": (
        "other ca",
        lambda *at: _everything(*at, "mutual", "https://", ca="ca", cert="cert", key="key"),
    ),
    "no TLS where there is none": ("ca", lambda *at: _everything(*at, "plain", "http://")),
}
REFUSED: dict[str, tuple[str, Attempt]] = {
    "a CA that the system does not know": ("other ca", lambda *at: _everything(*at, "tls", "https://")),
    "another CA than was named": ("ca", lambda *at: _everything(*at, "tls", "https://", ca="other ca")),
    "a certificate for another address": ("ca", lambda *at: _everything(*at, "misnamed", "https://", ca="ca")),
    "no certificate where one is asked for": ("ca", lambda *at: _everything(*at, "mutual", "https://", ca="ca")),
    "TLS where there is none": ("ca", lambda *at: _everything(*at, "plain", "https://", ca="ca")),
    "TLS by a variable where there is none": ("ca", lambda *at: _everything(*at, "plain", "", ca="ca")),
    "no TLS where it is spoken": ("ca", lambda *at: _everything(*at, "tls", "http://")),
    "a key as the CA": ("ca", lambda *at: _everything(*at, "tls", "https://", ca="key")),
    "no trust store": ("gone", lambda *at: _everything(*at, "tls", "https://")),
}


@pytest.mark.parametrize("way", TRUSTED)
def test_what_is_trusted_is_spoken_to(servers: Servers, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system_trusts, attempt = TRUSTED[way]
    _let_the_system_trust(servers.files[system_trusts], monkeypatch)
    attempt(servers, OPTIONS)


@pytest.mark.parametrize("way", REFUSED)
def test_what_is_not_trusted_is_refused(servers: Servers, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system_trusts, attempt = REFUSED[way]
    _let_the_system_trust(servers.files[system_trusts], monkeypatch)
    monkeypatch.setenv("SSL_CERT_FILE", str(servers.files["ca"]))  # which would be trusted, and is not asked for
    with pytest.raises((ConnectionError, SettingsError)):  # the second: a file that is of no use to anybody
        attempt(servers, FEW_TRIES)


def _let_the_system_trust(ca: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if OpenSSL had been built to look there."""
    built_in = ssl.get_default_verify_paths()
    elsewhere = built_in._replace(openssl_cafile=str(ca), openssl_capath=str(ca.parent / "no-such-folder"))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: elsewhere)
