"""The comparison's content: what stands in its cells, whatever the format."""

import csv
import io
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from bench.analysis.cells import NOT_MEASURED
from bench.analysis.evidence import Evidence
from bench.analysis.names import headline
from bench.analysis.places import project_root
from bench.analysis.verdicts import Verdict
from bench.records.schema import Facts
from bench.records.store import CampaignFolder
from bench.report.claims_table import _rows, tally, untested, verdict_rows
from bench.report.comparison import build_comparison
from bench.report.limits import limits
from bench.report.table_model import Comparison, Property
from bench.report.tidy import claims_csv, comparison_csv, runs_csv
from tests import campaigns


@pytest.fixture(scope="session")
def comparison(evidence: Evidence) -> Comparison:
    return build_comparison(evidence)


def line(comparison: Comparison, key: str) -> Property:
    return next(one for one in comparison.properties if one.key == key)


def test_six_systems_and_every_property_of_the_first_page(comparison: Comparison) -> None:
    assert tuple(column.system for column in comparison.columns) == headline()
    assert [one.key for one in comparison.properties] == [
        "acquire_latency",
        "throughput",
        "fencing",
        "pause_safety",
        "clock_skew",
        "consensus",
        "operational_cost",
        "contention",
    ]
    for one in comparison.properties:
        assert set(one.pairs) == set(headline())
        assert all(pair.claimed for pair in one.pairs.values())


def test_measured_latency_is_the_cells_own(comparison: Comparison, evidence: Evidence) -> None:
    (cell,) = evidence.cells_for("redis", "uncontended")
    values = [cell.value(name) for name in ("acquire_us_p50", "acquire_us_p99")]
    words = "–".join(f"{value.value / 1000:.2g}" for value in values if hasattr(value, "value"))
    assert line(comparison, "acquire_latency").pairs["redis"].measured.words == words


def test_what_was_not_measured_says_so(comparison: Comparison) -> None:
    for key in ("pause_safety", "clock_skew"):
        assert {pair.measured.words for pair in line(comparison, key).pairs.values()} == {NOT_MEASURED}


def test_a_saturated_generator_a_failed_cell_and_a_small_sample(comparison: Comparison) -> None:
    throughput = line(comparison, "throughput").pairs
    assert "(generator-bound)" in throughput["redis"].measured.words
    assert throughput["dynamodb"].measured.words == "void: failed (load)"
    (mark,) = throughput["dynamodb"].measured.marks
    assert "the server closed the connection" in comparison.footnotes[mark - 1]
    assert line(comparison, "acquire_latency").pairs["etcd"].measured.words.endswith("n/a (n too small)")


def test_fencing_is_what_the_runs_saw(comparison: Comparison) -> None:
    fencing = line(comparison, "fencing").pairs
    assert fencing["redlock"].measured.words == "no token"
    assert fencing["zookeeper"].measured.words == "rose over 3,600 contended grants"


def test_a_token_that_fell_is_told_even_when_it_voids_every_run(tmp_path: Path) -> None:
    plans = campaigns.plans(("etcd",), ("contended",), 2)
    folder = campaigns.start(tmp_path, plans)
    for plan in plans:
        record = campaigns.measured(plan, campaigns.SHAPES["etcd"])
        campaigns.add_run(folder, plan, record, campaigns.check("token_order", passed=False, void=True))
    made = build_comparison(Evidence.load(folder))
    assert line(made, "fencing").pairs["etcd"].measured.words == "did not rise"


def test_a_token_that_no_run_checked_is_not_vouched_for(tmp_path: Path) -> None:
    plans = campaigns.plans(("etcd",), ("contended",), 1)
    folder = campaigns.start(tmp_path, plans)
    campaigns.add_run(folder, plans[0], campaigns.measured(plans[0], campaigns.SHAPES["etcd"]))
    made = build_comparison(Evidence.load(folder))
    assert line(made, "fencing").pairs["etcd"].measured.words == "order not measured"


