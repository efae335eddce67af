"""One cell a system and workload: the runs that may be pooled, and what they say together.

Runs of unlike workloads (by digest), server versions, sources, topologies, durability settings or engines never share a
cell: they form cells of their own. A void run stays in its cell and gives a note; a cell of void runs only says why
instead of showing a number.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from bench.analysis import names
from bench.analysis.contention.measures import CONTENTION
from bench.analysis.from_events import FROM_EVENTS, STRANGERS_STALLS
from bench.analysis.intervals import Estimate, Method, Spread, across_campaigns, ratio_of_campaigns, spread
from bench.analysis.metrics import METRICS, OF_JOBS, OF_STRANGERS, Direction
from bench.analysis.modes import modes
from bench.analysis.notes import DRIFT, FAILED, OUTCOMES, SMALL_SAMPLE, STRANGERS_OUTCOMES, TWO_MODES, Note, check_cause
from bench.analysis.quantiles import FRACTIONS, operations_needed
from bench.analysis.runs import CLIENTS, RunRow, Setting, durability_text, further_parameters
from bench.analysis.steady import Trend, order_trend
from bench.records.numbers import percent
from bench.records.schema import Severity
from bench.records.workload import JOBS, Workload

TOO_SMALL = "n/a (n too small)"
NOT_MEASURED = "not measured"
NOT_RECORDED = "n/a (not recorded)"  # by a campaign of before these facts were kept
STALLS = ("p99", "p999")
STALLS_NEEDED = 3  # behind a percentile: fewer are one or two events under the name of one in a hundred
_EXCHANGEABLE = {"acquire_us_p50": "p50 in µs", "throughput_pairs_per_s": "pairs/s"}
_LATENCIES = (
    "acquire_us_",
    "job_us_",
    "response_us_",
    "release_us_",
    "handed_wait_us_",
    "hand_off_us_",
    "kept_hand_off_us_",
    "queue_wait_us_",
    "fair_wait_us_",
    "wait_by_time_us",
    "stranger_acquire_us_",
)


@dataclass(frozen=True, slots=True)
class Absent:
    """Why there is no number, in the words that a table shows."""

    reason: str


Value = Estimate | Absent


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs of one workload on one system in one setting."""

    system: str
    workload: Workload
    setting: Setting | None  # None: no run of this cell has a measurement
    runs: tuple[RunRow, ...]

    @property
    def used(self) -> tuple[RunRow, ...]:
        """The runs that count."""
        return tuple(run for run in self.runs if not run.void)

    @property
    def evidence(self) -> tuple[str, ...]:
        """The ids of the runs behind the numbers; of the void runs where there is no other."""
        return tuple(run.run_id for run in self.used or self.runs)

    @property
    def operations_min(self) -> int:
        """The smallest sample among the runs that count."""
        return min((run.operations for run in self.used), default=0)

    @property
    def bounds(self) -> tuple[str, ...]:
        """What makes a rate of this cell a lower bound, as words of `bench.analysis.runs`; empty: it is none."""
        return tuple(dict.fromkeys(word for run in self.used for word in run.bounds))

    @property
    def latency_bounds(self) -> tuple[str, ...]:
        """What makes a latency of this cell an upper bound. That more clients might get more done is none of it."""
        return tuple(word for word in self.bounds if word != CLIENTS)

    def bounds_of(self, metric: str) -> tuple[str, ...]:
        """What binds one metric."""
        if metric in ("throughput_pairs_per_s", "jobs_per_s"):
            return self.bounds
        return self.latency_bounds if metric.startswith(_LATENCIES) else ()

    @property
    def outcomes(self) -> Counter[str]:
        """How the acquires of the runs that count ended."""
        return sum((Counter(run.outcomes) for run in self.used), Counter())

    @property
    def refusals(self) -> Mapping[str, int]:
        """Those that got no lock, by the alphabet."""
        return {name: count for name, count in sorted(self.outcomes.items()) if name != "acquired"}

    @property
    def strangers_refusals(self) -> Mapping[str, int]:
        """The same of strangers."""
        found: Counter[str] = sum((Counter(run.strangers_outcomes) for run in self.used), Counter())
        return {name: count for name, count in sorted(found.items()) if name != "acquired"}

    @property
    def emulator(self) -> bool:
        return self.setting is not None and names.EMULATOR_TAG in self.setting.tags

    def value(self, metric: str) -> Value:
        """One metric across the runs that count, in the metric's unit. KeyError for a name that is no metric."""
        if metric not in METRICS:
            raise KeyError(f"no metric {metric!r}: there are {', '.join(METRICS)}")
        if metric in OF_JOBS and self.workload.name not in JOBS:
            return Absent("n/a (a lock alone)")
        if metric in OF_STRANGERS and self.workload.strangers_from is None:
            return Absent("n/a (no strangers)")
        if not self.used:
            return self.void
        if metric in self._stalled:
            return Absent(f"n/a ({self._stalled[metric]})")
        windows = {run.window_clients for run in self.used if run.window_clients is not None}
        if metric.startswith(_LATENCIES) and len(windows) > 1:
            # Latencies of unlike numbers of clients are not alike: see the curve (`bench.analysis.curves`).
            return Absent(f"n/a (windows with {min(windows)} to {max(windows)} clients)")
        values = [run.metrics.get(metric) for run in self.used]
        from_events = [run.metrics.get(name) for run in self.used for name in FROM_EVENTS]
        if metric in FROM_EVENTS and from_events.count(None) == len(from_events):
            return Absent(NOT_RECORDED)
        present = [value for value in values if value is not None]
        if len(present) < len(values):
            # All or nothing: the runs that carry a high percentile are the fast ones, which did more operations.
            # Averaging only those would flatter a slow system.
            if metric == "requests_per_grant" and not present:
                return Absent(NOT_RECORDED)
            if metric in CONTENTION and not present:
                recorded = any(run.metrics.get("hand_off_us_mean") is not None for run in self.used)
                return Absent(TOO_SMALL if recorded else NOT_RECORDED)
            return Absent(TOO_SMALL if metric.rpartition("_")[2] in FRACTIONS else "n/a (no lock was taken)")
        groups = self.by_campaign(metric)
        if not _has_logarithms(metric, groups):
            return Estimate(statistics.median(present), min(present), max(present), Method.RANGE, len(present))
        if self._drift(metric) is not None:
            # What the runs drift towards is in none of them: their range, and no interval that promises more.
            return Estimate(statistics.median(present), min(present), max(present), Method.RANGE, len(present))
        # Between campaigns two heaps are what varies between campaigns; within one they are two modes.
        heaps = modes(present) if any(len(modes(group)) > 1 for group in groups) else ()
        return replace(across_campaigns(groups), modes=heaps if len(heaps) > 1 else ())

    @property
    def void(self) -> Absent:
        """What stands where a number would, if no run counts."""
        causes = dict.fromkeys(run.void_cause for run in self.runs if run.void_cause)
        return Absent(f"void: {', '.join(causes)}")

    def by_campaign(self, metric: str) -> list[list[float]]:
        """The values of the runs that count and have one, by campaign."""
        found: dict[str, list[float]] = {}
        for run in self.used:
            value = run.metrics.get(metric)
            if value is not None:
                found.setdefault(run.campaign_id, []).append(value)
        return list(found.values())

    def spread(self, metric: str) -> Spread | None:
        """How its runs vary within and between campaigns; None where that is no factor, or they are too few."""
        groups = self.by_campaign(metric)
        return spread(groups) if _has_logarithms(metric, groups) else None

    def _drift(self, metric: str) -> Trend | None:
        """The largest trend that a campaign's runs have in their order; None where there is none."""
        trends = (order_trend(group) for group in self.by_campaign(metric))
        drifts = [trend for trend in trends if trend is not None and not trend.steady]
        return max(drifts, key=lambda trend: abs(trend.change), default=None)

    @property
    def _stalled(self) -> Mapping[str, str]:
        """The percentiles that rest on fewer than three separate stalls, and on how many."""
        behind: dict[str, tuple[str, ...]] = {STRANGERS_STALLS: ("stranger_acquire_us_p99",)}
        behind |= {f"stalls_{one}": (f"acquire_us_{one}", f"response_us_{one}") for one in STALLS}
        found: dict[str, str] = {}
        for name, resting in behind.items():
            count = self.stalls(name)
            if count is not None and count < STALLS_NEEDED:
                found |= dict.fromkeys(resting, f"{count} stall{'' if count == 1 else 's'}")
        return found

    def stalls(self, metric: str = "stalls_p99") -> int | None:
        """How many separate stalls carry a percentile: the fewest of any run; where clients share keys, of all runs.

        Who waits for a key waits at the same time as others: the slow operations of one run overlap by nature, whatever
        they waited for, and are a stall or two. So there the runs stand for each other's independence. Strangers wait
        for each other only in a pool.
        """
        counts = [round(count) for run in self.used if (count := run.metrics.get(metric)) is not None]
        if not counts:
            return None
        queued = self.workload.pool if metric == STRANGERS_STALLS else self.workload.keys
        return sum(counts) if queued else min(counts)

    @property
    def void_reason(self) -> str | None:
        """Why no run counts; None while one does."""
        if self.used:
            return None
        return f"void: {'; '.join(dict.fromkeys(_void_sentence(run) for run in self.runs))}"

    def notes(self) -> tuple[Note, ...]:
        """What a reader must know beside the numbers, one cause each, worst first."""
        return (
            *self._void_notes(),
            *self._order_notes(),
            *self._check_notes(),
            *self._outcome_notes(),
            *self._sample_notes(),
        )

    def _void_notes(self) -> Iterable[Note]:
        reasons = Counter(_void_cause(run) for run in self.runs if run.void)
        for reason, count in reasons.items():
            yield Note(f"{FAILED}: {reason}", f"{count} of {len(self.runs)} runs")

    def _order_notes(self) -> Iterable[Note]:
        """Are the runs exchangeable? Else their interval is of a thing that does not exist."""
        for name, words in _EXCHANGEABLE.items():
            value = self.value(name)
            if isinstance(value, Absent):
                continue
            if (drift := self._drift(name)) is not None:
                yield Note(DRIFT, f"{words} by {percent(drift.change, signed=True)} from the first run to the last")
            if value.modes:
                centres = " and ".join(f"{mode:,.0f}" if mode >= 100.0 else f"{mode:.3g}" for mode in value.modes)
                yield Note(TWO_MODES, f"{words}: two modes, {centres}")

    def _check_notes(self) -> Iterable[Note]:
        failed: Counter[str] = Counter()
        for run in self.used:
            for check in run.failed_checks:
                if check.severity is Severity.NOTE:
                    failed[check_cause(check.name, check.message)] += 1
        for cause, count in failed.items():
            yield Note(cause, f"{count} of {len(self.used)} runs")

    def _outcome_notes(self) -> Iterable[Note]:
        outcomes, others = self.outcomes, self.refusals
        if others:
            # Said aloud because leaving out those that waited longest makes every percentile look better.
            words = ", ".join(f"{name} {count}" for name, count in others.items())
            yield Note(OUTCOMES, f"{sum(others.values())} of {sum(outcomes.values())}: {words}")
        if strangers := self.strangers_refusals:
            yield Note(STRANGERS_OUTCOMES, ", ".join(f"{name} {count}" for name, count in strangers.items()))

    def _sample_notes(self) -> Iterable[Note]:
        for quantile in ("p50", "p99"):
            needed = operations_needed(FRACTIONS[quantile])
            if self.used and self.operations_min < needed:
                yield Note(
                    SMALL_SAMPLE, f"{quantile} needs {needed} in every run; the smallest has {self.operations_min}"
                )
                return


