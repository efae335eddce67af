"""ZooKeeper's four-letter words: what a server says of itself over its client port, without a session."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import ExitStack

_ANSWER_BYTES_MAX = 1 << 20


class Unanswered(Exception):
    """The server took the connection and did not answer the word: it serves no requests yet."""


class NotAllowed(Unanswered):
    """The word is not in the server's `4lw.commands.whitelist`, which holds only `srvr` by default."""


def ask(host: str, port: int, word: str, timeout_s: float, encrypt: ssl.SSLContext | None = None) -> str:
    """The text a server answers to `word` (`conf`, `srvr`, `mntr`), over TLS where `encrypt` says how.

    Raises OSError when the server cannot be reached, NotAllowed when it refuses the word, and Unanswered while it has
    no quorum. Both refusals are ordinary text on the wire, so they are distinguished here and nowhere else.
    """
    with ExitStack() as opened:
        connection = opened.enter_context(socket.create_connection((host, port), timeout_s))
        if encrypt is not None:
            connection = opened.enter_context(encrypt.wrap_socket(connection, server_hostname=host))
        connection.sendall(word.encode())
        answer = b""
        while len(answer) < _ANSWER_BYTES_MAX and (chunk := connection.recv(65_536)):
            answer += chunk
    text = answer.decode("utf-8", "replace")
    refusal = f"{host}:{port} says to {word!r}: {text.strip() or 'nothing'}"
    if "is not in the whitelist" in text:
        raise NotAllowed(refusal)
    if not text.strip() or "not currently serving requests" in text:
        raise Unanswered(refusal)
    return text


def fields(text: str) -> Mapping[str, str]:
    """The lines of an answer as names and values: `conf` writes `a=b`, `srvr` writes `A: b`, `mntr` a tab."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        for separator in ("\t", "=", ": "):
            name, cut, value = line.partition(separator)
            if cut:
                found[name.strip()] = value.strip()
                break
    return found
