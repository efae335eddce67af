"""Requests to the servers for each grant, by the number of contenders: what a herd costs."""

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.figure import Figure

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.contention.sweeps import Series, series, sweep
from bench.analysis.evidence import Evidence
from bench.analysis.intervals import Estimate
from bench.records.workload import CONTENDED
from bench.report import formats
from bench.report.figures.contention.marks import (
    framed,
    hold_words,
    labels,
    line,
    metric,
    nothing,
    sample_words,
)
from bench.report.figures.contention.panels import by_contenders, panels, panels_in
from bench.report.figures.drawing import Drawing, machine_words
from bench.report.style import DASHED, DOTTED, SOLID, Look, look

NAME = "requests_per_grant"
_ACROSS = 2
_NAMES_IN = 1.25
_REQUESTS = metric("requests_per_grant")
_LINES = (SOLID, DASHED, DOTTED)
_Points = Mapping[float, Cell]


def requests_per_grant(evidence: Evidence) -> Drawing:
    """From the servers' own counters; a line for each way to wait that was measured with several numbers of clients."""
    found = series(sweep(evidence.cells, CONTENDED, "clients"), "clients")
    lines = {key: line for key, line in found.items() if sum(map(_counts, line.values())) > 1}
    if not lines:
        why = "several numbers of contenders on servers that count requests"
        return nothing(evidence, NAME, "Requests to the servers for each grant", why)
    cells = [cell for one in lines.values() for cell in one.values() if _counts(cell)]
    by_system: dict[str, dict[str, _Points]] = {}
    for (system, wait), points in lines.items():
        by_system.setdefault(system, {})[wait] = points
    words = _title(lines), _caption(evidence, cells)
    return framed(evidence, NAME, words, cells, panels_in(len(by_system), _ACROSS), partial(_panels, by_system))


def _panels(by_system: Mapping[str, Mapping[str, _Points]], figure: Figure, below_in: float) -> None:
    counts = sorted({x for ways in by_system.values() for points in ways.values() for x in points})
    named = []
    every = panels(figure, len(by_system), _ACROSS, below_in, _NAMES_IN)
    for (axes, *ends), (system, ways) in zip(every, by_system.items(), strict=True):
        own, places = look(system), []
        for number, (wait, points) in enumerate(ways.items()):
            style = Look(own.colour, own.marker, _LINES[number % len(_LINES)], hollow=number > 0)
            drawn = line(axes, points, _REQUESTS, style)
            value = _REQUESTS(points[drawn[-1][0]])
            assert isinstance(value, Estimate), "it was drawn"
            places.append((*drawn[-1], f"{wait}: {formats.significant(value.value)}", own.colour))
        by_contenders(axes, counts, names.title(system), own.colour, "requests per grant", (ends[0], ends[1]))
        named.append((axes, places))
    for axes, places in named:
        labels(axes, places)


def _counts(cell: Cell) -> bool:
    return not isinstance(_REQUESTS(cell), Absent)


def _title(lines: Series) -> str:
    """What a herd costs beside a watch on the predecessor, at the largest number of contenders that both have."""
    found: list[tuple[float, float]] = []
    for (system, wait), herd in lines.items():
        watch = lines.get((system, names.default_wait(system)))
        both = [x for x in herd if wait == "herd" and watch and x in watch and _counts(herd[x]) and _counts(watch[x])]
        if watch and both:
            values = [_REQUESTS(one[max(both)]) for one in (herd, watch)]
            upper, lower = (value.value for value in values if isinstance(value, Estimate))
            found.append((max(both), upper / lower))
    if not found:
        return "Requests to the servers for each grant, by the number of contenders"
    most = max(count for count, _ in found)
    words = formats.low_to_high(ratio for count, ratio in found if count == most)
    return f"With {most:g} contenders a herd sends {words} times the requests of a watch on the predecessor"


def _caption(evidence: Evidence, cells: Sequence[Cell]) -> str:
    return (
        f"Closed loop, one key {hold_words(cells)}. {sample_words(cells)} "
        "Requests of clients as the servers count them, the release included. "
        f"Servers that count no requests are left out. {machine_words(evidence)}"
    )
