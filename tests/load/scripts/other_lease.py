"""Run by test_process_scripts in a process of its own: the probe before the warm-up, on servers that shorten a lease.

Prints what it says as JSON.
"""

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
from dataclasses import replace  # noqa: E402

from bench.load.options import LoadSettings  # noqa: E402
from bench.load.overlap import ProbeFailed, observe_overlap  # noqa: E402
from bench.records.workload import UNCONTENDED, Behaviour  # noqa: E402
from bench.servers.endpoint import Endpoint  # noqa: E402
from bench.systems.base import Grant, Refusal  # noqa: E402
from bench.systems.null.lock import NullLock  # noqa: E402
from bench.systems.wait import Wait  # noqa: E402


class ShorterLease(NullLock):
    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        answer = super()._acquire(key, ttl_ms, timeout_ms, wait)
        return replace(answer, ttl_ms=4_000) if isinstance(answer, Grant) else answer


def main() -> None:
    settings = LoadSettings("null", Behaviour(name=UNCONTENDED, keys=0, ttl_ms=5_000), seed=1)
    try:
        observe_overlap([ShorterLease.open(Endpoint(()))], ["key"], settings)
    except ProbeFailed as refused:
        print(json.dumps(str(refused)))


main()
