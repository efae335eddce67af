"""Two bodies of evidence, cell by cell: what of a measurement travels to another host or day, and what does not.

Structure travels: round trips, durable writes, and each system's share in what all of them cost in one campaign (see
`relative`). Latency, throughput and processor time are of the host, and of its hour; so is the ratio to the floor, in
which no processor time is. `lies_within` asks of each column how often B's value is in A's interval.

A bound is not compared, with one exception: a lone client whose own processor is full on both sides. Its cost is part
of that latency on every host, and whether the same comes out again is what is asked here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.cells import Absent, Cell, Value
from bench.analysis.evidence import Evidence
from bench.analysis.floor import critical_path, over_floor, over_floors
from bench.analysis.intervals import Estimate, Method, across_campaigns, ratio_of_campaigns
from bench.analysis.relative import shares
from bench.analysis.runs import CLIENT
from bench.records.workload import JOBS

_Key = tuple[str, str, str, str]
# How long a run lasts is of its mode. All else says what its clients do: cells of unlike clients are not compared.
_OF_THE_MODE = {"name", "warmup_s", "step_s", "measure_s", "processes"}


@dataclass(frozen=True, slots=True)
class Line:
    """One column of one cell in both. A count (round trips, durable writes, retries) is compared as it is, without a
    ratio."""

    system: str
    workload: str
    column: str
    travels: bool
    a: Value
    b: Value
    bound: tuple[str, ...]  # what keeps the two from being compared
    ratio: Estimate | None  # B by A

    @property
    def lies_within(self) -> bool | None:
        """Does B lie within A's interval? None where that cannot be asked."""
        if isinstance(self.a, Absent) or isinstance(self.b, Absent) or self.bound:
            return None
        if self.a.method is Method.ONE_RUN or (self.a.method is Method.RANGE and self.a.runs == 1):
            return None  # one run has no interval that another could lie in
        return self.a.contains(self.b.value)


@dataclass(frozen=True, slots=True)
class Tally:
    """Of one column: how many cells of B lie in A's interval."""

    column: str
    travels: bool
    within: int
    compared: int
    bounds: int  # cells left out since one side is only a bound


@dataclass(frozen=True, slots=True)
class Campaigns:
    """Two bodies of evidence side by side."""

    lines: tuple[Line, ...]
    only_a: tuple[str, ...]  # cells without a counterpart, as "system workload"
    only_b: tuple[str, ...]
    differences: tuple[tuple[str, str, str], ...]  # what differs between the environments: name, A, B
    same: tuple[str, ...]  # names of what does not

    def tallies(self) -> tuple[Tally, ...]:
        """By column, those that are meant to travel first."""
        columns = sorted(dict.fromkeys((not line.travels, line.column) for line in self.lines), key=lambda one: one[0])
        return tuple(_tally(column, [one for one in self.lines if one.column == column]) for _, column in columns)


def compare(a: Evidence, b: Evidence) -> Campaigns:
    """Cells of the same system, workload (what its clients do included) and durability; of several alike the one with
    most runs."""
    mine, theirs = _by_key(a), _by_key(b)
    both = [key for key in mine if key in theirs]
    lines = {key: [*_lines(a, mine[key], b, theirs[key])] for key in both}
    for key, line in _shares({key: (mine[key], theirs[key]) for key in both}):
        lines[key].append(line)
    differences, same = _environments(a, b)
    return Campaigns(
        lines=tuple(line for key in both for line in lines[key]),
        only_a=_only(mine, theirs),
        only_b=_only(theirs, mine),
        differences=differences,
        same=same,
    )


def _by_key(evidence: Evidence) -> dict[_Key, Cell]:
    found: dict[_Key, Cell] = {}
    for cell in sorted(evidence.cells, key=lambda cell: len(cell.used)):
        durability = str(cell.setting.durability if cell.setting else "")
        clients = cell.workload.model_dump_json(exclude=_OF_THE_MODE)
        found[cell.system, cell.workload.title, durability, clients] = cell
    return {key: found[key] for cell in evidence.cells for key in found if found[key] is cell}


def _only(cells: dict[_Key, Cell], others: dict[_Key, Cell]) -> tuple[str, ...]:
    """Cells without a counterpart; where there is one of other clients, with what sets theirs apart."""
    cells_only = []
    for key, cell in cells.items():
        if key in others:
            continue
        own, other = cell.workload, next((others[one].workload for one in others if one[:2] == key[:2]), cell.workload)
        unlike = [
            f"{name} {value}"
            for name, value in own.model_dump(exclude=_OF_THE_MODE).items()
            if value != getattr(other, name)
        ]
        cells_only.append(" ".join(key[:2]) + (f" ({', '.join(unlike)})" if unlike else ""))
    return tuple(cells_only)


