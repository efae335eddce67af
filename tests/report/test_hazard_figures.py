"""Figures of a hazard campaign: what they draw, that nothing is cut or covered, and that their bytes never change."""

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

from bench.analysis.claims import load_claims
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.places import reference_hazards
from bench.records.store import HazardFolder
from bench.report.figures import (
    Drawing,
    crash_recovery,
    hazard_drawings,
    hazard_map,
    hazard_timeline,
    hazard_window,
    redlock_clock,
    trial_timeline,
)
from bench.report.figures.drawing import FORMATS
from bench.report.style import look
from bench.simulator.by_name import counter_examples, simulated
from tests.analysis.hazards import records
from tests.report import hazard_campaigns
from tests.report.test_figures import beyond, covering

DRAW: tuple[Callable[[HazardEvidence], Drawing], ...] = (
    hazard_timeline,
    hazard_map,
    hazard_window,
    crash_recovery,
    redlock_clock,
)


@pytest.fixture(scope="module")
def hazards(tmp_path_factory: pytest.TempPathFactory) -> HazardEvidence:
    """Everything, void runs too."""
    return HazardEvidence.load(hazard_campaigns.whole(tmp_path_factory.mktemp("hazards")))


@pytest.fixture(scope="module")
def reference() -> HazardEvidence:
    """What is committed."""
    folder = reference_hazards()
    assert folder is not None
    return HazardEvidence.load(folder)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> HazardEvidence:
    """A campaign of which no run was started."""
    plan = records.plan("gc-pause", "redis", fence=False)
    return HazardEvidence.load(records.start(tmp_path_factory.mktemp("empty"), plan))


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> HazardEvidence:
    """One run of one trial."""
    plan = records.plan("gc-pause", "redis", fence=False)
    folder = records.start(tmp_path_factory.mktemp("single"), plan)
    records.add_run(folder, plan, records.two_holders(False))
    return HazardEvidence.load(folder)


@pytest.mark.parametrize("which", ["hazards", "single", "empty"])
def test_nothing_reaches_beyond_the_edge(which: str, request: pytest.FixtureRequest) -> None:
    for draw in DRAW:
        drawing = draw(request.getfixturevalue(which))
        assert beyond(drawing) == [], drawing.name


@pytest.mark.parametrize("which", ["hazards", "single", "reference"])
def test_no_words_cover_each_other(which: str, request: pytest.FixtureRequest) -> None:
    for draw in DRAW:
        assert covering(draw(request.getfixturevalue(which))) == []


@pytest.mark.parametrize(
    ("scenario", "system", "changed"),
    [
        ("page-scenario", "redis", {"ttl_ms": 5_000, "pause_ms": 8_000}),
        ("page-scenario", "redis", {"ttl_ms": 5_500, "pause_ms": 6_000}),  # where the notebook's controls stand
        ("page-scenario", "zookeeper", {"ttl_ms": 1_000, "pause_ms": 12_000}),
        ("fence-gap", "etcd", {}),
    ],
)
def test_so_are_simulated_trials(scenario: str, system: str, changed: dict[str, int]) -> None:
    played = simulated(scenario, system, changed)
    drawing = trial_timeline({one.words: one.judged for one in played}, "simulated", f"Scenario {scenario}.")
    assert beyond(drawing) == []
    assert covering(drawing) == []


def test_so_are_counter_examples() -> None:
    found = counter_examples("redlock", 8_000, seed=7, faults=("partition_nodes", "clock_jump"))
    shown = {rule: judged for rule, (_, judged) in found.items() if judged is not None}
    drawing = trial_timeline(shown, "simulated", "Random schedules.")
    assert beyond(drawing) == []
    assert covering(drawing) == []


def test_the_signs_of_the_map_stay_within_their_cells(reference: HazardEvidence) -> None:
    drawing = hazard_map(reference)
    drawing.figure.canvas.draw()
    for axes in drawing.figure.axes:
        cells = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, Rectangle)]
        for text in axes.texts:
            box = text.get_window_extent()
            assert any(box.x0 >= cell.x0 and box.x1 <= cell.x1 for cell in cells), text.get_text()


