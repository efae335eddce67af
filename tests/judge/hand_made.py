"""Campaigns in which something happened that no run of the reference showed: its histories, edited and checked anew."""

import json
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from bench.analysis.places import project_root
from bench.hazards.checker import check_history
from bench.records.hazards import HazardHistory
from bench.records.schema import Failed
from bench.records.store import HazardFolder

REFERENCE = project_root() / "data" / "reference" / "hazards"
Fields = dict[str, Any]
Edit = Callable[[Fields], None]


def of(scenario: str, system: str) -> Callable[[Fields], bool]:
    """Is a run of this scenario on this system?"""
    return lambda plan: bool((plan["scenario"], plan["system"]) == (scenario, system))


def campaign(
    folder: Path,
    which: Callable[[Fields], bool],
    keep: Callable[[Fields], bool] = lambda _: True,
    edit: Edit = lambda _: None,
    failed: Collection[str] = (),
    not_as_staged: Collection[str] = (),
) -> Path:
    """Some runs of the reference, with the trials to keep, each of them edited; and some runs that are void."""
    told = json.loads((REFERENCE / "hazards.json").read_text())
    told["runs"] = [plan for plan in told["runs"] if which(plan)]
    folder.mkdir(exist_ok=True)
    (folder / "hazards.json").write_text(json.dumps(told))
    shutil.copy(REFERENCE / "environment.json", folder)
    packed = HazardFolder(REFERENCE)
    for run_id in [run["run_id"] for run in told["runs"]]:
        here = folder / run_id
        here.mkdir()
        (here / "plan.json").write_bytes(packed.run(run_id).text("plan"))
        if run_id in failed:
            HazardFolder(folder).run(run_id).write(Failed(phase="servers", reason="port 1 is taken"))
            continue
        history = json.loads(packed.run(run_id).text("history"))
        history["trials"] = [trial for trial in history["trials"] if keep(trial)]
        for trial in history["trials"]:
            edit(trial)
        history["staging"] = ["the fault was not confirmed"] if run_id in not_as_staged else []
        (here / "history.json").write_text(json.dumps(history))
        checked = check_history(HazardHistory.model_validate(history), history["staging"])
        (here / "checked.json").write_text(checked.model_dump_json())
    return folder


def holder_and_next(trial: Fields) -> tuple[Fields, Fields]:
    """The beliefs of the first two that were granted the key."""
    first, then = sorted(trial["beliefs"], key=lambda one: one["from_ns"])[:2]
    return first, then


def read_by_the_next(trial: Fields) -> None:
    """The late write reaches the resource just before the next holder presents its token and reads."""
    holder, _ = holder_and_next(trial)
    (late,) = (one for one in trial["writes"] if one["grant"] == holder["grant"])
    others = sorted(
        (one for one in (*trial["writes"], *trial["presentations"]) if one["grant"] != holder["grant"]),
        key=lambda one: one["order"],
    )
    late.update(
        order=others[0]["order"],
        judged_ns=others[0]["judged_ns"] - 1,
        accepted=True,
        highest_before=late["token"],
        value_before=late["value_read"],
    )
    value, order = late["value_written"], late["order"]
    for one in others:
        order += 1
        one.update(order=order, value_read=value)
        if "value_written" in one:
            one["value_before"], value = value, value + 1
            one["value_written"] = value


def waits_fenced(trial: Fields) -> bool:
    return bool(trial["parameters"] == {"fence": True, "meanwhile": "waits"})
