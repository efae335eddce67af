"""What the first table says of contention is what the judge finds in the events of the same runs."""

import csv
import io
import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from bench.analysis.evidence import Evidence
from bench.analysis.from_events import from_events
from bench.analysis.holds import read_events, read_whole
from bench.records.schema import Checked, RunPlan
from bench.records.store import CampaignFolder
from bench.report.documents.comparison import comparison_document
from bench.report.tidy import cells_csv, runs_csv
from bench.report.writers.markdown import markdown
from tests import campaigns
from tests.judge.comparison import Comparison
from tests.judge.contention import Waiting, compare_cells, compare_contention, compare_runs, waiting
from tests.judge.renderings import TITLES

# System -> grants in a run: of etcd's a median can be told, and no p99.
GRANTS = {"redis": 900, "zookeeper": 900, "etcd": 200, "postgres-row": 4}


def events(plan: RunPlan, grants: int) -> pa.Table:
    """A lottery among the clients: now and then the releaser wins again, or nobody waits."""
    dice, now, asked, before = random.Random(plan.seed), 0, [0] * plan.workload.clients, -1
    rows = []
    for _ in range(grants):
        waiting = [one for one, at in enumerate(asked) if at <= now] or [min(range(len(asked)), key=asked.__getitem__)]
        client = before if before in waiting and dice.random() < 0.3 else dice.choice(waiting)
        began = max(now, asked[client])
        granted = began + int(dice.gauss(2e5, 8e4))  # some are told before the releaser is
        released = granted + int(plan.workload.hold_ms * 1e6)
        freed = released + dice.randrange(20_000, 60_000)
        rows.append((client, 0, asked[client], asked[client], granted, released, "acquired", "released", -1, freed))
        now, before = freed, client
        asked[client] = freed + (0 if dice.random() < 0.9 else dice.randrange(40_000_000))
    names = ("client", "key", "intended_ns", "started_ns", "acquired_ns", "released_ns", "outcome", "released")
    return pa.table(dict(zip((*names, "token", "freed_ns"), map(list, zip(*rows, strict=True)), strict=True)))


def made_up(root: Path, name: str, repetitions: int) -> CampaignFolder:
    """Requests from before the window and after it are in another file than the window's own."""
    plans = campaigns.plans(tuple(GRANTS), ("contended",), repetitions, name)
    made = campaigns.start(root, [plan.model_copy(update={"seed": plan.seed + len(name)}) for plan in plans])
    for plan in made.campaign.runs:
        run = made.start_run(plan)
        every = events(plan, GRANTS[plan.system])
        asked, granted = every["started_ns"].to_numpy(), every["acquired_ns"].to_numpy()
        opens_ns, closes_ns = window_ns = int(asked[len(asked) // 8]), int(granted[-len(granted) // 8])
        run.write(campaigns.measured(plan, campaigns.SHAPES[plan.system], operations=500, window_ns=window_ns))
        within = (asked >= opens_ns) & (asked < closes_ns)
        parquet.write_table(every.filter(within), run.events_path)
        parquet.write_table(every.filter(~within), run.around_path)
        found = from_events(plan, read_events(run.events_path), read_whole(run.events_path), window_ns)
        run.write(Checked(checks=(campaigns.check(),), from_events=found))
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("waiting"), "one", 3).path


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three campaigns of two runs a cell, beside each other."""
    root = tmp_path_factory.mktemp("several")
    for name in ("first", "second", "thirdly"):
        made_up(root / "load", name, 2)
    return root


def runs_of(several: Path) -> list[Waiting]:
    """A link such as `latest` is a second name of one of them."""
    folders = sorted(folder for folder in (several / "load").iterdir() if not folder.is_symlink())
    return [one for folder in folders for one in waiting(folder)]


def rendered(folder: Path) -> str:
    return markdown(comparison_document(Evidence.load(CampaignFolder(folder))))


def compared(text: str, folder: Path) -> Comparison:
    seen = Comparison()
    compare_contention(text, waiting(folder), TITLES, seen)
    return seen


def test_every_printed_hand_off_is_the_judges(folder: Path) -> None:
    seen = compared(rendered(folder), folder)
    assert seen.wrong == []
    assert seen.cells == 4 + 2 * 4 + 3  # is there one; hand-off, ratio or why, hold


@pytest.mark.parametrize("what", [" × a fair queue", "; "])
def test_a_single_altered_number_is_found(folder: Path, what: str) -> None:
    text = rendered(folder)
    line = next(one for one in text.splitlines() if "a fair queue, held" in one and "Under" not in one)
    cell = line.split("|")[2]
    before, after = cell.replace("\u00a0", " ").split(what, 1)
    digit = before[-1]
    altered = f"{before[:-1]}{(int(digit) + 1) % 10}{what}{after}"
    assert compared(text.replace(cell, altered), folder).wrong


def test_every_number_of_runs_and_cells_is_the_judges(several: Path) -> None:
    every = runs_of(several)
    evidence = Evidence.load(CampaignFolder(several))
    of_runs, of_cells = Comparison(), Comparison()
    compare_runs(runs_csv(evidence), every, of_runs)
    compare_cells(cells_csv(evidence), every, set(), of_cells)
    assert (of_runs.wrong, of_cells.wrong) == ([], [])
    assert of_runs.cells > 400
    assert of_cells.cells > 150


def test_a_single_altered_number_of_a_run_is_found(several: Path) -> None:
    every = runs_of(several)
    rows = list(csv.DictReader(io.StringIO(runs_csv(Evidence.load(CampaignFolder(several))))))
    altered = next(row for row in rows if row["hand_off_us_p50"])
    altered["hand_off_us_p50"] = str(1.01 * float(altered["hand_off_us_p50"]) + 1.0)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    seen = Comparison()
    compare_runs(text.getvalue(), every, seen)
    assert len(seen.wrong) == 1