def _has_logarithms(metric: str, groups: Sequence[Sequence[float]]) -> bool:
    """Does it vary by a factor? A count or a share describes, and may be 0; a hand-off that ended early is below it."""
    return METRICS[metric].direction is not Direction.NEITHER and all(value > 0.0 for runs in groups for value in runs)


def _void_cause(run: RunRow) -> str:
    """In the words of the check that voids it, or in those of the failure."""
    voiding = [check for check in run.failed_checks if check.severity is Severity.VOID]
    causes = dict.fromkeys(check_cause(check.name, check.message) for check in voiding)
    return "; ".join(causes) or f"{run.void_cause}: {run.void_reason}"


def _void_sentence(run: RunRow) -> str:
    return f"{run.void_cause}: {run.void_reason}"


def cells_of(rows: Sequence[RunRow]) -> tuple[Cell, ...]:
    """Group runs into cells, in registry order, then by workload."""
    groups: dict[tuple[str, str, Setting | None], list[RunRow]] = {}
    for row in rows:
        groups.setdefault((row.system, row.workload.digest, row.setting), []).append(row)
    for system, digest, setting in list(groups):
        if setting is not None:
            continue
        # A run without a measurement belongs to its cell; where that is ambiguous it stays apart.
        homes = [key for key in groups if key[:2] == (system, digest) and key[2] is not None]
        if len(homes) == 1:
            groups[homes[0]].extend(groups.pop((system, digest, setting)))
    cells = [
        Cell(
            key[0],
            runs[0].workload,
            key[2],
            tuple(sorted(runs, key=lambda run: (run.campaign_id, run.repetition, run.run_id))),
        )
        for key, runs in groups.items()
    ]
    return tuple(sorted(cells, key=_order))


