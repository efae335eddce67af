"""Cells of the user's own are shown under their names, and never beside cells of other parameters."""

import io
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from bench.analysis.ancestry import CellAncestry, NotThere, Sources, tree
from bench.analysis.comparing import compare
from bench.analysis.evidence import Evidence
from bench.analysis.groups import class_of
from bench.analysis.notes import CHECKS
from bench.records.store import CampaignFolder
from bench.records.workload import Workload
from bench.report import curve_table
from bench.report.comparison import build_comparison
from bench.report.documents.ancestry import ancestry_blocks
from bench.report.documents.comparison import comparison_document, numbers_blocks, terminal_blocks
from bench.report.documents.results import page_document
from bench.report.export import write_evidence
from bench.report.figures import ALL
from bench.report.model import Block, Figure, Heading, Text
from bench.report.tidy import cells_csv, comparison_csv, runs_csv
from bench.report.workloads_table import workloads_table
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown
from bench.report.writers.terminal import terminal
from tests import campaigns

OWN = {"uncontended": "solo", "contended": "checkout", "saturation": "flood"}


def campaign(root: Path, usual: bool, own: bool, slower: float = 1.0, name: str = "c", **changes: object) -> Evidence:
    """A made-up campaign on Redis and etcd: the mode's own cells, the same kinds as the user's own, or both."""
    plans = campaigns.plans(("redis", "etcd"), tuple(OWN), 2, campaign_id=name)
    labelled = tuple(
        plan.model_copy(
            update={
                "run_id": plan.run_id.replace(plan.workload.name, OWN[plan.workload.name]),
                "workload": plan.workload.model_copy(
                    update={"label": OWN[plan.workload.name], "ttl_ms": 5_000, **changes}
                ),
            }
        )
        for plan in plans
    )
    wanted = (*(plans if usual else ()), *(labelled if own else ()))
    folder = campaigns.start(root, wanted)
    for plan in wanted:
        shape = campaigns.SHAPES[plan.system]
        times = slower * (10.0 if plan.workload.label else 1.0)
        campaigns.add_run(folder, plan, campaigns.measured(plan, shape, **({} if times == 1.0 else _slow(plan, times))))
    return Evidence.load(folder)


def _slow(plan: object, times: float) -> dict[str, object]:
    histogram = campaigns.histogram(95 * times, 0.35, 500, campaigns.random.Random(1)).encode()
    return {"histograms": {"acquire/acquired": histogram}}


