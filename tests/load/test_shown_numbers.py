"""Locust's numbers mean what they seem: on the page, in its CSV and its report, and in the console."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.load.pages import FORM, Page, Stats, page
from tests.thorough import case

ROOT = Path(__file__).parents[2]
# Locust is fed in a process of its own: importing it patches this one.
_FED = """
import json, sys
from bench.load.precision import install_precision
from locust.env import Environment
from locust import stats
install_precision()

def feed(told):
    environment = Environment()
    environment.create_local_runner()
    for method, name, took_ms, failure in told:
        environment.events.request.fire(request_type=method, name=name, response_time=took_ms, response_length=0,
                                        exception=failure and Exception(failure), context={})
    table = stats.StatsCSV(environment, stats.PERCENTILES_TO_REPORT)
    return {
        "total": environment.stats.total.to_dict(), "fail_ratio": environment.stats.total.fail_ratio,
        "rows": [one.to_dict() for one in stats.sort_stats(environment.stats.entries)],
        "csv": table._percentile_fields(environment.stats.total),
        "summary": stats.get_stats_summary(environment.stats, current=False),
        "percentiles": stats.get_percentile_stats_summary(environment.stats),
    }

print(json.dumps([feed(told) for told in json.load(sys.stdin)]))
"""
Told = tuple[str, str, float, str | None]
GOT: list[Told] = [("redis", "acquire", 0.25, None), ("redis", "release", 0.5, None)]
LOST: list[Told] = [("redis", "acquire", 0.25, None), ("redis", "release (lost)", 0.5, "lost: gone")]
# What was told; how many locks that is; which part of them failed; their median.
LOCKS: list[tuple[list[Told], int, float, float]] = [
    (GOT * 10, 10, 0.0, 0.25),
    (LOST * 10, 10, 1.0, 0.25),
    (GOT * 5 + LOST * 5, 10, 0.5, 0.25),
    ([*GOT, *[("redis", "acquire (busy)", 0.01, None)] * 1_000], 1, 0.0, 0.25),
    ([*GOT, *[("redis", "acquire (timeout)", 5_000.0, None)] * 9], 1, 0.0, 0.25),
    ([*GOT, *[("redis", "acquire (error)", 2_000.0, "error: refused")] * 3], 4, 0.75, 0.25),
    ([*GOT, *[("redis", "acquire (unknown)", 2_000.0, "unknown: no reply")] * 3], 4, 0.75, 0.25),
    ([*GOT, *[("redis", "acquire (lost)", 2_000.0, "lost: session")] * 3], 4, 0.75, 0.25),
    (
        [*GOT, *[("redis", "acquire by a stranger", 0.01, None), ("redis", "release by a stranger", 0.01, None)] * 9],
        1,
        0.0,
        0.25,
    ),
    ([*GOT, *[("redis", "acquire (timeout) by a stranger", 9.0, None)] * 9], 1, 0.0, 0.25),
    ([*GOT, *[("redis", "acquire (error) by a stranger", 9.0, "error: refused")] * 3], 4, 0.75, 0.25),
    ([("etcd", "acquire", 1.0, None), ("etcd", "release (unknown)", 9.0, "unknown: no reply")], 1, 1.0, 1.0),
    ([("etcd", "acquire", 1.0, None), ("etcd", "release (error)", 9.0, "error: refused")], 1, 1.0, 1.0),
    ([("GET", "/", 7.0, None), ("GET", "release", 7.0, None)], 2, 0.0, 7.0),  # a locustfile of the user's own
]
TIMES = [(0.0021, "0.0021"), (0.0567, "0.0567"), (0.25, "0.25"), (0.4996, "0.5"), (12.34, "12.3"), (4321.0, "4320")]


@pytest.fixture(scope="module")
def fed() -> list[Any]:
    """What Locust makes of each case of LOCKS, then of each of TIMES."""
    cases = [*(told for told, *_ in LOCKS), *([("redis", "acquire", took_ms, None)] for took_ms, _ in TIMES)]
    done = subprocess.run(
        [sys.executable, "-c", _FED], input=json.dumps(cases), capture_output=True, text=True, check=True, cwd=ROOT
    )
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("case", range(len(LOCKS)))
def test_a_lock_counts_once_whatever_became_of_it(fed: list[Any], case: int) -> None:
    (told, locks, failed, p50), found = LOCKS[case], fed[case]
    assert found["total"]["num_requests"] == locks
    assert found["fail_ratio"] == failed
    assert found["total"]["response_time_percentile_0.5"] == p50
    assert found["total"]["method"] == "locks"
    assert sum(row["num_requests"] for row in found["rows"]) == len(told), "each answer is in its own row"


@pytest.mark.parametrize("case", range(len(TIMES)))
def test_small_times_are_shown_as_they_are(fed: list[Any], case: int) -> None:
    (_, shown), found = TIMES[case], fed[len(LOCKS) + case]
    for name in ("min_response_time", "max_response_time"):
        assert found["total"][name] == float(shown)
    assert set(found["csv"]) == {float(shown)}
    header, _, row, *_ = found["summary"]
    assert row.split("|")[1].split() == [shown] * 4
    assert [place for place, character in enumerate(row) if character == "|"] == [header.index("|"), header.rindex("|")]
    assert found["percentiles"][3].split()[2:] == [shown] * 11 + ["1"]
    assert len(found["percentiles"][3]) == len(found["percentiles"][1]), "columns stay under their headings"


@pytest.fixture(scope="module", params=[case(1, rare=True), 2])
def ran(request: pytest.FixtureRequest) -> Iterator[tuple[Page, Stats, list[dict[str, str]]]]:
    """A test on the page, in one process or two, that has ended: every hold outlasts its lease, so each is lost."""
    with page(processes=request.param) as found:
        found.until(lambda: request.param == 1 or found.stats().get("worker_count") == 2)
        form = {**FORM, "system": "memory", "ttl_ms": "5", "hold_ms": "20"}
        assert found.post("/swarm", form)["success"] is True
        found.until_row("release (lost)", 50)
        found.post("/stop", {})
        found.until(lambda: found.stats()["state"] == "stopped")
        found.until(lambda: found.stats()["stats"] == found.stats()["stats"])
        yield found, found.stats(), list(csv.DictReader(io.StringIO(found.get("/stats/requests/csv"))))


def rows_of(stats: Stats) -> dict[str, Stats]:
    return {row["name"]: row for row in stats["stats"]}


def test_when_every_hold_is_lost_all_of_them_failed(ran: tuple[Page, Stats, list[dict[str, str]]]) -> None:
    _, stats, _ = ran
    rows = rows_of(stats)
    assert rows["acquire"]["num_failures"] == 0
    assert rows["release (lost)"]["num_failures"] == rows["acquire"]["num_requests"]
    assert stats["fail_ratio"] == 1.0
    assert rows["Aggregated"]["num_requests"] == rows["acquire"]["num_requests"]


def test_the_sum_is_that_of_the_acquires(ran: tuple[Page, Stats, list[dict[str, str]]]) -> None:
    _, stats, _ = ran
    rows = rows_of(stats)
    for quantile in (0.5, 0.9, 0.99, 0.999):
        name = f"response_time_percentile_{quantile}"
        assert rows["Aggregated"][name] == rows["acquire"][name]
    assert stats["current_rps"] == rows["acquire"]["current_rps"]


def test_minimum_and_maximum_enclose_the_percentiles(ran: tuple[Page, Stats, list[dict[str, str]]]) -> None:
    _, stats, _ = ran
    for row in stats["stats"]:
        assert 0 < row["min_response_time"] <= row["response_time_percentile_0.5"] <= row["max_response_time"]


def test_the_downloads_say_the_same(ran: tuple[Page, Stats, list[dict[str, str]]]) -> None:
    found, stats, table = ran
    by_name = {row["Name"]: row for row in table}
    for name, row in rows_of(stats).items():
        assert float(by_name[name]["50%"]) == row["response_time_percentile_0.5"] > 0
        assert float(by_name[name]["99.9%"]) == row["response_time_percentile_0.999"]
        assert int(by_name[name]["Request Count"]) == row["num_requests"]
    report = found.get("/stats/report?download=1")
    start = report.index("window.templateArgs = ") + len("window.templateArgs = ")
    told = json.JSONDecoder().raw_decode(report[start:])[0]
    for row in told["response_time_statistics"]:
        assert row["0.5"] == rows_of(stats)[row["name"]]["response_time_percentile_0.5"]
    assert [row["min_response_time"] for row in told["requests_statistics"]] == [
        row["min_response_time"] for row in stats["stats"]
    ]


def test_the_console_and_its_files_have_true_values(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "locust", "--headless", "--system", "memory", "--warmup-s", "0"]
    done = subprocess.run(
        [*command, "--measure-s", "2", "--csv", str(tmp_path / "run"), "--html", str(tmp_path / "run.html")],
        capture_output=True, text=True, timeout=90, check=True, cwd=ROOT,
    )  # fmt: skip
    percentiles = done.stderr[done.stderr.index("Response time percentiles") :]
    acquire = next(line for line in percentiles.splitlines() if line.startswith("memory   acquire "))
    assert all(float(value) > 0 for value in acquire.split()[2:])
    for name in ("run_stats.csv", "run_stats_history.csv"):
        last = list(csv.DictReader((tmp_path / name).read_text().splitlines()))[-1]
        assert last["Name"] == "Aggregated"
        assert 0 < float(last["50%"]) < 1
    assert '"0.5": 0.0' in (tmp_path / "run.html").read_text()
