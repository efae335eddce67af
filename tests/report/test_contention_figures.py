"""Figures of waiting: each shows what its sweep measured, with a gap where there is no number."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bench.analysis.cells import Absent
from bench.analysis.contention.hand_off_parts import hand_off_parts
from bench.analysis.contention.sweeps import alone, is_swept, series, sweep, usual
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.places import reference_campaign, reference_hazards
from bench.records.workload import CONTENDED, CONTENDED_RATE
from bench.report.documents.results import page_document
from bench.report.export import write_evidence
from bench.report.figures import contention_drawings, hazard_drawings, load_drawings
from bench.report.figures.contention import (
    CONTENTION,
    fairness,
    hand_off_by_strategy,
    requests_per_grant,
    wait_by_contenders,
    wait_by_utilisation,
    where_hand_off_goes,
)
from bench.report.figures.drawing import Drawing
from bench.report.model import Figure
from bench.report.style import look
from tests.analysis.network.made_up import network, peer_network
from tests.report.contention_campaigns import HAND_OFF_US, SHORT, VOID, WAYS, swept
from tests.report.test_figures import covering, shown_ticks


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return Evidence.load(swept(tmp_path_factory.mktemp("sweep")))


def over_a_network(sweeps: Evidence, rtt_us: float, peer_rtt_us: float | None = None) -> Evidence:
    """The same, with this round trip between clients and servers, and that one between servers."""
    peers = None if peer_rtt_us is None else peer_network(peer_rtt_us)
    return replace(sweeps, rows=tuple(replace(row, network=network(rtt_us), peer_network=peers) for row in sweeps.rows))


def words(drawing: Drawing) -> list[str]:
    return [text.get_text() for axes in drawing.figure.axes for text in (*axes.texts, axes.title, axes._left_title)]


def panel(drawing: Drawing, system: str) -> list[np.ndarray]:
    """The heights of the lines in the panel of a system."""
    colour = look(system).colour
    axes = next(one for one in drawing.figure.axes if any(line.get_color() == colour for line in one.lines))
    return [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]


def test_every_figure_is_drawn_and_its_words_lie_apart_and_within(sweeps: Evidence) -> None:
    drawings = contention_drawings(sweeps)
    assert [drawing.name for drawing in drawings] == [draw.__name__ for draw in CONTENTION]
    for drawing in drawings:
        assert covering(drawing) == [], drawing.name
        width, height = drawing.figure.get_size_inches() * drawing.figure.dpi
        seen = [*drawing.figure.texts, *(text for axes in drawing.figure.axes for text in axes.texts)]
        seen += [text for axes in drawing.figure.axes for text in shown_ticks(axes)]
        for text in (one for one in seen if one.get_text()):
            box = text.get_window_extent()
            assert min(box.x0, box.y0) >= -1, (drawing.name, text.get_text())
            assert max(box.x1 - width, box.y1 - height) <= 1, (drawing.name, text.get_text())
        assert sweeps.campaign.campaign_id in drawing.caption


def test_a_sentence_below_a_figure_has_twenty_words_at_most(sweeps: Evidence) -> None:
    for drawing in contention_drawings(sweeps):
        told = drawing.caption.partition(" Machine: ")[0]
        for sentence in told.replace("; ", ". ").split(". "):
            assert len(sentence.split()) <= 20, sentence


def test_the_lines_are_the_measured_waits_and_the_fair_queues(sweeps: Evidence) -> None:
    lines = usual(series(sweep(sweeps.cells, CONTENDED, "clients"), "clients"))
    assert [system for system, _ in lines] == list(WAYS)
    assert lines["redis", "poll-5ms-j20"].keys() == {2, 8, 32, 64}, "both names of the same parameters make one line"
    fair, median, p99 = panel(wait_by_contenders(sweeps), "redis")
    service_ms = 5.0 + 0.2 + 2.1
    assert fair == pytest.approx([service_ms * others for others in (1, 7, 31, 63)])
    assert p99 == pytest.approx(6.0 * fair)
    assert median == pytest.approx(fair / 6.0)


@pytest.mark.parametrize(("cell", "why"), [(VOID, "void"), (SHORT, "n too small")])
def test_no_line_goes_through_a_cell_without_a_number(sweeps: Evidence, cell: tuple[str, int], why: str) -> None:
    drawing = wait_by_contenders(sweeps)
    *_, p99 = panel(drawing, cell[0])
    assert [bool(np.isnan(y)) for y in p99] == [False, False, False, True]
    assert why in words(drawing)


def test_a_hand_off_below_zero_has_its_place(sweeps: Evidence) -> None:
    drawing = hand_off_by_strategy(sweeps)
    (axes,) = drawing.figure.axes
    assert axes.get_xscale() == "symlog"
    dots = [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == look("postgres-row").marker]
    assert HAND_OFF_US["block"] / 1e3 in dots
    assert any(text.startswith("−0.02") for text in words(drawing))


def test_fairness_has_a_dot_for_every_way_to_wait_and_measure(sweeps: Evidence) -> None:
    drawing = fairness(sweeps)
    ways = sum(map(len, WAYS.values()))
    for axes in drawing.figure.axes:
        assert sum(line.get_marker() in {look(name).marker for name in WAYS} for line in axes.lines) == ways
    assert drawing.title.startswith(f"{ways - 2} of {ways} ways to wait")


def test_a_herd_stands_beside_the_watch_that_avoids_it(sweeps: Evidence) -> None:
    assert "64 contenders a herd sends 21 times" in requests_per_grant(sweeps).title


def test_waits_at_a_rate_are_told_in_services(sweeps: Evidence) -> None:
    assert "in a fair queue" in wait_by_utilisation(sweeps).title
    (axes,) = wait_by_utilisation(sweeps).figure.axes
    (redis,) = [line for line in axes.lines if line.get_color() == look("redis").colour]
    assert np.asarray(redis.get_xdata()) == pytest.approx([100.0 * rate * 0.0223 for rate in (15, 30)])


def test_names_of_lines_that_end_together_stand_in_the_margin_apart(sweeps: Evidence) -> None:
    drawing = wait_by_utilisation(sweeps)
    (axes,) = drawing.figure.axes
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(boxes) == len(WAYS) + 1, "each system and the fair queue"
    assert min(box.x0 for box in boxes) > axes.get_window_extent().x1
    heights = sorted((box.y0 + box.y1) / 2.0 for box in boxes)
    per_point = drawing.figure.dpi / 72.0
    assert min(two - one for one, two in pairwise(heights)) >= 10.5 * per_point


def arriving(sweeps: Evidence, rates: Sequence[float] = (15.0, 30.0), **changed: object) -> Evidence:
    """The same, with further arrivals at these rates, under other parameters."""
    more = [
        replace(
            row,
            run_id=f"{row.run_id}-more",
            workload=row.workload.model_copy(update={**changed, "label": f"more {rate}"}),
        )
        for row in sweeps.rows
        if row.workload.name == CONTENDED_RATE
        for rate in [row.workload.rate_per_s]
        if rate in rates
    ]
    return replace(sweeps, rows=(*sweeps.rows, *more))


@pytest.mark.parametrize(
    ("changed", "rates", "is_shown"),
    [
        ({"hold_ms": 40.0}, (15.0, 30.0), False),
        ({"hold_ms": 40.0}, (30.0,), False),
        ({"hold_ms": 10.0}, (15.0, 30.0), True),  # of equal sweeps that with the least hold
        ({"wait": "backoff-7ms-80ms-full"}, (15.0, 30.0), False),
        ({"wait": "backoff-7ms-80ms-full"}, (30.0,), False),
    ],
)
def test_a_line_at_a_rate_has_one_hold_and_one_wait(
    sweeps: Evidence, changed: Mapping[str, object], rates: Sequence[float], is_shown: bool
) -> None:
    evidence = arriving(sweeps, rates, **changed)
    drawing = wait_by_utilisation(evidence)
    for system in WAYS:
        (line,) = [line for line in drawing.figure.axes[0].lines if line.get_color() == look(system).colour]
        assert len(np.asarray(line.get_xdata())) == 2, system
    behind = [row for row in evidence.rows if row.run_id in drawing.runs]
    assert {row.run_id.endswith("-more") for row in behind} == {is_shown}
    assert {f"held {row.workload.hold_ms:g} ms" in drawing.caption for row in behind} == {True}


def test_rates_are_printed_as_they_were_asked_for(sweeps: Evidence) -> None:
    odd = arriving(sweeps, (15.0,), rate_per_s=12.5)
    assert "12.5 to 30 a second" in wait_by_utilisation(odd).caption


def test_arrivals_at_a_single_rate_are_points(sweeps: Evidence) -> None:
    single = replace(sweeps, rows=tuple(row for row in sweeps.rows if row.workload.rate_per_s != 15.0))
    drawing = wait_by_utilisation(single)
    assert drawing.runs
    assert "key, 30 a second" in drawing.caption


def test_a_hand_off_is_laid_out_in_what_is_known_of_it(sweeps: Evidence) -> None:
    drawing = where_hand_off_goes(sweeps)
    named = {text.split("\n")[0] + " " + text.split("\n")[1]: text for text in words(drawing) if text.count("\n") == 1}
    assert "Redis poll-5ms-j20" in named
    assert "Postgres row (block)" in drawing.caption, "told before the release was answered"
    assert "pause until" in " ".join(t.get_text() for one in drawing.figure.legends for t in one.get_texts())


@pytest.mark.parametrize(
    ("system", "wait", "trips", "pauses"),
    [
        ("redis", "poll-5ms-j20", 1, True),
        ("redis", "pubsub-500ms", 1, False),
        ("zookeeper", "watch", 1, False),
        ("etcd", "watch", 3, False),
        ("postgres-row", "block", 0, False),
        ("postgres-row", "notify-500ms", 1, False),
    ],
)
def test_round_trips_of_a_hand_off_are_those_of_the_way_to_wait(
    sweeps: Evidence, system: str, wait: str, trips: int, pauses: bool
) -> None:
    cell = next(c for c in sweeps.cells if (c.system, c.workload.label) == (system, f"strategies, {wait}"))
    parts = hand_off_parts(cell, alone(sweeps.cells, cell), sweeps.environment)
    assert not isinstance(parts, Absent)
    assert parts.network_us == pytest.approx(trips * sweeps.environment.loopback_rtt_us_p50)
    assert parts.pauses is pauses
    assert parts.client_us is not None
    assert parts.durable_us == 0.0, "a look writes nothing"


@pytest.mark.parametrize("peer_rtt_us", [None, 700.0])
@pytest.mark.parametrize(("wait", "clients", "peers"), [("watch", 1, 2), ("block", 0, 0), ("poll-5ms-j20", 1, 0)])
def test_round_trips_over_a_network_take_what_they_took_there(
    sweeps: Evidence, wait: str, clients: int, peers: int, peer_rtt_us: float | None
) -> None:
    far = over_a_network(sweeps, 2_000.0, peer_rtt_us)
    systems = {"watch": "etcd", "block": "postgres-row", "poll-5ms-j20": "redis"}
    cell = next(c for c in far.cells if (c.system, c.workload.label) == (systems[wait], f"strategies, {wait}"))
    parts = hand_off_parts(cell, alone(far.cells, cell), far.environment)
    assert not isinstance(parts, Absent)
    between_us = far.environment.loopback_rtt_us_p50 if peer_rtt_us is None else peer_rtt_us
    assert parts.network_us == pytest.approx(clients * 2_000.0 + peers * between_us)
    assert "network that each run had" in where_hand_off_goes(far).caption
    assert "at this machine's median" in where_hand_off_goes(sweeps).caption


def test_without_a_sweep_there_is_no_figure(evidence: Evidence, sweeps: Evidence, tmp_path: Path) -> None:
    for plain in (evidence, Evidence.load(reference_campaign())):
        assert contention_drawings(plain) == []
        assert not is_swept(plain.cells)
    unrecorded = Evidence.load(swept(tmp_path, runs=1, recorded=False))
    names = [drawing.name for drawing in contention_drawings(unrecorded)]
    assert names == ["requests_per_grant", "shards"], "which need no instant of a release"
    for draw in CONTENTION:
        assert covering(draw(evidence)) == []
        assert "Nothing to draw" in draw(evidence).caption


@pytest.mark.thorough
def test_page_and_export_have_them(sweeps: Evidence, tmp_path: Path) -> None:
    assert is_swept(sweeps.cells)
    drawings = contention_drawings(sweeps)
    shown = [block.drawing.name for block in page_document(sweeps, drawings).blocks if isinstance(block, Figure)]
    assert shown == [draw.__name__ for draw in CONTENTION]
    files = {path.name for path in write_evidence(sweeps, tmp_path)}
    assert {f"{name}.{ending}" for name in shown for ending in ("svg", "pdf", "png")} <= files


def test_figures_of_waiting_are_of_the_campaigns_about_it_alone(sweeps: Evidence) -> None:
    """A campaign of load that records hand-offs could draw them too, under the same names."""
    beside = replace(sweeps, apart={"contention": sweeps})
    assert beside.contention is not None
    of_load, of_waiting = load_drawings(beside), contention_drawings(beside.contention)
    assert of_waiting
    assert not {drawing.name for drawing in of_load} & {drawing.name for drawing in of_waiting}
    assert {drawing.name for drawing in of_waiting} <= {drawing.name for drawing in load_drawings(sweeps)}


def test_no_two_figures_of_an_export_share_a_name(sweeps: Evidence) -> None:
    hazards = HazardEvidence.load(reference_hazards())
    beside = replace(sweeps, apart={"contention": sweeps}, hazards=hazards)
    names = [one.name for one in (*load_drawings(beside), *contention_drawings(sweeps), *hazard_drawings(hazards))]
    assert len(set(names)) == len(names)
