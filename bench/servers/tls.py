"""An encrypted connection as an endpoint asks for it: whom the client believes, and how it names itself."""

import ssl
from pathlib import Path

from bench.servers.endpoint import Endpoint


def client_context(endpoint: Endpoint) -> ssl.SSLContext | None:
    """What to wrap a connection with; None: TLS was not asked for. Raises ConnectionError where a file is of no use.

    The server's certificate must be signed by TLS_CA, and by nothing else, or by an authority of this machine where
    TLS_CA is not set; and it must be for the host that was named. SSL_CERT_FILE and SSL_CERT_DIR play no part.
    """
    if not endpoint.tls:
        return None
    secrets = endpoint.secrets
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if "tls_ca" in secrets:
            context.load_verify_locations(secrets["tls_ca"])
        else:
            _believe_this_machine(context)
        if "tls_cert" in secrets:
            # An empty passphrase: OpenSSL would ask the terminal for that of an encrypted key.
            context.load_cert_chain(secrets["tls_cert"], secrets["tls_key"], password="")
    except OSError as failed:
        raise ConnectionError(f"TLS for {endpoint}: a file of TLS_CA, TLS_CERT or TLS_KEY: {failed}") from failed
    return context


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
