"""Where the time of an acquire without contention goes: one stacked bar a system, its own median being 100 %."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.floor import Parts, acquire_parts, floor_us
from bench.analysis.intervals import Estimate
from bench.report import formats
from bench.report.figures.drawing import RUN_DOT, Drawing, canvas, caption_height_in, machine_words, write_caption
from bench.report.formats import NO_BREAK
from bench.report.style import house_style

_WIDTH_IN = 7.6
_LEFT_IN, _RIGHT_IN = 1.62, 1.85
_ROW_IN, _BAR = 0.36, 0.56
_LEGEND_IN = 0.5
_FITS_PERCENT = 9.0  # a segment wide enough for its number


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of segment. Lightness and hatching tell them apart without colour."""

    title: str
    colour: str
    hatch: str = ""
    ink: str = "#222222"


_CLIENT = _Kind("client's processor, at most", "#999999")
_NETWORK = _Kind("round trips", "#56B4E9", "////")
_DURABLE = _Kind("durable writes", "#0072B2", ink="white")
_SERVER = _Kind("server's own time", "#E69F00")
_REST = _Kind("not accounted for", "#ffffff", "....")


@dataclass(frozen=True, slots=True)
class _Row:
    cell: Cell
    parts: Parts
    floor: float | Absent

    @property
    def segments(self) -> tuple[tuple[_Kind, float], ...]:
        parts = self.parts
        return (
            (_CLIENT, parts.client_us),
            (_NETWORK, parts.network_us),
            (_DURABLE, parts.durable_us),
            (_SERVER, parts.server_us or 0.0),
            (_REST, parts.rest_us),
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
    content_in = max(1, len(rows)) * _ROW_IN
    with house_style():
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.45
        height_in = below_in + content_in + _LEGEND_IN + 0.3
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        figure.text(0.1 / _WIDTH_IN, 1.0 - 0.1 / height_in, title, fontsize=10, fontweight="bold", va="top")
        if rows:
            _draw(figure, rows, below_in, content_in)
        else:
            figure.text(0.1 / _WIDTH_IN, (below_in + content_in / 2.0) / height_in, _NOTHING, fontsize=8.5)
    return Drawing(
        name="where_time_goes",
        title=title,
        caption=caption,
        runs=tuple(run_id for row in rows for run_id in row.cell.evidence),
        campaign_id=evidence.campaign.campaign_id,
        git_commit=evidence.campaign.git_commit,
        figure=figure,
    )


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


def _draw(figure: Figure, rows: Sequence[_Row], below_in: float, content_in: float) -> None:
    height_in = figure.get_size_inches()[1]
    width_in = _WIDTH_IN - _LEFT_IN - _RIGHT_IN
    axes = figure.add_axes((_LEFT_IN / _WIDTH_IN, below_in / height_in, width_in / _WIDTH_IN, content_in / height_in))
    longest = max(row.percent(max(row.parts.known_us, row.parts.median_us)) for row in rows)
    slowest = max(
        row.percent(value) for row in rows for run in row.cell.used if (value := run.metrics["acquire_us_p50"])
    )
    axes.set_xlim(0.0, max(longest, slowest) * 1.03)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel("share of the median acquire, %; numbers in the bars are µs")
    axes.axvline(100.0, color="#222222", linewidth=1.2, zorder=4)
    for place, row in enumerate(rows):
        _bar(axes, place, row, longest)
        _dots(axes, place, row)
        _words(axes, place, row)
    _legend(figure, 1.0 - 0.33 / height_in)


def _bar(axes: Axes, place: int, row: _Row, longest: float) -> None:
    left = 0.0
    for kind, value_us in row.segments:
        width = row.percent(value_us)
        if width <= 0.0:
            continue
        axes.barh(
            place,
            width,
            left=left,
            height=_BAR,
            color=kind.colour,
            hatch=kind.hatch,
            edgecolor="#555555",
            linewidth=0.6,
        )
        if width >= _FITS_PERCENT * longest / 100.0:
            axes.text(
                left + width / 2.0,
                place,
                formats.significant(value_us),
                ha="center",
                va="center",
                fontsize=7.0,
                color=kind.ink,
                # Neither hatching nor the line of the median may run through a number.
                bbox={"facecolor": kind.colour, "edgecolor": "none", "pad": 0.8},
                zorder=5,
            )
        left += width


def _dots(axes: Axes, place: int, row: _Row) -> None:
    """The median of each run, above its bar."""
    runs = [row.percent(value) for run in row.cell.used if (value := run.metrics["acquire_us_p50"]) is not None]
    if len(runs) > 1:
        axes.plot(runs, [place - _BAR / 2.0 - 0.09] * len(runs), color="#222222", zorder=6, **RUN_DOT)


def _words(axes: Axes, place: int, row: _Row) -> None:
    setting = row.cell.setting
    name = names.title(row.cell.system, setting.engine if setting else "")
    name = name.replace(", ", ",\n", 1).replace(" (", "\n(") + (", emulator" if row.cell.emulator else "")
    axes.annotate(
        name,
        (0.0, place),
        (-6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
        fontweight="bold",
        linespacing=1.0,
    )
    most = f"≤{NO_BREAK}" if row.cell.latency_bounds else ""
    words = f"median {most}{formats.ms(row.parts.median_us)}, mean {formats.ms(row.parts.mean_us)}{NO_BREAK}ms"
    if not isinstance(row.floor, Absent):
        times = formats.significant(row.parts.median_us / row.floor)
        words += f"\nfloor {formats.ms(row.floor)}{NO_BREAK}ms: {times}{NO_BREAK}×"
    axes.annotate(
        words,
        (1.0, place),
        (6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=7.2,
        color="#222222",
        linespacing=1.05,
    )


def _legend(figure: Figure, top: float) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=kind.colour, hatch=kind.hatch, edgecolor="#555555", linewidth=0.6, label=kind.title)
        for kind in (_CLIENT, _NETWORK, _DURABLE, _SERVER, _REST)
    ]
    handles.append(Line2D([], [], color="#222222", linewidth=1.2, label="median"))
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, top),
        ncols=3,
        frameon=False,
        fontsize=7.4,
        handlelength=1.8,
        columnspacing=1.4,
        labelspacing=0.35,
    )


def _title(rows: Sequence[_Row]) -> str:
    shares = [
        100.0 * row.floor / row.parts.median_us
        for row in rows
        if not isinstance(row.floor, Absent) and not row.cell.emulator
    ]
    if not shares:
        return "Where the time of an acquire goes"
    low, high = formats.significant(min(shares)), formats.significant(max(shares))
    share = low if low == high else f"{low} to {high}"
    return f"Round trips and durable writes are the floor of an acquire, and {share} % of its median"


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
