"""Waiting by how busy the key is, beside the line of M/D/1: what capacity is planned from."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.contention.fair_queue import md1_wait_mean
from bench.analysis.contention.sweeps import Series, series, sweep, usual
from bench.analysis.contention.utilisation import wait_in_services
from bench.analysis.evidence import Evidence
from bench.analysis.intervals import Estimate
from bench.records.workload import CONTENDED_RATE
from bench.report import formats
from bench.report.figures.contention.marks import WIDTH_IN, framed, labels, nothing, sample_words
from bench.report.figures.drawing import Drawing, machine_words
from bench.report.figures.scales import logarithmic
from bench.report.style import MUTED, look

NAME = "wait_by_utilisation"
RATE = "rate_per_s"
_AXES_IN, _LEFT_IN, _RIGHT_IN, _TOP_IN = 2.9, 0.72, 1.75, 0.45
_MOST = 0.97  # of the line: it has no end


def wait_by_utilisation(evidence: Evidence) -> Drawing:
    """Each cell of an open loop is a point; points of one system are joined, where all between them have a number.

    A line has one hold and one way to wait, as in every sweep; a single rate is a point, and none is left out for it.
    """
    lines = usual(series(sweep(evidence.cells, CONTENDED_RATE, RATE, least=1), RATE))
    every = [cell for line in lines.values() for cell in line.values()]
    cells = [cell for cell in every if _place(cell) is not None]
    if not cells:
        return nothing(evidence, NAME, "Waiting by how busy the key is", "arrivals at a rate, for one key")
    words = _title(cells), _caption(evidence, cells, [cell for cell in every if cell not in cells])
    return framed(evidence, NAME, words, cells, _AXES_IN + _TOP_IN, partial(_draw, lines))


def _draw(lines: Series, figure: Figure, below_in: float) -> None:
    height_in = figure.get_size_inches()[1]
    width = (WIDTH_IN - _LEFT_IN - _RIGHT_IN) / WIDTH_IN
    axes = figure.add_axes((_LEFT_IN / WIDTH_IN, below_in / height_in, width, _AXES_IN / height_in))
    logarithmic(axes)
    axes.set_xlim(0.0, 1.0)
    busy = np.linspace(0.02, _MOST, 200)
    axes.plot(100.0 * busy, [md1_wait_mean(one) for one in busy], color=MUTED, linestyle=(0, (3.0, 1.5)), linewidth=1.2)
    ends = [(100.0 * _MOST, md1_wait_mean(_MOST), "M/D/1: a fair queue", MUTED)]
    for (system, _), line in lines.items():
        own, xs, ys = look(system), [], []
        for cell in line.values():
            place = _place(cell)
            if place is None:
                xs.append(np.nan)
                ys.append(np.nan)
                continue
            at, wait = place
            xs.append(100.0 * at.value)
            ys.append(wait.value)
            if wait.runs > 1:
                axes.vlines(xs[-1], wait.low, wait.high, color=own.colour, linewidth=1.0)
                axes.hlines(ys[-1], 100.0 * at.low, 100.0 * at.high, color=own.colour, linewidth=1.0)
        axes.plot(xs, ys, color=own.colour, linestyle=own.line, marker=own.marker, markerfacecolor=own.face)
        drawn = [(x, y) for x, y in zip(xs, ys, strict=True) if not np.isnan(y)]
        if drawn:
            ends.append((*drawn[-1], names.title(system), own.colour))
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("the key is held or handed on, % of the time")
    axes.set_ylabel("mean queue wait, in services (log scale)")
    labels(axes, ends, least_points=11.0, in_margin=True)


def _place(cell: Cell) -> tuple[Estimate, Estimate] | None:
    """Utilisation and wait; None where either has no number, or a hand-off is so long that the key is always busy."""
    at, wait = cell.value("key_utilisation"), wait_in_services(cell)
    return None if isinstance(at, Absent) or isinstance(wait, Absent) or at.value >= 1.0 else (at, wait)


def _title(cells: Sequence[Cell]) -> str:
    found = [place for cell in cells if (place := _place(cell)) is not None]
    above = [wait.value / md1_wait_mean(at.value) for at, wait in found]
    return f"At the same utilisation one waits {formats.low_to_high(above)} times as long as in a fair queue"


def _caption(evidence: Evidence, cells: Sequence[Cell], without: Sequence[Cell]) -> str:
    rates = sorted({cell.workload.rate_per_s for cell in cells})
    rate_words = " to ".join(f"{rate:g}" for rate in dict.fromkeys((rates[0], rates[-1])))
    left_out = "; ".join(f"{names.title(one.system)} at {one.workload.rate_per_s:g} a second" for one in without)
    return (
        f"Open loop: random arrivals for one key, {rate_words} a second, held {cells[0].workload.hold_ms:g} ms. "
        f"{sample_words(cells)} A service is hold, release and hand-off. "
        "A short window has a mean of its own, which may lie off the line. "
        f"{f'Void, or busy beyond 100 %: {left_out}. ' if left_out else ''}{machine_words(evidence)}"
    )