def test_the_long_form_has_the_durable_siblings_and_puts_emulators_last(comparison: Comparison) -> None:
    systems = [row.system for row in comparison.rows]
    assert {"redis-aof", "redlock-aof", *headline()} == set(systems)
    assert systems[-1] == "dynamodb"
    last = comparison.rows[-1]
    assert last.tags == ("emulator",)
    assert last.title.endswith("(dynalite)"), "a row is named after its engine"
    durable = next(row for row in comparison.rows if row.system == "redis-aof")
    assert durable.durability == "appendfsync: always, appendonly: yes, save: (empty)"
    assert (durable.nodes, durable.source, durable.version, durable.wait) == ("1", "native", "7.0.15", "poll-5ms-j20")
    assert durable.claimed_latency_ms == comparison.rows[0].claimed_latency_ms


def test_emulators_come_after_everything_else_that_was_run(tmp_path: Path) -> None:
    plans = campaigns.plans(("dynamodb", "memory"), ("uncontended",), 1)
    folder = campaigns.start(tmp_path, plans)
    for plan in plans:
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["dynamodb"]))
    systems = [row.system for row in build_comparison(Evidence.load(folder)).rows]
    assert systems[-2:] == ["memory", "dynamodb"]


def test_every_mark_has_a_note_and_every_note_a_mark(comparison: Comparison) -> None:
    texts = [pair.measured for one in comparison.properties for pair in one.pairs.values()]
    for row in comparison.rows:
        texts += [row.acquire_ms_p50, row.throughput_pairs_per_s, row.contention_amplification]
    assert {mark for text in texts for mark in text.marks} == set(range(1, len(comparison.footnotes) + 1))


def test_unlike_runs_get_rows_of_their_own_and_no_common_number(tmp_path: Path) -> None:
    plans = campaigns.plans(("redis",), ("uncontended",), 2)
    folder = campaigns.start(tmp_path, plans)
    for plan, version in zip(plans, ("7.0", "8.0"), strict=True):
        facts = Facts(version=version, identity="made-up", durability={}, nodes=1)
        record = campaigns.measured(plan, campaigns.SHAPES["redis"], facts_before=facts.model_dump())
        campaigns.add_run(folder, plan, record)
    made = build_comparison(Evidence.load(folder))
    assert line(made, "acquire_latency").pairs["redis"].measured.words.startswith("different runs, not pooled")
    assert [row.version for row in made.rows if row.system == "redis"] == ["7.0", "8.0"]


def test_other_parameters_under_one_workload_name_are_another_row(tmp_path: Path) -> None:
    plans = list(campaigns.plans(("redis",), ("contended",), 2))
    more = plans[1].workload.model_copy(update={"clients": 16})
    plans[1] = plans[1].model_copy(update={"workload": more})
    folder = campaigns.start(tmp_path, plans)
    for plan in plans:
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]))
    rows = [row for row in build_comparison(Evidence.load(folder)).rows if row.system == "redis"]
    assert len(rows) == 2
    assert more.digest in rows[1].title or plans[0].workload.digest in rows[1].title


def test_nothing_measured_makes_a_whole_table_of_reasons(barren: Evidence) -> None:
    made = build_comparison(barren)
    latency = line(made, "acquire_latency").pairs
    assert latency["redis"].measured.words == "void: failed (<i>servers)"
    assert latency["etcd"].measured.words == "void: interrupted"
    assert latency["dynamodb"].measured.words == NOT_MEASURED
    assert made.columns[-1].tags == ("emulator",), "known without a run"