# -- columns ---------------------------------------------------------------------------------------------------------


def _lines(a: Evidence, one: Cell, b: Evidence, other: Cell) -> Iterable[Line]:
    if one.workload.name == "uncontended":
        yield _line(one, other, "p50 / floor", False, _floors(a, one), _floors(b, other), "acquire_us_p50")
        for column, attribute in (("round trips", "round_trips"), ("durable writes", "durable_writes")):
            yield Line(
                one.system, one.workload.title, column, True, _count(one, attribute), _count(other, attribute), (), None
            )
    for column, name, scale, travels in _columns(one, other):
        yield _line(one, other, column, travels, _values(one, name, scale), _values(other, name, scale), name)
    if one.workload.name in JOBS:
        a_value, b_value = one.value(_RETRIES), other.value(_RETRIES)
        yield Line(one.system, one.workload.title, "retries/job", False, a_value, b_value, (), None)


def _columns(one: Cell, other: Cell) -> Iterable["_Column"]:
    """What is compared of two cells, by what their clients do: a job is told as a job, not as an acquire."""
    if one.workload.name in JOBS:
        return _OF_JOBS
    # Where a ladder chose another number of clients for the window, latencies are not of the same thing.
    windows = {run.window_clients for cell in (one, other) for run in cell.used}
    shared = (*([_MEAN] if one.workload.keys else []), *_COLUMNS) if len(windows) == 1 else _OF_ANY_WINDOW
    return (*shared, *(_OF_STRANGERS if one.workload.strangers_from is not None else ()))


_Column = tuple[str, str, float, bool]  # its words, metric, factor to its unit, and whether it is meant to travel
_CPU: _Column = ("client CPU, µs/pair", "client_cpu_us_per_pair", 1.0, False)
_COLUMNS: tuple[_Column, ...] = (
    _CPU,
    ("p50, ms", "acquire_us_p50", 1e-3, False),
    ("p99, ms", "acquire_us_p99", 1e-3, False),
    ("pairs/s", "throughput_pairs_per_s", 1.0, False),
)
_OF_ANY_WINDOW = tuple(column for column in _COLUMNS if not column[1].startswith("acquire_us_"))
# Of clients that share keys: their p50 and p99 are a lottery.
_MEAN: _Column = ("mean, ms", "acquire_us_mean", 1e-3, False)
_OF_STRANGERS: tuple[_Column, ...] = (
    ("strangers' p50, ms", "stranger_acquire_us_p50", 1e-3, False),
    ("strangers' p99, ms", "stranger_acquire_us_p99", 1e-3, False),
    ("strangers' pairs/s", "stranger_pairs_per_s", 1.0, False),
)
_OF_JOBS: tuple[_Column, ...] = (
    _CPU,
    ("job p50, ms", "job_us_p50", 1e-3, False),
    ("job p99, ms", "job_us_p99", 1e-3, False),
    ("jobs/s", "jobs_per_s", 1.0, False),
)
_RETRIES = "retries_per_job"  # may be 0, which has no ratio
_Side = list[list[float]] | Absent


def _line(one: Cell, other: Cell, column: str, travels: bool, a: _Side, b: _Side, metric: str) -> Line:
    values = [side if isinstance(side, Absent) else across_campaigns(side) for side in (a, b)]
    bound = _binds(one, other, metric)
    times = None if isinstance(a, Absent) or isinstance(b, Absent) or bound else ratio_of_campaigns(b, a)
    return Line(one.system, one.workload.title, column, travels, values[0], values[1], bound, times)


def _binds(one: Cell, other: Cell, metric: str) -> tuple[str, ...]:
    """What keeps two cells from being compared."""
    bounds = one.bounds_of(metric), other.bounds_of(metric)
    return () if bounds == ((CLIENT,), (CLIENT,)) else tuple(dict.fromkeys((*bounds[0], *bounds[1])))


# As the columns above, with the workloads in which all systems do the same.
_SHARED = (
    ("p50, share", "acquire_us_p50", lambda workload: workload == "uncontended"),
    ("client CPU, share", "client_cpu_us_per_pair", lambda _: True),
)