def test_a_campaign_without_runs_says_so_instead_of_drawing(empty: HazardEvidence) -> None:
    for draw in DRAW:
        drawing = draw(empty)
        assert drawing.figure.axes == []
        assert drawing.runs == ()
        assert "no run" in drawing.caption.lower()
        assert drawing.rendered("svg")


def test_one_run_is_enough(single: HazardEvidence) -> None:
    assert hazard_window(single).runs == ("gc-pause-redis-01",)
    assert hazard_map(single).runs == ("gc-pause-redis-01",)
    assert len(hazard_timeline(single).figure.axes) <= 1


@pytest.mark.thorough
def test_the_bytes_are_those_of_the_data(hazards: HazardEvidence, tmp_path: Path) -> None:
    """The same campaign in another folder, drawn anew: its files' order and paths leave no trace."""
    again = HazardEvidence.load(hazard_campaigns.whole(tmp_path))
    for one, other in zip(hazard_drawings(hazards), hazard_drawings(again), strict=True):
        assert one.name == other.name
        for file_format in FORMATS:
            assert one.rendered(file_format) == other.rendered(file_format), (one.name, file_format)


def test_captions_tell_runs_machine_and_campaign(hazards: HazardEvidence) -> None:
    for drawing in hazard_drawings(hazards):
        assert drawing.runs, drawing.name
        for word in ("2 cores", records.CAMPAIGN):
            assert word in drawing.caption, drawing.name
    for draw in (hazard_map, hazard_window, crash_recovery, redlock_clock):
        assert "run" in draw(hazards).caption


def test_every_counted_pause_is_a_marker(hazards: HazardEvidence) -> None:
    axes = hazard_window(hazards).figure.axes
    upper = max(axes, key=lambda one: one.get_position().y0)
    for system in hazard_campaigns.SYSTEMS:
        drawn = [line for line in upper.lines if line.get_marker() == look(system).marker]
        assert len(drawn) == sum(point.system == system for point in hazards.window_points)


def test_what_cannot_overlap_is_said_in_words(hazards: HazardEvidence) -> None:
    (legend,) = hazard_window(hazards).figure.legends
    words = " ".join(text.get_text() for text in legend.get_texts()).replace("\n", " ")
    assert "Postgres row never two holders" in words
    assert "the lock has no TTL" in words


def test_the_map_shows_the_worst_outcome_and_void_cells(hazards: HazardEvidence) -> None:
    drawing = hazard_map(hazards)
    off, on = drawing.figure.axes
    assert (off.get_title(loc="left"), on.get_title(loc="left")) == ("fence off", "fence on")
    signs = {(axes.get_title(loc="left"), text.get_text()) for axes in (off, on) for text in axes.texts}
    assert ("fence off", "A") in signs
    assert ("fence on", "R") in signs
    rows = [label.get_text() for label in off.get_yticklabels()]
    redlock = [text.get_text() for text in on.texts if round(text.get_position()[1]) == rows.index("Redlock")]
    assert redlock == ["1", "A"], "a fence without a token refuses nothing"
    void = {run.run_id for run in hazards.runs if run.void and run.scenario == "gc-pause"}
    assert void == {"gc-pause-zookeeper-02", "gc-pause-etcd-04"}
    assert void <= set(drawing.runs)
    for run_id in void:
        assert run_id in drawing.caption
    # Without colour: each outcome has a sign or a hatching of its own.
    looks = {(patch.get_hatch(), patch.get_facecolor()) for patch in on.patches if isinstance(patch, Rectangle)}
    assert len(looks) == 3


