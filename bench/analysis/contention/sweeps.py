"""Sweeps of a campaign: cells alike in every parameter but one, by whatever names they were measured."""

from collections.abc import Iterable, Mapping, Sequence

from bench.analysis import names
from bench.analysis.cells import Cell
from bench.records.workload import CONTENDED, CONTENDED_RATE, JOBS, UNCONTENDED, Workload

_ALIKE_WITHOUT = {"label", "warmup_s", "measure_s", "timeout_ms"}  # how long, and under which name

Series = Mapping[tuple[str, str], Mapping[float, Cell]]  # by system and wait, then by the parameter that varies


def meets_at_keys(workload: Workload) -> bool:
    """Do clients wait for each other's locks? Jobs and faults have costs and tables of their own."""
    return bool(workload.keys) and workload.name not in JOBS and not workload.has_fault


def is_about_waiting(workload: Workload) -> bool:
    """Do they wait for nothing else? Strangers take part of the servers, and a pool has a queue of its own."""
    return meets_at_keys(workload) and not workload.strangers and not workload.pool


def sweep(cells: Iterable[Cell], workload: str, along: str, least: int = 2) -> Sequence[Cell]:
    """The largest sweep along one parameter of a workload, over all systems; of equal ones that with the least hold.

    Empty where that parameter has fewer than `least` values everywhere. Ways to wait are lines beside each other,
    unless they vary.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.workload.name == workload and is_about_waiting(cell.workload):
            rest = cell.workload.model_dump(exclude={along, "wait", *_ALIKE_WITHOUT})
            groups.setdefault(repr(rest), []).append(cell)
    found: Sequence[Cell] = ()
    for group in sorted(groups.values(), key=lambda group: group[0].workload.hold_ms):
        varied = [one for line in _lines(group, along).values() if len(line) >= least for one in line.values()]
        if len(varied) > len(found):
            found = [cell for cell in group if any(cell is one for one in varied)]
    return found


def is_swept(cells: Iterable[Cell]) -> bool:
    """Is waiting what a campaign is about: does it vary the contenders, the ways to wait or the arrivals?"""
    every = tuple(cells)
    axes = ((CONTENDED, "clients"), (CONTENDED, "wait"), (CONTENDED_RATE, "rate_per_s"))
    return any(sweep(every, workload, along) for workload, along in axes)


def series(cells: Sequence[Cell], along: str) -> Series:
    """The lines of a sweep along a number, each in the order of that number."""
    found: dict[tuple[str, str], dict[float, Cell]] = {}
    for cell in cells:
        line, at = found.setdefault((cell.system, cell.workload.wait), {}), getattr(cell.workload, along)
        if at not in line or len(line[at].used) < len(cell.used):  # measured under two names
            line[at] = cell
    return {key: dict(sorted(line.items())) for key, line in found.items()}


def usual(lines: Series) -> Series:
    """One line a system: with the wait that suits it, or else its longest."""
    best: dict[str, str] = {}
    for system, wait in sorted(lines, key=lambda key: -len(lines[key])):
        best.setdefault(system, wait)
    for system in best:
        if len(lines.get((system, names.default_wait(system)), ())) > 1:
            best[system] = names.default_wait(system)
    return {key: line for key, line in lines.items() if best[key[0]] == key[1]}


def alone(cells: Iterable[Cell], like: Cell) -> Cell | None:
    """The cell of a single client of the same system, over the same network, without contention; of whatever name."""
    wanted = (like.system, like.workload.network, UNCONTENDED, 1)
    return next(
        (c for c in cells if (c.system, c.workload.network, c.workload.name, c.workload.clients) == wanted), None
    )


def with_any_hold(cells: Iterable[Cell], like: Cell) -> tuple[Cell, ...]:
    """Cells of the same system whose clients meet in the same way, however long each holds the lock."""
    return tuple(cell for cell in cells if cell.system == like.system and _meeting(cell) == _meeting(like))


def _meeting(cell: Cell) -> Mapping[str, object]:
    return cell.workload.model_dump(exclude={"hold_ms", *_ALIKE_WITHOUT})


def _lines(group: Sequence[Cell], along: str) -> Mapping[str, Mapping[object, Cell]]:
    """What varies along the parameter, by what stays: of ways to wait the system, else the system and its wait."""
    found: dict[str, dict[object, Cell]] = {}
    for cell in group:
        key = cell.system if along == "wait" else f"{cell.system} {cell.workload.wait}"
        line, at = found.setdefault(key, {}), getattr(cell.workload, along)
        if at not in line or len(line[at].used) < len(cell.used):
            line[at] = cell
    return found
