"""The reference of each release, kept small in data/history/, and read again as evidence that may be compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.cells import Absent, Cell
from bench.analysis.claims import load_claims, load_seed_table
from bench.analysis.evidence import Evidence
from bench.analysis.joining import typical
from bench.analysis.judgement import Verdict
from bench.analysis.places import project_root
from bench.analysis.runs import RunRow, Setting
from bench.records.history import HistoryEntry, KeptCell, KeptRun, KeptSetting, history_text, read_history
from bench.records.schema import Campaign, RunState
from bench.records.store import StoreError, require_name, write_atomically

FOLDER = Path("data") / "history"
PREFIX = "history/"  # names an entry where a campaign may be named too
# What `comparing` asks for; stalls decide whether a p99 may be shown.
METRICS = (
    "acquire_us_p50",
    "acquire_us_p99",
    "acquire_us_mean",
    "throughput_pairs_per_s",
    "client_cpu_us_per_pair",
    "stalls_p99",
)
_CAPABILITIES = ("acquire_round_trips", "peer_round_trips", "acquire_durable_writes", "durable_when")


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A verdict that two sides do not share; "" where one has none."""

    about: str
    system: str
    a: str
    b: str


def keep(evidence: Evidence, name: str, root: Path | None = None) -> Path:
    """Write data/history/NAME.json. Raises StoreError for a name that cannot be, or that has another content."""
    require_name(name)
    path = (root or project_root()) / FOLDER / f"{name}.json"
    text = history_text(entry_of(evidence, name))
    if path.exists():
        if path.read_text(encoding="utf-8") != text:
            raise StoreError(f"{path} keeps something else: choose another name; an entry is never changed")
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    return path


def kept(root: Path | None = None) -> tuple[HistoryEntry, ...]:
    """All entries, oldest measurement first. Raises StoreError for a damaged one."""
    paths = sorted(((root or project_root()) / FOLDER).glob("*.json"))
    return tuple(sorted(map(read_history, paths), key=lambda entry: (entry.created_at, entry.name)))


def find_entry(name: str, root: Path | None = None) -> HistoryEntry | None:
    """The entry that `history/NAME` names; None for every other name. Raises StoreError, with the names that exist."""
    if not name.startswith(PREFIX):
        return None
    folder = (root or project_root()) / FOLDER
    path = folder / f"{name.removeprefix(PREFIX)}.json"
    if not path.is_file() or path.parent != folder:
        known = ", ".join(one.stem for one in sorted(folder.glob("*.json"))) or "none"
        raise StoreError(f"no entry {name.removeprefix(PREFIX)!r} in {folder}: there are {known}")
    return read_history(path)


def entry_of(evidence: Evidence, name: str) -> HistoryEntry:
    """What is kept of a campaign, or of several, with the hazards beside it."""
    campaign = evidence.campaign
    return HistoryEntry(
        name=name,
        campaign_id=campaign.campaign_id,
        created_at=campaign.created_at,
        mode=campaign.mode,
        seed=campaign.seed,
        lockbench_version=campaign.lockbench_version,
        git_commit=campaign.git_commit,
        measuring_code=campaign.measuring_code,
        pinned=campaign.pinned,
        hazard_campaign_id=evidence.hazards.campaign.campaign_id if evidence.hazards is not None else "",
        environments=dict(evidence.environments) or {campaign.campaign_id: evidence.environment},
        verdicts=verdicts_of(evidence),
        metrics=METRICS,
        cells=tuple(_kept_cell(cell) for cell in evidence.cells),
    )


def evidence_of(entry: HistoryEntry, root: Path | None = None) -> Evidence:
    """An entry as evidence: enough for `comparing.compare`, and for nothing that needs histograms or hazards."""
    data = (root or project_root()) / "data"
    claims = load_claims(data / "claims.csv")
    several = len(entry.environments) > 1
    return Evidence(
        campaign=Campaign(
            campaign_id=entry.campaign_id,
            created_at=entry.created_at,
            mode=entry.mode,
            seed=entry.seed,
            lockbench_version=entry.lockbench_version,
            git_commit=entry.git_commit,
            measuring_code=entry.measuring_code,
            pinned=entry.pinned,
            runs=(),
        ),
        environment=typical(list(entry.environments.values())),
        rows=tuple(_row(entry, cell, run, number) for cell in entry.cells for number, run in enumerate(cell.runs, 1)),
        claims=claims,
        seed_table=load_seed_table(data / "seed_table.csv", claims),
        environments=entry.environments if several else {},
    )


