"""What time a redis-server has: its TIME command."""

import socket
import time

from bench.servers.spec import Node, ToldTime

_WITHIN_S = 5.0
_SECOND, _US = 1_000_000_000, 1_000


def tell(node: Node) -> ToldTime:
    """Ask one node."""
    asked_ns = time.time_ns()
    with socket.create_connection((node.host, node.port), _WITHIN_S) as connection:
        connection.sendall(b"TIME\r\n")
        lines = _received(connection, 5)
    return ToldTime(asked_ns, int(lines[2]) * _SECOND + int(lines[4]) * _US, _US, "Redis TIME")


def _received(connection: socket.socket, lines: int) -> list[bytes]:
    """So many whole lines."""
    received = b""
    while received.count(b"\r\n") < lines:
        chunk = connection.recv(4_096)
        if not chunk:
            raise ConnectionError("the connection ended")
        received += chunk
    return received.split(b"\r\n")
