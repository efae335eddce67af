"""The record of a release's reference, small: data/history/NAME.json. Enough to compare with, and no more.

What is left out: histograms, events, checks, and all metrics that `lockbench compare` does not ask for. A cell is one
line of the file, so that a diff shows what changed.
"""

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.records.schema import SCHEMA_VERSION, Environment
from bench.records.store import StoreError
from bench.records.workload import Workload


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeptRun(_Record):
    """One run of a cell. Without metrics where it is void."""

    campaign: str
    run: str
    void: str = ""  # why it counts for nothing, in a word or two
    values: tuple[float | None, ...] = ()  # of the entry's `metrics`, in their order; None: it has none
    bounds: tuple[str, ...] = ()
    window_clients: int | None = None


class KeptSetting(_Record):
    """What the runs of a cell have in common besides their workload; see `bench.analysis.runs.Setting`."""

    server_version: str
    source: str
    nodes: int | None
    durability: dict[str, str]
    tags: tuple[str, ...]
    engine: str
    placement: dict[str, str]


class KeptCell(_Record):
    """One system and workload: the values of its runs, and what they say together."""

    system: str
    workload: Workload
    setting: KeptSetting | None  # None: no run has a measurement
    capabilities: dict[str, str]  # those that the floor is computed from
    values: dict[str, tuple[float, float, float]]  # by metric: the value, and the lower and upper end of its interval
    runs: tuple[KeptRun, ...]


class HistoryEntry(_Record):
    """The reference of a release."""

    schema_version: int = SCHEMA_VERSION
    name: str
    campaign_id: str
    created_at: str  # ISO 8601, UTC
    mode: str
    seed: int
    lockbench_version: str
    git_commit: str
    measuring_code: str
    pinned: bool
    hazard_campaign_id: str = ""  # "": none lay beside it
    environments: dict[str, Environment]  # by campaign
    verdicts: dict[str, dict[str, str]]  # by a claim's id, or a fault; then by system
    metrics: tuple[str, ...]  # names of `bench.analysis.metrics`
    cells: tuple[KeptCell, ...]


def history_text(entry: HistoryEntry) -> str:
    """The file's content: a cell, a verdict and an environment on a line each."""
    tree = entry.model_dump(mode="json", exclude_defaults=False)
    tree["cells"] = [one.model_dump(mode="json", exclude_defaults=True) for one in entry.cells]
    lines = []
    for name, value in tree.items():
        if isinstance(value, list):
            body = ",\n  ".join(_compact(one) for one in value)
            lines.append(f"{_compact(name)}: [\n  {body}\n ]")
        elif isinstance(value, dict):
            body = ",\n  ".join(f"{_compact(key)}: {_compact(one)}" for key, one in value.items())
            lines.append(f"{_compact(name)}: {{\n  {body}\n }}")
        else:
            lines.append(f"{_compact(name)}: {_compact(value)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def read_history(path: Path) -> HistoryEntry:
    """Raises StoreError for a file that is missing or damaged."""
    try:
        return HistoryEntry.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as refused:
        raise StoreError(f"cannot read {path}: {refused.strerror}") from refused
    except (ValidationError, UnicodeDecodeError) as broken:
        raise StoreError(f"{path} is damaged: {str(broken).splitlines()[0]}") from broken


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
