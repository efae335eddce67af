"""Which runs of load: systems x workloads x repetitions, each under an id that is safe as a folder's name."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from bench import __version__
from bench.campaign.measuring_code import git_commit, measuring_code
from bench.campaign.modes import Asked, Mode
from bench.campaign.order import interleaved
from bench.errors import LockbenchError
from bench.records.schema import Campaign, RunPlan
from bench.records.workload import Workload
from bench.systems.registry import System

RUNS_AT_MOST = 10_000  # days of measuring
_STEM_CHARACTERS = 80  # of a label in a run's id; a disk takes 255


def stem_of(system_name: str, workload: Workload) -> str:
    """What the ids of a cell's runs begin with. Runs are folders, so it is safe as the name of one."""
    if not workload.label:
        return f"{system_name}-{workload.name}"
    safe = re.sub(r"[^A-Za-z0-9.]+", "-", workload.label).strip("-.")
    if len(safe) > _STEM_CHARACTERS or not workload.label.isascii():
        # What is cut off or lost might be all that sets it apart.
        safe = f"{safe[:_STEM_CHARACTERS]}-{workload.digest}".strip("-")
    return f"{system_name}-{safe}"


def refuse_one_folder_for_two(stems: Iterable[str]) -> None:
    """Raise LockbenchError where two cells have one stem, also for a disk that does not tell cases apart."""
    twice = [stem for stem, count in Counter(stem.casefold() for stem in stems).items() if count > 1]
    if twice:
        raise LockbenchError(f"runs of two cells would have one folder, {twice[0]}-01: give one of them another name")


def plan_runs(
    campaign_id: str,
    systems: Sequence[System],
    workloads: Sequence[str | Asked],
    mode: Mode,
    repetitions: int,
    seed: int,
) -> tuple[RunPlan, ...]:
    """Every run of a campaign, in its seeded, interleaved order; a name alone means the mode's own cell.

    Raises LockbenchError where two cells would have one folder, and for more runs than anybody would wait for.
    """
    asked = [Asked(one) if isinstance(one, str) else one for one in workloads]
    # What is `auto` may be what was asked for as well: the same cell is measured once.
    cells = [
        (entry, cell)
        for entry in systems
        for cell in dict.fromkeys(cell for one in asked for cell in one.cells_on(entry, mode))
    ]
    if (count := len(cells) * repetitions) > RUNS_AT_MOST:
        raise LockbenchError(f"{count:,} runs are more than {RUNS_AT_MOST:,}: ask for fewer values or repetitions")
    refuse_one_folder_for_two(stem_of(entry.name, workload) for entry, workload in cells)
    return tuple(
        RunPlan(
            campaign_id=campaign_id,
            run_id=f"{stem_of(entry.name, workload)}-{place.repetition:02d}",
            position=place.position,
            system=entry.name,
            workload=workload,
            repetition=place.repetition,
            seed=place.seed,
        )
        for (entry, workload), place in interleaved(cells, lambda _: repetitions, seed)
    )


def new_campaign(mode_name: str, seed: int, runs: Sequence[RunPlan], pinned: bool = True) -> Campaign:
    """The record of a campaign that is about to start."""
    return Campaign(
        campaign_id=runs[0].campaign_id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode_name,
        seed=seed,
        lockbench_version=__version__,
        git_commit=git_commit(),
        measuring_code=measuring_code(),
        pinned=pinned,
        runs=tuple(runs),
    )
