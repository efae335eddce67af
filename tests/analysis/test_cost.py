"""What an analysis costs: a hundred million recorded operations, a million hazard events.

The first is measured in a process of its own. Its largest memory is taken from the kernel's VmHWM: `ru_maxrss` of a
process that was spawned is never less than what its parent had, which here are all the tests before. Histograms make it
cheap: what is read grows with the runs and the spread of their latencies, not with their operations.

Profiled on two shared cores: 1.2 s at first, nine tenths of it in asking HdrHistogram for the value of one bucket after
another; 0.1 s since `LatencyHistogram.decode` computes all of them at once and keeps them in arrays. Of 165 MB the
libraries alone take 125. The events need 0.2 s, most of it for sorting them by key and instant.
"""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from bench.analysis.holds import overlaps, read_events, token_regressions, waited
from bench.analysis.selfchecks import check_run
from bench.load.events import write_events
from bench.load.rows import CODES, COLUMNS, NO_TOKEN
from bench.records.histogram import LatencyHistogram, bucket_ns
from bench.records.schema import Measured, RunPlan
from bench.records.store import CampaignFolder
from bench.systems.base import Outcome
from tests import campaigns

OPERATIONS = 100_000_000
SUMMARY_WITHIN_S = 2.0
SUMMARY_WITHIN_MB = 300
EVENTS = 1_000_000
EVENTS_WITHIN_S = 5.0

SUMMARISE = """
import json, re, sys, time
from pathlib import Path
from bench.analysis.cells import cell_frame, cells_of
from bench.analysis.runs import run_rows
from bench.records.store import CampaignFolder

started_s = time.process_time()
rows = run_rows(CampaignFolder(Path(sys.argv[1])))
cells = cells_of(rows)
frame = cell_frame(cells)
took_s = time.process_time() - started_s
print(json.dumps({
    "took_s": took_s,
    "memory_mb": int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text()).group(1)) / 1024,
    "operations": sum(run.operations for run in rows),
    "runs": int(frame["runs"].sum()),
    "percentiles": int(frame["acquire_us_p999"].notna().sum()),
}))
"""


@pytest.fixture(scope="module")
def large_campaign(tmp_path_factory: pytest.TempPathFactory) -> CampaignFolder:
    """A full campaign, 8 rows x 3 workloads x 6 runs, whose acquire histograms hold OPERATIONS counts together."""
    plans = campaigns.plans(repetitions=6)
    folder = campaigns.start(tmp_path_factory.mktemp("large"), plans)
    dice = np.random.default_rng(3)
    each = OPERATIONS // len(plans) + 1
    texts: dict[str, str] = {}  # the same for all runs of a system: writing takes long, and reading counts
    for plan in plans:
        shape = campaigns.SHAPES[plan.system]
        if plan.system not in texts:
            texts[plan.system] = spread_out(shape.median_us, each, dice).encode()
        phases = ("acquire/acquired", "response/acquired", "hold/released", "release/released")
        record = campaigns.measured(plan, shape, operations=1).model_copy(
            update={
                "histograms": dict.fromkeys(phases, texts[plan.system]),
                "counts": dict.fromkeys(phases, each),
            }
        )
        campaigns.add_run(folder, plan, record)
    return folder


def spread_out(median_us: float, operations: int, dice: np.random.Generator) -> LatencyHistogram:
    """`operations` counts, spread over as many buckets as 100 000 log-normal latencies fill."""
    drawn = np.exp(dice.normal(np.log(median_us * 1_000.0), 0.5, 100_000))
    edges, counts = np.unique([bucket_ns(int(value)) for value in drawn], return_counts=True)
    counts = counts * (operations // 100_000)
    counts[len(counts) // 2] += operations - counts.sum()
    return LatencyHistogram(dict(zip(edges.tolist(), counts.tolist(), strict=True)))


def test_a_hundred_million_operations_are_summarised(large_campaign: CampaignFolder) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SUMMARISE, str(large_campaign.path)], capture_output=True, text=True, check=True
    )
    told = json.loads(ended.stdout)
    assert told["operations"] >= OPERATIONS
    assert told["runs"] == len(large_campaign.campaign.runs)
    assert told["percentiles"] == len(campaigns.SHAPES) * len(campaigns.WORKLOADS)
    assert told["took_s"] <= SUMMARY_WITHIN_S, told
    assert told["memory_mb"] <= SUMMARY_WITHIN_MB, told


