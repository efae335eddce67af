"""What an acquire and its release cost the servers: of runs that recorded it, and over no network."""

from pathlib import Path

import pytest

from bench.analysis.evidence import Evidence
from bench.records.processor_time import GENERATOR, LINES, REST
from bench.records.schema import Checked
from bench.report import capacity_table
from bench.report.comparison import build_comparison
from bench.report.documents.comparison import comparison_document
from bench.report.model import Table
from bench.report.writers.markdown import markdown
from tests import campaigns

OPERATIONS = 400


def campaign(root: Path, by_process: dict[str, float]) -> Evidence:
    plans = campaigns.plans(("etcd",), ("uncontended", "saturation"), 2)
    folder = campaigns.start(root, plans)
    for plan in folder.campaign.runs:
        run = folder.start_run(plan)
        record = campaigns.measured(plan, campaigns.SHAPES["etcd"], operations=OPERATIONS)
        run.write(record.model_copy(update={"cpu_s_by_process": by_process}))
        run.write(Checked(checks=()))
    return Evidence.load(folder)


def test_all_servers_together_and_nothing_else(tmp_path: Path) -> None:
    used = {GENERATOR: 1.0, LINES: 5.0, REST: 7.0, "etcd-1": 0.1, "etcd-2": 0.06, "etcd-3": 0.04}
    evidence = campaign(tmp_path, used)
    for row in evidence.rows:
        assert row.metrics["server_cpu_us_per_pair"] == pytest.approx(0.2 / OPERATIONS * 1e6)
        assert row.metrics["pairs_per_server_core_s"] == pytest.approx(OPERATIONS / 0.2)
    *_, table = capacity_table.blocks(build_comparison(evidence))
    assert isinstance(table, Table)
    found = [{column.header: column.text(row).words for column in table.columns} for row in table.rows]
    assert {one["Workload"] for one in found} == {"uncontended", "saturation"}
    assert {one["Servers, all together"].split()[0] for one in found} == {"500"}
    assert {one["Pairs per core-second of the servers"].split()[0] for one in found} == {"2,000"}
    assert capacity_table.TITLE in markdown(comparison_document(evidence))


@pytest.mark.parametrize("by_process", [{}, {GENERATOR: 1.0, REST: 7.0}, {GENERATOR: 1.0, "etcd-1": 0.0}])
def test_servers_that_told_nothing_have_no_line(tmp_path: Path, by_process: dict[str, float]) -> None:
    evidence = campaign(tmp_path, by_process)
    assert not capacity_table.blocks(build_comparison(evidence))
    assert {row.metrics["server_cpu_us_per_pair"] for row in evidence.rows} == {None}
