"""Where the time of an acquire without contention goes: one stacked bar a system, its own median being 100 %."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.floor import Parts, acquire_parts, floor_us
from bench.analysis.intervals import Estimate
from bench.report import formats
from bench.report.figures.drawing import (
    Drawing,
    canvas,
    caption_height_in,
    load_drawing,
    machine_words,
    write_caption,
    write_title,
)
from bench.report.figures.time_bars import (
    CLIENT,
    DURABLE,
    LEGEND_IN,
    NETWORK,
    REST,
    ROW_IN,
    SERVER,
    WIDTH_IN,
    Bar,
    Kind,
    draw_bars,
)
from bench.report.formats import NO_BREAK
from bench.report.style import house_style


@dataclass(frozen=True, slots=True)
class _Row:
    cell: Cell
    parts: Parts
    floor: float | Absent

    @property
    def segments(self) -> tuple[tuple[Kind, float], ...]:
        parts = self.parts
        return (
            (CLIENT, parts.client_us),
            (NETWORK, parts.network_us),
            (DURABLE, parts.durable_us),
            (SERVER, parts.server_us or 0.0),
            (REST, parts.rest_us),
        )

    def percent(self, value_us: float) -> float:
        return 100.0 * value_us / self.parts.median_us


def where_time_goes(evidence: Evidence) -> Drawing:
    """Draw every uncontended cell whose runs recorded round trips and durable writes.

    Shares, not times, since medians differ by a factor of a hundred; the numbers in the bars are µs. A bar that runs
    beyond 100 % has parts that overlap, and is drawn as long as they are: nothing is cut to fit.
    """
    rows = _rows(evidence)
    title = _title(rows)
    caption = _caption(evidence, rows)
    content_in = max(1, len(rows)) * ROW_IN
    with house_style():
        below_in = caption_height_in(caption, WIDTH_IN) + 0.45
        height_in = below_in + content_in + LEGEND_IN + 0.3
        figure = canvas(WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        if rows:
            bars = [_bar(row) for row in rows]
            draw_bars(figure, bars, (CLIENT, NETWORK, DURABLE, SERVER, REST), "acquire", below_in, content_in)
        else:
            figure.text(0.1 / WIDTH_IN, (below_in + content_in / 2.0) / height_in, _NOTHING, fontsize=8.5)
    runs = (run_id for row in rows for run_id in row.cell.evidence)
    return load_drawing("where_time_goes", title, caption, runs, evidence, figure)


_NOTHING = "Nothing to draw: no run of this campaign recorded round trips, durable writes and the servers' own times."


def _rows(evidence: Evidence) -> Sequence[_Row]:
    found = []
    for cell in evidence.cells:
        if cell.workload.title != "uncontended":
            continue
        parts = acquire_parts(cell, evidence.environment)
        if not isinstance(parts, Absent):
            found.append(_Row(cell, parts, floor_us(cell, evidence.environment)))
    # An emulator stands last: its bar says nothing about the service.
    return sorted(found, key=lambda row: row.cell.emulator)


def _bar(row: _Row) -> Bar:
    setting = row.cell.setting
    name = names.title(row.cell.system, setting.engine if setting else "")
    name = name.replace(", ", ",\n", 1).replace(" (", "\n(") + (", emulator" if row.cell.emulator else "")
    most = f"≤{NO_BREAK}" if row.cell.latency_bounds else ""
    words = f"median {most}{formats.ms(row.parts.median_us)}, mean {formats.ms(row.parts.mean_us)}{NO_BREAK}ms"
    if not isinstance(row.floor, Absent):
        times = formats.significant(row.parts.median_us / row.floor)
        words += f"\nfloor {formats.ms(row.floor)}{NO_BREAK}ms: {times}{NO_BREAK}×"
    runs_us = [value for run in row.cell.used if (value := run.metrics["acquire_us_p50"]) is not None]
    return Bar(name, words, row.parts.median_us, row.segments, runs_us)


def _title(rows: Sequence[_Row]) -> str:
    shares = [
        100.0 * row.floor / row.parts.median_us
        for row in rows
        if not isinstance(row.floor, Absent) and not row.cell.emulator
    ]
    if not shares:
        return "Where the time of an acquire goes"
    return (
        f"Round trips and durable writes are the floor of an acquire, and {formats.low_to_high(shares)} % of its median"
    )


def _caption(evidence: Evidence, rows: Sequence[_Row]) -> str:
    if not rows:
        return f"{_NOTHING} {machine_words(evidence)}"
    runs = formats.counted((len(row.cell.used) for row in rows), "run")
    operations = formats.counted((row.cell.operations_min for row in rows), "operation")
    return " ".join(
        (
            f"Closed loop without contention, {runs} with {operations} each; dots: the medians of the runs.",
            "Client's processor: half of its cost per pair, less the time between pairs. Round trips and durable "
            "writes: how many the algorithm needs in sequence, each at this machine's median, unless the server "
            f"times its own writes{_named(row for row in rows if row.parts.durable_by_server)}.",
            "Server's own time: the mean that it reports per request, over the run"
            f"{_peers(rows)}; not reported by {_silent(rows)}.",
            *_overlaps(rows),
            *_bounds(rows),
            *_modes(rows),
            *(["An emulator is shown, never ranked."] if any(row.cell.emulator for row in rows) else []),
            machine_words(evidence),
        )
    )


def _peers(rows: Sequence[_Row]) -> str:
    """Said because the floor at the right counts these trips, and the bar has them in the servers' time."""
    within = _named(row for row in rows if row.parts.server_with_peers)
    return f", with their agreement{within}" if within else ""


def _silent(rows: Sequence[_Row]) -> str:
    return _titles(row for row in rows if row.parts.server_us is None) or "none of them"


def _named(rows: Iterable[_Row]) -> str:
    found = _titles(rows)
    return f" ({found})" if found else ""


def _titles(rows: Iterable[_Row]) -> str:
    return "; ".join(dict.fromkeys(names.title(row.cell.system) for row in rows))  # some have a comma


def _bounds(rows: Sequence[_Row]) -> Sequence[str]:
    words = {formats.bound_words(row.cell.latency_bounds): None for row in rows if row.cell.latency_bounds}
    return [
        f"≤: {word}{_named(row for row in rows if formats.bound_words(row.cell.latency_bounds) == word)}."
        for word in words
    ]


def _modes(rows: Sequence[_Row]) -> Sequence[str]:
    two = [row for row in rows if isinstance(value := row.cell.value("acquire_us_p50"), Estimate) and value.modes]
    return [f"Runs in two modes, so the bar shows neither{_named(two)}."] if two else []


def _overlaps(rows: Sequence[_Row]) -> Sequence[str]:
    beyond = [row for row in rows if row.parts.excess_us > 0.0]
    if not beyond:
        return []
    excess = "; ".join(
        f"{names.title(row.cell.system)} by {formats.significant(row.percent(row.parts.excess_us))} %" for row in beyond
    )
    return [f"A bar beyond 100 % ({excess}) has parts that overlap, or means above the median; nothing is cut to fit."]
