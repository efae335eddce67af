"""Tables for your own plots: what a campaign recorded, as pandas DataFrames, in two lines.

    from bench import frames
    runs = frames.runs("reference")

Each function takes a campaign by name: `latest`, `reference`, a name under data/runs, or a folder (also that of a topic
that was measured apart: `data/reference/contention`). None: what LOCKBENCH_CAMPAIGN or LOCKBENCH_HAZARDS says, else the
latest, else the reference. Units stand last in the names of columns. Void runs are included, with `void_reason`: leave
them out before you compute (`runs[runs.void_reason == ""]`). All raise StoreError, with the names that exist, for a
campaign that is not there, and for a damaged file.

The columns are part of what lockbench promises: they gain new ones, and keep their names and units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from bench.analysis.cells import cell_frame, cells_of
from bench.analysis.opened import open_hazards
from bench.analysis.places import find_campaign, members
from bench.analysis.quantiles import carries
from bench.analysis.runs import RunRow, run_frame, run_rows
from bench.records.histogram import LatencyHistogram
from bench.records.packed import events_table, has_events
from bench.records.schema import EVENT_COLUMNS, RunPlan, RunState
from bench.records.store import CampaignFolder, RunFolder, StoreError
from bench.report.hazard_tidy import TRIAL_COLUMNS, trial_rows

QUANTILES = (0.5, 0.9, 0.99, 0.999)
_MEASURED = (RunState.MEASURED, RunState.CHECKED)


def runs(campaign: str | None = None) -> pd.DataFrame:
    """One row a run: what was asked, what was measured, with what bounds, and why it counts or does not."""
    return run_frame(_rows(campaign))


def cells(campaign: str | None = None) -> pd.DataFrame:
    """One row a system and workload: every metric of the runs that count together, with `_low` and `_high`."""
    return cell_frame(cells_of(_rows(campaign)))


def percentiles(campaign: str | None = None, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
    """One row a run, phase, outcome and quantile that the sample is large enough to carry.

    Columns: campaign_id, run_id, system, workload, clients, phase, outcome, operations, quantile (0 to 1), latency_us.
    `phase` is acquire, release, response (from the intended instant, of an open loop), stranger_acquire, ...
    """
    rows = []
    for name, run in _measured(campaign):
        own = _names(name, run.plan)
        for phase, outcome, histogram in _histograms(run):
            for quantile in quantiles:
                if carries(histogram.total, quantile) and (value_ns := histogram.quantile_ns(quantile)) is not None:
                    known = {"phase": phase, "outcome": outcome, "operations": histogram.total}
                    rows.append({**own, **known, "quantile": quantile, "latency_us": value_ns / 1e3})
    columns = [*_NAMES, "phase", "outcome", "operations", "quantile", "latency_us"]
    return pd.DataFrame(rows, columns=columns)


def histograms(campaign: str | None = None, phase: str = "acquire", outcome: str = "acquired") -> pd.DataFrame:
    """One row a run and bucket: `count` operations took `latency_us` (the bucket's lower edge) or up to 0.1 % more.

    Add the counts of several runs to have their histogram together; never average their percentiles.

    Columns: campaign_id, run_id, system, workload, clients, latency_us, count.
    """
    parts = []
    for name, run in _measured(campaign):
        for _, _, histogram in _histograms(run, f"{phase}/{outcome}"):
            edges_ns = sorted(histogram.counts)
            counted = [histogram.counts[edge] for edge in edges_ns]
            part = pd.DataFrame({"latency_us": [edge / 1e3 for edge in edges_ns], "count": counted})
            parts.append(part.assign(**_names(name, run.plan)))
    columns = [*_NAMES, "latency_us", "count"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def events(campaign: str | None = None, run_id: str | None = None) -> pd.DataFrame:
    """One row an operation of the window, of one run or (`run_id` None) of all: 10 seconds of Redis are some 100,000.

    Columns: campaign_id, run_id, and those of `bench.records.schema.EVENT_COLUMNS`: client, key, the instants intended,
    started, acquired and released in ns of one monotonic clock, outcome, released, token (-1: none). A run of several
    campaigns is named `FOLDER/RUN`, as in tables. Raises StoreError for a run that there is not.
    """
    parts: list[pd.DataFrame] = []
    known: list[str] = []
    for name, run in _measured(campaign):
        known.append(name)
        if run_id in (None, name) and has_events(run.events_path):
            frame: pd.DataFrame = events_table(run.events_path).to_pandas()
            frame.insert(0, "run_id", name)
            frame.insert(0, "campaign_id", run.plan.campaign_id)
            parts.append(frame)
    if run_id is not None and run_id not in known:
        raise StoreError(f"no run {run_id}: runs are {', '.join(known) or 'none'}")
    columns = ["campaign_id", "run_id", *EVENT_COLUMNS]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def trials(hazards: str | None = None) -> pd.DataFrame:
    """One row a trial of a hazard campaign: grants, overlap_s, late writes accepted and refused, lost updates, tokens,
    with the scenario's `parameter_` columns and its `measured_` ones. Without any hazard campaign: an empty table.
    """
    found = open_hazards(hazards)
    return pd.DataFrame(columns=TRIAL_COLUMNS) if found is None else pd.DataFrame(trial_rows(found))


_NAMES = ("campaign_id", "run_id", "system", "workload", "clients")


def _rows(campaign: str | None) -> tuple[RunRow, ...]:
    return tuple(
        replace(row, run_id=before + row.run_id) for before, folder in _folders(campaign) for row in run_rows(folder)
    )


def _measured(campaign: str | None) -> Iterator[tuple[str, RunFolder]]:
    """Each run that has a measurement, with its name."""
    for before, folder in _folders(campaign):
        yield from ((before + run.path.name, run) for run in folder.runs() if run.state in _MEASURED)


def _folders(campaign: str | None) -> Sequence[tuple[str, CampaignFolder]]:
    """Each campaign, and what stands before the names of its runs: several have a redis-uncontended-01 each."""
    found = find_campaign(campaign)
    return [("" if one.path == found.path else f"{one.path.name}/", one) for one in members(found)]


def _names(name: str, plan: RunPlan) -> dict[str, str | int]:
    named = (plan.campaign_id, name, plan.system, plan.workload.title, plan.workload.clients)
    return dict(zip(_NAMES, named, strict=True))


def _histograms(run: RunFolder, only: str | None = None) -> Iterator[tuple[str, str, LatencyHistogram]]:
    for name, text in run.measured.histograms.items():
        phase, _, outcome = name.partition("/")
        if text and only in (None, name):
            try:
                yield phase, outcome, LatencyHistogram.decode(text)
            except ValueError as broken:
                raise StoreError(f"run {run.path.name}: {name} is damaged: {broken}") from broken
