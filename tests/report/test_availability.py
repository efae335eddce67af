"""The table of availability and the recovery timeline: there where runs had a fault, and nowhere else."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.evidence import Evidence
from bench.records.schema import Checked, Failed, OverTime, RunPlan, Struck
from bench.records.store import CampaignFolder
from bench.report import availability_table, contention_table
from bench.report.comparison import build_comparison
from bench.report.documents.comparison import comparison_document
from bench.report.figures import load_drawings, recovery_timeline
from bench.report.model import Table
from bench.report.writers.markdown import markdown
from tests import campaigns

FOUND = {
    "without_grant_s": 2.5,
    "without_grant_from_s": -0.01,
    "grants_again_s": 0.5,
    "grants_again": 1.0,
    "fault_s": 2.0,
    "longest_wait_s": 2.4,
    "before_acquired": 118.0,
    "during_acquired": 1.0,
    "during_error": 60.0,
    "after_acquired": 200.0,
    "waited_through": 12.0,
    "overtook_afterwards_share": 0.25,
    "before_us_p50": 1_200.0,
    "after_us_p50": 1_500.0,
}
CELLS = (
    ("redis", "leader-killed"),
    ("redis", "holder-killed"),
    ("etcd", "majority-stopped"),
    ("redlock", "leader-killed"),
)


def add(folder: CampaignFolder, plan: RunPlan, found: dict[str, float], void: bool) -> None:
    ended_ns = None if plan.workload.fault == "holder-killed" else 3_000_000_000
    struck = Struck(
        kind=plan.workload.fault,
        target="n1",
        window_opens_ns=0,
        began_ns=1_000_000_000,
        ended_ns=ended_ns,
        confirmed="seen",
    )
    run = folder.start_run(plan)
    run.write(campaigns.measured(plan, campaigns.SHAPES[plan.system], faults=(struck,)))
    timeline = OverTime(at_ms=(10.0, 1_500.0), took_ms=(2.0, 1_400.0), outcomes=("acquired", "error"))
    checks = (campaigns.check("token_order", passed=not void, void=void),)
    run.write(Checked(checks=checks, availability=found, over_time=timeline))


def plan_with(system: str, fault: str, repetition: int = 1) -> RunPlan:
    plan = campaigns.plans((system,), ("contended",), 1)[0]
    workload = {"label": f"availability, {fault}", "fault": fault, "fault_after_s": 1.0, "fault_s": 2.0}
    return plan.model_copy(
        update={
            "run_id": f"{system}-{fault}-{repetition:02d}",
            "repetition": repetition,
            "system": system,
            "workload": plan.workload.model_copy(update=workload),
        }
    )


def of_leaders(tmp_path: Path, found: list[dict[str, float]], systems: tuple[str, ...] = ("redis",)) -> Evidence:
    """Runs in which the leader was killed, one after another on the systems."""
    plans = [plan_with(systems[place % len(systems)], "leader-killed", place + 1) for place in range(len(found))]
    folder = campaigns.start(tmp_path, plans)
    for plan, one in zip(plans, found, strict=True):
        add(folder, plan, one, void=False)
    return Evidence.load(folder)


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    """Each of the cells with two runs, of which one system's are void; and one cell without a fault."""
    plain = campaigns.plans(("redis",), ("contended",), 1)
    plans = [
        plan.model_copy(
            update={
                "run_id": f"{system}-{fault}-{plan.repetition:02d}",
                "system": system,
                "workload": plan.workload.model_copy(
                    update={"label": f"availability, {fault}", "fault": fault, "fault_after_s": 1.0, "fault_s": 2.0}
                ),
            }
        )
        for system, fault in CELLS
        for plan in campaigns.plans((system,), ("contended",), 2)
    ]
    folder = campaigns.start(tmp_path, [*plain, *plans])
    campaigns.add_run(folder, plain[0], campaigns.measured(plain[0], campaigns.SHAPES["redis"]))
    for place, plan in enumerate(plans):
        found = {**FOUND, "without_grant_s": 2.5 + place % 2}
        if plan.system == "etcd":
            found = {
                name: value
                for name, value in found.items()
                if name not in ("waited_through", "overtook_afterwards_share")
            }
            found["grants_again"] = 0.0
        add(folder, plan, found, void=plan.system == "redlock")
    return Evidence.load(folder)


