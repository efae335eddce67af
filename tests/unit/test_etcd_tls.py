"""TLS to a real etcd: what is trusted, what is refused, and that every connection of ours goes by it."""

import datetime
import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bench.servers.settings import endpoint_from_url
from bench.systems.base import ClientOptions, Grant, Released
from bench.systems.etcd import upkeep, view
from bench.systems.etcd.lock import EtcdLock
from bench.systems.etcd.server import EtcdServers
from bench.systems.wait import Wait
from tests.unit.etcd_server import etcd

TTL_MS = 5_000
OPTIONS = ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=5_000)


class Authority:
    """A CA of a test's own, and what it signed, as PEM files."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(self._sign(self._key, self._subject, None))

    def sign(self, name: str, address: str) -> tuple[Path, Path]:
        """A certificate for one address, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate_path, key_path = self._folder / f"{name}.pem", self._folder / f"{name}-key.pem"
        certificate_path.write_bytes(self._sign(key, subject, address))
        form = serialization.PrivateFormat.PKCS8
        key_path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return certificate_path, key_path

    def _sign(self, key: ec.EllipticCurvePrivateKey, subject: x509.Name, address: str | None) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        built = x509.CertificateBuilder(self._subject, subject, key.public_key(), x509.random_serial_number())
        built = built.not_valid_before(now - datetime.timedelta(days=1))
        built = built.not_valid_after(now + datetime.timedelta(days=1))
        built = built.add_extension(x509.BasicConstraints(ca=address is None, path_length=None), critical=True)
        if address is not None:
            own = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
            built = built.add_extension(own, critical=False)
        return built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@dataclass
class Servers:
    """Members that ask for TLS in several ways, and the files to meet them with."""

    ports: dict[str, int]
    files: dict[str, Path]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("tls")
    ours, other = Authority(folder, "ours"), Authority(folder, "other")
    certificate, key = ours.sign("server", "127.0.0.1")
    elsewhere, elsewhere_key = ours.sign("elsewhere", "127.0.0.99")
    client, client_key = ours.sign("client", "127.0.0.1")
    missing = folder / "missing.pem"
    files = {"ca": ours.certificate, "other ca": other.certificate, "cert": client, "key": client_key, "gone": missing}

    def of(name: str, *flags: str) -> tuple[Path, tuple[str, ...]]:
        (folder / name).mkdir()
        return folder / name, flags

    speaks = (f"--cert-file={certificate}", f"--key-file={key}")
    asks_back = (*speaks, f"--trusted-ca-file={ours.certificate}", "--client-cert-auth")
    misnamed = (f"--cert-file={elsewhere}", f"--key-file={elsewhere_key}")
    (a, a_flags), (b, b_flags), (c, c_flags) = of("tls", *speaks), of("mutual", *asks_back), of("misnamed", *misnamed)
    d, _ = of("plain")
    with (
        etcd(a, *a_flags, scheme="https") as tls,
        etcd(b, *b_flags, scheme="https") as mutual,
        etcd(c, *c_flags, scheme="https") as misnamed_port,
        etcd(d) as plain,
    ):
        yield Servers({"tls": tls, "mutual": mutual, "misnamed": misnamed_port, "plain": plain}, files)


def _everything(servers: Servers, server: str, scheme: str, **variables: str) -> None:
    """All the ways in which the bench connects to an etcd of the user's."""
    environment = {f"LOCKBENCH_ETCD_TLS_{name.upper()}": str(servers.files[file]) for name, file in variables.items()}
    url = f"{scheme}127.0.0.1:{servers.ports[server]}"
    endpoint = endpoint_from_url("etcd", url, EtcdServers.url_rules, environment)
    with EtcdLock.open(endpoint, OPTIONS) as client:
        assert client.server_facts().version
        grant = client.acquire("key", TTL_MS, 0, Wait("try"))
        assert isinstance(grant, Grant), grant
        assert view.read(endpoint) is not None
        upkeep.touch(endpoint, "key")
        assert isinstance(client.release(grant), Released)
        assert upkeep.erase(endpoint, "key").startswith("deleted 0 keys")


Attempt = Callable[[Servers], None]
TRUSTED: dict[str, tuple[str, Attempt]] = {
    "https and the CA": ("other ca", lambda at: _everything(at, "tls", "https://", ca="ca")),
    "only the CA": ("other ca", lambda at: _everything(at, "tls", "", ca="ca")),
    "etcd:// and the CA": ("other ca", lambda at: _everything(at, "tls", "etcd://", ca="ca")),
    "https and the system's trust store": ("ca", lambda at: _everything(at, "tls", "https://")),
    "a certificate and the system's trust store": ("ca", lambda at: _everything(at, "tls", "", cert="cert", key="key")),
    "a certificate that is asked for": (
        "other ca",
        lambda at: _everything(at, "mutual", "https://", ca="ca", cert="cert", key="key"),
    ),
    "no TLS where there is none": ("ca", lambda at: _everything(at, "plain", "http://")),
}
REFUSED: dict[str, tuple[str, Attempt]] = {
    "a CA that the system does not know": ("other ca", lambda at: _everything(at, "tls", "https://")),
    "another CA than was named": ("ca", lambda at: _everything(at, "tls", "https://", ca="other ca")),
    "a certificate for another address": ("ca", lambda at: _everything(at, "misnamed", "https://", ca="ca")),
    "no certificate where one is asked for": ("ca", lambda at: _everything(at, "mutual", "https://", ca="ca")),
    "TLS where there is none": ("ca", lambda at: _everything(at, "plain", "https://", ca="ca")),
    "TLS by a variable where there is none": ("ca", lambda at: _everything(at, "plain", "", ca="ca")),
    "no TLS where it is spoken": ("ca", lambda at: _everything(at, "tls", "http://")),
    "a key as the CA": ("ca", lambda at: _everything(at, "tls", "https://", ca="key")),
    "no trust store": ("gone", lambda at: _everything(at, "tls", "https://")),
}


@pytest.mark.parametrize("way", TRUSTED)
def test_what_is_trusted_is_spoken_to(servers: Servers, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system_trusts, attempt = TRUSTED[way]
    _let_the_system_trust(servers.files[system_trusts], monkeypatch)
    attempt(servers)


@pytest.mark.parametrize("way", REFUSED)
def test_what_is_not_trusted_is_refused(servers: Servers, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system_trusts, attempt = REFUSED[way]
    _let_the_system_trust(servers.files[system_trusts], monkeypatch)
    with pytest.raises(ConnectionError):
        attempt(servers)


def _let_the_system_trust(ca: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL's own variables, by which a system's trust store is moved."""
    monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    monkeypatch.setenv("SSL_CERT_DIR", str(ca.parent / "no-such-folder"))
