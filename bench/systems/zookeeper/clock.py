"""What time a ZooKeeper server has: the stamps of its log."""

import datetime
import re
import socket
import time
from pathlib import Path

from bench.servers.spec import Node, ToldTime

_WITHIN_S = 5.0
_MS, _SECOND = 1_000_000, 1_000_000_000
_LOGGED_AT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[.,](\d{3})")


def tell(node: Node, log_path: Path) -> ToldTime:
    """No command of ZooKeeper tells a member's time, but its log does: we say what no client says, and it logs that."""
    asked_ns = time.time_ns()
    with socket.create_connection((node.host, node.port), _WITHIN_S) as connection:
        port = connection.getsockname()[1]
        connection.sendall(b"\x7f\xff\xff\xff")  # a message of 2 GiB is announced
        connection.recv(1)  # the end of the connection: the complaint is logged before it, or at once after it
    give_up = time.monotonic() + _WITHIN_S
    while True:
        lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [number for number, line in enumerate(lines) if f"/{node.host}:{port} " in line]
        stamps = [found for line in lines[: said[-1] + 1] if (found := _LOGGED_AT.match(line))] if said else []
        if stamps:
            day = datetime.datetime.strptime(stamps[-1][1], "%Y-%m-%d %H:%M:%S").astimezone()  # logged in local time
            wall_ns = int(day.timestamp()) * _SECOND + int(stamps[-1][2]) * _MS
            return ToldTime(asked_ns, wall_ns, _MS, "ZooKeeper's log")
        if time.monotonic() >= give_up:
            raise TimeoutError(f"nothing in {log_path}")
        time.sleep(0.005)  # pace: between two looks at the log, bounded by the deadline