def rows_of(evidence: Evidence) -> dict[tuple[str, str], dict[str, str]]:
    (table,) = [one for one in availability_table.blocks(build_comparison(evidence)) if isinstance(one, Table)]
    return {
        (row.cell.system, row.cell.workload.fault): {column.heading: column.text(row).words for column in table.columns}
        for row in table.rows
    }


def test_percentiles_of_the_tail_are_shown_where_a_run_is_long_enough(evidence: Evidence) -> None:
    found = {**evidence.rows[1].availability, "before_us_p99": 9_000.0}
    longer = replace(evidence, rows=(replace(evidence.rows[1], availability=found), *evidence.rows[2:]))
    rows = rows_of(longer)
    assert rows["etcd", "majority-stopped"]["p99 before, ms"] == "n/a (n too small)"


def test_every_cell_with_a_fault_is_a_line(evidence: Evidence) -> None:
    rows = rows_of(evidence)
    assert set(rows) == set(CELLS)
    one = rows["redis", "leader-killed"]
    assert one["Fault"] == "leader or only server killed, started again after 2 s"
    assert one["Without a grant, s"] == "3.0 [2.5–3.5]"
    assert one["Grants return after, s"] == "0.50"
    assert one["Answered during"] == "acquired 2, error 120"
    assert one["Order"] == "25\u00a0% of grants overtook, 12 waited"
    assert one["p50 before, ms"] == "1.2"
    assert "p99 after, ms" not in one, "no run is long enough for it"


def test_arrivals_that_were_never_sent_are_named(evidence: Evidence) -> None:
    counted = tuple(replace(row, load_counts={"unsent": 3}) for row in evidence.rows)
    one = rows_of(replace(evidence, rows=counted))["redis", "leader-killed"]
    assert one["Answered after"] == "acquired 400, unsent 6"


def test_a_lock_that_nobody_got_again_has_lower_bounds(evidence: Evidence) -> None:
    one = rows_of(evidence)["etcd", "majority-stopped"]
    assert one["Without a grant, s"] == "≥\u00a02.5 (no grant again)"
    assert one["Order"] == "n/a (no grant again)"


@pytest.mark.parametrize(
    ("runs", "without", "again"),
    [
        # By run: seconds without a grant, seconds after the fault's end, whether grants came again.
        ([(9.0, 0.0, 0.0)], "≥ 9.0 (no grant again)", "no grant again"),  # the window closed during the fault
        ([(9.0, 7.0, 0.0)], "≥ 9.0 (no grant again)", "≥ 7.0 (no grant again)"),
        ([(9.0, 7.0, 0.0), (8.0, 6.0, 0.0)], "≥ 8.0 (no grant again)", "≥ 6.0 (no grant again)"),
        ([(2.0, 0.0, 1.0), (2.2, 0.0, 1.0)], "2.1 [2.0–2.2]", "while in force"),
        (
            [(2.0, 0.0, 1.0), (2.2, 0.0, 1.0), (9.0, 0.0, 0.0)],
            "≥ 2.2 [2.0–9.0] (no grant again in 1 of 3 runs)",
            "while in force (no grant again in 1 of 3 runs)",
        ),
        (
            [(2.0, 0.5, 1.0), (2.2, 0.7, 1.0), (9.0, 7.0, 0.0)],
            "≥ 2.2 [2.0–9.0] (no grant again in 1 of 3 runs)",
            "≥ 0.70 [0.50–7.0] (no grant again in 1 of 3 runs)",
        ),
    ],
)
def test_each_run_without_another_grant_is_counted(
    tmp_path: Path, runs: list[tuple[float, float, float]], without: str, again: str
) -> None:
    names = ("without_grant_s", "grants_again_s", "grants_again")
    evidence = of_leaders(tmp_path, [{**FOUND, **dict(zip(names, run, strict=True))} for run in runs])
    one = rows_of(evidence)["redis", "leader-killed"]
    assert one["Without a grant, s"] == without.replace("≥ ", "≥\u00a0")
    assert one["Grants return after, s"] == again.replace("≥ ", "≥\u00a0")


