"""What the native tools print is read as they mean it, and anything else is told."""

import shutil
import sys
from pathlib import Path

import pytest

from bench.calibrate.pgbench import SCRIPT, parse_rate
from bench.calibrate.programs import NativeToolFailed, find_program, run_program
from bench.calibrate.redis_benchmark import ACQUIRE, RELEASE, SET, parse
from bench.systems.postgres_row.statements import SEQUENCE, prepared
from bench.systems.redis.probe import NATIVE_KEY
from bench.systems.redis.scripts import FREE, TAKE

BENCHMARKED = """\
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"SET lockbench-set:............:__rand_int__ x NX PX 10000","181159.42","0.052","0.008","0.055","0.079","0.135","0.815"
"""
PGBENCHED = """\
number of failed transactions: 0 (0.000%)
latency average = 0.092 ms
initial connection time = 4.1 ms
tps = 10869.565 (without initial connection time)
"""


def test_redis_benchmark_in_our_units() -> None:
    told = parse(BENCHMARKED)
    assert (told.rate_per_s, told.latency_us_p50, told.latency_us_mean) == pytest.approx((181159.42, 55.0, 52.0))


@pytest.mark.parametrize("text", ["", "Error from server: NOSCRIPT\n", BENCHMARKED.replace("181159.42", "nan-")])
def test_redis_benchmark_that_did_not_measure(text: str) -> None:
    with pytest.raises(NativeToolFailed, match="redis-benchmark printed"):
        parse(text)


def test_pgbench_rate() -> None:
    assert parse_rate(PGBENCHED) == 10869.565


@pytest.mark.parametrize("text", ["", PGBENCHED.replace("transactions: 0", "transactions: 7")])
def test_pgbench_that_did_not_measure(text: str) -> None:
    with pytest.raises(NativeToolFailed, match="pgbench did not tell"):
        parse_rate(text)


def test_both_sides_run_the_same_statements() -> None:
    lines = SCRIPT.splitlines()
    statements = prepared(SEQUENCE)
    assert lines[0] == "\\startpipeline"
    assert lines[1] == statements[b"begin"].decode() + ";"
    assert lines[2].replace(":client_id", "$1") == statements[b"passing"].decode() + ";"
    assert lines[3] == "\\endpipeline"
    assert lines[4] == statements[b"commit"].decode() + ";"


def test_both_sides_run_the_same_scripts_on_new_keys() -> None:
    assert ACQUIRE[1] == TAKE.sha
    assert RELEASE[1] == FREE.sha
    assert SET[1] == NATIVE_KEY
    assert all("__rand_int__" in key for key in (SET[1], ACQUIRE[3], ACQUIRE[4], RELEASE[3]))


def test_a_missing_program_names_its_package() -> None:
    with pytest.raises(NativeToolFailed, match="sudo apt-get install something"):
        find_program("lockbench-no-such-program", None, "sudo apt-get install something")


def test_a_program_beside_the_server_comes_first(tmp_path: Path) -> None:
    copy = tmp_path / "true"
    shutil.copy(shutil.which("true") or "", copy)
    assert find_program("true", str(tmp_path / "server"), "") == str(copy)


def test_a_program_that_fails_is_told_with_its_words() -> None:
    with pytest.raises(NativeToolFailed, match="ended with 3: alas"):
        run_program([sys.executable, "-c", "import sys; print('alas', file=sys.stderr); sys.exit(3)"])
