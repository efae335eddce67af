"""Figures: what they draw, and that nothing in them depends on the day or the machine's settings."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from bench.analysis.cells import Absent
from bench.analysis.evidence import Evidence
from bench.analysis.floor import acquire_parts
from bench.analysis.names import headline, title
from bench.analysis.places import reference_campaign
from bench.analysis.quantiles import highest_fraction
from bench.records.histogram import LatencyHistogram
from bench.report.figures import ALL, acquire_latency, claimed_ranges, where_time_goes
from bench.report.figures.acquire_latency import _quantiles_ms
from bench.report.figures.drawing import FORMATS, Drawing
from bench.report.style import SOURCE_GREYS, look
from bench.systems.registry import SYSTEMS
from tests import campaigns


def lines_in(axes: Axes, colour: str) -> list[np.ndarray]:
    return [np.asarray(one.get_xdata(), dtype=float) for one in axes.lines if one.get_color() == colour]


def shown_ticks(axes: Axes) -> list[Text]:
    """The labels of the ticks that lie within the axes; Matplotlib keeps some beyond, and does not draw them."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    return [
        *(text for text in axes.get_xticklabels() if left <= text.get_position()[0] <= right),
        *(text for text in axes.get_yticklabels() if low <= text.get_position()[1] <= high),
    ]


def boxes(drawing: Drawing) -> Iterator[tuple[str, Bbox]]:
    """Every piece of text of a figure, and its legends, with where they stand in pixels."""
    figure = drawing.figure
    drawing.rendered("png")
    figure.canvas.draw()
    for text in figure.texts:
        yield text.get_text(), text.get_window_extent()
    for axes in figure.axes:
        for text in (*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label):
            if text.get_text() and text.get_visible():
                yield text.get_text(), text.get_window_extent()
        for tick in shown_ticks(axes):
            if tick.get_text() and tick.get_visible():
                yield tick.get_text(), tick.get_window_extent()
        if (legend := axes.get_legend()) is not None:
            yield "legend", legend.get_window_extent()
    for legend in figure.legends:
        yield "legend", legend.get_window_extent()


def covering(drawing: Drawing) -> list[tuple[str, str]]:
    """Words that lie on other words."""
    return [
        (words, others)
        for (words, box), (others, other) in itertools.combinations(list(boxes(drawing)), 2)
        if min(box.x1, other.x1) - max(box.x0, other.x0) > 1.5 and min(box.y1, other.y1) - max(box.y0, other.y0) > 1.5
    ]


def beyond(drawing: Drawing) -> list[str]:
    """Words that reach beyond the edge of the figure."""
    width, height = drawing.figure.get_size_inches() * drawing.figure.dpi
    return [
        words for words, box in boxes(drawing) if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]


def test_no_words_cover_each_other(evidence: Evidence) -> None:
    for one in (evidence, Evidence.load(reference_campaign())):
        for draw in ALL:
            assert covering(draw(one)) == []


def test_every_curve_ends_where_its_sample_ends(evidence: Evidence) -> None:
    axes = acquire_latency(evidence).figure.axes[0]
    for system in ("etcd", "zookeeper", "postgres-row", "dynamodb"):
        (cell,) = evidence.cells_for(system, "uncontended")
        highest = highest_fraction(cell.operations_min)
        assert highest is not None
        end = max(x.max() for x in lines_in(axes, look(system).colour))
        assert end == pytest.approx(1.0 / (1.0 - highest), rel=1e-9)


def test_a_curve_is_the_histograms_own_quantiles(evidence: Evidence) -> None:
    (cell,) = evidence.cells_for("redis", "uncontended")
    histogram = cell.used[0].acquire
    assert isinstance(histogram, LatencyHistogram)
    fractions = np.array([0.01, 0.5, 0.9, 0.99, 0.999])
    direct = [(histogram.quantile_ns(fraction) or 0.0) / 1e6 for fraction in fractions]
    assert _quantiles_ms(histogram, fractions) == pytest.approx(direct)


