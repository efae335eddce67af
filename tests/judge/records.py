"""The files of a hazard campaign, as plain values. Nothing is checked: a damaged file is an exception."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyarrow import parquet

Fields = dict[str, Any]
PHASES = ("plan", "history", "failed")


@dataclass(frozen=True, eq=False)
class Trial:
    """One staging, with what its run says of all of them."""

    run: "Run"
    told: Fields

    @property
    def name(self) -> str:
        return str(self.told["name"])

    @property
    def scenario(self) -> str:
        return self.run.scenario

    @property
    def system(self) -> str:
        return self.run.system

    @property
    def ttl_ms(self) -> float:
        return float(self.told["ttl_ms"])

    @property
    def ended_ns(self) -> int:
        return int(self.told["ended_ns"])

    @property
    def beliefs(self) -> list[Fields]:
        return list(self.told.get("beliefs", []))

    @property
    def writes(self) -> list[Fields]:
        return list(self.told.get("writes", []))

    @property
    def presentations(self) -> list[Fields]:
        return list(self.told.get("presentations", []))

    @property
    def asks(self) -> list[Fields]:
        return list(self.told.get("asks", []))

    def faults(self, *kinds: str) -> list[Fields]:
        """The fault windows of these kinds; without kinds all of them."""
        return [one for one in self.told.get("faults", []) if not kinds or one["kind"] in kinds]

    def setting(self, name: str, otherwise: Any = None) -> Any:
        """A parameter: the trial's own before that of its run."""
        own = self.told.get("parameters", {})
        return own[name] if name in own else self.run.plan["parameters"].get(name, otherwise)

    def measured(self, name: str) -> float | None:
        """What was measured; None where it was not."""
        told = self.told.get("measures", {}).get(name)
        return None if told is None else float(told)

    def says(self, name: str) -> str:
        """What the adapter says of itself."""
        return str(self.run.history.get("capabilities", {}).get(name, ""))

    def number(self, name: str) -> float:
        """The same as a number; 0 where it says nothing."""
        return float(self.says(name) or 0.0)

    @property
    def fenced(self) -> bool:
        return bool(self.setting("fence"))

    @property
    def has_token(self) -> bool:
        """Grants tell; where there was none, the adapter does."""
        if self.beliefs:
            return any(one["token"] is not None for one in self.beliefs)
        return self.says("fencing_source") != ""

    @property
    def has_lease(self) -> bool:
        return self.says("lease_scope") != "none"


@dataclass(eq=False)
class Run:
    """One run: the unit of replication."""

    plan: Fields
    history: Fields
    void: bool
    trials: list[Trial] = field(default_factory=list)

    @property
    def run_id(self) -> str:
        return str(self.plan["run_id"])

    @property
    def scenario(self) -> str:
        return str(self.plan["scenario"])

    @property
    def system(self) -> str:
        return str(self.plan["system"])


def runs_of(folder: Path) -> list[Run]:
    """Every run that was started, in order. One that failed, did not end or was not as staged is void."""
    runs = []
    for texts in (*_of_folders(folder), *_of_pack(folder / "runs.parquet")):
        plan = json.loads(texts["plan"])
        history = json.loads(texts.get("history", "{}")) if "failed" not in texts else {}
        run = Run(plan, history, void=not history or bool(history.get("staging")))
        run.trials = [Trial(run, trial) for trial in history.get("trials", [])]
        runs.append(run)
    return sorted(runs, key=lambda run: int(run.plan["position"]))


def _of_folders(folder: Path) -> Iterator[dict[str, str]]:
    for plan in folder.glob("*/plan.json"):
        files = {phase: plan.with_name(f"{phase}.json") for phase in PHASES}
        yield {phase: path.read_text() for phase, path in files.items() if path.exists()}


def _of_pack(file: Path) -> Iterator[dict[str, str]]:
    if not file.exists():
        return
    there = [phase for phase in PHASES if phase in parquet.read_schema(file).names]
    for row in parquet.read_table(file, columns=there).to_pylist():
        yield {phase: text for phase, text in row.items() if text is not None}


def counted(runs: list[Run]) -> list[Trial]:
    """The trials of all runs that are not void."""
    return [trial for run in runs if not run.void for trial in run.trials]
