"""Certificates for one test: an authority of its own, and what it has signed. Made with the openssl program."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificate:
    """Paths of a certificate, its key, and a file that has both."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates; whoever is given `certificate` as TLS_CA believes them."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._name = name
        self.certificate, self._key = folder / f"{name}.pem", folder / f"{name}.key"
        _openssl("req", "-x509", *_new_key(self._key), "-subj", f"/CN={name}", "-days", "2", "-out", self.certificate)

    def sign(self, name: str, hosts: tuple[str, ...] = ("DNS:localhost", "IP:127.0.0.1")) -> Certificate:
        """A certificate for a server at `hosts`, or for a client of that name."""
        stem = self._folder / f"{self._name}-{name}"
        request, extensions = stem.with_suffix(".csr"), stem.with_suffix(".ext")
        made = Certificate(stem.with_suffix(".pem"), stem.with_suffix(".key"), stem.with_suffix(".both"))
        extensions.write_text(f"subjectAltName={','.join(hosts)}\n")
        _openssl("req", *_new_key(made.key), "-subj", f"/CN={name}", "-out", request)
        signer = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial")
        _openssl(
            "x509", "-req", "-in", request, *signer, "-days", "2", "-extfile", extensions, "-out", made.certificate
        )
        made.both.write_text(made.key.read_text() + made.certificate.read_text())
        return made


def _new_key(path: Path) -> tuple[str | Path, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", path)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)
