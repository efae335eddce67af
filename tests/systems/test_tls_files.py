"""A file of TLS_CA, TLS_CERT or TLS_KEY that is of no use: one sentence names the setting and the cause, everywhere.

It is said before a connection is tried, by the setting's name; and again by the client, should the file have changed
since. Nobody is asked for a passphrase.
"""

import base64
import os
import pty
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from bench.conformance.together import Running
from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.running.settings import SettingsError, endpoint_from_url
from bench.systems.base import ClientOptions
from bench.systems.registry import SERVER_SETS
from tests.certificates import Authority, rsa_pair
from tests.commands.command import LOCKBENCH, environment_of
from tests.systems.connecting import CALL_TIMEOUT_MS, CLIENTS, ENDED_WITHIN_MS, Listener, connect

Make = Callable[[Path, Mapping[str, Path]], None]
FILES = ("TLS_CA", "TLS_CERT", "TLS_KEY")
PASSPHRASE = b"hunter2"


def _write(content: bytes) -> Make:
    return lambda path, _: void(path.write_bytes(content))


def void(_: object) -> None:
    return None


def _of(name: str, change: Callable[[bytes], bytes] = bytes) -> Make:
    return lambda path, files: void(path.write_bytes(change(files[name].read_bytes())))


def _encrypted(form: PrivateFormat) -> Make:
    def make(path: Path, files: Mapping[str, Path]) -> None:
        key = load_pem_private_key(files["TLS_KEY"].read_bytes(), None)
        path.write_bytes(key.private_bytes(Encoding.PEM, form, BestAvailableEncryption(PASSPHRASE)))

    return make


def _der(path: Path, files: Mapping[str, Path]) -> None:
    key = load_pem_private_key(files["TLS_KEY"].read_bytes(), None)
    path.write_bytes(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))


def _public(path: Path, files: Mapping[str, Path]) -> None:
    key = load_pem_private_key(files["TLS_KEY"].read_bytes(), None).public_key()
    path.write_bytes(key.public_bytes(Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))


def _rsa(path: Path, _: Mapping[str, Path]) -> None:
    folder = path.parent / "rsa"
    folder.mkdir()
    rsa_pair(folder)[0].rename(path)


