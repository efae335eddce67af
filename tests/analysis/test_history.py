"""What is kept of a release's reference is small, is never changed, and compares as the campaign itself would."""

from pathlib import Path

import pytest

from bench.analysis.cells import Absent
from bench.analysis.comparing import compare
from bench.analysis.evidence import Evidence
from bench.analysis.history import METRICS, entry_of, evidence_of, find_entry, keep, kept, verdict_changes
from bench.analysis.opened import open_campaign
from bench.analysis.places import REFERENCE, project_root
from bench.records.history import HistoryEntry, history_text
from bench.records.store import StoreError

ROOT = project_root()
SMALL_BYTES = 100_000


@pytest.fixture(scope="module")
def reference() -> Evidence:
    return open_campaign(REFERENCE, REFERENCE)


@pytest.fixture(scope="module")
def entry(reference: Evidence) -> HistoryEntry:
    return entry_of(reference, "now")


def test_it_is_small_and_comes_back_whole(entry: HistoryEntry) -> None:
    text = history_text(entry)
    assert len(text.encode()) < SMALL_BYTES
    assert HistoryEntry.model_validate_json(text) == entry
    assert history_text(HistoryEntry.model_validate_json(text)) == text


def test_it_compares_as_the_campaign_itself(reference: Evidence, entry: HistoryEntry) -> None:
    same, found = compare(reference, reference), compare(reference, evidence_of(entry))
    assert (found.only_a, found.only_b, found.differences) == ((), (), ())
    assert len(found.lines) == len(same.lines) > 100
    for one, other in zip(same.lines, found.lines, strict=True):
        assert (one.system, one.workload, one.column, one.bound) == (
            other.system,
            other.workload,
            other.column,
            other.bound,
        )
        assert isinstance(one.b, Absent) is isinstance(other.b, Absent)
        if not isinstance(one.b, Absent) and not isinstance(other.b, Absent):
            for mine, theirs in ((one.b.value, other.b.value), (one.b.low, other.b.low), (one.b.high, other.b.high)):
                assert theirs == pytest.approx(mine, rel=1e-4)


def test_a_new_server_a_new_python_and_a_slower_lock_show(reference: Evidence, entry: HistoryEntry) -> None:
    cell = next(one for one in entry.cells if one.system == "redis" and one.workload.name == "uncontended")
    doubled = (tuple(value and 2 * value for value in run.values) for run in cell.runs)
    slower = [run.model_copy(update={"values": one}) for run, one in zip(cell.runs, doubled, strict=True)]
    assert cell.setting is not None
    newer = cell.setting.model_copy(update={"server_version": "99.0"})
    changed = cell.model_copy(update={"runs": tuple(slower), "setting": newer})
    pythons = {name: one.model_copy(update={"python": "3.99"}) for name, one in entry.environments.items()}
    cells = tuple(changed if one is cell else one for one in entry.cells)
    found = compare(reference, evidence_of(entry.model_copy(update={"cells": cells, "environments": pythons})))
    differs = {name: (a, b) for name, a, b in found.differences}
    assert differs["Python"][1] == "3.99"
    assert "99.0" in differs["redis server"][1]
    (line,) = [
        one for one in found.lines if (one.system, one.workload, one.column) == ("redis", "uncontended", "p50, ms")
    ]
    assert line.ratio is not None
    assert line.ratio.value == pytest.approx(2.0, rel=1e-3)


def test_verdicts_that_differ() -> None:
    a = {"C01": {"redis": "holds"}, "C02": {"redis": "fails"}, "C03": {"redis": "holds"}}
    b = {"C01": {"redis": "holds"}, "C02": {"redis": "holds"}, "C04": {"redis": "fails"}}
    changes = [(one.about, one.a, one.b) for one in verdict_changes(a, b)]
    assert changes == [("C02", "fails", "holds"), ("C03", "holds", ""), ("C04", "", "fails")]


def test_an_entry_is_never_changed(reference: Evidence, tmp_path: Path) -> None:
    path = keep(reference, "0.1.0", tmp_path)
    before = path.read_bytes()
    assert keep(reference, "0.1.0", tmp_path) == path, "the same again is no mistake"
    path.write_bytes(before.replace(b'"seed"', b'"seed" '))
    with pytest.raises(StoreError, match="an entry is never changed"):
        keep(reference, "0.1.0", tmp_path)
    for name in ("../x", "", "reference"):
        with pytest.raises(StoreError, match="cannot name a campaign"):
            keep(reference, name, tmp_path)


def test_a_damaged_or_missing_entry_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no entry 'nosuch'.*there are none"):
        find_entry("history/nosuch", tmp_path)
    (tmp_path / "data/history").mkdir(parents=True)
    (tmp_path / "data/history/bad.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        find_entry("history/bad", tmp_path)
    assert find_entry("reference", tmp_path) is None


def test_what_is_committed_is_readable_and_small() -> None:
    entries = kept(ROOT)
    assert entries
    for one in entries:
        path = ROOT / "data/history" / f"{one.name}.json"
        assert path.read_text(encoding="utf-8") == history_text(one)
        assert path.stat().st_size < SMALL_BYTES
        assert {name for cell in one.cells for name in cell.values} <= set(METRICS)
        assert one.verdicts
        assert evidence_of(one, ROOT).cells


def test_the_reference_of_now_is_kept(entry: HistoryEntry) -> None:
    """`lockbench history --keep NAME` after the reference was measured again."""
    ids = {(one.campaign_id, one.hazard_campaign_id) for one in kept(ROOT)}
    assert (entry.campaign_id, entry.hazard_campaign_id) in ids
