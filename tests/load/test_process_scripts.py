"""What can only be seen where gevent has patched the process, each in a process of its own."""

import json
import subprocess
import sys
from typing import Any

import pytest

from bench.analysis.selfchecks import overlap
from tests.load.test_selfchecks import SIDE_BY_SIDE, events, measured, plan


def script(name: str, **options: Any) -> Any:
    argv = [sys.executable, "-m", f"tests.load.scripts.{name}", *([json.dumps(options)] if options else [])]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_operations_that_were_cut_off_are_no_successes_and_leave_no_lock() -> None:
    seen = script("cut_off")
    assert seen == {
        "held_before": 3,
        "held_after": 0,
        "locust_requests": 0,
        "recorded": {},
        "aborted": 3,
        "in_flight": 0,
        "closed": {"1": 9},  # three of the clients, six of the probe
    }


def test_clients_of_a_pool_that_are_killed_leave_no_lock_and_no_connection() -> None:
    """One holds the lock, one waits for it in the middle of a call, and one waits for a connection."""
    seen = script("cut_off", workload="contended", pool=2, timeout_ms=300_000)
    assert seen == {
        "held_before": 1,
        "held_after": 0,
        "locust_requests": 0,
        "recorded": {},
        "aborted": 3,
        "in_flight": 0,
        "closed": {"1": 8},  # two of the pool
    }


def test_a_blocking_client_is_found_and_a_cooperative_one_is_not() -> None:
    seen = script("blocking_client")
    assert seen["CooperativeLock"]["overlap_blocked_share"] == 0
    assert seen["CooperativeLock"]["overlap_rounds_overlapping"] == 12
    assert seen["CooperativeLock"]["overlap_speedup"] > 2
    assert seen["BlockingLock"]["overlap_blocked_share"] == 1
    assert seen["BlockingLock"]["overlap_rounds_overlapping"] == 0
    verdicts = {
        name: overlap(plan(), measured(self_observations={**SIDE_BY_SIDE, **observed}), events()).passed
        for name, observed in seen.items()
    }
    assert verdicts == {"CooperativeLock": True, "BlockingLock": False}


def test_locusts_statistics_keep_three_digits_below_a_millisecond() -> None:
    seen = script("rounding")
    assert seen["locust_alone"] == 0, "Locust keeps fractions by itself now: bench/load/precision.py may go"
    assert seen["median"] == pytest.approx(0.315)
    assert seen["percentiles"]["response_time_percentile_0.5"] == pytest.approx(0.315)
    assert seen["percentiles"]["response_time_percentile_0.9"] == pytest.approx(1230)
    assert seen["rounded"] == [0.0, 0.0, 0.000812, 0.0123, 1.0, 12.3, 100000.0]


def test_alarms_are_on_time_where_gevents_sleep_is_not() -> None:
    seen = script("alarms")
    assert seen["earliest_us"] >= 0, "never before the instant"
    assert seen["alarm_late_us"] < seen["sleep_late_us"], "gevent sleeps to the microsecond now: Alarm may go"
    assert seen["alarm_late_us"] < 500
    assert seen["past_us"] < 5_000
    assert 0 <= seen["after_a_kill_us"] < 50_000


def test_the_other_side_of_the_process_boundary_stays_unpatched() -> None:
    """The command line imports these two; importing Locust would patch its sockets and threads."""
    code = (
        "import sys; import bench.load.runner, bench.load.live, bench.analysis.selfchecks; "
        "print([name for name in sys.modules if name.split('.')[0] in ('gevent', 'locust')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_loads_without_jobs_do_without_the_database_of_jobs() -> None:
    """Each load process imports its part anew, and a database's client library would be a tenth of a second of it."""
    code = (
        "from gevent import monkey; monkey.patch_all(); import sys; import bench.load.users, bench.load.runner; "
        "print([name for name in sys.modules if name.split('.')[0] in ('psycopg', 'redis', 'kazoo', 'botocore')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_lease_that_is_not_the_one_asked_for_ends_the_run_but_a_short_one_may_run_out() -> None:
    shorter, lost_early, ran_out = script("probe_of_leases")
    assert shorter == "the servers made a lease of 4000 ms of the 5000 ms asked for"
    assert lost_early == "the first release was refused: lost, planted"
    assert ran_out == ""