def test_a_pause_whose_only_run_is_void_is_a_void_cell(tmp_path: Path) -> None:
    plans = [records.plan("gc-pause", name, fence=False) for name in ("redis", "etcd", "zookeeper")]
    folder = records.start(tmp_path, *plans)
    records.add_run(folder, plans[0], records.two_holders(False))
    records.add_run(folder, plans[1], records.pause(1600.0), staging=("not stopped",))
    records.add_run(folder, plans[2])
    off, on = hazard_map(HazardEvidence.load(folder)).figure.axes
    assert [text.get_text() for text in off.texts] == ["A", "v", "v"]
    assert [text.get_text() for text in on.texts] == ["", "", ""], "never tried with the fence on"


def test_the_timeline_has_real_instants(hazards: HazardEvidence) -> None:
    drawing = hazard_timeline(hazards)
    assert drawing.runs == ("page-scenario-redis-01",)
    off, on = drawing.figure.axes
    for axes in (off, on):
        (pause,) = [patch for patch in axes.patches if patch.get_height() == 1.0]  # of axvspan, in axes' height
        assert pause.get_x() == pytest.approx(0.002)
        assert pause.get_x() + pause.get_width() == pytest.approx(8.002)
    words = [{text.get_text() for text in axes.texts} for axes in (off, on)]
    assert any("an update is lost" in one for one in words[0])
    assert any("refused: token 1 < 2" in one for one in words[1])
    assert all(any(one.startswith("lease ends, 5.00") for one in told) for told in words)
    assert "two holders for 3.0 s" in drawing.title


def test_the_timeline_of_a_chosen_system(hazards: HazardEvidence) -> None:
    assert hazard_timeline(hazards, "etcd").runs == ("gc-pause-etcd-01", "gc-pause-etcd-02")
    assert hazard_timeline(hazards, "nobody").runs == ()


def test_recovery_is_drawn_where_it_was_measured(hazards: HazardEvidence) -> None:
    drawing = crash_recovery(hazards)
    upper = max(drawing.figure.axes, key=lambda one: one.get_position().y0)
    for system in hazard_campaigns.SYSTEMS:
        marks = [line for line in upper.lines if line.get_marker() == look(system).marker]
        drawn = sorted(float(line.get_ydata()[0]) for line in marks)  # type: ignore[index, arg-type]
        points = [point for point in hazards.recovery_points if point.system == system]
        measured = sorted(point.recovery_ms / 1_000.0 for point in points if point.recovery_ms is not None)
        assert drawn == pytest.approx(measured)
    arrows = [line for line in upper.lines if line.get_marker() == "$\u2191$"]
    assert len(arrows) == sum(point.recovery_ms is None for point in hazards.recovery_points) == 1


def test_the_smallest_breaking_jump_and_those_that_never_broke(hazards: HazardEvidence) -> None:
    (axes,) = redlock_clock(hazards).figure.axes
    marks = sorted(
        float(line.get_ydata()[0])  # type: ignore[index, arg-type]
        for line in axes.lines
        if line.get_linestyle() == "None" and line.get_marker() == "s" and line.get_markerfacecolor() != "white"
    )
    assert marks == [14.0, 29.0]
    arrows = [line for line in axes.lines if line.get_marker() == "$\u2191$"]
    assert len(arrows) == 2
    (legend,) = redlock_clock(hazards).figure.legends
    words = " ".join(text.get_text() for text in legend.get_texts()).replace("\n", " ")
    assert "none up to 1.1\u00a0TTL" in words
    (claim,) = [one for one in load_claims() if one.id == "C25"]
    assert f"{claim.high:g}\u00a0ms (C25)" in words


def test_the_claimed_jump_is_that_of_the_claims(hazards: HazardEvidence) -> None:
    (legend,) = redlock_clock(hazards, claims=()).figure.legends
    assert not any("claimed" in text.get_text() for text in legend.get_texts())


def test_a_folder_is_loaded_once(tmp_path: Path) -> None:
    folder = hazard_campaigns.whole(tmp_path)
    assert isinstance(folder, HazardFolder)
    assert {run.run_id for run in folder.campaign.runs} >= {"watchdog-etcd-01"}
    assert "watchdog-etcd-01" not in {run.run_id for run in HazardEvidence.load(folder).runs}
