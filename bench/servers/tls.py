"""An encrypted connection as an endpoint asks for it: whom the client believes, and how it names itself."""

import os
import ssl
import stat
from collections.abc import Mapping
from pathlib import Path

from bench.servers.endpoint import Endpoint

# OpenSSL's reasons for a key of another certificate; the last is for one of another kind (RSA, elliptic curve).
_OF_ANOTHER = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
_OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class UnusableFile(ValueError):
    """A file of TLS_CA, TLS_CERT or TLS_KEY is of no use, and why; `secret` is which."""

    def __init__(self, secret: str, why: str) -> None:
        super().__init__(why)
        self.secret = secret


def client_context(endpoint: Endpoint) -> ssl.SSLContext | None:
    """What to wrap a connection with; None: TLS was not asked for. Raises ConnectionError where a file is of no use.

    The server's certificate must be signed by TLS_CA, and by nothing else, or by an authority of this machine where
    TLS_CA is not set; and it must be for the host that was named. SSL_CERT_FILE, SSL_CERT_DIR and SSLKEYLOGFILE play
    no part: they are read by what makes a *default* context.
    """
    if not endpoint.tls:
        return None
    context = with_files(endpoint)
    if "tls_ca" not in endpoint.secrets:
        _believe_this_machine(context)
    return context


def with_files(endpoint: Endpoint) -> ssl.SSLContext:
    """A context with the endpoint's files, and no authority beside them. Raises ConnectionError where one is of no use.

    Clients with a TLS of their own ask for it too, and throw it away: their words for a bad file are poor.
    """
    try:
        return _loaded(endpoint.secrets)
    except UnusableFile as bad:
        raise ConnectionError(f"TLS for {endpoint}: {bad.secret.upper()}: {bad}") from bad


def check_files(secrets: Mapping[str, str], key_is_private: bool = False) -> None:
    """Raise UnusableFile for the first that no TLS library could use. Nobody is asked for a passphrase.

    `key_is_private`: the key may be read by nobody but its owner.
    """
    _loaded(secrets)
    if key_is_private and "tls_key" in secrets:
        key = Path(secrets["tls_key"]).stat()
        if key.st_mode & (_OPEN_TO_OTHERS if key.st_uid == os.geteuid() else stat.S_IRWXO | stat.S_IWGRP):
            raise UnusableFile("tls_key", f"others may read {secrets['tls_key']!r}: chmod 600 it")


def _loaded(secrets: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for secret in ("tls_ca", "tls_cert", "tls_key"):
        if secret in secrets and not (Path(secrets[secret]).is_file() and os.access(secrets[secret], os.R_OK)):
            raise UnusableFile(secret, f"{secrets[secret]!r} is not a file that can be read")
    if "tls_ca" in secrets:
        _load_certificates(context, "tls_ca", secrets["tls_ca"])
    if "tls_cert" in secrets and "tls_key" in secrets:
        _load_certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "tls_cert", secrets["tls_cert"])
        _load_pair(context, secrets["tls_cert"], secrets["tls_key"])
    return context


def _load_certificates(context: ssl.SSLContext, secret: str, path: str) -> None:
    try:
        context.load_verify_locations(path)
    except OSError as failed:  # an SSLError is one too
        raise UnusableFile(secret, f"there is no certificate in PEM form in {path!r} ({failed})") from failed
    if not context.cert_store_stats()["x509"]:
        raise UnusableFile(secret, f"there is no certificate in PEM form in {path!r}, only a list of revoked ones")


def _load_pair(context: ssl.SSLContext, certificate: str, key: str) -> None:
    asked: list[bool] = []

    def passphrase() -> str:  # where none is given, OpenSSL would ask the terminal
        asked.append(True)
        return ""

    try:
        context.load_cert_chain(certificate, key, passphrase)
    except OSError as failed:
        if asked:
            why = f"{key!r} is encrypted, and nobody is asked for its passphrase: name a key without one"
        elif getattr(failed, "reason", "") in _OF_ANOTHER:
            why = f"{key!r} is not the key of the certificate in {certificate!r}"
        elif b"PRIVATE KEY-----" not in Path(key).read_bytes():
            why = f"there is no private key in PEM form in {key!r}"
        else:
            why = f"{key!r} and the certificate in {certificate!r} cannot be used ({failed})"
        raise UnusableFile("tls_key", why) from failed


def trust_store() -> tuple[Path, Path]:
    """The file and the folder with this machine's authorities, as OpenSSL was built; either may not be there.

    Not `cafile` and `capath`, nor load_default_certs: those are what SSL_CERT_FILE and SSL_CERT_DIR name.
    """
    built_in = ssl.get_default_verify_paths()
    return Path(built_in.openssl_cafile), Path(built_in.openssl_capath)


def _believe_this_machine(context: ssl.SSLContext) -> None:
    file, folder = trust_store()
    if file.is_file() or folder.is_dir():
        context.load_verify_locations(file if file.is_file() else None, folder if folder.is_dir() else None)