def shown(blocks: Iterable[Block]) -> str:
    console = Console(width=100, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(terminal(blocks))
    return " ".join(captured.get().split())


def lines_of(evidence: Evidence) -> dict[tuple[str, str], list[Text]]:
    """The cells of each line of the table of workloads, by system and workload."""
    table = workloads_table(build_comparison(evidence))
    return {
        (row.row.system, row.cell.workload.title): [column.text(row) for column in table.columns] for row in table.rows
    }


def test_beside_the_modes_own_cells_nothing_of_them_changes(tmp_path: Path) -> None:
    """Columns, claims, letters, ratios and figures are those of a campaign without the user's cells."""
    alone = campaign(tmp_path / "alone", usual=True, own=False)
    both = campaign(tmp_path / "both", usual=True, own=True)
    one, other = build_comparison(alone), build_comparison(both)
    for line, beside in zip(one.properties, other.properties, strict=True):
        for system, pair in line.pairs.items():
            found = beside.pairs[system]
            # Of the servers themselves any run may tell.
            same = found.measured.words if line.key in ("consensus", "operational_cost") else found.measured
            assert same in (pair.measured, pair.measured.words)
            assert found.claimed == pair.claimed
    for row, again in zip(one.rows, other.rows, strict=True):
        for field in ("acquire_ms_p50", "acquire_ms_p99", "throughput_pairs_per_s", "contention_amplification"):
            assert getattr(row, field) == getattr(again, field)
        assert row.runs_per_cell == again.runs_per_cell
        assert {*row.cells, *OWN.values()} == set(again.cells)
    assert alone.judgements == both.judgements
    for draw in ALL:
        assert draw(alone).rendered("svg") == draw(both).rendered("svg")
    frames = [pd.read_csv(io.StringIO(comparison_csv(evidence))) for evidence in (alone, both)]
    left, right = (frame.drop(columns=["runs_counted", "notes"]) for frame in frames)
    pd.testing.assert_frame_equal(left, right)


def test_the_users_cells_are_in_the_tables_of_workloads_under_their_names(tmp_path: Path) -> None:
    evidence = campaign(tmp_path, usual=True, own=True)
    lines = {key: texts[2].words for key, texts in lines_of(evidence).items()}
    assert lines["redis", "checkout"] == (
        "contended, 8 clients, 1 key, held 1 ms, wait poll-5ms-j20, TTL 5 s, timeout 5 s, window 4 s"
    )
    assert lines["redis", "solo"].endswith("wait try, TTL 5 s, window 4 s"), "nobody waits, so no timeout is told"
    assert lines["redis", "contended"] == "8 clients, 1 key, held 1 ms, wait poll-5ms-j20"
    assert not curve_table.blocks(build_comparison(evidence))
    pages = (markdown(comparison_document(evidence)), html_page(page_document(evidence, [])))
    assert all(page.count("checkout") > 4 for page in pages), "what the clients did, and who got the lock next"
    for page in (*pages, shown(terminal_blocks(evidence)), shown(numbers_blocks(evidence))):
        assert all(title in page for title in OWN.values())


@pytest.mark.parametrize("table", [cells_csv, runs_csv])
def test_the_csv_tables_have_the_names_and_all_parameters(tmp_path: Path, table: Callable[[Evidence], str]) -> None:
    frame = pd.read_csv(io.StringIO(table(campaign(tmp_path / "own", usual=True, own=True))))
    assert set(frame.workload) == {*OWN, *OWN.values()}
    own = frame[frame.workload == "checkout"].iloc[0]
    assert (own.workload_kind, own.measure_s, own.timeout_ms, own.processes) == ("contended", 4.0, 5_000, 1)
    usual = pd.read_csv(io.StringIO(table(campaign(tmp_path / "no", usual=True, own=False))))
    assert "workload_kind" not in usual.columns, "tables of a mode's own cells stay as they were"


@pytest.mark.parametrize("blocks", [terminal_blocks, numbers_blocks])
def test_a_campaign_of_the_users_cells_alone_shows_a_table_of_them(
    tmp_path: Path, blocks: Callable[[Evidence], Iterable[Block]]
) -> None:
    evidence = campaign(tmp_path, usual=False, own=True)
    pages = (markdown(comparison_document(evidence)), html_page(page_document(evidence, [])))
    for told in (shown(blocks(evidence)), *pages):
        assert "not measured" not in told.replace("stay <code>not measured</code>: C01", "")  # the claims, on a page
        assert "Every workload" in told
        assert "At a glance" not in told
        assert "Claimed and measured, with intervals" not in told
        assert all(title in told for title in OWN.values())
    assert build_comparison(evidence).rows[0].runs_per_cell == "2"


@pytest.mark.parametrize("own", [False, True])
def test_a_page_has_no_table_in_which_nothing_could_be_measured(tmp_path: Path, own: bool) -> None:
    """Of a user's own cells, and of a workload that the first tables are not about."""
    if own:
        evidence = campaign(tmp_path, usual=False, own=True)
    else:
        like = campaigns.plans(("redis", "etcd"), ("contended",), 2)
        plans = [
            one.model_copy(update={"workload": one.workload.model_copy(update={"name": "hot-cold"})}) for one in like
        ]
        folder = campaigns.start(tmp_path, plans)
        for plan, one in zip(plans, like, strict=True):
            campaigns.add_run(folder, plan, campaigns.measured(one, campaigns.SHAPES[one.system]))
        evidence = Evidence.load(folder)
    document = page_document(evidence, [draw(evidence) for draw in ALL])
    assert not [block for block in document.blocks if isinstance(block, Figure)]
    assert next(block.words for block in document.blocks if isinstance(block, Heading)) == "Every workload"
    for told in (shown(terminal_blocks(evidence)), html_page(document), markdown(comparison_document(evidence))):
        assert "not measured" not in told
        assert "Every workload" in told


def test_a_campaign_of_the_users_cells_alone_judges_no_claim_and_can_be_exported(tmp_path: Path) -> None:
    evidence = campaign(tmp_path, usual=False, own=True)
    assert not any(judgement.evidence for judgement in evidence.judgements)
    written = {path.name for path in write_evidence(evidence, tmp_path / "out")}
    assert {"comparison.md", "cells.csv", "acquire_latency.svg"} <= written


def test_a_note_of_a_users_cell_is_told(tmp_path: Path) -> None:
    plan = campaigns.plans(("redis",), ("contended",), 1)[0]
    plan = plan.model_copy(update={"workload": plan.workload.model_copy(update={"label": "checkout"})})
    folder = campaigns.start(tmp_path, [plan])
    campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]), campaigns.check(passed=False))
    comparison = build_comparison(Evidence.load(folder))
    (texts,) = lines_of(Evidence.load(folder)).values()
    assert [comparison.footnotes[mark - 1] for mark in texts[3].marks] == [f"{CHECKS['loop_lag'][1]}: Redis."]
    assert f"[1] {CHECKS['loop_lag'][1]}" in shown(numbers_blocks(Evidence.load(folder)))


