"""Where the time of a hand-off goes: one stacked bar a system and way to wait."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.contention.hand_off_parts import HandOffParts, hand_off_parts
from bench.analysis.contention.sweeps import alone
from bench.analysis.evidence import Evidence
from bench.records.workload import CONTENDED
from bench.report import formats
from bench.report.figures.contention.dot_rows import strategies
from bench.report.figures.contention.marks import framed, hold_words, nothing
from bench.report.figures.drawing import Drawing, machine_words
from bench.report.figures.time_bars import (
    CLIENT,
    DURABLE,
    LEGEND_IN,
    NETWORK,
    REST,
    ROW_IN,
    SERVER,
    Bar,
    Kind,
    draw_bars,
)
from bench.report.formats import NO_BREAK

NAME = "where_hand_off_goes"
_LEFT_IN = 2.2
_PAUSE = Kind("pause until a client asks", "#F0E442", "\\\\\\\\")


@dataclass(frozen=True, slots=True)
class _Row:
    cell: Cell
    parts: HandOffParts


def where_hand_off_goes(evidence: Evidence) -> Drawing:
    """Every way to wait of the sweep over them; without one, the contended cell that comes with each mode."""
    swept = strategies(evidence, "hand_off_us_p50")
    cells = swept or [cell for cell in evidence.cells if cell.workload.title == CONTENDED]
    found = [(cell, _parts(evidence, cell)) for cell in cells]
    rows = [_Row(cell, parts) for cell, parts in found if not isinstance(parts, Absent) and parts.median_us > 0.0]
    answered_first = [cell for cell, parts in found if not isinstance(parts, Absent) and parts.median_us <= 0.0]
    if not rows:
        return nothing(evidence, NAME, "Where the time of a hand-off goes", "hand-offs and round trips")
    words, content_in = (_title(rows), _caption(evidence, rows, answered_first)), len(rows) * ROW_IN

    def draw(figure: Figure, below_in: float) -> None:
        kinds = (CLIENT, NETWORK, DURABLE, SERVER, _PAUSE, REST)
        draw_bars(figure, [_bar(row) for row in rows], kinds, "hand-off", below_in, content_in, _LEFT_IN)

    shown = [row.cell for row in rows]
    return framed(evidence, NAME, words, shown, content_in + LEGEND_IN + 0.3, draw, scale_in=0.45)


def _parts(evidence: Evidence, cell: Cell) -> HandOffParts | Absent:
    return hand_off_parts(cell, alone(evidence.cells, cell), evidence.environment)


def _bar(row: _Row) -> Bar:
    parts = row.parts
    name = f"{names.title(row.cell.system)}\n{row.cell.workload.wait}"
    trips = formats.counted([parts.client_round_trips], "round trip")
    words = f"median {formats.ms(parts.median_us)}{NO_BREAK}ms\n{trips}"
    segments = (
        (CLIENT, parts.client_us or 0.0),
        (NETWORK, parts.network_us),
        (DURABLE, parts.durable_us),
        (SERVER, parts.server_us or 0.0),
        (_PAUSE if parts.pauses else REST, parts.rest_us),
    )
    runs_us = [value for run in row.cell.used if (value := run.metrics["hand_off_us_p50"]) is not None]
    return Bar(name, words, parts.median_us, segments, runs_us)


def _title(rows: Sequence[_Row]) -> str:
    pauses = [100.0 * row.parts.rest_us / row.parts.median_us for row in rows if row.parts.pauses]
    if not pauses:
        return "Where the time of a hand-off goes"
    return f"Where clients poll, up to {max(pauses):.0f} % of the median hand-off is the pause until one asks"


def _caption(evidence: Evidence, rows: Sequence[_Row], answered_first: Sequence[Cell]) -> str:
    cells = [row.cell for row in rows]
    runs = formats.counted((len(cell.used) for cell in cells), "run")
    dots = "" if runs == "1 run" else ", dots: their medians"
    clients = formats.counted((cell.workload.clients for cell in cells), "client")
    silent = _titles(row.cell for row in rows if row.parts.server_us is None)
    beyond = [row for row in rows if row.parts.known_us > row.parts.median_us]
    parts = (
        f"Closed loop, {clients}, one key {hold_words(cells)}; {runs} each{dots}.",
        f"Round trips: from the release's answer to the next grant, {_whose_trips(cells)}.",
        "Client's processor: that of an acquire without contention, at most.",
        "Server's own time: the mean that it reports per request.",
        *([f"Not reported: {silent}."] if silent else []),
        *(["A bar beyond 100 % has parts that overlap; nothing is cut to fit."] if beyond else []),
        *(
            [f"Not drawn, since the server answered the next client first: {_titles(answered_first)}."]
            if answered_first
            else []
        ),
        machine_words(evidence),
    )
    return " ".join(parts)


def _whose_trips(cells: Iterable[Cell]) -> str:
    over = any(run.network or run.peer_network for cell in cells for run in cell.used)
    return "at the median of the network that each run had" if over else "at this machine's median"


def _titles(cells: Iterable[Cell]) -> str:
    return "; ".join(dict.fromkeys(f"{names.title(cell.system)} ({cell.workload.wait})" for cell in cells))