def test_every_claimed_figure_comes_from_the_data(tmp_path: Path, synthetic: Path, evidence: Evidence) -> None:
    """With other claims in the files, not one claimed cell stays as it was."""
    data = tmp_path / "data"
    shutil.copytree(project_root() / "data", data, ignore=shutil.ignore_patterns("runs", "reference"))
    rows = list(csv.reader((data / "claims.csv").read_text().splitlines()))
    low, high = rows[0].index("low"), rows[0].index("high")
    for row in rows[1:]:
        row[low], row[high] = (f"{float(bound) * 3 + 7:g}" if bound else "" for bound in (row[low], row[high]))
    with (data / "claims.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    words = (data / "seed_table.csv").read_text().splitlines()
    changed = [words[0]]
    for one in words[1:]:
        fields = one.split(",")
        fields[2] += " changed"
        changed.append(",".join(fields))
    (data / "seed_table.csv").write_text("\n".join(changed) + "\n")
    before, after = build_comparison(evidence), build_comparison(Evidence.load(CampaignFolder(synthetic), tmp_path))
    for one, other in zip(before.properties, after.properties, strict=True):
        for system, pair in one.pairs.items():
            assert one.key == "contention" or pair.claimed != other.pairs[system].claimed, (one.key, system)
            assert pair.measured.words == other.pairs[system].measured.words


def test_the_claims_asked_for_are_judged(evidence: Evidence) -> None:
    judged = {row.id for row in verdict_rows(evidence)}
    numbers = [*range(1, 13), 40, 41, 42, 50, 51, 52, 61, 62]
    assert judged == {f"C{number:02d}" for number in numbers}
    assert judged | set(untested(evidence)) == {claim.id for claim in evidence.claims}
    emulated = [row for row in verdict_rows(evidence) if row.id in ("C06", "C12")]
    assert {row.verdict for row in emulated} == {Verdict.NOT_TESTABLE}
    assert all(row.evidence for row in verdict_rows(evidence))


def test_failing_by_being_faster_is_counted_apart(evidence: Evidence) -> None:
    slower = replace(evidence.judgements[0], verdict=Verdict.FAILS, why="slower than claimed")
    rows = _rows([*evidence.judgements, slower])
    fails = [row for row in rows if row.verdict is Verdict.FAILS]
    faster = [row for row in fails if row.why.startswith("faster than claimed")]
    assert 0 < len(faster) < len(fails)
    assert f"fails: {len(fails) - len(faster)}" in tally(rows)
    assert f"faster than claimed: {len(faster)}" in tally(rows)
    assert all(row.favourable and row.shown == "faster than claimed" for row in faster), "no red for a good thing"
    assert not any(row.favourable for row in rows if row not in faster)


def test_the_csv_is_tidy_and_has_units_in_its_names(evidence: Evidence, comparison: Comparison) -> None:
    frame = pd.read_csv(io.StringIO(comparison_csv(evidence)))
    assert list(frame.system) == [row.system for row in comparison.rows]
    for column in ("acquire_ms_p50", "throughput_pairs_per_s", "contention_amplification_x", "client_cpu_us_per_pair"):
        assert pd.api.types.is_float_dtype(frame[column]) or pd.api.types.is_integer_dtype(frame[column])
        assert {f"{column}_low", f"{column}_high"} <= set(frame.columns)
    redis = frame[frame.system == "redis"].iloc[0]
    assert 0.05 < redis.acquire_ms_p50 < 0.2
    assert redis.acquire_ms_p50_low <= redis.acquire_ms_p50 <= redis.acquire_ms_p50_high
    assert bool(redis.throughput_is_lower_bound)
    assert redis.measured_pause_safety == NOT_MEASURED
    assert pd.isna(frame[frame.system == "etcd"].iloc[0].acquire_ms_p99)
    runs = pd.read_csv(io.StringIO(runs_csv(evidence)))
    assert len(runs) == len(evidence.rows)
    assert len(pd.read_csv(io.StringIO(claims_csv(evidence)))) == len(evidence.judgements)


def test_the_limits_name_loopback_cores_generator_and_what_is_missing(evidence: Evidence, barren: Evidence) -> None:
    told = " ".join(limits(evidence))
    for word in ("Loopback", "31 µs", "2 cores", "Generator-bound", "Redis (saturation)", "DynamoDB API", NOT_MEASURED):
        assert word in told
    assert limits(barren)


@pytest.mark.parametrize("chosen", [("redis",), ("etcd", "redis"), ("dynamodb",), ("redis-aof",), ("memory",)])
def test_a_campaign_of_chosen_systems_shows_those(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    plans = campaigns.plans(chosen, ("uncontended",), 1)
    folder = campaigns.start(tmp_path, plans)
    for plan in plans:
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]))
    made = build_comparison(Evidence.load(folder))
    assert {column.system for column in made.columns} == {name for name in chosen if name in headline()}
    assert {row.system for row in made.rows} == set(chosen)