PLANTED_OVERLAPS = 7
PLANTED_REGRESSIONS = 5


@pytest.fixture(scope="module")
def events_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """EVENTS holds of 100 keys by 50 clients, one after another on each key, with a few planted faults."""
    dice = np.random.default_rng(11)
    key = np.arange(EVENTS) % 100
    turn = np.arange(EVENTS) // 100
    acquired_ns = 1_000_000_000 + turn * 10_000_000 + dice.integers(0, 1_000_000, EVENTS)
    held_ns = dice.integers(100_000, 8_000_000, EVENTS)
    token = turn + 1
    for place in dice.choice(np.arange(1_000, EVENTS // 2), PLANTED_OVERLAPS, replace=False):
        held_ns[place] = 12_000_000  # beyond the next hold of the same key
    for place in dice.choice(np.arange(EVENTS // 2 + 1_000, EVENTS), PLANTED_REGRESSIONS, replace=False):
        token[place] = token[place] - 1  # as high as the one before it
    columns = {
        "client": dice.integers(0, 50, EVENTS),
        "key": key,
        "intended_ns": acquired_ns - 50_000,
        "started_ns": acquired_ns - 50_000,
        "acquired_ns": acquired_ns,
        "released_ns": acquired_ns + held_ns,
        "freed_ns": acquired_ns + held_ns + 40_000,
        "outcome": np.full(EVENTS, CODES[Outcome.ACQUIRED]),
        "released": np.full(EVENTS, CODES[Outcome.RELEASED]),
        "token": token,
    }
    rows = np.column_stack([columns[name] for name in COLUMNS]).astype(np.int64)
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    write_events(path, rows[np.argsort(columns["started_ns"], kind="stable")])
    return path


def test_a_million_hazard_events_are_checked(events_path: Path) -> None:
    started_s = time.process_time()
    events = read_events(events_path)
    doubles, falls = overlaps(events.holds), token_regressions(events.holds)
    took_s = time.process_time() - started_s
    assert len(events.holds) == EVENTS
    assert (int(doubles.sum()), int(falls.sum())) == (PLANTED_OVERLAPS, PLANTED_REGRESSIONS)
    assert int((events.holds.token != NO_TOKEN).sum()) == EVENTS
    assert int(waited(events.holds).sum()) >= PLANTED_OVERLAPS
    assert took_s <= EVENTS_WITHIN_S


def test_all_self_checks_of_a_million_events_are_no_slower(events_path: Path) -> None:
    plan: RunPlan = campaigns.plans(("redis",), ("contended",), 1)[0]
    record: Measured = campaigns.measured(plan, campaigns.SHAPES["redis"], operations=10)
    started_s = time.process_time()
    checked = check_run(plan, record, events_path)
    assert time.process_time() - started_s <= EVENTS_WITHIN_S
    found = {check.name for check in checked.checks if not check.passed}
    assert {"mutual_exclusion", "token_order"} <= found


def test_a_histogram_is_read_at_once_and_not_bucket_by_bucket() -> None:
    """The same buckets and counts as HdrHistogram's own way of reading, which is ten times as slow."""
    dice = random.Random(2)
    histogram = LatencyHistogram()
    for _ in range(20_000):
        histogram.record(int(10 ** dice.uniform(0.0, 12.5)))
    text = histogram.encode()
    library = HdrHistogram.decode(text.encode())
    visited = {
        library.get_lowest_equivalent_value(library.get_value_from_index(index)): count
        for index, count in enumerate(library.counts)
        if count
    }
    assert dict(LatencyHistogram.decode(text).counts) == visited
