"""Latency by round trip, one line a system: how steep it is says how many round trips follow one another."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from bench.analysis import names
from bench.analysis.evidence import Evidence
from bench.analysis.network.slopes import CLIENTS, HAND_OFF, OPERATIONS, PEERS, Counted, counted
from bench.report.figures.contention.marks import SMALL, WIDTH_IN, labels, nothing
from bench.report.figures.drawing import (
    Drawing,
    canvas,
    caption_height_in,
    load_drawing,
    machine_words,
    write_caption,
    write_title,
)
from bench.report.round_trips_table import number
from bench.report.style import house_style, look

NAME = "round_trips"
_TITLE = "Latency by round trip: the slope counts the round trips"
_PANEL_IN, _LEFT_IN, _TOP_IN, _SCALE_IN, _GAP_IN = 2.7, 0.6, 0.55, 0.5, 0.25
_BESIDE_IN, _LETTER_IN = 0.1, 0.054  # of a line's name, which stands beside its end
_ROWS = (
    tuple((operation, CLIENTS) for operation in OPERATIONS),
    tuple((operation, PEERS) for operation in OPERATIONS),
    ((HAND_OFF, CLIENTS), (HAND_OFF, PEERS)),
)
_OF_PEERS = "Where only the round trips between servers vary, a lone client asks the leader. "
_OF_HAND_OFFS = (
    "Hand-off: clients meet at one key, spread over the servers, and are woken or handed the lock; from a release's "
    "answer to the next grant. "
)
_US_PER_MS = 1_000.0


def round_trips(evidence: Evidence) -> Drawing:
    """Medians over the measured round trip; the lines are the slopes of the table.

    A row has acquire and release, or hand-offs by the two networks.
    """
    found = [one for one in evidence.once(_counted) if any((one.operation, one.between) in row for row in _ROWS)]
    if not found:
        return nothing(evidence, NAME, _TITLE, "one client over several networks")
    panels = {(one.operation, one.between) for one in found}
    shown = [row for row in _ROWS if not panels.isdisjoint(row)]
    caption = (
        "Acquire and release: one client without contention. Each point: the median of one run over the round trip "
        "that was measured through its delay lines. Lines: Theil and Sen's slope, written beside the system: its "
        "sequential round trips. "
        f"{_OF_PEERS if any(between == PEERS for _, between in panels) else ''}"
        f"{_OF_HAND_OFFS if any(operation == HAND_OFF for operation, _ in panels) else ''}{machine_words(evidence)}"
    )
    names_in = _BESIDE_IN + _LETTER_IN * max(len(_label(one)) for one in found)
    with house_style():
        below_in = caption_height_in(caption, WIDTH_IN) + _SCALE_IN
        row_in = _PANEL_IN + _SCALE_IN + _GAP_IN
        figure = canvas(WIDTH_IN, below_in + _PANEL_IN + (len(shown) - 1) * row_in + _TOP_IN)
        write_caption(figure, caption)
        write_title(figure, _TITLE)
        for row, pair in enumerate(reversed(shown)):
            for place, panel in enumerate(pair):
                these = [one for one in found if (one.operation, one.between) == panel]
                _panel(figure, place, panel[0], these, below_in + row * row_in, names_in)
    runs = dict.fromkeys(run.run_id for one in found for run in one.runs)
    return load_drawing(NAME, _TITLE, caption, runs, evidence, figure)


def _counted(evidence: Evidence) -> tuple[Counted, ...]:
    return counted(evidence.rows)


def _label(one: Counted) -> str:
    return f"{names.title(one.system)} {number(one.slope.round_trips)}"


def _panel(
    figure: Figure, place: int, operation: str, found: Sequence[Counted], below_in: float, names_in: float
) -> None:
    if not found:
        return
    width_in, height_in = (float(size) for size in figure.get_size_inches())
    panel_in = (width_in - 2 * (_LEFT_IN + names_in)) / 2
    left_in = _LEFT_IN + place * (panel_in + names_in + _LEFT_IN)
    axes = figure.add_axes((left_in / width_in, below_in / height_in, panel_in / width_in, _PANEL_IN / height_in))
    ends = []
    lowest_ms = min(y for one in found for _, y in one.points()) / _US_PER_MS  # a hand-off may take less than nothing
    for one in found:
        own = look(one.system)
        xs, ys = zip(*one.points(), strict=True)
        axes.plot(
            [x / _US_PER_MS for x in xs],
            [y / _US_PER_MS for y in ys],
            color=own.colour,
            linestyle="none",
            marker=own.marker,
            markersize=4.5,
            markerfacecolor=own.face,
        )
        ends_us = (0.0, xs[-1])
        line_ms = [(one.slope.fixed_us + one.slope.round_trips * x) / _US_PER_MS for x in ends_us]
        axes.plot([x / _US_PER_MS for x in ends_us], line_ms, color=own.colour, linestyle=own.line, linewidth=1.4)
        ends.append((xs[-1] / _US_PER_MS, line_ms[-1], _label(one), own.colour))
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=min(0.0, lowest_ms))
    axes.set_title(operation, fontsize=7.8, pad=4)
    axes.set_xlabel(f"measured round trip between {found[0].between}, ms", fontsize=SMALL)
    axes.set_ylabel(f"median {operation}, ms", fontsize=SMALL)
    labels(axes, ends)
