"""Run by test_process_scripts in a process of its own: what the probe before the warm-up says about odd leases.

Prints a list as JSON: of servers that shorten a lease, of a lease lost early, of one that ran out before its release.
"""

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
import time  # noqa: E402
from dataclasses import replace  # noqa: E402

from bench.load.options import LoadSettings  # noqa: E402
from bench.load.overlap import ProbeFailed, observe_overlap  # noqa: E402
from bench.records.workload import UNCONTENDED, Behaviour  # noqa: E402
from bench.servers.endpoint import Endpoint  # noqa: E402
from bench.systems.base import Grant, LockClient, Refusal, Released  # noqa: E402
from bench.systems.null.lock import NullLock  # noqa: E402
from bench.systems.wait import Wait  # noqa: E402


class ShorterLease(NullLock):
    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        answer = super()._acquire(key, ttl_ms, timeout_ms, wait)
        return replace(answer, ttl_ms=4_000) if isinstance(answer, Grant) else answer


class LostEarly(NullLock):
    def _release(self, grant: Grant) -> Released | Refusal:
        return Refusal("lost", "planted")


class RanOut(LostEarly):
    def _release(self, grant: Grant) -> Released | Refusal:
        time.sleep(grant.ttl_ms / 1e3)  # what a busy machine does to a short lease
        return super()._release(grant)


def said(client: type[LockClient], ttl_ms: int) -> str:
    settings = LoadSettings("null", Behaviour(name=UNCONTENDED, keys=0, ttl_ms=ttl_ms), seed=1)
    try:
        observe_overlap([client.open(Endpoint(()))], ["key"], settings)
    except ProbeFailed as refused:
        return str(refused)
    return ""


print(json.dumps([said(ShorterLease, 5_000), said(LostEarly, 5_000), said(RanOut, 5)]))
