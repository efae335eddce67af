"""The notebooks in the order in which a reader takes them, and what each needs of a campaign."""

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from bench.analysis.contention.sweeps import is_swept
from bench.analysis.evidence import Evidence
from bench.records.workload import JOBS as JOB_WORKLOADS
from bench.records.workload import UNCONTENDED

FOLDER = Path("notebooks")
RENDERED = FOLDER / "rendered"  # of the reference, as Markdown: what people see who do not run them


class Needs(Enum):
    """What a campaign must have for a notebook to say something about it."""

    LOAD = auto()
    FREE = auto()  # runs of a lock that nobody else wants
    WAITING = auto()  # contenders, ways to wait or arrivals, varied
    JOBS = auto()
    NETWORKS = auto()  # of different round trips
    HAZARDS = auto()
    NOTHING = auto()  # it is about no campaign


@dataclass(frozen=True, slots=True)
class Notebook:
    """One notebook: a file of `FOLDER`, on one topic."""

    name: str  # the file's, without its ending
    title: str
    needs: Needs

    @property
    def path(self) -> Path:
        """From the project's folder."""
        return FOLDER / f"{self.name}.ipynb"


# To add one: its file, its line here in the reader's order, its row with a picture in notebooks/README.md.
NOTEBOOKS = (
    Notebook("comparison", "Distributed locks: claimed and measured", Needs.LOAD),
    Notebook("latency", "How long a lock takes, and how many there are in a second", Needs.LOAD),
    Notebook("contention", "Waiting for a distributed lock", Needs.WAITING),
    Notebook("network", "On your network", Needs.NETWORKS),
    Notebook("ttl", "The hazard of a lease", Needs.HAZARDS),
    Notebook("clocks", "Redlock and clocks", Needs.HAZARDS),
    Notebook("crashes", "Crashes, restarts and failovers", Needs.HAZARDS),
    Notebook("simulator", "The simulator: what could happen to a lock", Needs.NOTHING),
    Notebook("jobs", "Do you need a lock?", Needs.JOBS),
    Notebook("claims", "What five pages claim", Needs.LOAD),
    Notebook("plots", "Your own plots", Needs.FREE),
    Notebook("method", "How it was measured, and what it cannot say", Needs.LOAD),
)


def notebooks_for(evidence: Evidence) -> tuple[Notebook, ...]:
    """Those that have something to say about a campaign and the hazards beside it."""
    there = {Needs.LOAD}
    if any(row.workload.name == UNCONTENDED and not row.void for row in evidence.rows):
        there.add(Needs.FREE)
    if is_swept(evidence.about_waiting.cells):
        there.add(Needs.WAITING)
    if any(cell.workload.name in JOB_WORKLOADS for one in (evidence, *evidence.apart.values()) for cell in one.cells):
        there.add(Needs.JOBS)
    if evidence.over_networks:
        there.add(Needs.NETWORKS)
    if evidence.hazards is not None:
        there.add(Needs.HAZARDS)
    return tuple(one for one in NOTEBOOKS if one.needs in there)
