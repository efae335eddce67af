"""Events that were cut off or changed are one message, which names the run, the file and what to do."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.holds import read_events
from bench.analysis.runs import run_rows
from bench.load.events import write_events
from bench.records.packed import pack_campaign
from bench.records.store import CampaignFolder, StoreError
from tests import campaigns
from tests.records.test_packed import rows

KINDS = ("raw", "packed")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CampaignFolder]:
    root = tmp_path_factory.mktemp("damaged")
    plans = campaigns.plans(("redis",), ("uncontended",), 2)
    raw = campaigns.start(root, plans)
    for number, plan in enumerate(plans):
        campaigns.add_run(raw, plan, campaigns.measured(plan, campaigns.SHAPES["redis"], operations=50))
        write_events(raw.run(plan.run_id).events_path, rows(number, 300))
    pack_campaign(raw, root / "packed")
    return {"raw": raw, "packed": CampaignFolder(root / "packed")}


@contextmanager
def damaged(file: Path, content: bytes) -> Iterator[None]:
    good = file.read_bytes()
    try:
        file.write_bytes(content)
        yield
    finally:
        file.write_bytes(good)


def of_first(folder: CampaignFolder, kind: str) -> tuple[Path, Path, str]:
    """The events of a campaign's first run, the file that has them, and what to do should that be damaged."""
    run = next(folder.runs())
    if kind == "packed":
        return run.events_path, folder.path / "events.parquet", "Get the campaign again"
    return run.events_path, run.events_path, f"Rename {run.path.name} to have it measured again"


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=40)
@given(share=st.floats(0.0, 0.9999))
def test_what_was_cut_off_is_told_by_readers_and_by_reports(
    folders: dict[str, CampaignFolder], kind: str, share: float
) -> None:
    path, file, remedy = of_first(folders[kind], kind)
    good = file.read_bytes()
    with damaged(file, good[: int(share * len(good))]):
        for read in (lambda: read_events(path), lambda: run_rows(folders[kind])):
            with pytest.raises(StoreError) as told:
                read()
            assert str(told.value).startswith(f"{file} cannot be read, the events of {path.parent.name}: ")
            assert str(told.value).endswith(remedy)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_what_was_changed_is_read_or_told(folders: dict[str, CampaignFolder], kind: str, seed: int) -> None:
    path, file, remedy = of_first(folders[kind], kind)
    dice, content = random.Random(seed), bytearray(file.read_bytes())
    for _ in range(3):
        content[dice.randrange(len(content))] = dice.randrange(256)
    with damaged(file, bytes(content)):
        told = ""
        try:
            read_events(path)
        except StoreError as refused:
            told = str(refused)
        begins = f"{file} cannot be read, the events of {path.parent.name}: "
        assert not told or (told.startswith(begins) and told.endswith(remedy))


def test_a_run_that_was_interrupted_as_it_wrote_them_stops_no_report(tmp_path: Path) -> None:
    plans = campaigns.plans(("redis",), ("uncontended",), 1)
    folder = campaigns.start(tmp_path, plans)
    campaigns.add_run(folder, plans[0], None)
    next(folder.runs()).events_path.write_bytes(b"PAR1 and no more")
    assert [row.void_cause for row in run_rows(folder)] == ["interrupted"]


@pytest.mark.parametrize("kind", KINDS)
def test_events_that_were_left_out_are_not_missed_by_a_report(folders: dict[str, CampaignFolder], kind: str) -> None:
    _, file, _ = of_first(folders[kind], kind)
    good = file.read_bytes()
    file.unlink()
    try:
        assert len(run_rows(folders[kind])) == 2
    finally:
        file.write_bytes(good)
