"""The line process: `python -m bench.servers.network.child`, started by `lines.open_lines` and by nobody else.

It is told what to do by lines of JSON on its standard input, and answers each by one on its standard output. It ends
when its input does, which the kernel sees to when whoever holds the other end has ended in any way, SIGKILL included.
"""

import gc
import json
import os
import resource
import sys
from collections.abc import Mapping
from typing import Any

from bench.servers.network.carrier import Carrier
from bench.servers.network.delay import Delay

_CHUNK_BYTES = 65_536


class _Orders:
    """What comes by standard input, put together into lines."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._heard = b""

    def hear(self, _: int) -> None:
        """Obey every whole line. At the end of the input, stop."""
        chunk = os.read(0, _CHUNK_BYTES)
        if not chunk:
            self._carrier.stop()
            return
        *whole, self._heard = (self._heard + chunk).split(b"\n")
        for line in whole:
            self._obey(json.loads(line))

    def _obey(self, order: Mapping[str, Any]) -> None:
        if "tally" in order:
            _say(self._carrier.ledger.tally())
            return
        if "become" in order:
            self._carrier.become(**order["become"])
        if "hold_us" in order:
            self._carrier.delay.hold(*order["hold_us"])
        if "echo" in order:
            self._carrier.echo = tuple(order["echo"]) if order["echo"] else None
        gc.collect()  # while nobody measures; at all other times it is off
        _say(self._carrier.ledger.look())


def _say(tree: Mapping[str, Any]) -> None:
    os.write(1, json.dumps(tree).encode() + b"\n")


def main() -> None:
    """Carry until the input ends."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two descriptors for each connection
    plan = json.loads(sys.stdin.buffer.raw.readline())  # type: ignore[union-attr]  # raw: what follows stays in the pipe
    targets, at = ([(str(host), int(port)) for host, port in plan[name]] for name in ("targets", "at"))
    carrier = Carrier(targets, Delay(plan["jitter_us"], plan["reset_after_s"], plan["seed"]), at)
    carrier.watch(0, _Orders(carrier).hear)
    _say({"places": carrier.places})
    gc.freeze()
    gc.disable()
    carrier.run()


if __name__ == "__main__":
    main()
