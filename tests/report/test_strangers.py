"""The table of strangers: each cell beside its control, where a campaign had strangers and nowhere else."""

import io
import random
from pathlib import Path

import pytest
from rich.console import Console

from bench.analysis.cells import Absent, Cell, cell_frame
from bench.analysis.contention.sweeps import is_swept, sweep
from bench.analysis.evidence import Evidence
from bench.analysis.intervals import Estimate
from bench.analysis.metrics import OF_STRANGERS
from bench.records.schema import STRANGERS, Checked, Measured, RunPlan
from bench.records.workload import CONTENDED
from bench.report import strangers_table
from bench.report.comparison import build_comparison
from bench.report.documents.comparison import comparison_document, numbers_blocks
from bench.report.model import Table
from bench.report.writers.markdown import markdown
from bench.report.writers.terminal import terminal
from tests import campaigns

TIMES = {("redis", 0): 1.5, ("redis", 8): 40.0, ("etcd", 0): 2.0, ("etcd", 8): 60.0}  # of 32 meeting clients, by 1
ALONE_US = 200.0  # the median of a stranger beside one client


def plans(runs: int, campaign_id: str = campaigns.SYNTHETIC) -> list[RunPlan]:
    found = []
    for system, pool in TIMES:
        for clients in (9, 40):
            for plan in campaigns.plans((system,), ("contended",), runs, campaign_id):
                label = f"{'a pool' if pool else 'own connections'}, {clients} clients"
                changes = {"clients": clients, "strangers": 8, "pool": pool, "hold_ms": 5.0, "label": label}
                workload = plan.workload.model_copy(update=changes)
                run_id = f"{system}-{pool}-{clients}-{plan.repetition:02d}"
                found.append(plan.model_copy(update={"run_id": run_id, "workload": workload}))
    return found


def record(plan: RunPlan, operations: int) -> Measured:
    workload, dice = plan.workload, random.Random(plan.run_id)
    times = TIMES[plan.system, workload.pool] if workload.clients == 40 else 1.0
    plain = campaigns.measured(plan, campaigns.SHAPES[plan.system])
    beside = campaigns.histogram(ALONE_US * times, 0.1, operations, dice)
    return plain.model_copy(
        update={
            "histograms": {**plain.histograms, f"{STRANGERS}acquire/acquired": beside.encode()},
            "counts": {
                **plain.counts,
                f"{STRANGERS}acquire/acquired": operations,
                f"{STRANGERS}acquire/timeout": 3 if workload.pool else 0,
                f"{STRANGERS}release/released": operations,
            },
        }
    )


def campaign(root: Path, runs: int = 2, operations: int = 400, void: str = "") -> Evidence:
    made = plans(runs)
    folder = campaigns.start(root, made)
    for plan in made:
        run = folder.start_run(plan)
        run.write(record(plan, operations))
        broken = plan.run_id.startswith(void) and bool(void)
        run.write(Checked(checks=(campaigns.check("mutual_exclusion", passed=not broken, void=broken),)))
    return Evidence.load(folder)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return campaign(tmp_path_factory.mktemp("strangers"))


def lines(evidence: Evidence) -> list[list[str]]:
    found = strangers_table.blocks(build_comparison(evidence))
    if not found:
        return []
    table = found[-1]
    assert isinstance(table, Table)
    return [[column.text(row).words for column in table.columns] for row in table.rows]


def cell(evidence: Evidence, system: str, pool: int, clients: int) -> Cell:
    (found,) = [
        one
        for one in evidence.cells
        if (one.system, one.workload.pool, one.workload.clients) == (system, pool, clients)
    ]
    return found


def test_each_cell_stands_beside_its_control(evidence: Evidence) -> None:
    found = lines(evidence)
    assert len(found) == 2 * len(TIMES)
    assert [line[1:4] for line in found[:4]] == [
        ["1", "8", "own"], ["32", "8", "own"], ["1", "8", "pool of 8"], ["32", "8", "pool of 8"],
    ]  # fmt: skip
    assert [line[-2:] for line in found[::2]] == [["control", "control"]] * len(TIMES)
    for (system, pool), times in TIMES.items():
        value = strangers_table.by_control(
            cell(evidence, system, pool, 40), cell(evidence, system, pool, 9), "stranger_acquire_us_p50"
        )
        assert isinstance(value, Estimate)
        assert value.value == pytest.approx(times, rel=0.1)
        assert value.low < value.value < value.high


def test_metrics_of_the_cell_are_of_the_clients_that_meet(evidence: Evidence) -> None:
    one = cell(evidence, "redis", 8, 40)
    meeting, beside = one.value("acquire_us_p50"), one.value("stranger_acquire_us_p50")
    assert isinstance(meeting, Estimate)
    assert isinstance(beside, Estimate)
    assert beside.value == pytest.approx(ALONE_US * 40.0, rel=0.1)
    assert meeting.value < 0.5 * beside.value
    rate = one.value("stranger_pairs_per_s")
    assert isinstance(rate, Estimate)
    assert rate.value == 400 / campaigns.WINDOW_S
    assert not one.refusals
    assert one.strangers_refusals == {"timeout": 6}
    assert any(str(note) == "Strangers got no lock in time; raise the timeout (timeout 6)" for note in one.notes())
    assert isinstance(one.value("requests_per_grant"), Absent)


def test_a_few_operations_carry_no_p99_and_the_reason_is_said(tmp_path: Path) -> None:
    few = campaign(tmp_path, operations=100)
    assert all(line[-3] == "n/a (n too small)" for line in lines(few))
    value = strangers_table.by_control(cell(few, "redis", 0, 40), cell(few, "redis", 0, 9), "stranger_acquire_us_p99")
    assert value == Absent("n/a (n too small)")


def test_without_a_control_there_is_no_ratio(tmp_path: Path) -> None:
    broken = campaign(tmp_path, void="redis-0-9")
    value = strangers_table.by_control(
        cell(broken, "redis", 0, 40), cell(broken, "redis", 0, 9), "stranger_acquire_us_p50"
    )
    assert value == Absent("n/a (control: void: two holders)")
    assert any("void: two holders" in line for line in lines(broken))


def test_a_campaign_without_strangers_has_no_such_table(tmp_path: Path) -> None:
    made = campaigns.plans(("redis",), ("contended",), 2)
    folder = campaigns.start(tmp_path, made)
    for plan in made:
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]))
    plain = Evidence.load(folder)
    assert not lines(plain)
    assert not {*OF_STRANGERS} & {*cell_frame(plain.cells).columns}
    assert plain.cells[0].value("stranger_acquire_us_p50") == Absent("n/a (no strangers)")


def test_no_figure_and_no_claim_about_waiting_takes_such_a_cell(evidence: Evidence) -> None:
    assert not is_swept(evidence.cells)
    assert not sweep(evidence.cells, CONTENDED, "clients")


def test_every_writer_shows_it_and_the_cells_have_its_columns(evidence: Evidence) -> None:
    text = markdown(comparison_document(evidence))
    assert "## Strangers beside a hot key" in text
    assert "contended, 32 clients, 1 key, held 5 ms, wait " in text
    assert ", 8 strangers, pool of 8 connections, " in text
    assert "Who got the lock next" in text, "which is about the clients that meet"
    frame = cell_frame(evidence.cells)
    assert {*OF_STRANGERS, "strangers", "pool"} <= {*frame.columns}
    console = Console(width=100, file=io.StringIO())
    console.print(terminal(numbers_blocks(evidence)))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Strangers beside a hot key" in shown
    assert "pool of 8" in shown
    assert max(map(len, shown.splitlines())) <= 100
