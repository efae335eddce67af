"""Run by test_process_scripts in a process of its own: clients are killed in the middle of what they do, as Locust does
at a stop. By default all of them hold a lock; options as JSON, the one argument, let them do something else.

Prints, as JSON, what Locust and the recorder counted, whether anything is still locked, and how often each connection
was closed.
"""

from locust import events  # isort: skip

import json
import sys
from collections import Counter
from typing import ClassVar

import gevent
from locust.argument_parser import get_parser
from locust.env import Environment

from bench.load.process import process_of
from bench.load.users import SelectedLockUser
from bench.load.wiring import install
from bench.servers.endpoint import Endpoint
from bench.systems.clock import SYSTEM_CLOCK
from bench.systems.memory import lock
from bench.systems.memory.store import store_at

CLIENTS = 3
OPTIONS = {
    "system": "memory",
    "ttl_ms": 600_000,
    "hold_ms": 300_000.0,
    "timeout_ms": 1_000,
    "warmup_s": 0.0,
    "headless": True,
    "user_classes": ["SelectedLockUser"],
    "stop_timeout": 0.001,
    "num_users": CLIENTS,
    **(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}),
}


class Counted(lock.MemoryLock):
    """Its connections, and how often each was closed."""

    closed: ClassVar[Counter[int]] = Counter()

    def _connect(self) -> None:
        super()._connect()
        self.closed[id(self)] = 0
        self.kept = self  # so that no other has its id

    def close(self) -> None:
        self.closed[id(self)] += 1
        super().close()


def main() -> None:
    install(events)
    lock.MemoryLock = Counted  # type: ignore[misc]
    options = get_parser(()).parse_args([])  # with the defaults of every option that there is
    vars(options).update(OPTIONS)
    environment = Environment(user_classes=[SelectedLockUser], events=events, parsed_options=options)
    runner = environment.create_local_runner()
    events.init.fire(environment=environment, runner=runner, web_ui=None)
    runner.start(CLIENTS, CLIENTS)
    store = store_at(Endpoint(()))
    with gevent.Timeout(20):
        while True:
            process = process_of(environment)
            if process is not None and process.in_flight == CLIENTS:
                break
            gevent.sleep(0.01)
    keys = [process.settings.key(number) for number in range(CLIENTS)]
    held_before = sum(store.holder(key, SYSTEM_CLOCK.monotonic_ns()) is not None for key in keys)
    runner.stop()
    recorder = process.recorders["memory"]
    print(
        json.dumps(
            {
                "held_before": held_before,
                "held_after": sum(store.holder(key, SYSTEM_CLOCK.monotonic_ns()) is not None for key in keys),
                "locust_requests": runner.stats.num_requests,
                "recorded": dict(recorder.counts()),
                "aborted": recorder.aborted,
                "in_flight": process.in_flight,
                "closed": dict(Counter(Counted.closed.values())),
            }
        )
    )


main()