@pytest.mark.parametrize(
    ("again", "title"),
    [
        ((1.0, 1.0), "Around a fault nobody gets the lock for 2.0 to 6.5 s, by system and fault"),
        ((1.0, 0.0), "Around a fault nobody gets the lock for 2.0 to 6.5 s or longer, by system and fault"),
        ((0.0, 1.0), "Around a fault nobody gets the lock for 2.0 s or longer, by system and fault"),
        ((0.0, 0.0), "Around a fault nobody gets the lock for 2.0 s or longer, by system and fault"),
    ],
)
def test_the_title_calls_a_lower_bound_one(tmp_path: Path, again: tuple[float, float], title: str) -> None:
    found = [{**FOUND, "without_grant_s": 2.0, "grants_again": again[0]}]
    found += [{**FOUND, "without_grant_s": 6.5, "grants_again": again[1]}]
    assert recovery_timeline(of_leaders(tmp_path, found, ("redis", "zookeeper"))).title == title


def test_a_cell_of_void_runs_says_why(evidence: Evidence) -> None:
    one = rows_of(evidence)["redlock", "leader-killed"]
    assert one["Without a grant, s"].startswith("void: ")
    assert one["Answered during"] == "—"


def test_tables_of_waiting_are_without_faults(evidence: Evidence) -> None:
    tables = [one for one in contention_table.blocks(build_comparison(evidence)) if isinstance(one, Table)]
    assert [row.cell.workload.has_fault for table in tables for row in table.rows] == [False]


def test_the_page_has_the_section_and_the_figure(evidence: Evidence) -> None:
    assert "## Availability under load" in markdown(comparison_document(evidence))
    (drawing,) = [one for one in load_drawings(evidence) if one.name == "recovery_timeline"]
    assert set(drawing.runs) == {f"{system}-{fault}-01" for system, fault in CELLS}
    words = {text.get_text() for axes in drawing.figure.axes for text in axes.texts}
    assert {"2.5\u00a0s", "≥ 2.5\u00a0s", "does not apply"} <= words
    assert any(text.startswith("void: ") for text in words)
    assert drawing.rendered("png")


def test_an_empty_panel_says_why_it_is_empty(tmp_path: Path) -> None:
    timed = [plan_with("redis", "leader-killed"), plan_with("etcd", "majority-stopped")]
    failed = [plan_with("etcd", "leader-killed"), plan_with("zookeeper", "leader-killed")]
    folder = campaigns.start(tmp_path, [*timed, *failed])
    for plan in timed:
        add(folder, plan, FOUND, void=False)
    for plan in failed:
        folder.start_run(plan).write(Failed(phase="servers", reason="it was not ready in time"))
    drawing = recovery_timeline(Evidence.load(folder))
    panels = [[text.get_text() for text in axes.texts] for axes in drawing.figure.axes]
    bar = ["2.5\u00a0s"]
    assert panels == [bar, ["does not apply"], ["failed"], ["not measured"], ["failed"], bar]
    assert drawing.rendered("png")


@pytest.mark.parametrize(("lost_s", "again"), [(1.9, 1.0), (2.4, 1.0), (3.0, 0.0)])
def test_the_time_without_a_grant_is_written_within_its_panel(tmp_path: Path, lost_s: float, again: float) -> None:
    plans = [plan_with("etcd", fault) for fault in ("leader-killed", "majority-stopped")]
    folder = campaigns.start(tmp_path, plans)
    for plan in plans:
        add(folder, plan, {**FOUND, "without_grant_s": lost_s, "grants_again": again}, void=False)
    drawing = recovery_timeline(Evidence.load(folder))
    drawing.rendered("png")
    for axes in drawing.figure.axes:
        (text,) = axes.texts
        assert text.get_window_extent().x1 <= axes.get_window_extent().x1 + 1.0


def test_runs_that_all_failed_leave_no_panel(tmp_path: Path) -> None:
    plan = plan_with("redis", "leader-killed")
    folder = campaigns.start(tmp_path, [plan])
    folder.start_run(plan).write(Failed(phase="servers", reason="it was not ready in time"))
    assert recovery_timeline(Evidence.load(folder)).figure.axes == []


def test_a_campaign_without_a_fault_has_neither(tmp_path: Path) -> None:
    evidence = Evidence.load(campaigns.whole_campaign(tmp_path, 1))
    assert availability_table.blocks(build_comparison(evidence)) == ()
    assert "recovery_timeline" not in {drawing.name for drawing in load_drawings(evidence)}
    assert "no run" in recovery_timeline(evidence).caption.lower()
