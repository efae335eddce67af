"""Certificates for one test: authorities of its own, and what they have signed. No program is needed for them."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Paths of a certificate, its key, and a file that has both."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates; whoever is given `certificate` as TLS_CA believes them."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _subject(name)
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(self._signed(self._key, self._subject, ()))

    def sign(self, name: str, *hosts: str) -> Certificate:
        """A certificate for a server at these names and addresses, or for a client of that name."""
        stem = self._folder / f"{self._name}-{name}"
        made = Certificate(stem.with_suffix(".pem"), stem.with_suffix(".key"), stem.with_suffix(".both"))
        key = ec.generate_private_key(ec.SECP256R1())
        made.certificate.write_bytes(self._signed(key, _subject(name), hosts or ("localhost", "127.0.0.1")))
        made.key.write_bytes(_pem(key))
        made.both.write_bytes(_pem(key) + made.certificate.read_bytes())
        return made

    def _signed(self, key: ec.EllipticCurvePrivateKey, subject: x509.Name, hosts: tuple[str, ...]) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        built = (
            x509.CertificateBuilder(self._subject, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(ca=not hosts, path_length=None), critical=True)
        )
        if hosts:
            built = built.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        return built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def rsa_pair(folder: Path) -> tuple[Path, Path]:
    """Files with a private RSA key and its public half."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    private, public = folder / "private.pem", folder / "public.pem"
    private.write_bytes(_pem(key))
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))
    return private, public


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(key: CertificateIssuerPrivateKeyTypes) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
