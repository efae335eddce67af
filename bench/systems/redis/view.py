"""Redis on itself: how often each command of a lock was executed and how long that took, and the histogram of it.

A command's time is its execution alone: reading the request, writing the append-only file and sending the reply are not
in it (Redis has no counter of the time that its flushes take). Commands that a script calls are counted under their own
names as well, and their time is part of the script's.
"""

from collections.abc import Mapping
from typing import Any

from redis.exceptions import RedisError, ResponseError

from bench.servers.endpoint import Endpoint
from bench.systems.redis.scripts import command
from bench.systems.redis.wire import Wire, connected, parse_info

WAKING = ("publish", "subscribe", "unsubscribe", "rpush", "blpop")  # a client that asks again sends none of these
COMMANDS = ("eval", "evalsha", "set", "get", "del", "incr", "pexpire", *WAKING)
SCRIPTS = ("eval", "evalsha")
ACQUIRES_BY = "evalsha"  # taking and freeing are both scripts: the time of one execution is the mean of the two
_WITHIN_S = 2.0


def read(endpoint: Endpoint, acquires_by: str = ACQUIRES_BY) -> Mapping[str, float]:
    """Sums over all nodes; `acquires_by` is the command that takes the lock. Raises ConnectionError."""
    total: dict[str, float] = {}
    for host, port in endpoint.addresses:
        for name, value in _node(endpoint, host, port, acquires_by).items():
            total[name] = total.get(name, 0.0) + value
    return total


def _node(endpoint: Endpoint, host: str, port: int, acquires_by: str) -> Mapping[str, float]:
    try:
        with connected(endpoint, host, port, _WITHIN_S) as wire:
            statistics = parse_info(_ask(wire, "INFO", "commandstats") or b"")
            sent = parse_info(_ask(wire, "INFO", "stats") or b"").get("total_reads_processed")
            histograms = _ask(wire, "LATENCY", "HISTOGRAM", *dict.fromkeys((*SCRIPTS, acquires_by)))
    except RedisError as failed:
        raise ConnectionError(f"redis at {host}:{port} does not tell its command statistics: {failed}") from failed
    # A client's request is one read of its socket, as long as it asks one thing at a time.
    view = {} if sent is None else {"requests": float(sent)}
    for name in COMMANDS:
        line = statistics.get(f"cmdstat_{name}", "")  # calls=400,usec=765,... ; none before the first call
        numbers = dict(part.split("=", 1) for part in line.split(",") if "=" in part)
        if {"calls", "usec"} <= numbers.keys() and numbers["calls"] != "0":  # 0: refused at each call
            view |= {f"{name}_calls": float(numbers["calls"]), f"{name}_us": float(numbers["usec"])}
    if f"{acquires_by}_calls" in view:
        view |= {"execute_calls": view[f"{acquires_by}_calls"], "execute_us": view[f"{acquires_by}_us"]}
    return view | _buckets(histograms or [])


def _ask(wire: Wire, *words: str) -> Any:
    """A reply; None where the server (an old one, or one that restricts its users) refuses the command."""
    try:
        wire.send_packed_command((command(*words),), False)
        return wire.read_response()
    except ResponseError:
        return None


def _buckets(reply: list[Any]) -> dict[str, float]:
    """Calls that took up to so many µs and more than half of that.

    The reply, `[name, [.., [limit, calls so far, ..]], ..]`, is cumulative and leaves empty buckets out: it is
    made a count for each bucket, and that of one left out is 0.
    """
    found: dict[str, float] = {}
    for name, counts in zip(reply[::2], reply[1::2], strict=True):
        steps, so_far = counts[3], 0
        for limit_us, calls in zip(steps[::2], steps[1::2], strict=True):
            found[f"{name.decode()}_within_{limit_us}_us_calls"] = float(calls - so_far)
            so_far = calls
    return found
