"""The line of every cell: an open loop is shown from the intended instant, and tells what it could not send."""

from pathlib import Path

from bench.analysis.evidence import Evidence
from bench.records.schema import Workload
from bench.report import workloads_table
from bench.report.comparison import build_comparison
from bench.report.documents.comparison import comparison_document
from bench.report.documents.results import page_document
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown
from tests import campaigns

OPEN = Workload(name="rate", clients=16, keys=0, wait="try", rate_per_s=150, measure_s=campaigns.WINDOW_S)
CLIMB = Workload(name="saturation", clients=32, keys=0, wait="try", step_s=0.2, measure_s=campaigns.WINDOW_S)


def loaded(root: Path) -> Evidence:
    """A made-up campaign of one open-loop and one saturation run on Redis."""
    asked = campaigns.plans(("redis",), ("uncontended", "saturation"), 1)
    by_name = {plan.workload.name: plan for plan in asked}
    plans = (
        by_name["uncontended"].model_copy(update={"workload": OPEN}),
        by_name["saturation"].model_copy(update={"workload": CLIMB}),
    )
    folder = campaigns.start(root, plans)
    shape = campaigns.SHAPES["redis"]
    quick = campaigns.measured(by_name["uncontended"], shape, operations=450)
    slow = campaigns.measured(by_name["uncontended"], shape, operations=450, generator_cpu_s=0.1)
    response = campaigns.histogram(7_000, 0.001, 450, campaigns.random.Random(1)).encode()
    open_loop = slow.model_copy(
        update={
            "histograms": {**quick.histograms, "response/acquired": response},
            "counts": {**quick.counts, "response/acquired": 450},
            "arrivals": 470,
            "unsent": 20,
        }
    )
    climbed = campaigns.measured(by_name["saturation"], shape, knee_clients=4, window_clients=8)
    campaigns.add_run(folder, plans[0], open_loop, campaigns.check())
    campaigns.add_run(folder, plans[1], climbed, campaigns.check())
    return Evidence.load(folder)


def lines_of(evidence: Evidence) -> dict[str, list[str]]:
    """The cells of each line without its system, by workload."""
    table = workloads_table.workloads_table(build_comparison(evidence))
    lines = ([column.text(row).words for column in table.columns[1:]] for row in table.rows)
    return {line[0]: line for line in lines}


def test_an_open_loop_is_counted_from_the_intended_instant(tmp_path: Path) -> None:
    _, asked, p50, p99, _, load = lines_of(loaded(tmp_path))["rate"]
    assert asked == "150 arrivals a second (poisson), 16 clients, own keys, wait try"
    assert p50.startswith(("6.9", "7.0"))
    assert p99.startswith(("6.9", "7.0"))
    assert load == "unsent 20 of 470 arrivals"


def test_a_climb_tells_its_knee(tmp_path: Path) -> None:
    lines = lines_of(loaded(tmp_path))
    assert lines["saturation"][1] == "up to 32 clients, own keys, wait try"
    assert lines["saturation"][5] == "knee at 4, window with 8 clients"


def test_every_page_has_the_lines(tmp_path: Path) -> None:
    evidence = loaded(tmp_path)
    for page in (markdown(comparison_document(evidence)), html_page(page_document(evidence, []))):
        assert "unsent 20 of 470 arrivals" in page
        assert "knee at 4, window with 8 clients" in page
