"""Run by test_overlap in a process of its own: the probe looks at a cooperative and at a blocking client.

The blocking one sleeps in the operating system, past gevent, as a C library does. Prints both observations as JSON.
"""

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
import time  # noqa: E402

from bench.load.options import LoadSettings  # noqa: E402
from bench.load.overlap import CLIENTS, observe_overlap  # noqa: E402
from bench.records.workload import UNCONTENDED, Behaviour  # noqa: E402
from bench.servers.endpoint import Endpoint  # noqa: E402
from bench.systems.base import Grant, Refusal  # noqa: E402
from bench.systems.null.lock import NullLock  # noqa: E402
from bench.systems.wait import Wait  # noqa: E402

_sleep_past_gevent = monkey.get_original("time", "sleep")
CALL_S = 0.002


class CooperativeLock(NullLock):
    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        time.sleep(CALL_S)  # pace: the round trip
        return super()._acquire(key, ttl_ms, timeout_ms, wait)


class BlockingLock(NullLock):
    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        _sleep_past_gevent(CALL_S)  # pace: the round trip
        return super()._acquire(key, ttl_ms, timeout_ms, wait)


def main() -> None:
    settings = LoadSettings("null", Behaviour(name=UNCONTENDED, keys=0, warmup_s=0.0, measure_s=0.0), seed=1)
    keys = [str(number) for number in range(CLIENTS)]
    seen = {
        cls.__name__: observe_overlap([cls.open(Endpoint(())) for _ in keys], keys, settings)
        for cls in (CooperativeLock, BlockingLock)
    }
    print(json.dumps(seen))


main()
