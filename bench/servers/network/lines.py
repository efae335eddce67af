"""Delay lines for the length of a block, seen from the process that asks for them.

They are carried by a process of their own (child.py), outside the load and outside lockbench: neither's work delays a
message, and theirs delays nobody's. It ends with whoever started it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.network.counts import Counts, Tally
from bench.servers.process import readable
from bench.servers.surroundings import environment_without

Address = tuple[str, int]
_ANSWERS_WITHIN_S = 30.0  # it has to be started first, perhaps on a busy machine
_ENDS_WITHIN_S = 5.0


class LinesFailed(LockbenchError):
    """The line process did not come up, or does not answer; the message has the end of what it printed."""


class Lines:
    """One line before each of some addresses. `open_lines` makes it. Every method raises LinesFailed."""

    def __init__(self, process: "subprocess.Popen[bytes]", said: IO[bytes]) -> None:
        self._process, self._said = process, said
        self._rest = b""
        self.places: Mapping[Address, Address] = {}  # where each address is reached through its line

    @property
    def pid(self) -> int:
        """Of the process that carries."""
        return self._process.pid

    def through(self, endpoint: Endpoint) -> Endpoint:
        """The same system behind its lines. Raises KeyError for an address that has none."""
        return endpoint.at(tuple(self.places[address] for address in endpoint.addresses))

    def hold(self, onward_us: float, backward_us: float, jitters: bool = True) -> Counts:
        """Hold what comes from now on for so long, to the servers and back, and for the jitter on top."""
        return self._order({"hold_us": [onward_us, backward_us, jitters]})

    def divert(self, to: Address | None) -> Counts:
        """Lead new connections of every line to one address, instead of to its server; None: to the servers again."""
        return self._order({"echo": to})

    def counts(self) -> Counts:
        """What was carried up to now."""
        return self._order({})

    def tally(self) -> Tally:
        """What came up to now, by direction. Unlike `counts` it begins nothing anew."""
        return Tally(**self._ask({"tally": True}))

    def become(self, jitter_us: float, reset_after_s: float, seed: int) -> Counts:
        """Have another network's jitter and lives of connections from now on; what `hold` set stays."""
        return self._order({"become": {"jitter_us": jitter_us, "reset_after_s": reset_after_s, "seed": seed}})

    def begin(self, targets: Mapping[Address, Address], jitter_us: float, reset_after_s: float, seed: int) -> None:
        """Say what to carry, and where each line is to listen; called once, by `open_lines`."""
        plan = {
            "targets": list(targets),
            "at": list(targets.values()),
            "jitter_us": jitter_us,
            "reset_after_s": reset_after_s,
            "seed": seed,
        }
        places = self._ask(plan)["places"]
        self.places = {target: (str(host), int(port)) for target, (host, port) in zip(targets, places, strict=True)}

    def _order(self, order: Mapping[str, Any]) -> Counts:
        return Counts.from_tree(self._ask(order))

    def _ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as gone:
            raise LinesFailed(f"the delay lines have ended: {self._last_words()}") from gone
        answer: dict[str, Any] = json.loads(self._hear())
        return answer

    def _hear(self) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + _ANSWERS_WITHIN_S
        while b"\n" not in self._rest:
            ready = readable([descriptor], max(0.0, deadline - time.monotonic()))
            heard = os.read(descriptor, 65_536) if ready else b""
            if not heard:
                raise LinesFailed(f"the delay lines do not answer: {self._last_words()}")
            self._rest += heard
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read().decode("utf-8", "replace").strip()[-2_000:] or "they printed nothing"


@contextmanager
def open_lines(
    targets: Sequence[Address],
    jitter_us: float = 0.0,
    reset_after_s: float = 0.0,
    seed: int = 0,
    at: Mapping[Address, Address] | None = None,
) -> Iterator[Lines]:
    """Have a line before each of these addresses for a block, without a delay until `hold` asks for one.

    `at` says where the line before an address listens; without it, at some free port of 127.0.0.1.
    Jitter comes on top, each way, uniform from 0. Connections live for `reset_after_s` on average (0: for ever), and
    are then reset on both sides. Raises LinesFailed.
    """
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.servers.network.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment_without(()),
            start_new_session=True,  # Ctrl-C reaches lockbench only, which ends the lines after the load
        )
        try:
            lines = Lines(process, said)
            places = {target: (at or {}).get(target, ("127.0.0.1", 0)) for target in targets}
            lines.begin(places, jitter_us, reset_after_s, seed)
            yield lines
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.close()
        process.wait(_ENDS_WITHIN_S)
    except (BrokenPipeError, subprocess.TimeoutExpired):  # it is gone, or stuck: it has nothing to save
        process.kill()
        process.wait()
    finally:
        process.stdout.close()
