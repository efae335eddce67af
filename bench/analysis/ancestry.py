"""Where a number comes from: a cell's runs, and of each run the records that say how it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.rows import HazardRun
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.metrics import METRICS
from bench.analysis.places import members
from bench.analysis.quantiles import FRACTIONS, carried_quantile_us
from bench.analysis.runs import RunRow
from bench.errors import LockbenchError
from bench.records.histogram import LatencyHistogram
from bench.records.schema import Check, Environment, Measured, RunState
from bench.records.store import CampaignFolder, HazardFolder

NEAR = 5  # names that one message offers


class NotThere(LockbenchError):
    """No run, system or workload has this name; the message offers some that have one like it."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """One histogram of a run in a few numbers. None where the sample does not carry the percentile."""

    name: str  # phase/outcome
    operations: int
    us: Mapping[str, float | None]  # by the names of `FRACTIONS`, and `max`


@dataclass(frozen=True, slots=True)
class RunAncestry:
    """One run of load."""

    row: RunRow
    path: Path  # its folder, or that of the campaign that it is packed in
    environment: Environment
    measured: Measured | None = None  # None: the run has no measurement
    checks: tuple[Check, ...] = ()
    claims: tuple[str, ...] = ()  # whose verdicts rest on it

    @property
    def percentiles(self) -> tuple[Percentiles, ...]:
        texts = self.measured.histograms if self.measured is not None else {}
        return tuple(_percentiles(name, LatencyHistogram.decode(text)) for name, text in sorted(texts.items()) if text)


@dataclass(frozen=True, slots=True)
class CellAncestry:
    """One cell and all of its runs."""

    cell: Cell
    runs: tuple[RunAncestry, ...]


@dataclass(frozen=True, slots=True)
class HazardAncestry:
    """One hazard run, and the verdicts that it stands behind."""

    run: HazardRun
    path: Path  # its folder, or that of the campaign that it is packed in
    environment: Environment
    verdicts: tuple[FaultVerdict, ...]
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlayedAncestry:
    """One scenario on one system: its hazard runs, and the verdicts that they gave."""

    system: str
    scenario: str
    verdicts: tuple[FaultVerdict, ...]
    runs: tuple[HazardAncestry, ...]


Ancestry = RunAncestry | CellAncestry | HazardAncestry | PlayedAncestry


@dataclass(frozen=True)
class Sources:
    """The campaigns to look in."""

    evidence: Evidence
    folder: CampaignFolder
    hazard_folder: HazardFolder | None = None

    def of_run(self, name: str) -> Ancestry:
        """A run by its id. Raises NotThere for a name that no run has, or several have."""
        rows = [
            (sources, row)
            for sources in self._of_load
            for row in sources.evidence.rows
            if name in (row.run_id, row.run_id.rpartition("/")[2])
        ]
        played = [run for run in self._played if run.run_id == name]
        if len(rows) + len(played) > 1:
            raise NotThere(f"several runs are called {name!r}: choose {' or '.join(row.run_id for _, row in rows)}")
        if rows:
            ((sources, row),) = rows
            return sources._run(row)
        if played:
            return self._hazard(played[0])
        raise NotThere(f"no run {name!r} here{self._near(name)}")

    def of_cell(self, system: str, workload: str) -> tuple[Ancestry, ...]:
        """The cells of one system and workload, several where runs were too unlike to pool; or a scenario's runs.

        Raises NotThere.
        """
        cells = [(sources, cell) for sources in self._of_load for cell in sources.evidence.cells_for(system, workload)]
        if cells:
            return tuple(CellAncestry(cell, tuple(map(sources._run, cell.runs))) for sources, cell in cells)
        runs = tuple(self._hazard(run) for run in self._played if (run.system, run.scenario) == (system, workload))
        if not runs:
            raise NotThere(self._no_cell(system, workload))
        verdicts = {id(one): one for run in runs for one in run.verdicts}
        return (PlayedAncestry(system, workload, tuple(verdicts.values()), runs),)

    @property
    def _of_load(self) -> "Sequence[Sources]":
        """These, and the campaigns about one topic that lie beside them."""
        apart = self.evidence.apart.items()
        return [self, *(Sources(found, CampaignFolder(self.folder.path / topic)) for topic, found in apart)]

    @property
    def _played(self) -> Sequence[HazardRun]:
        return self.evidence.hazards.runs if self.evidence.hazards is not None else ()

    def _run(self, row: RunRow) -> RunAncestry:
        campaign, _, run_id = row.run_id.rpartition("/")
        folders = members(self.folder) or (self.folder,)
        home = next((one for one in folders if one.path.name == campaign), folders[0])
        folder = home.run(run_id)
        return RunAncestry(
            row=row,
            path=folder.path if folder.path.exists() else home.path,
            environment=home.environment,
            measured=folder.measured if folder.has("measured") else None,
            checks=folder.checked.checks if row.state is RunState.CHECKED else (),
            claims=tuple(dict.fromkeys(one.claim.id for one in self.evidence.judgements if row.run_id in one.evidence)),
        )

    def _hazard(self, run: HazardRun) -> HazardAncestry:
        hazards = self.evidence.hazards
        assert self.hazard_folder is not None
        assert hazards is not None
        path = self.hazard_folder.run(run.run_id).path
        return HazardAncestry(
            run=run,
            path=path if path.exists() else self.hazard_folder.path,
            environment=hazards.environment,
            verdicts=tuple(
                one for one in hazards.verdicts if run.run_id in (*one.evidence, *(lost.run_id for lost in one.void))
            ),
            claims=tuple(dict.fromkeys(one.claim.id for one in self.evidence.judgements if run.run_id in one.evidence)),
        )

    def _near(self, name: str) -> str:
        systems = self.evidence.systems
        if name in systems:
            workloads = self._workloads(name)
            return f": {name} is a system; name one of its workloads too: {', '.join(workloads)}"
        ids = [row.run_id for sources in self._of_load for row in sources.evidence.rows]
        ids += [run.run_id for run in self._played]
        tails = {one.rpartition("/")[2]: one for one in ids}
        return _offered(name, [*tails, *ids, *systems])

    def _no_cell(self, system: str, workload: str) -> str:
        systems = dict.fromkeys((*self.evidence.systems, *(run.system for run in self._played)))
        if system not in systems:
            return f"no run of a system {system!r} here{_offered(system, list(systems))}"
        scenarios = dict.fromkeys(run.scenario for run in self._played if run.system == system)
        near = get_close_matches(workload, scenarios, n=NEAR, cutoff=0.6)
        return f"no run of {system} under {workload!r} here: there is {', '.join([*self._workloads(system), *near])}"

    def _workloads(self, system: str) -> list[str]:
        every = [cell for sources in self._of_load for cell in sources.evidence.cells]
        return sorted({cell.workload.title for cell in every if cell.system == system})


def _offered(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=NEAR, cutoff=0.5)
    offered = near or sorted(names)[:NEAR]
    return f": there is {', '.join(dict.fromkeys(offered))}" if offered else ""


def _percentiles(name: str, histogram: LatencyHistogram) -> Percentiles:
    us: dict[str, float | None] = {
        quantile: carried_quantile_us(histogram, fraction) for quantile, fraction in FRACTIONS.items()
    }
    highest = histogram.quantile_ns(1.0)
    return Percentiles(name, histogram.total, us | {"max": None if highest is None else highest / 1e3})


def tree(ancestry: Ancestry) -> dict[str, object]:
    """The same for a script: plain JSON, with the records as they are."""
    match ancestry:
        case CellAncestry(cell, runs):
            return {
                "system": cell.system,
                "workload": cell.workload.title,
                "workload_digest": cell.workload.digest,
                "void": cell.void_reason,
                "bounds": list(cell.bounds),
                "notes": [str(note) for note in cell.notes()],
                "values": {name: _value(cell, name) for name in METRICS if name != "contention_amplification"},
                "runs": [tree(run) for run in runs],
            }
        case RunAncestry():
            return _run_tree(ancestry)
        case HazardAncestry():
            return _hazard_tree(ancestry)
        case PlayedAncestry(system, scenario, verdicts, played):
            return {
                "system": system,
                "scenario": scenario,
                "verdicts": _verdicts(verdicts),
                "runs": [tree(one) for one in played],
            }


def _value(cell: Cell, name: str) -> dict[str, object]:
    value = cell.value(name)
    if isinstance(value, Absent):
        return {"absent": value.reason}
    return {"value": value.value, "low": value.low, "high": value.high, "method": str(value.method)}


def _run_tree(run: RunAncestry) -> dict[str, object]:
    row, measured = run.row, run.measured
    return {
        "run_id": row.run_id,
        "campaign_id": row.campaign_id,
        "folder": str(run.path),
        "system": row.system,
        "workload": row.workload.model_dump(mode="json"),
        "state": str(row.state),
        "void": f"{row.void_cause}: {row.void_reason}" if row.void else None,
        "bounds": list(row.bounds),
        "metrics": dict(row.metrics),
        "claims": list(run.claims),
        "checks": [check.model_dump(mode="json") for check in run.checks],
        "histograms": {one.name: {"operations": one.operations, "us": dict(one.us)} for one in run.percentiles},
        "measured": measured.model_dump(mode="json", exclude={"histograms", "ladder"}) if measured else None,
        "environment": run.environment.model_dump(mode="json"),
    }


def _verdicts(verdicts: Sequence[FaultVerdict]) -> list[dict[str, object]]:
    return [{"id": one.id, "fault": one.fault, "verdict": str(one.verdict), "reason": one.reason} for one in verdicts]


def _hazard_tree(one: HazardAncestry) -> dict[str, object]:
    run = one.run
    return {
        "run_id": run.run_id,
        "folder": str(one.path),
        "plan": run.plan.model_dump(mode="json"),
        "state": str(run.state),
        "void": f"{run.void_cause}: {run.void_reason}" if run.void else None,
        "verdicts": _verdicts(one.verdicts),
        "claims": list(one.claims),
        "trials": [
            {
                "checked": row.checked.model_dump(mode="json"),
                "faults": [fault.model_dump(mode="json") for fault in row.faults],
                "measures": dict(row.trial.measures),
                "notes": dict(row.notes),
            }
            for row in run.trials
        ],
        "facts": run.facts.model_dump(mode="json") if run.facts else None,
        "source": run.source,
        "environment": one.environment.model_dump(mode="json"),
    }