def cells_named(cells: Iterable[Cell], system: str, workload: str) -> tuple[Cell, ...]:
    """The cells of one system and one workload, none of the user's own: several where unlike runs were not pooled."""
    return tuple(cell for cell in cells if cell.system == system and cell.workload.title == workload)


def amplification(contended: Cell, uncontended: Cell) -> Value:
    """How many times slower the 99th percentile is under contention; Absent, with the reason, where either lacks it."""
    sides: list[list[list[float]]] = []
    for cell in (contended, uncontended):
        value = cell.value("acquire_us_p99")
        if isinstance(value, Absent):
            return Absent(_without_contention(value.reason) if cell is uncontended else value.reason)
        sides.append(cell.by_campaign("acquire_us_p99"))
        if min(map(min, sides[-1])) <= 0.0:
            return Absent("n/a (0 has no ratio)")
    if contended.latency_bounds and uncontended.latency_bounds:
        return Absent("n/a (limits on both sides)")  # at most by at most: any ratio may lie behind it
    return ratio_of_campaigns(sides[0], sides[1])


def _without_contention(reason: str) -> str:
    """Why a ratio has no number, where the cell of a client alone is why."""
    inner = reason.removesuffix(")")
    return f"{inner} without contention{')' if inner != reason else ''}"


def cell_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """The cells as a table: plain columns, units in their names; each metric with its `_low` and `_high`."""
    own = any(cell.workload.label for cell in cells)
    left_out = {"contention_amplification"}  # of two cells, not of one
    if not any(cell.workload.strangers_from is not None for cell in cells):
        left_out.update(OF_STRANGERS)
    if not any(cell.workload.name in JOBS for cell in cells):
        left_out.update(OF_JOBS)
    return pd.DataFrame([_flat(cell, [name for name in METRICS if name not in left_out], own=own) for cell in cells])