def test_both_axes_are_logarithmic_and_ticks_are_percentiles(evidence: Evidence) -> None:
    axes = acquire_latency(evidence).figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    labels = [axes.xaxis.get_major_formatter()(tick, 0) for tick in axes.xaxis.get_major_locator()()]
    assert {"50 %", "90 %", "99 %", "99.9 %"} <= set(labels)


def test_the_claims_of_all_pages_and_every_measurement_are_drawn(evidence: Evidence) -> None:
    drawing = claimed_ranges(evidence)
    axes = drawing.figure.axes[0]
    claims = [claim for claim in evidence.claims if claim.metric == "acquire_latency" and claim.has_range]
    bars = [patch for patch in axes.patches if patch.get_height() == pytest.approx(0.105)]
    assert len(bars) == len(claims)
    words = " ".join(text.get_text() for text in axes.texts)
    for page in {claim.source for claim in claims}:
        assert f"{page[:25]}" in words
        assert page in drawing.caption
    assert "not measured by this campaign" in words, "postgres-advisory is claimed and was not run"
    assert "appendfsync always: p50" in words
    for cell in evidence.cells:
        if cell.workload.name == "uncontended":
            assert set(cell.evidence) <= set(drawing.runs)


def test_every_part_of_an_acquire_is_drawn_as_long_as_it_is(evidence: Evidence) -> None:
    axes = where_time_goes(evidence).figure.axes[0]
    bars = [patch for patch in axes.patches if patch.get_height() == pytest.approx(0.56)]
    cells = [cell for cell in evidence.cells if cell.workload.name == "uncontended"]
    for place, cell in enumerate(sorted(cells, key=lambda cell: cell.emulator)):
        parts = acquire_parts(cell, evidence.environment)
        assert not isinstance(parts, Absent)
        mine = [bar for bar in bars if bar.get_y() == pytest.approx(place - 0.28)]
        assert all(bar.get_width() > 0.0 for bar in mine)
        whole = max(parts.known_us, parts.median_us) / parts.median_us
        assert sum(bar.get_width() for bar in mine) == pytest.approx(100.0 * whole)
        assert max(bar.get_x() + bar.get_width() for bar in mine) <= axes.get_xlim()[1]


def dots_in(axes: Axes) -> list[np.ndarray]:
    return [np.asarray(one.get_xdata(), dtype=float) for one in axes.lines if one.get_marker() == "."]


def test_the_runs_themselves_are_dots_wherever_a_cell_is_drawn(evidence: Evidence) -> None:
    cells = [cell for cell in evidence.cells if cell.workload.name == "uncontended"]
    claimed, curves, shares = (draw(evidence) for draw in (claimed_ranges, acquire_latency, where_time_goes))
    shown = {round(x, 6) for xs in dots_in(claimed.figure.axes[0]) for x in xs}
    for cell in cells:
        values = [run.metrics["acquire_us_p50"] for run in cell.used]
        assert {round(value / 1e3, 6) for value in values if value} <= shown, cell.system
    assert len(dots_in(curves.figure.axes[0])) == sum(len(cell.used) for cell in cells)
    axes = shares.figure.axes[0]
    assert sorted(map(len, dots_in(axes))) == sorted(len(cell.used) for cell in cells)
    assert max(x.max() for x in dots_in(axes)) <= axes.get_xlim()[1]
    for drawing in (claimed, curves, shares):
        assert "dots" in drawing.caption


def test_parts_beyond_the_median_are_told_in_the_caption(evidence: Evidence) -> None:
    drawing = where_time_goes(evidence)
    (etcd,) = evidence.cells_for("etcd", "uncontended")
    (redis,) = evidence.cells_for("redis", "uncontended")
    for cell in (etcd, redis):
        parts = acquire_parts(cell, evidence.environment)
        assert not isinstance(parts, Absent)
        beyond = drawing.caption.partition("A bar beyond 100 % (")[2].partition(")")[0]
        assert (f"{title(cell.system)} by " in beyond) == (parts.excess_us > 0.0)