def _shares(cells: Mapping[_Key, tuple[Cell, Cell]]) -> Iterable[tuple[_Key, Line]]:
    """Each system's share in what all systems of its workload cost, where both sides can tell."""
    for column, metric, fits in _SHARED:
        for workload in dict.fromkeys(key[1] for key in cells):
            alike = [key for key in cells if key[1] == workload and fits(workload)]
            sides: list[dict[_Key, list[list[float]]]] = [{}, {}]
            all_of = [_campaigns([cells[key][side] for key in alike], metric) for side in (0, 1)]
            for key in alike:
                values = [_values(cell, metric, 1.0) for cell in cells[key]]
                if any(isinstance(value, Absent) for value in values) or _binds(*cells[key], metric):
                    continue
                if any(_campaigns([cell], metric) != one for cell, one in zip(cells[key], all_of, strict=True)):
                    continue  # its units would be other campaigns than those of the rest
                for side, value in zip(sides, values, strict=True):
                    side[key] = [] if isinstance(value, Absent) else value
            a, b = (shares(side) for side in sides)
            for key in a if b else ():
                share, other = a[key], b[key]
                line = Line(key[0], workload, column, True, share.estimate(), other.estimate(), (), other.over(share))
                yield key, line


def _campaigns(cells: Iterable[Cell], metric: str) -> frozenset[str]:
    """The campaigns with a value of one of these cells."""
    return frozenset(run.campaign_id for cell in cells for run in cell.used if run.metrics.get(metric) is not None)


def _values(cell: Cell, name: str, scale: float) -> _Side:
    value = cell.value(name)
    if isinstance(value, Absent):
        return value
    return [[run * scale for run in runs] for runs in cell.by_campaign(name)]


def _floors(evidence: Evidence, cell: Cell) -> _Side:
    value = over_floor(cell, evidence.environment, evidence.environments)
    return value if isinstance(value, Absent) else over_floors(cell, evidence.environment, evidence.environments)


def _count(cell: Cell, attribute: str) -> Value:
    path = critical_path(cell)
    if isinstance(path, Absent):
        return path
    count = float(getattr(path, attribute))
    return Estimate(count, count, count, Method.COUNT, len(cell.used))


def _tally(column: str, lines: Sequence[Line]) -> Tally:
    answers = [line.lies_within for line in lines]
    return Tally(
        column,
        lines[0].travels,
        within=sum(answer is True for answer in answers),
        compared=sum(answer is not None for answer in answers),
        bounds=sum(bool(line.bound) for line in lines),
    )


# -- environments ----------------------------------------------------------------------------------------------------


def _environments(a: Evidence, b: Evidence) -> tuple[tuple[tuple[str, str, str], ...], tuple[str, ...]]:
    facts = [(name, tell(a), tell(b)) for name, tell in _FACTS]
    libraries = sorted({*a.environment.libraries, *b.environment.libraries})
    mine, theirs = a.environment.libraries, b.environment.libraries
    facts += [(name, mine.get(name, "none"), theirs.get(name, "none")) for name in libraries]
    systems = sorted({*a.systems, *b.systems})
    facts += [(f"{system} server", _versions(a, system), _versions(b, system)) for system in systems]
    return tuple(fact for fact in facts if fact[1] != fact[2]), tuple(name for name, one, two in facts if one == two)


def _versions(evidence: Evidence, system: str) -> str:
    versions = {cell.setting.server_version for cell in evidence.cells if cell.system == system and cell.setting}
    return ", ".join(sorted(versions)) or "none"


def _placement(evidence: Evidence) -> str:
    placements = {", ".join(f"{who} {where}" for who, where in sorted(row.placement.items())) for row in evidence.rows}
    return "; ".join(sorted(filter(None, placements))) or "not recorded"


_FACTS: tuple[tuple[str, Callable[[Evidence], str]], ...] = (
    ("commit", lambda one: one.campaign.git_commit),
    ("mode", lambda one: one.campaign.mode),
    ("campaigns", lambda one: str(max(1, len(one.environments)))),
    ("processor", lambda one: one.environment.cpu_model),
    ("cores", lambda one: str(one.environment.cpu_count)),
    ("core limit", lambda one: str(one.environment.cpu_limit)),
    ("memory", lambda one: f"{one.environment.memory_bytes / 2**30:.1f} GiB"),
    ("kernel", lambda one: one.environment.kernel),
    ("governor", lambda one: one.environment.governor),
    ("system", lambda one: one.environment.operating_system),
    ("virtualization", lambda one: one.environment.virtualization),
    ("filesystem", lambda one: one.environment.filesystem),
    ("fdatasync p50", lambda one: f"{one.environment.fdatasync_us_p50:.0f} µs"),
    ("loopback round trip", lambda one: f"{one.environment.loopback_rtt_us_p50:.1f} µs"),
    ("placement", _placement),
    ("Python", lambda one: one.environment.python),
)
