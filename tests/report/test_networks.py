"""A campaign over networks: its slopes beside what adapters declare, its lines, figure and CSV; nowhere else."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from bench.analysis.evidence import Evidence
from bench.records.schema import Checked
from bench.report import left_out_table, networks_table, round_trips_table, traffic_table
from bench.report.claims_table import verdict_rows
from bench.report.comparison import build_comparison
from bench.report.documents.comparison import comparison_document, numbers_blocks
from bench.report.export import export, write_evidence
from bench.report.figures import load_drawings
from bench.report.figures.round_trips import round_trips
from bench.report.figures.where_claims_hold import where_claims_hold
from bench.report.model import Block, Table
from bench.report.writers.markdown import markdown
from bench.report.writers.terminal import terminal
from tests import campaigns
from tests.analysis.network.made_up import network, peer_network
from tests.analysis.network.test_traffic import run as with_traffic

RTTS_MS = (0.0, 0.5, 1.0, 2.0, 5.0)
TRIPS = {"redis": 1, "etcd": 2}  # both declare one


def campaign(root: Path, void: str = "") -> Evidence:
    made = []
    for plan in campaigns.plans(tuple(TRIPS), ("uncontended",), 1):
        for rtt_ms in RTTS_MS:
            changes = {"network": f"rtt={rtt_ms:g}ms", "label": f"apart, network rtt={rtt_ms:g}ms"}
            workload = plan.workload.model_copy(update=changes)
            made.append(plan.model_copy(update={"run_id": f"{plan.system}-{rtt_ms:g}", "workload": workload}))
        for rtt_ms in RTTS_MS if plan.system == "etcd" else ():
            networks = {"network": "rtt=0ms", "peer_network": f"rtt={rtt_ms:g}ms", "label": f"peers, rtt={rtt_ms:g}ms"}
            workload = plan.workload.model_copy(update=networks)
            made.append(plan.model_copy(update={"run_id": f"{plan.system}-peers-{rtt_ms:g}", "workload": workload}))
    folder = campaigns.start(root, made)
    for plan in made:
        rtt_us, peers_us = us(plan.workload.network), us(plan.workload.peer_network)
        shape = campaigns.SHAPES[plan.system]
        latency = campaigns.Shape(
            300.0, 0.0001, 500.0, shape.nodes, shape.version, shape.durability,
            {**shape.capabilities, "release_round_trips": "1", "release_durable_writes": "1"},
        )  # fmt: skip
        record = campaigns.measured(plan, latency, operations=400, generator_cpu_s=0.04)
        acquire_us = 300.0 + TRIPS[plan.system] * rtt_us + peers_us
        moved = campaigns.histogram(acquire_us, 0.0001, 400, campaigns.random.Random(1))
        released = campaigns.histogram(200.0 + rtt_us + peers_us, 0.0001, 400, campaigns.random.Random(1))
        histograms = {"acquire/acquired": moved.encode(), "release/released": released.encode()}
        run = folder.start_run(plan)
        lay = {"network": network(rtt_us), "peer_network": peer_network(peers_us) if peers_us else None}
        traffic = with_traffic("any").traffic if plan.run_id == "etcd-0" else None
        run.write(record.model_copy(update={"histograms": histograms, "traffic": traffic, **lay}))
        broken = bool(void) and plan.run_id.startswith(void)
        run.write(Checked(checks=(campaigns.check("network_lines", passed=not broken, void=broken),)))
    return Evidence.load(folder)


def us(asked: str) -> float:
    """The round trip of a network as it is measured here; 0 where there is none."""
    return 0.0 if asked == "none" else float(asked.removeprefix("rtt=").removesuffix("ms")) * 1_000.0 + 60.0


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return campaign(tmp_path_factory.mktemp("networks"))


def lines(blocks: tuple[Block, ...]) -> list[dict[str, str]]:
    table = blocks[-1]
    assert isinstance(table, Table)
    return [{column.header: column.text(row).words for column in table.columns} for row in table.rows]


def test_the_table_counts_round_trips_beside_those_declared(evidence: Evidence) -> None:
    found = lines(round_trips_table.blocks(build_comparison(evidence)))
    assert [
        (one["Between"], one["Operation"], one["Round trips"].split()[0], one["Declared"], one["Agrees"])
        for one in found
    ] == [
        ("clients and servers", "acquire", "1.00", "1", "yes"),
        ("clients and servers", "release", "1.00", "1", "yes"),
        ("clients and servers", "acquire", "2.00", "1", "no"),
        ("clients and servers", "release", "1.00", "1", "yes"),
        ("servers", "acquire", "1.00", "1", "yes"),
        ("servers", "release", "1.00", "1", "yes"),
    ]
    assert {one["Runs"] for one in found} == {"5"}
    assert found[0]["Measured round trips"] == "0.060 to 5.1"


def test_each_network_has_a_line_of_what_its_lines_did(evidence: Evidence) -> None:
    found = lines(networks_table.blocks(build_comparison(evidence)))
    every = [f"rtt={rtt_ms + 0.06:g}ms" for rtt_ms in RTTS_MS]
    both = [("clients and servers", one) for one in every] + [("servers", one) for one in every]
    assert [(one["Between"], one["Network"]) for one in found] == both
    assert {one["Overhead"] for one in found} == {"45"}
    assert {one["Busiest line"] for one in found} == {"7\u00a0%"}


def test_figure_pages_and_csv_have_them(evidence: Evidence, tmp_path: Path) -> None:
    drawing = round_trips(evidence)
    assert len(drawing.runs) == 3 * len(RTTS_MS)
    assert drawing.name in {one.name for one in load_drawings(evidence)}
    page = markdown(comparison_document(evidence))
    assert round_trips_table.TITLE in page
    assert networks_table.TITLE in page
    assert "include no network but the one that a workload names." in page
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(terminal(numbers_blocks(evidence)))
    assert round_trips_table.TITLE in console.export_text()
    rows = list(csv.DictReader(io.StringIO(round_trips_table.round_trips_csv(evidence))))
    assert [row["agrees"] for row in rows] == ["True", "True", "False", "True", "True", "True"]
    assert float(rows[2]["round_trips"]) == pytest.approx(2.0, abs=0.02)
    (sends,) = csv.DictReader(io.StringIO(traffic_table.traffic_csv(evidence)))
    assert float(sends["messages_per_pair"]) == pytest.approx(4.0)
    assert float(sends["peers_bytes_per_idle_holder_s"]) == pytest.approx(4_000.0)
    assert traffic_table.TITLE in page
    names = {path.name for path in write_evidence(evidence, tmp_path / "review")}
    assert {"round_trips.csv", "traffic.csv"} <= names


def test_messages_have_their_bytes_beside_them(evidence: Evidence) -> None:
    (found,) = lines(traffic_table.blocks(build_comparison(evidence)))
    assert found["Acquire and release"] == "4.0 (400)"
    assert found["Between servers, acquire and release"] == "8.0 (800)"
    assert found["Waits by"] == "watch"


def test_the_cost_model_stands_beside_its_errors_on_networks_left_out(evidence: Evidence) -> None:
    """The runs are exact, so it has none; etcd's second round trip from the client is the clock's, not declared."""
    found = lines(left_out_table.blocks(evidence))
    assert [(one["Operation"], one["Round trips"].replace("\u00a0", " ")) for one in found] == [
        ("acquire", "1"), ("release", "1"), ("acquire", "2.00 + 1"), ("release", "1 + 1"),
    ]  # fmt: skip
    assert {one["Median error"] for one in found[:2]} <= {f"{share}\u00a0%" for share in ("0.0", "0.1", "0.2", "0.3")}
    assert left_out_table.TITLE in markdown(comparison_document(evidence))
    rows = list(csv.DictReader(io.StringIO(left_out_table.left_out_csv(evidence))))
    assert len(rows) == 2 * len(RTTS_MS) + 2 * 2 * len(RTTS_MS), "etcd's peers have as many networks"


def test_claims_are_judged_by_the_networks_that_were_measured(evidence: Evidence) -> None:
    found = {(one.claim.id, one.system): one for one in evidence.judgements if one.break_even is not None}
    assert {claim for claim, _ in found} == {"C01", "C42", "C62", "C04", "C41", "C52"}
    assert found["C01", "redis"].why.startswith("for round trips of 0.20")
    assert found["C01", "redis"].evidence == tuple(f"redis-{rtt_ms:g}" for rtt_ms in RTTS_MS)
    shown = {row.id: row for row in verdict_rows(evidence)}
    assert shown["C01"].claimed == "0.5–2\u00a0ms"
    assert shown["C01"].measured == "0.3\u00a0ms + 1\u00a0×\u00a0RTT"
    drawing = where_claims_hold(evidence)
    assert len(drawing.runs) == 3 * len(RTTS_MS)
    assert drawing.name in {one.name for one in load_drawings(evidence)}


def test_void_runs_do_not_count(tmp_path: Path) -> None:
    found = round_trips_table.blocks(build_comparison(campaign(tmp_path, void="etcd")))
    assert len(lines(found)) == 2, "those of Redis"


def test_campaigns_without_a_network_have_neither(tmp_path: Path) -> None:
    folder = campaigns.start(tmp_path, campaigns.plans(("redis",), ("uncontended",), 1))
    for plan in folder.campaign.runs:
        run = folder.start_run(plan)
        run.write(campaigns.measured(plan, campaigns.SHAPES["redis"]))
        run.write(Checked(checks=()))
    plain = Evidence.load(folder)
    comparison = build_comparison(plain)
    assert not round_trips_table.blocks(comparison)
    assert not networks_table.blocks(comparison)
    assert not round_trips_table.round_trips_csv(plain)
    assert not traffic_table.blocks(comparison)
    assert not {"round_trips.csv", "traffic.csv"} & {path.name for path in export(folder, tmp_path / "review")}
    assert "round_trips" not in {one.name for one in load_drawings(plain)}
