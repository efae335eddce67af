"""How far a server's wall clock is off, asked of the server itself: the confirmation of a step."""

import datetime
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException

from bench.errors import LockbenchError
from bench.servers.spec import ServerSpec
from bench.servers.state import NodeState
from bench.systems.registry import system

_WITHIN_S = 5.0
_US, _MS, _SECOND = 1_000, 1_000_000, 1_000_000_000
_LOGGED_AT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[.,](\d{3})")


class NotTold(LockbenchError):
    """The server did not tell its time."""


@dataclass(frozen=True, slots=True)
class SeenOffset:
    """The server's wall clock is `least_ms` to `most_ms` ahead of the machine's (negative: behind).

    The width is the time that asking took, and the grain of what the server tells.
    """

    least_ms: float
    most_ms: float
    told_by: str

    def agrees_with(self, offset_ms: float) -> bool:
        return self.least_ms <= offset_ms <= self.most_ms

    def __str__(self) -> str:
        return f"{self.least_ms:+.3f} to {self.most_ms:+.3f} ms from the machine's clock, by {self.told_by}"


@dataclass(frozen=True, slots=True)
class _Told:
    """What a server told: its clock read `wall_ns`, or up to one grain later, at an instant after `asked_ns`, which is
    the machine's wall time as `time.time_ns` tells it."""

    asked_ns: int
    wall_ns: int
    grain_ns: int


def seen_offset(name: str, node: NodeState) -> SeenOffset:
    """Ask one node of a system's private servers. Takes up to a second of a DynamoDB engine, else milliseconds.

    Raises NotTold if the server does not answer as expected.
    """
    servers = system(name).servers
    if servers is None:
        raise NotTold(f"{name} has no server that could tell its time")
    tell, told_by = _TELLERS[servers.name]
    try:
        told = tell(servers, node)
    except (OSError, HTTPException, ValueError) as failed:
        raise NotTold(f"{node.node.name} did not tell its time: {failed}") from failed
    answered_ns = time.time_ns()
    earliest, latest = told.wall_ns - answered_ns, told.wall_ns + told.grain_ns - told.asked_ns
    return SeenOffset(earliest / _MS, latest / _MS, told_by)


def _redis(_servers: ServerSpec, node: NodeState) -> _Told:
    asked_ns = time.time_ns()
    with socket.create_connection((node.node.host, node.node.port), _WITHIN_S) as connection:
        connection.sendall(b"TIME\r\n")
        lines = _received(connection, 5)
    return _Told(asked_ns, int(lines[2]) * _SECOND + int(lines[4]) * _US, _US)


def _postgres(servers: ServerSpec, node: NodeState) -> _Told:
    from bench.systems.postgres_row.session import Session  # costly to import, and needed for this system only

    session = Session.open(servers.endpoint([node.node]), _WITHIN_S, "lockbench clock")
    try:
        asked_ns = time.time_ns()
        sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        ((microseconds,),) = session.execute(sql, within_s=_WITHIN_S)
    finally:
        session.close()
    return _Told(asked_ns, int(microseconds or "") * _US, _US)


def _http(_servers: ServerSpec, node: NodeState) -> _Told:
    asked_ns, date = _date_header(node)
    return _Told(asked_ns, date, _SECOND)


def _http_anew(_servers: ServerSpec, node: NodeState) -> _Told:
    """Node.js makes the header once a second and keeps it: wait for the next, which was made after we began to ask."""
    first_asked_ns, first = _date_header(node)
    give_up = time.monotonic() + _WITHIN_S
    while True:
        time.sleep(0.01)  # pace: between two looks, bounded by the deadline
        _, date = _date_header(node)
        if date != first:
            return _Told(first_asked_ns, date, _SECOND)
        if time.monotonic() >= give_up:
            raise TimeoutError(f"the same Date for {_WITHIN_S:g} s")


def _zookeeper(_servers: ServerSpec, node: NodeState) -> _Told:
    """No command of ZooKeeper tells a member's time, but its log does: we say what no client says, and it logs that."""
    asked_ns = time.time_ns()
    with socket.create_connection((node.node.host, node.node.port), _WITHIN_S) as connection:
        port = connection.getsockname()[1]
        connection.sendall(b"\x7f\xff\xff\xff")  # a message of 2 GiB is announced
        connection.recv(1)  # the end of the connection: the complaint is logged before it, or at once after it
    give_up = time.monotonic() + _WITHIN_S
    while True:
        lines = node.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [number for number, line in enumerate(lines) if f"/{node.node.host}:{port} " in line]
        stamps = [found for line in lines[: said[-1] + 1] if (found := _LOGGED_AT.match(line))] if said else []
        if stamps:
            day = datetime.datetime.strptime(stamps[-1][1], "%Y-%m-%d %H:%M:%S").astimezone()  # logged in local time
            return _Told(asked_ns, int(day.timestamp()) * _SECOND + int(stamps[-1][2]) * _MS, _MS)
        if time.monotonic() >= give_up:
            raise TimeoutError(f"nothing in {node.log_path}")
        time.sleep(0.005)  # pace: between two looks at the log, bounded by the deadline


def _date_header(node: NodeState) -> tuple[int, int]:
    connection = HTTPConnection(node.node.host, node.node.port, timeout=_WITHIN_S)
    try:
        asked_ns = time.time_ns()
        connection.request("GET", "/")
        response = connection.getresponse()
    finally:
        connection.close()
    date = parsedate_to_datetime(response.headers.get("Date", ""))
    return asked_ns, int(date.timestamp()) * _SECOND


def _received(connection: socket.socket, lines: int) -> list[bytes]:
    """So many whole lines."""
    received = b""
    while received.count(b"\r\n") < lines:
        chunk = connection.recv(4_096)
        if not chunk:
            raise ConnectionError("the connection ended")
        received += chunk
    return received.split(b"\r\n")


# By server set: how its servers are asked, and what it is that they tell.
_TELLERS: Mapping[str, tuple[Callable[[ServerSpec, NodeState], _Told], str]] = {
    "redis": (_redis, "Redis TIME"),
    "redlock": (_redis, "Redis TIME"),
    "postgres": (_postgres, "clock_timestamp()"),
    "etcd": (_http, "etcd's HTTP Date"),
    "dynamodb": (_http_anew, "the engine's HTTP Date"),
    "zookeeper": (_zookeeper, "ZooKeeper's log"),
}
