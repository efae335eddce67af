"""Runs that count for nothing, and a scenario that nobody has heard of, are counted alike by both."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench.analysis.places import project_root
from bench.records.schema import Failed
from bench.records.store import HazardFolder
from tests.judge.lines import lines
from tests.judge.records import counted
from tests.judge.renderings import Rendered, judged

REFERENCE = project_root() / "data" / "reference" / "hazards"
UNHEARD_OF = "hail"


def _changed(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def _shows_first(run: Any) -> bool:
    """The other protocol has a line of its own."""
    return run["parameters"].get("presented") != "at_write"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two pauses on each of three systems: one not as staged, one failed, one interrupted, one of a new scenario."""
    told = json.loads((REFERENCE / "hazards.json").read_text())
    found = [
        [run for run in told["runs"] if (run["scenario"], run["system"]) == ("gc-pause", system) and _shows_first(run)][
            :2
        ]
        for system in ("redis", "etcd", "zookeeper")
    ]
    (as_planned, failed), (interrupted, unheard_of), (not_as_staged, other) = found
    unheard_of["scenario"] = UNHEARD_OF
    told["runs"] = [as_planned, failed, interrupted, unheard_of, not_as_staged, other]
    (tmp_path / "hazards.json").write_text(json.dumps(told))
    shutil.copy(REFERENCE / "environment.json", tmp_path)
    packed = HazardFolder(REFERENCE)
    for run in told["runs"]:
        (tmp_path / run["run_id"]).mkdir()
        for phase in ("plan", "history", "checked"):
            (tmp_path / run["run_id"] / f"{phase}.json").write_bytes(packed.run(run["run_id"]).text(phase))
    _changed(tmp_path / unheard_of["run_id"] / "plan.json", scenario=UNHEARD_OF)
    _changed(tmp_path / not_as_staged["run_id"] / "history.json", staging=["the pause was not confirmed"])
    for run in (failed, interrupted):
        for name in ("history.json", "checked.json"):
            (tmp_path / run["run_id"] / name).unlink()
    HazardFolder(tmp_path).run(failed["run_id"]).write(Failed(phase="servers", reason="port 1 is taken"))
    return tmp_path


def test_void_runs_and_a_new_scenario_are_counted_alike(folder: Path) -> None:
    runs = judged(folder)
    assert sum(run.void for run in runs) == 3
    assert {one.scenario for one in counted(runs)} == {"gc-pause", UNHEARD_OF}
    found = lines(runs)
    assert found["etcd", UNHEARD_OF].tally.exposed, "two holders at once, under its own name"
    for line in (
        ("redis", "pause of the holder"),
        ("etcd", "pause of the holder"),
        ("zookeeper", "pause of the holder"),
    ):
        assert len(found[line].void) == 1
    compared = Rendered.of(folder).against(runs)
    assert {name: one.wrong for name, one in compared.items() if one.wrong} == {}
