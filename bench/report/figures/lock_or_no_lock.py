"""The same job with a lock and without one: jobs per second, the slowest in a hundred, and what optimism repeats."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.jobs import Crossing, WayLine, crossings, way_lines
from bench.analysis.speed_claims import US_PER
from bench.records.workload import BY_KEY, BY_ROW_LOCK, BY_VERSION, CONSUME, UPDATE
from bench.report import formats
from bench.report.figures.drawing import (
    RUN_DOT,
    Drawing,
    beside,
    canvas,
    caption_height_in,
    load_drawing,
    machine_words,
    write_caption,
    write_title,
)
from bench.report.figures.scales import doubling
from bench.report.jobs_table import job_words, way_title
from bench.report.style import DASHED, DOTTED, MUTED, Look, house_style, look

_WIDTH_IN = 7.6
_LEFT_IN, _BETWEEN_IN, _RIGHT_IN = 0.62, 0.72, 0.14
_PANEL_IN, _ABOVE_IN, _BELOW_PANEL_IN = 2.05, 0.3, 0.42
_LEGEND_LINE_IN, _LEGEND_COLUMNS = 0.165, 3
_TITLE_IN = 0.34
_LOCK_WIDTH, _WAY_WIDTH = 1.1, 2.2
# No system's colours: black is the database's own lock, purple optimism, olive the key of a message.
_WAYS = {
    (BY_ROW_LOCK, True): Look("#000000", "s"),
    (BY_ROW_LOCK, False): Look("#000000", "s"),
    (BY_VERSION, False): Look("#7A4FA3", "o", DASHED, hollow=True),
    (BY_VERSION, True): Look("#7A4FA3", "o"),
    (BY_KEY, True): Look("#8A6D00", "*"),
    (BY_KEY, False): Look("#8A6D00", "*"),
}
_OTHER_WAY = Look("#777777", "x", DOTTED)
_RATE = "jobs_per_s"
_AT_LEAST, _AT_MOST = "$\u2191$", "$\u2193$"
_ARROW_POINTS = 8.0
_NOTHING = "Nothing to draw: no run that counts in this campaign did whole jobs."


def lock_or_no_lock(evidence: Evidence) -> Drawing:
    """Draw every way against the number of contenders; the job is that which most ways of the campaign did.

    Beside `update` stands `consume`, where it was measured: what an idempotency key brings.
    """
    lines = way_lines(cell for cell in evidence.cells if cell.used)
    updates, messages = _most_alike(lines, UPDATE), _most_alike(lines, CONSUME)
    shown = [*updates, *messages]
    found = crossings(updates)
    every = way_lines(evidence.cells)
    counted = [*_of_the_job(every, UPDATE, updates), *_of_the_job(every, CONSUME, messages)]
    title, caption = _title(updates, found), _caption(evidence, shown, counted)
    ways = {way_title(line): line for line in shown}
    with house_style():
        legend_in = 0.1 + _LEGEND_LINE_IN * -(-len(ways) // _LEGEND_COLUMNS)
        below_in = caption_height_in(caption, _WIDTH_IN) + 0.08 + legend_in
        row_in = _ABOVE_IN + _PANEL_IN + _BELOW_PANEL_IN
        height_in = _TITLE_IN + 2 * row_in + below_in
        figure = canvas(_WIDTH_IN, height_in)
        write_caption(figure, caption)
        write_title(figure, title)
        upper_in, lower_in = below_in + row_in + _BELOW_PANEL_IN, below_in + _BELOW_PANEL_IN
        rates = _panel(figure, 0, upper_in, f"Jobs per second: {_job(updates)}")
        _draw(rates, updates, _RATE, 1.0)
        _mark_crossings(rates, found)
        slow = _panel(figure, 1, upper_in, "The slowest job in a hundred, ms")
        _draw(slow, updates, "job_us_p99", US_PER["ms"], logarithmic=True)
        repeats = _panel(figure, 0, lower_in, "Retries for each job done")
        _draw(repeats, [line for line in updates if line.workload.way == BY_VERSION], "retries_per_job", 1.0)
        consumed = _panel(figure, 1, lower_in, f"Jobs per second: {_job(messages)}")
        _draw(consumed, messages, _RATE, 1.0)
        for axes in (repeats, consumed):
            axes.set_xlabel("contenders")
        _legend(figure, ways, below_in)
    runs = (run_id for line in shown for cell in line.cells for run_id in cell.evidence)
    return load_drawing("lock_or_no_lock", title, caption, runs, evidence, figure)


def way_look(line: WayLine) -> Look:
    """Colour, marker and line of a way; a lock has its system's."""
    does = line.workload
    if line.by_lock:
        return look(line.system)
    return _WAYS.get((does.way, not line.at_once), _OTHER_WAY)