def verdicts_of(evidence: Evidence) -> dict[str, dict[str, str]]:
    """Of all claims that were put to the test, and of each system under each fault; several of one in one string."""
    found: dict[str, dict[str, list[str]]] = {}
    for one in evidence.judgements:
        if one.verdict is not Verdict.NOT_MEASURED:
            found.setdefault(one.claim.id, {}).setdefault(one.system, []).append(str(one.verdict))
    for fault in evidence.hazards.verdicts if evidence.hazards is not None else ():
        found.setdefault(fault.fault, {}).setdefault(fault.system, []).append(str(fault.verdict))
    return {
        about: {system: "; ".join(sorted(set(words))) for system, words in by_system.items()}
        for about, by_system in found.items()
    }


def verdict_changes(
    a: Mapping[str, Mapping[str, str]], b: Mapping[str, Mapping[str, str]]
) -> tuple[VerdictChange, ...]:
    """Those that differ, in the order of A, then what B alone has."""
    subjects = [(about, system) for side in (a, b) for about, by_system in side.items() for system in by_system]
    changes = (
        VerdictChange(about, system, a.get(about, {}).get(system, ""), b.get(about, {}).get(system, ""))
        for about, system in dict.fromkeys(subjects)
    )
    return tuple(one for one in changes if one.a != one.b)


def _kept_cell(cell: Cell) -> KeptCell:
    setting = cell.setting
    values = {name: value for name in METRICS if not isinstance(value := cell.value(name), Absent)}
    capabilities = next((run.capabilities for run in cell.runs if run.capabilities), {})
    return KeptCell(
        system=cell.system,
        workload=cell.workload,
        setting=None
        if setting is None
        else KeptSetting(
            server_version=setting.server_version,
            source=setting.source,
            nodes=setting.nodes,
            durability=dict(setting.durability),
            tags=setting.tags,
            engine=setting.engine,
            placement=dict(setting.placement),
        ),
        capabilities={name: capabilities[name] for name in _CAPABILITIES if name in capabilities},
        values={name: (_short(one.value), _short(one.low), _short(one.high)) for name, one in values.items()},
        runs=tuple(_kept_run(run) for run in cell.runs),
    )


def _kept_run(run: RunRow) -> KeptRun:
    if run.void:
        return KeptRun(campaign=run.campaign_id, run=run.run_id, void=run.void_cause or "void")
    values = [run.metrics.get(name) for name in METRICS]
    return KeptRun(
        campaign=run.campaign_id,
        run=run.run_id,
        values=tuple(None if value is None else _short(value) for value in values),
        bounds=run.bounds,
        window_clients=run.window_clients,
    )


def _row(entry: HistoryEntry, cell: KeptCell, run: KeptRun, number: int) -> RunRow:
    setting = cell.setting
    metrics = dict(zip(entry.metrics, run.values, strict=True)) if run.values else {}
    return RunRow(
        campaign_id=run.campaign,
        run_id=run.run,
        system=cell.system,
        workload=cell.workload,
        repetition=number,
        state=RunState.CHECKED,
        void_cause=run.void or None,
        void_reason=run.void or None,
        passed_checks=(),
        failed_checks=(),
        setting=None
        if setting is None
        else Setting(
            setting.server_version,
            setting.source,
            setting.nodes,
            tuple(sorted(setting.durability.items())),
            setting.tags,
            setting.engine,
            tuple(sorted(setting.placement.items())),
        ),
        capabilities=cell.capabilities,
        metrics=metrics,
        bounds=run.bounds,
        window_clients=run.window_clients,
        placement={} if setting is None else setting.placement,
    )


def _short(value: float) -> float:
    """Six digits: more than a histogram's bucket resolves."""
    return float(f"{value:.6g}")
