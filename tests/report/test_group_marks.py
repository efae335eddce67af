"""Intervals, runs and groups in the long form, in every format; unlike rows and emulators get no letter."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from bench.analysis.evidence import Evidence
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL
from bench.records.schema import Resumed
from bench.records.store import CampaignFolder
from bench.report.comparison import build_comparison
from bench.report.documents.comparison import comparison_document, glance_blocks
from bench.report.group_marks import SIGN
from bench.report.show import comparison as shown
from bench.report.table_model import LongRow
from bench.report.tidy import comparison_csv
from bench.report.writers.html import html_fragment
from bench.report.writers.markdown import markdown
from tests import campaigns

WRITES = {"acquire_durable_writes": "1", "release_durable_writes": "1"}
DURABLE_WHEN = {
    "redis": "appendonly=yes, appendfsync=always",
    "redis-aof": "appendonly=yes, appendfsync=always",
    "zookeeper": "forceSync=yes",
    "etcd": "wal_fsync=on",
    "postgres-row": "fsync=on, synchronous_commit=on|local",
    "dynamodb": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> CampaignFolder:
    """Six runs a cell. ZooKeeper and etcd are alike; so are Redis, which writes nothing durably, and Postgres; and so
    are the durable Redis and the emulator of one server.
    """
    return made(tmp_path_factory.mktemp("alike"), RUNS_FOR_AN_INTERVAL)


def made(root: Path, repetitions: int) -> CampaignFolder:
    medians = {
        "zookeeper": 700.0, "etcd": 700.0, "redis": 300.0, "postgres-row": 300.0, "redis-aof": 900.0, "dynamodb": 900.0,
    }  # fmt: skip
    plans = campaigns.plans(tuple(medians), ("uncontended",), repetitions)
    campaign = campaigns.start(root, plans)
    for plan in plans:
        told = {**campaigns.SHAPES[plan.system].capabilities, **WRITES, "durable_when": DURABLE_WHEN[plan.system]}
        shape = replace(campaigns.SHAPES[plan.system], median_us=medians[plan.system], sigma=0.3, capabilities=told)
        campaigns.add_run(campaign, plan, campaigns.measured(plan, shape, operations=800))
    return campaign


@pytest.fixture(scope="module")
def evidence(folder: CampaignFolder) -> Evidence:
    return Evidence.load(folder)


def row(evidence: Evidence, system: str) -> LongRow:
    return next(row for row in build_comparison(evidence).rows if row.system == system)


def letter(words: str) -> str:
    found = re.search(rf"{SIGN}\s([a-z]+)$", words)
    return found.group(1) if found else ""


def test_rows_that_cannot_be_told_apart_share_a_letter(evidence: Evidence) -> None:
    zookeeper, etcd = row(evidence, "zookeeper"), row(evidence, "etcd")
    for name in ("acquire_ms_p50", "acquire_ms_p99"):
        ours, theirs = getattr(zookeeper, name), getattr(etcd, name)
        assert letter(ours.words)
        assert letter(ours.words) == letter(theirs.words)
        assert set(ours.marks) & set(theirs.marks)
    assert letter(zookeeper.acquire_ms_p50.words) != letter(zookeeper.acquire_ms_p99.words)


@pytest.mark.parametrize("system", ["redis", "postgres-row", "redis-aof", "dynamodb"])
def test_unlike_rows_and_emulators_get_no_letter(evidence: Evidence, system: str) -> None:
    one = row(evidence, system)
    assert one.acquire_ms_p50.measured
    assert not letter(one.acquire_ms_p50.words)


def test_the_footnote_gives_the_ratio_and_what_to_do(evidence: Evidence) -> None:
    comparison = build_comparison(evidence)
    (note,) = (note for note in comparison.footnotes if "median acquire indistinguishable" in note)
    assert re.search(r"; add runs: \S+ [\d.]+\s× \[[\d.]+–[\d.]+\]\.$", note), note
    assert any(f"An interval needs {RUNS_FOR_AN_INTERVAL} runs" in line for line in comparison.method)


def test_every_format_shows_bounds_runs_and_letters(evidence: Evidence) -> None:
    words = row(evidence, "etcd").acquire_ms_p50.words
    assert re.fullmatch(rf"[\d.]+ \[[\d.]+–[\d.]+\] {SIGN}\s[a-z]", words)
    text = markdown(comparison_document(evidence))
    line = next(line for line in text.splitlines() if line.startswith("| etcd |") and words in line)
    assert line.split("|")[-2].strip() == str(RUNS_FOR_AN_INTERVAL)
    assert "Runs of each" in text
    html = html_fragment(glance_blocks(evidence))
    assert f"{SIGN}\u00a0" in html
    assert f"<td>{RUNS_FOR_AN_INTERVAL}</td>" in html
    assert SIGN in repr(shown(evidence))


def test_the_csv_has_runs_letters_and_the_method(evidence: Evidence) -> None:
    from io import StringIO

    frame = pd.read_csv(StringIO(comparison_csv(evidence))).set_index("system")
    assert frame.loc["etcd", "acquire_ms_p50_group"] == frame.loc["zookeeper", "acquire_ms_p50_group"]
    assert pd.isna(frame.loc["redis", "acquire_ms_p50_group"])
    assert frame.loc["etcd", "runs_uncontended"] == RUNS_FOR_AN_INTERVAL
    assert "t interval of the logarithms" in frame.loc["etcd", "interval_method"]
    assert frame.loc["etcd", "acquire_ms_p50_low"] < frame.loc["etcd", "acquire_ms_p50"]


def test_few_runs_get_no_letter_and_a_sentence(tmp_path: Path) -> None:
    few = Evidence.load(made(tmp_path, RUNS_FOR_AN_INTERVAL - 1))
    assert not letter(row(few, "etcd").acquire_ms_p50.words)
    told = [line for line in build_comparison(few).method if "Too few runs" in line]
    assert told == [
        "Too few runs to compare: Redis, appendfsync always, uncontended; "
        "Postgres row, uncontended; ZooKeeper, uncontended; etcd, uncontended."
    ]


def test_a_campaign_that_went_on_says_so(tmp_path: Path) -> None:
    campaign = made(tmp_path, 1)
    plan = campaign.campaign.runs[0]
    assert "resumed" not in dict(build_comparison(Evidence.load(campaign)).facts)["Runs"]
    (campaign.path / f"{plan.run_id}.interrupted-1").mkdir()
    campaign.write_resumed(Resumed(resumed_at="2001-01-01T00:00:00+00:00", environment=campaigns.environment()))
    facts = dict(build_comparison(Evidence.load(campaign)).facts)
    assert facts["Runs"].endswith("; interrupted and resumed 1 time, 1 attempt set aside")
