"""Run by test_process_scripts in a process of its own: how late an alarm wakes its greenlet, beside gevent's own sleep.

Prints, as JSON, the median lateness of each in µs, and what waiting for a past instant and ending a wait early do.
"""

from locust import events  # isort: skip  # noqa: F401  # patches the standard library

import json
from statistics import median
from time import monotonic_ns

import gevent

from bench.load.loop import Alarm

_DELAY_NS = 300_000
_TIMES = 200


def main() -> None:
    alarm = Alarm()
    late: list[int] = []
    slept: list[int] = []
    for _ in range(_TIMES):
        due_ns = monotonic_ns() + _DELAY_NS
        alarm.wait_until(due_ns)
        late.append(monotonic_ns() - due_ns)
        due_ns = monotonic_ns() + _DELAY_NS
        gevent.sleep(_DELAY_NS / 1e9)
        slept.append(monotonic_ns() - due_ns)
    began_ns = monotonic_ns()
    alarm.wait_until(began_ns - 1)
    past_ns = monotonic_ns() - began_ns
    waiting = gevent.spawn(alarm.wait_until, monotonic_ns() + 60_000_000_000)
    gevent.sleep(0.01)
    waiting.kill()
    due_ns = monotonic_ns() + _DELAY_NS
    alarm.wait_until(due_ns)  # the setting that was given up is forgotten
    after_ns = monotonic_ns() - due_ns
    alarm.close()
    print(
        json.dumps(
            {
                "alarm_late_us": median(late) / 1e3,
                "sleep_late_us": median(slept) / 1e3,
                "earliest_us": min(late) / 1e3,
                "past_us": past_ns / 1e3,
                "after_a_kill_us": after_ns / 1e3,
            }
        )
    )


if __name__ == "__main__":
    main()