def test_the_users_cells_are_of_no_class_of_a_modes_own(tmp_path: Path) -> None:
    cells = campaign(tmp_path, usual=True, own=True).cells
    classes = {(class_of(cell), bool(cell.workload.label)) for cell in cells}
    usual, own = ({one for one, labelled in classes if labelled is which} for which in (False, True))
    assert not usual & own


def test_compare_pairs_them_by_name_and_parameters(tmp_path: Path) -> None:
    a = campaign(tmp_path / "a", usual=False, own=True, name="a")
    b = campaign(tmp_path / "b", usual=True, own=True, name="b")
    found = compare(a, b)
    assert {one.workload for one in found.lines} == set(OWN.values())
    assert set(found.only_b) == {f"{system} {name}" for system in ("redis", "etcd") for name in OWN}
    other = campaign(tmp_path / "o", usual=False, own=True, name="o", hold_ms=9.0)
    found = compare(a, other)
    assert not found.lines
    assert "redis checkout (hold_ms 1.0)" in found.only_a


def test_names_are_sorted_with_their_numbers_by_size(tmp_path: Path) -> None:
    base = campaigns.plans(("redis",), ("contended",), 1)[0]
    plans = []
    for clients in (32, 8, 128):
        workload: Workload = base.workload.model_copy(
            update={"clients": clients, "label": f"checkout, {clients} clients"}
        )
        plans.append(base.model_copy(update={"run_id": f"redis-{clients}-01", "workload": workload}))
    folder = campaigns.start(tmp_path, plans)
    for plan in plans:
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]))
    titles = [title for _, title in lines_of(Evidence.load(folder))]
    assert titles == [f"checkout, {clients} clients" for clients in (8, 32, 128)]


def test_the_ancestry_of_an_own_cell_has_its_name_everywhere(tmp_path: Path) -> None:
    evidence = campaign(tmp_path, usual=False, own=True)
    sources = Sources(evidence, CampaignFolder(tmp_path / "c"))
    cell = next(one for one in evidence.cells if (one.system, one.workload.title) == ("redis", "checkout"))
    found = CellAncestry(cell, ())
    assert tree(found)["workload"] == "checkout"
    assert "Redis, checkout: contended" in shown(ancestry_blocks(found))
    with pytest.raises(NotThere, match="there is checkout, flood, solo"):
        sources.of_cell("redis", "contended")
    with pytest.raises(NotThere, match="name one of its workloads too: checkout, flood, solo"):
        sources.of_run("redis")