def _most_alike(lines: Sequence[WayLine], name: str) -> list[WayLine]:
    """The lines of that one job of a kind which most ways did."""
    jobs: dict[str, list[WayLine]] = {}
    for line in lines:
        if line.workload.name == name:
            jobs.setdefault(job_words(line), []).append(line)
    return max(jobs.values(), key=len, default=[])


def _of_the_job(every: Sequence[WayLine], name: str, shown: Sequence[WayLine]) -> list[WayLine]:
    """The lines of the job that is shown, with those of void runs alone; where none is shown, all of its kind."""
    job = {job_words(line) for line in shown}
    return [line for line in every if line.workload.name == name and (not job or job_words(line) in job)]


def _job(lines: Sequence[WayLine]) -> str:
    return job_words(lines[0]).partition(",")[0] if lines else "not measured"


def _panel(figure: Figure, column: int, below_in: float, title: str) -> Axes:
    height_in = figure.get_size_inches()[1]
    width_in = (_WIDTH_IN - _LEFT_IN - _BETWEEN_IN - _RIGHT_IN) / 2
    left_in = _LEFT_IN + column * (width_in + _BETWEEN_IN)
    axes = figure.add_axes((left_in / _WIDTH_IN, below_in / height_in, width_in / _WIDTH_IN, _PANEL_IN / height_in))
    axes.set_title(title, fontsize=8.5, fontweight="bold", pad=5)
    return axes


def _draw(axes: Axes, lines: Sequence[WayLine], metric: str, scale: float, *, logarithmic: bool = False) -> None:
    counts = sorted({cell.workload.clients for line in lines for cell in line.cells})
    drawn = [_draw_line(axes, line, metric, scale) for line in sorted(lines, key=lambda one: not one.by_lock)]
    if not any(drawn):
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=MUTED, style="italic")
    if counts:
        doubling(axes, counts, beyond=1.12)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))
    if logarithmic and axes.lines:
        _logarithmic(axes)
    else:
        axes.set_ylim(bottom=0)


def _draw_line(axes: Axes, line: WayLine, metric: str, scale: float) -> bool:
    """The middle of the runs as a line, the runs as dots, and a bar of their interval; was there anything?

    What is only a limit stands at the end that holds for most runs, as in tables: a rate's least, a time's most. An
    arrow shows where the value may lie.
    """
    style, points, limits = way_look(line), [], []
    for cell in line.cells:
        value = cell.value(metric)
        if isinstance(value, Absent):
            continue
        clients, bound = cell.workload.clients, bool(cell.bounds_of(metric))
        end = value.value if not bound else value.low if metric == _RATE else value.high
        points.append((clients, end / scale))
        limits.append(bound)
        if value.runs > 1:
            if not bound:
                ends = [value.low / scale, value.high / scale]
                axes.plot([clients] * 2, ends, color=style.colour, alpha=0.35, lw=2.4)
            runs = [run / scale for group in cell.by_campaign(metric) for run in group]
            axes.plot([clients] * len(runs), runs, color=style.colour, alpha=0.7, **RUN_DOT)
    if points:
        axes.plot(
            *zip(*points, strict=True),
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markerfacecolor=style.face,
            linewidth=_width(line),
            markersize=_marker_size(line),
            alpha=0.6 if _emulated(line) else 0.95,
            zorder=2 if line.by_lock else 3,
        )
    if any(limits):
        rises = metric == _RATE
        axes.plot(
            *zip(*(point for point, bound in zip(points, limits, strict=True) if bound), strict=True),
            linestyle="none",
            marker=_AT_LEAST if rises else _AT_MOST,
            color=style.colour,
            markersize=10.0,
            markeredgewidth=0.4,
            transform=beside(axes, 0.0, _ARROW_POINTS if rises else -_ARROW_POINTS),
            zorder=4,
        )
    return bool(points)


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if 0.0 < low < high:
        axes.set_ylim(low / 1.3, high * 1.3)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))