def _flat(cell: Cell, metrics: Sequence[str], *, own: bool) -> Mapping[str, object]:
    setting, workload = cell.setting, cell.workload
    flat: dict[str, object] = {
        "system": cell.system,
        "workload": workload.title,
        "workload_digest": workload.digest,
        "clients": workload.clients,
        "keys": workload.keys,
        "ttl_ms": workload.ttl_ms,
        "hold_ms": workload.hold_ms,
        "wait": workload.wait,
        **(further_parameters(workload) if own else {}),
        "source": setting.source if setting else "",
        "server_version": setting.server_version if setting else "",
        "nodes": setting.nodes if setting else None,
        "durability": durability_text(setting.durability) if setting else "",
        "tags": ", ".join(setting.tags) if setting else "",
        "runs": len(cell.used),
        "void_runs": len(cell.runs) - len(cell.used),
        "operations_min": cell.operations_min,
        "bounds": ", ".join(cell.bounds),
    }
    method = ""
    for name in metrics:
        value = cell.value(name)
        estimate = value if isinstance(value, Estimate) else None
        flat[name] = estimate.value if estimate else None
        flat[f"{name}_low"] = estimate.low if estimate else None
        flat[f"{name}_high"] = estimate.high if estimate else None
        if METRICS[name].direction is not Direction.NEITHER:
            parts = cell.spread(name) if estimate else None
            flat[f"{name}_within"] = parts.within if parts else None
            flat[f"{name}_between"] = parts.between if parts else None
        method = str(estimate.method) if estimate else method
    return flat | {
        "interval_method": method,
        "notes": " | ".join(map(str, cell.notes())),
        "void_reason": cell.void_reason or "",
    }


def _order(cell: Cell) -> tuple[object, ...]:
    workload = cell.workload
    title = names.in_order(workload.title)
    return (names.position(cell.system), cell.system, title, workload.digest, str(cell.setting))
