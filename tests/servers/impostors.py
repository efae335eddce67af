"""What may stand at an address in place of the server that was named."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from bench.servers.running.ports import free_ports

_HEARD_BYTES = 4096


def _silent(peer: socket.socket) -> None:
    while peer.recv(_HEARD_BYTES):
        pass


def _closing(peer: socket.socket) -> None:
    peer.recv(_HEARD_BYTES)


def _saying(answer: bytes) -> Callable[[socket.socket], None]:
    def speak(peer: socket.socket) -> None:
        while peer.recv(_HEARD_BYTES):
            peer.sendall(answer)

    return speak


def _greeting(peer: socket.socket) -> None:
    peer.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    _silent(peer)


def _echoing(peer: socket.socket) -> None:
    while heard := peer.recv(_HEARD_BYTES):
        peer.sendall(heard)


_PAGE = b"<html><body>It works!</body></html>"
_HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(_PAGE), _PAGE)
_HTTP_404 = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

BEHAVIOURS: Mapping[str, Callable[[socket.socket], None] | None] = {
    "nothing": None,
    "accepts and is silent": _silent,
    "accepts and closes": _closing,
    "an HTTP server": _saying(_HTTP),
    "an HTTP server without the page": _saying(_HTTP_404),
    "an SSH server": _greeting,
    "an echo": _echoing,
    "zeros": _saying(bytes(64)),
    "0xff": _saying(b"\xff" * 64),
    "a mail server": _saying(b"220 mail.invalid ESMTP\r\n"),
    "a Redis that wants a password": _saying(b"-NOAUTH Authentication required.\r\n" * 6),
    "an empty line": _saying(b"\r\n"),
}


@contextmanager
def impostor(behaviour: Callable[[socket.socket], None] | None) -> Iterator[int]:
    """A port on 127.0.0.1 where something behaves so for the block; None: nobody listens on it."""
    if behaviour is None:
        yield free_ports(1)[0]
        return
    peers: list[socket.socket] = []

    def serve(peer: socket.socket) -> None:
        with peer, suppress(OSError):
            behaviour(peer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                peers.append(peer)
                threading.Thread(target=serve, args=(peer,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for peer in peers:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
