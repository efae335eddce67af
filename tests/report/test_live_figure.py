"""The figure of a live session: a line for each system in its own look, gaps where nothing is known, faults shaded."""

from pathlib import Path

import pytest
from matplotlib.axes import Axes

from bench.records.live_seconds import FOLDER, HEAD, SECONDS_FILE, lines_of
from bench.records.schema import Struck
from bench.records.store import CampaignFolder
from bench.report.figures.live_session import live_session
from bench.report.style import look
from tests.campaigns import SHAPES, add_run, measured, plans, start

NS = 1_000_000_000
BEGAN_NS = 50 * NS


def folder_of(root: Path, *faults: Struck, p99_from: int = 4) -> CampaignFolder:
    """Ten seconds of two systems; the first so many do not tell a p99."""
    runs = plans(["redis", "etcd"], ["contended"], 1)
    folder = start(root, runs)
    for plan in runs:
        add_run(folder, plan, measured(plan, SHAPES[plan.system], faults=faults))
    (folder.path / FOLDER).mkdir()
    lines = [HEAD]
    of_all = {"holders": 1, "waiters": 3, "generator_cpu_share": 0.1, "machine_cpu_share": 0.2}
    for second in range(1, 11):
        p99 = {"acquire_us_p99": 9_000.0} if second >= p99_from else {}
        systems = {"redis": {"acquire_us_p50": 2_000.0, **p99}, "etcd": {"acquire_us_p50": 5_000.0, **p99}}
        lines.append(lines_of({"at_s": float(second), "systems": systems, **of_all}, BEGAN_NS + second * NS))
    (folder.path / FOLDER / SECONDS_FILE).write_text("".join(lines))
    return folder


def struck(ended_ns: int | None) -> Struck:
    began_ns = BEGAN_NS + 3 * NS
    return Struck(
        kind="kill", target="node 1", window_opens_ns=BEGAN_NS, began_ns=began_ns, ended_ns=ended_ns, confirmed="gone"
    )


def panels(folder: CampaignFolder) -> list[Axes]:
    return live_session(folder).figure.axes


def test_each_system_has_its_own_line_in_its_own_look(tmp_path: Path) -> None:
    above, below = panels(folder_of(tmp_path))
    for system, line, median_ms in zip(("redis", "etcd"), above.get_lines(), (2.0, 5.0), strict=True):
        assert (line.get_color(), line.get_marker()) == (look(system).colour, look(system).marker)
        assert set(line.get_ydata()) == {median_ms}
        assert list(line.get_xdata()) == list(range(1, 11))
    assert "p50" in above.get_ylabel()
    assert "p99" in below.get_ylabel()


def test_what_is_not_known_is_a_gap(tmp_path: Path) -> None:
    _, below = panels(folder_of(tmp_path, p99_from=4))
    values = [float(value) for value in below.get_lines()[0].get_ydata()]
    assert [value == value for value in values] == [False] * 3 + [True] * 7


def test_too_few_for_any_percentile_is_said(tmp_path: Path) -> None:
    _, below = panels(folder_of(tmp_path, p99_from=99))
    assert [text.get_text() for text in below.texts] == ["too few grants in ten seconds for a p99"]


def test_a_fault_is_shaded_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    drawing = live_session(folder_of(tmp_path, struck(BEGAN_NS + 5 * NS)))
    for axes in drawing.figure.axes:
        (shade,) = axes.patches
        edges = sorted({float(x) for x, _ in shade.get_extents().transformed(axes.transData.inverted()).get_points()})
        assert edges == pytest.approx([3.0, 5.0])
        assert "kill" in [text.get_text() for text in axes.texts]
    assert "kill of node 1" in drawing.caption


def test_a_fault_without_an_end_is_an_instant(tmp_path: Path) -> None:
    above, _ = panels(folder_of(tmp_path, struck(None)))
    assert not above.patches
    assert len(above.get_lines()) == 3


def test_the_same_session_is_the_same_bytes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    one, other = live_session(folder), live_session(folder)
    assert one.rendered("svg") == other.rendered("svg")
    assert one.rendered("png").startswith(b"\x89PNG")