def _shortened(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _garbled(content: bytes) -> bytes:
    return content.replace(b"M", b"!")


ANY_FILE: Mapping[str, tuple[Make, str]] = {
    "not there": (lambda *_: None, "is not a file that can be read"),
    "a folder": (lambda path, _: path.mkdir(), "is not a file that can be read"),
    "a link to nowhere": (lambda path, _: path.symlink_to("nowhere"), "is not a file that can be read"),
    "a link to itself": (lambda path, _: path.symlink_to(path.name), "is not a file that can be read"),
    "a pipe": (lambda path, _: os.mkfifo(path), "is not a file that can be read"),
    "empty": (_write(b""), "in PEM form"),
    "text": (_write(b"no PEM\n"), "in PEM form"),
    "zeros": (_write(bytes(4096)), "in PEM form"),
    "a BEGIN and no more": (_write(b"-----BEGIN CERTIFICATE-----\n"), "in PEM form"),
}
NO_CERTIFICATE: Mapping[str, tuple[Make, str]] = {
    **ANY_FILE,
    "a key": (_of("TLS_KEY"), "no certificate in PEM form"),
    "an encrypted key": (_encrypted(PrivateFormat.PKCS8), "no certificate in PEM form"),
    "half a certificate": (_of("TLS_CERT", _shortened), "no certificate in PEM form"),
    "a garbled certificate": (_of("TLS_CERT", _garbled), "no certificate in PEM form"),
    "a certificate in DER": (_of("DER"), "no certificate in PEM form"),
}
NO_KEY: Mapping[str, tuple[Make, str]] = {
    **ANY_FILE,
    "encrypted (PKCS 8)": (_encrypted(PrivateFormat.PKCS8), "encrypted.*without one"),
    "encrypted (traditional)": (_encrypted(PrivateFormat.TraditionalOpenSSL), "encrypted.*without one"),
    "another one's": (_of("OTHER_KEY"), "is not the key of the certificate in"),
    "another one's, of another kind": (_rsa, "is not the key of the certificate in"),
    "a certificate": (_of("TLS_CERT"), "no private key in PEM form"),
    "a public key": (_public, "no private key in PEM form"),
    "in DER": (_der, "no private key in PEM form"),
    "half a key": (_of("TLS_KEY", _shortened), "cannot be used"),
    "a garbled key": (_of("TLS_KEY", _garbled), "cannot be used"),
}
BAD = {
    **{("TLS_CA", kind): told for kind, told in NO_CERTIFICATE.items()},
    **{("TLS_CERT", kind): told for kind, told in NO_CERTIFICATE.items()},
    **{("TLS_KEY", kind): told for kind, told in NO_KEY.items()},
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    authority = Authority(tmp_path_factory.mktemp("good"))
    client, other = authority.sign("client"), authority.sign("other")
    der = authority.certificate.with_suffix(".der")
    lines = client.certificate.read_text().splitlines()[1:-1]
    der.write_bytes(base64.b64decode("".join(lines)))
    named = {"TLS_CA": authority.certificate, "TLS_CERT": client.certificate, "TLS_KEY": client.key}
    for key in (client.key, other.key):
        key.chmod(0o600)
    return {**named, "OTHER_KEY": other.key, "DER": der}


def with_a_bad_file(secret: str, kind: str, good: Mapping[str, Path], folder: Path) -> tuple[dict[str, str], str]:
    """Paths by the names of the variables, one of them to what `kind` says, and what is to be told of it."""
    make, told = BAD[secret, kind]
    path = folder / "bad"
    make(path, good)
    if path.is_file():
        path.chmod(0o600)
    return {**{name: str(good[name]) for name in FILES}, secret: str(path)}, told


@pytest.mark.parametrize(("secret", "kind"), BAD, ids=[" ".join(each) for each in BAD])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_bad_file(name: str, secret: str, kind: str, good: Mapping[str, Path], tmp_path: Path) -> None:
    system = CLIENTS[name]
    spec = system.servers
    assert spec is not None
    paths, told = with_a_bad_file(secret, kind, good, tmp_path)
    prefix = f"LOCKBENCH_{spec.name.upper()}_"
    named = {prefix + variable: path for variable, path in paths.items()} | {f"{prefix}PASSWORD": "hunter2"}
    named |= {f"{prefix}USER": "somebody"}
    listener = Listener()
    with pytest.raises(SettingsError, match=f"^{prefix}{secret}: .*{told}") as refused:
        endpoint_from_url(spec.name, f"127.0.0.1:{listener.port}", spec.url_rules, named)
    assert "\n" not in str(refused.value)

    changed_since = Endpoint(
        (("127.0.0.1", listener.port),),
        {"database": "d"},
        {"user": "u", "password": "p", **{variable.lower(): path for variable, path in paths.items()}},
        tls=True,
    )
    options = ClientOptions(call_timeout_ms=CALL_TIMEOUT_MS, variant=system.client_variant)
    with pytest.raises(ConnectionError, match=f"{secret}: .*{told}"):
        system.client_class.open(changed_since, options).close()
    Running(partial(connect, system, changed_since)).result(ENDED_WITHIN_MS)
    listener.close()
    assert not listener.heard


@pytest.mark.parametrize("mode", [0o640, 0o644, 0o604, 0o660])
def test_a_key_that_others_may_read_is_told_by_name(mode: int, good: Mapping[str, Path], tmp_path: Path) -> None:
    """Where the client library refuses it: libpq."""
    key = tmp_path / "key"
    key.write_bytes(good["TLS_KEY"].read_bytes())
    key.chmod(mode)
    rules = {spec.name: spec.url_rules for entry in CLIENTS.values() if (spec := entry.servers) is not None}
    variables = {"LOCKBENCH_POSTGRES_TLS_CERT": str(good["TLS_CERT"]), "LOCKBENCH_POSTGRES_TLS_KEY": str(key)}
    with pytest.raises(SettingsError, match=r"LOCKBENCH_POSTGRES_TLS_KEY: others may read .* chmod 600"):
        endpoint_from_url("postgres", "h:1", rules["postgres"], variables)


@pytest.mark.parametrize("kind", [kind for kind in NO_KEY if kind.startswith("encrypted")])
@pytest.mark.parametrize("name", SERVER_SETS)
def test_nobody_is_asked_for_a_passphrase(name: str, kind: str, good: Mapping[str, Path], tmp_path: Path) -> None:
    """The command has a terminal of its own, on which nobody types."""
    paths, _ = with_a_bad_file("TLS_KEY", kind, good, tmp_path)
    prefix = f"LOCKBENCH_{name.upper()}_"
    variables = {prefix + variable: path for variable, path in paths.items()}
    ours, its_own = pty.openpty()
    try:
        ended = subprocess.run(
            ["setsid", "--ctty", "--wait", *LOCKBENCH, "up", name],
            env=environment_of(tmp_path, {**variables, f"{prefix}URL": "127.0.0.1:9", "COLUMNS": "1000"}),
            cwd=tmp_path,
            stdin=its_own,
            stdout=its_own,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
        os.write(its_own, b"all that was shown")
        shown = os.read(ours, 65_536).decode()
    finally:
        os.close(ours)
        os.close(its_own)
    assert ended.returncode == 1
    assert f"error: {prefix}TLS_KEY: " in ended.stderr, ended.stderr
    assert ended.stderr.count("\n") == 1
    assert shown == "all that was shown"


def test_what_is_refused_is_an_expected_failure() -> None:
    assert issubclass(SettingsError, LockbenchError)
