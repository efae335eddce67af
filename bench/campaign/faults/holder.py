"""A holder to be killed: one client in a process of its own, which queues for the key like the clients of the load.

    python -m bench.campaign.faults.holder

Its first line on standard input says whom to ask for what, each later one is a request to acquire; it answers in lines
on standard output. At the end of standard input, so also when its parent has died, it releases and ends.
"""

import json
import subprocess
import sys
from pathlib import Path
from time import monotonic_ns
from typing import Any, Self

from bench.errors import LockbenchError
from bench.load.options import key_name, wait_of
from bench.records.hazards import FaultWindow
from bench.records.schema import RunPlan
from bench.servers.endpoint import Endpoint
from bench.servers.process import readable
from bench.systems.base import ClientOptions, Grant
from bench.systems.registry import system
from bench.systems.wait import Wait

_OPENS_WITHIN_S = 30.0
_ENDS_WITHIN_S = 10.0
_CALLS_S = 10.0  # beyond the timeout of its acquire


class NoHolder(LockbenchError):
    """The holder that was to be killed never held the key, so nothing was tested."""


class Holder:
    """The parent's side. A context manager: at its end the process is gone."""

    def __init__(self, plan: RunPlan, endpoint: Endpoint, log_path: Path) -> None:
        """What the process has to say beside its answers is appended to `log_path`."""
        workload = plan.workload
        self._log_path = log_path
        self._asks: dict[str, Any] = {
            "system": plan.system,
            "endpoint": endpoint.to_tree(),
            "key": key_name(plan.seed, 0),
            "ttl_ms": workload.ttl_ms,
            "timeout_ms": workload.timeout_ms,
            "wait": str(wait_of(workload, system(plan.system))),
        }
        self._process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.campaign.faults.holder"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C at the terminal reaches the parent only
            )
        try:
            self._say(json.dumps(self._asks))
            if self._answer(_OPENS_WITHIN_S) != "opened":
                raise NoHolder("the holder that was to be killed could not connect; see log.txt")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait(_ENDS_WITHIN_S)
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            return  # what was still to be said to it

    def kill_while_holding(self) -> FaultWindow:
        """Have it acquire the key, and SIGKILL it as soon as it has. Raises NoHolder.

        The instant is that before the signal: the kernel closes its sockets before anybody can see that it is gone.
        """
        self._say("acquire")
        answer = self._answer(self._asks["timeout_ms"] / 1e3 + _CALLS_S)
        if answer != "acquired":
            raise NoHolder(f"the holder that was to be killed never got the key: {answer or 'no answer'}")
        killed_ns = monotonic_ns()
        self._process.kill()
        self._process.wait(_ENDS_WITHIN_S)
        confirmed = f"SIGKILL while it held the key, gone: process {self._process.pid}"
        return FaultWindow(kind="kill", target="a holder", began_ns=killed_ns, ended_ns=None, confirmed=confirmed)

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except BrokenPipeError as gone:
            raise NoHolder("the holder that was to be killed has ended by itself") from gone

    def _answer(self, within_s: float) -> str:
        """The next line; empty where none comes in time, or the process has ended."""
        assert self._process.stdout is not None
        if not readable([self._process.stdout.fileno()], within_s):
            return ""
        return self._process.stdout.readline().strip()


def main() -> None:
    """The child's side."""
    asks = json.loads(sys.stdin.readline())
    entry = system(asks["system"])
    options = ClientOptions(ttl_ms=asks["ttl_ms"], variant=entry.client_variant)
    with entry.client_class.open(Endpoint.from_tree(asks["endpoint"]), options) as client:
        print("opened", flush=True)
        grants = []
        for _ in sys.stdin:
            answer = client.acquire(asks["key"], asks["ttl_ms"], asks["timeout_ms"], Wait.parse(asks["wait"]))
            if isinstance(answer, Grant):
                grants.append(answer)
            print("acquired" if isinstance(answer, Grant) else f"{answer.outcome}: {answer.reason}", flush=True)
        for grant in grants:
            client.release(grant)


if __name__ == "__main__":
    main()