def _mark_crossings(axes: Axes, found: Sequence[Crossing]) -> None:
    """A dotted line at the number of contenders from which the row's lock does more than optimism."""
    top = axes.get_ylim()[1]
    axes.set_ylim(0, top * 1.1)
    for one in found:
        if one.clients is not None:
            colour = way_look(one.optimistic).colour
            axes.axvline(one.clients, color=colour, linestyle=DOTTED, linewidth=1.0, zorder=1)


def _legend(figure: Figure, ways: dict[str, WayLine], below_in: float) -> None:
    handles = []
    for name, line in sorted(ways.items(), key=lambda item: not item[1].by_lock):
        style = way_look(line)
        handles.append(
            Line2D(
                [],
                [],
                color=style.colour,
                linestyle=style.line,
                linewidth=_width(line),
                marker=style.marker,
                markersize=_marker_size(line),
                markerfacecolor=style.face,
                alpha=0.6 if _emulated(line) else 1.0,
                label=name + (", emulator" if _emulated(line) else ""),
            )
        )
    if handles:
        height_in = figure.get_size_inches()[1]
        figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0.06 / _WIDTH_IN, below_in / height_in),
            ncols=_LEGEND_COLUMNS,
            frameon=False,
            handlelength=2.6,
            columnspacing=1.2,
            fontsize=7.6,
        )


def _width(line: WayLine) -> float:
    return _LOCK_WIDTH if line.by_lock else _WAY_WIDTH


def _marker_size(line: WayLine) -> float:
    return 7.0 if way_look(line).marker == "*" else 3.8 if line.by_lock else 4.8


def _emulated(line: WayLine) -> bool:
    return line.by_lock and any(cell.emulator for cell in line.cells)


def _title(updates: Sequence[WayLine], found: Sequence[Crossing]) -> str:
    if not updates:
        return "Lock or no lock"
    crossed = [one for one in found if one.clients is not None]
    if not crossed and not (found and all(one.kept_up for one in found)):
        return "Lock or no lock: the same job by every way"
    if not crossed:
        return f"Optimism kept up with FOR UPDATE, up to {max(one.up_to for one in found)} contenders"
    latest = max(one.clients or 0.0 for one in crossed)
    most = min((one.up_to for one in crossed if one.hidden), default=None)  # with more, one number is only a limit
    span = f"From {latest:g} contenders on" if most is None else f"From {latest:g} to {most} contenders"
    start = f"{span}, FOR UPDATE does more jobs than optimism"
    if len(crossed) == len(found):
        return start
    pausing, others = ({one.optimistic.at_once for one in found if (one in crossed) is did} for did in (True, False))
    if pausing & others or len(pausing) > 1:
        return f"{start} by {len(crossed)} of {len(found)} ways to retry"
    return f"{start} {'without' if True in pausing else 'with'} pauses"


def _caption(evidence: Evidence, shown: Sequence[WayLine], counted: Sequence[WayLine]) -> str:
    """`counted` are the lines with void runs, whose jobs were done as well."""
    cells = [cell for line in shown for cell in line.cells]
    if not cells:
        return f"{_NOTHING} {machine_words(evidence)}"
    runs = formats.counted((len(cell.used) for cell in cells), "run")
    several = any(len(cell.used) > 1 for cell in cells)
    dots = "; dots: the runs; bars: their interval" if several else ""
    computing = formats.spread({round(line.workload.compute_ms) for line in shown})
    void = any(run.void for line in counted for cell in line.cells for run in cell.runs)
    asked = "Each run, void ones too, asked" if void else "Each run asked"
    return (
        f"Closed loop: each contender reads a record, computes {computing} ms, writes it, and begins again. Thin: a "
        f"lock and a fence at the row; thick: no lock. Lines: {runs} a point{dots}.{_limits(cells)} {asked} the table "
        f"afterwards: {_harm(counted)} {machine_words(evidence)}"
    )


def _limits(cells: Sequence[Cell]) -> str:
    binds = list(dict.fromkeys(word for cell in cells for word in cell.bounds))
    return f" ↑ at least, ↓ at most: only a limit ({formats.bound_words(binds)})." if binds else ""


def _harm(lines: Sequence[WayLine]) -> str:
    harmed = sum(line.harmed for line in lines)
    done = sum(one.acknowledged for line in lines for one in line.jobs)
    were = "none" if not harmed else f"{harmed:,}"
    return f"{were} of {done:,} jobs {'were' if harmed > 1 else 'was'} overwritten, missing or repeated."
