"""`redis-benchmark`, the load generator that comes with Redis: one thread, one command, no pipelining here."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from bench.calibrate.programs import NativeToolFailed, find_program, run_program, version_of
from bench.servers.endpoint import Endpoint
from bench.systems.redis.probe import NATIVE_KEY, TTL_MS, VALUE
from bench.systems.redis.scripts import FREE, TAKE, command
from bench.systems.redis.wire import ask

INSTALL = "sudo apt-get install redis-tools"
# `__rand_int__` is replaced by a number below this, in twelve digits: of 200 000 keys about ten are there already.
_KEYSPACE = 2**31 - 1
_SIZING_REQUESTS = 10_000
_LENGTH_S = 1.0

SET = ("SET", NATIVE_KEY, VALUE, "NX", "PX", str(TTL_MS))
# The lock's own scripts. Each `__rand_int__` is another number, so lock and fence have different tags, which one server
# does not mind. The release finds no key and deletes none: less work than the lock's, to the native side's advantage.
_LOCK, _FENCE = "lockbench:{__rand_int__}:lock", "lockbench:{__rand_int__}:fence"
ACQUIRE = ("EVALSHA", TAKE.sha, "2", _LOCK, _FENCE, str(TTL_MS), VALUE)
RELEASE = ("EVALSHA", FREE.sha, "1", _LOCK, VALUE)


@dataclass(frozen=True, slots=True)
class RedisBenchmarked:
    """What redis-benchmark said. Its histogram has steps of 8 µs and names the upper end of a step."""

    rate_per_s: float
    latency_us_p50: float
    latency_us_mean: float


@dataclass(frozen=True, slots=True)
class RedisBenchmark:
    """The program, pointed at one server that belongs to this bench alone: the database is emptied again and again."""

    path: str
    version: str
    host: str
    port: int

    @classmethod
    def find(cls, server_program: str | None, endpoint: Endpoint) -> Self:
        """Look for it beside the server. Raises NativeToolFailed."""
        path = find_program("redis-benchmark", server_program, INSTALL)
        ((host, port),) = endpoint.addresses
        return cls(path, version_of(path), host, port)

    def empty(self) -> None:
        """Remove all keys, so that every measurement starts from the same database; keep the scripts loaded."""
        loads = [command("SCRIPT", "LOAD", script.source) for script in (TAKE, FREE)]
        ask(self.host, self.port, command("FLUSHALL", "SYNC"), *loads, timeout_s=10.0)

    def run(self, words: Sequence[str], clients: int) -> RedisBenchmarked:
        """Drive the server with one command for about a second. Raises NativeToolFailed."""
        sizing = self._run(words, clients, _SIZING_REQUESTS)
        return self._run(words, clients, max(_SIZING_REQUESTS, round(sizing.rate_per_s * _LENGTH_S)))

    def _run(self, words: Sequence[str], clients: int, requests: int) -> RedisBenchmarked:
        self.empty()
        address = ("-h", self.host, "-p", str(self.port))
        size = ("-c", str(clients), "-n", str(requests), "-r", str(_KEYSPACE))
        return parse(run_program([self.path, *address, *size, "--csv", *words]))


def parse(text: str) -> RedisBenchmarked:
    """Read the two lines of `--csv`. Raises NativeToolFailed for anything else, as for an error of the server."""
    rows = list(csv.DictReader(io.StringIO(text)))
    try:
        (row,) = rows
        return RedisBenchmarked(
            float(row["rps"]), float(row["p50_latency_ms"]) * 1e3, float(row["avg_latency_ms"]) * 1e3
        )
    except (ValueError, KeyError, TypeError):
        raise NativeToolFailed(f"redis-benchmark printed something else than its table: {text.strip()[:400]}") from None