def test_captions_call_systems_by_their_titles(evidence: Evidence) -> None:
    for one in (evidence, Evidence.load(reference_campaign())):
        for draw, name in itertools.product(ALL, one.systems):
            if name not in title(name):
                assert not re.search(rf"(?<![\w-]){name}(?![\w-])", draw(one).caption), name


def test_a_campaign_of_before_the_views_says_so_instead_of_drawing(tmp_path: Path) -> None:
    plans = campaigns.plans(("redis",), ("uncontended",), 1)
    folder = campaigns.start(tmp_path, plans)
    old = campaigns.measured(plans[0], campaigns.SHAPES["redis"], capabilities={"nodes": "1"}, server_view={})
    campaigns.add_run(folder, plans[0], old)
    drawing = where_time_goes(Evidence.load(folder))
    assert drawing.figure.axes == []
    assert any("no run of this campaign recorded" in text.get_text() for text in drawing.figure.texts)
    assert drawing.runs == ()


def test_captions_tell_loop_runs_sample_machine_and_campaign(evidence: Evidence) -> None:
    for draw in ALL:
        caption = draw(evidence).caption
        for word in ("losed loop", "3 runs", "operations", "2 cores", "emulator", evidence.campaign.campaign_id):
            assert word in caption


@pytest.mark.parametrize("which", ["evidence", "swift", "barren"])
def test_nothing_reaches_beyond_the_edge(which: str, request: pytest.FixtureRequest) -> None:
    evidence: Evidence = request.getfixturevalue(which)
    for draw in ALL:
        figure = draw(evidence).figure
        draw(evidence).rendered("png")
        width, height = figure.get_size_inches() * figure.dpi
        figure.canvas.draw()
        texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
        legends = [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]
        ticks = [text for axes in figure.axes for text in shown_ticks(axes)]
        labels = [axis.label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
        seen = [text for text in (*texts, *ticks, *labels) if text.get_text()]
        for artist in (*seen, *(legend for legend in legends if legend is not None)):
            box = artist.get_window_extent()
            assert box.x0 >= -1, artist
            assert box.x1 <= width + 1, artist
            assert box.y0 >= -1, artist
            assert box.y1 <= height + 1, artist


def test_a_campaign_without_measurements_still_draws(barren: Evidence) -> None:
    for draw in ALL:
        drawing = draw(barren)
        assert drawing.rendered("png")
        assert "no run" in drawing.caption.lower()


def test_files_carry_the_campaign_and_no_date(evidence: Evidence) -> None:
    for draw in ALL:
        files = {name: draw(evidence).rendered(name) for name in FORMATS}
        assert evidence.campaign.campaign_id.encode() in files["svg"]
        assert b"<dc:date>" not in files["svg"]
        for word in (b"/CreationDate", b"/Producer", b"/Creator"):
            assert word not in files["pdf"]
        assert b"Software" not in files["png"]
        assert files["png"].startswith(b"\x89PNG")
        assert re.search(rb"pHYs", files["png"])


LOOKS = {name: entry.look for name, entry in SYSTEMS.items() if entry.look is not None}


def test_every_headline_system_has_a_look_of_its_own() -> None:
    shown = {*headline(), *(SYSTEMS[name].durable_variant for name in headline())} - {None}
    assert shown <= set(LOOKS), "a look of its own, not one made from its name"
    looks = [(one.colour, one.marker, str(one.line), one.hollow) for one in LOOKS.values()]
    assert len(set(looks)) == len(looks)
    # Without colour, headline systems still differ by marker.
    assert len({LOOKS[name].marker for name in headline()}) == len(headline())
    assert len(set(SOURCE_GREYS)) == 5


def test_a_newcomer_looks_the_same_everywhere() -> None:
    assert look("brand-new-lock") == look("brand-new-lock")
    assert look("brand-new-lock").colour not in {LOOKS[name].colour for name in headline()}
