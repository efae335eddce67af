"""Where the project, its data and its campaigns are, from wherever a notebook or a command was started."""

import os
from pathlib import Path

from bench.records.store import NO_HAZARDS as NO_HAZARDS
from bench.records.store import REFERENCE as REFERENCE
from bench.records.store import CampaignFolder, HazardFolder, Store, StoreError, is_file

CAMPAIGN_VARIABLE = "LOCKBENCH_CAMPAIGN"
DATA_VARIABLE = "LOCKBENCH_DATA"
HAZARDS_VARIABLE = "LOCKBENCH_HAZARDS"
FIGURES = "figures"  # renderings of the reference campaign
SEVERAL = "load"  # a folder of campaigns beside each other, which are one body of evidence
HAZARDS = "hazards"  # the hazard campaign of the reference, in a folder below it
CONTENTION = "contention"  # its campaigns about waiting, in another; as `members`, one or several
AVAILABILITY = "availability"  # of faults while clients wait
JOBS, STRANGERS, NETWORK = "jobs", "strangers", "network"  # and of whole jobs, of clients beside a hot key, of networks
# What a folder may have apart: each of other code, so never pooled.
APART = (CONTENTION, AVAILABILITY, JOBS, STRANGERS, NETWORK)
_MARK = Path("data") / "claims.csv"


def project_root(start: Path | None = None) -> Path:
    """The folder that holds data/claims.csv: above `start` (default: the current folder), else beside the package.

    Raises StoreError when there is neither.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / _MARK).is_file():
            return folder
    raise StoreError(f"no {_MARK} in {here} or above: start from a checkout of lockbench")


def is_committed(path: Path) -> bool:
    """Does it lie in figures/ or data/reference/ of some checkout, or is it one of them? What is there is committed."""
    for root in path.parents:
        if (root / _MARK).is_file():
            parts = path.relative_to(root).parts
            return parts[:1] == (FIGURES,) or parts[:2] == ("data", REFERENCE)
    return False


def runs_store(root: Path | None = None) -> Store:
    """The store of the user's own campaigns: LOCKBENCH_DATA when set, else data/runs of the project."""
    named = os.environ.get(DATA_VARIABLE)
    return Store(Path(named) if named else (root or project_root()) / "data" / "runs")


def members(folder: CampaignFolder) -> tuple[CampaignFolder, ...]:
    """The campaigns in a folder: itself, or those that lie beside each other in its folder `load`, by name."""
    if is_file(folder.path / CampaignFolder.plan_file):
        return (folder,)
    try:
        inside = sorted((folder.path / SEVERAL).iterdir())
    except OSError:
        return ()
    # A link such as a store's `latest` is a second name for one of them.
    real = (path for path in inside if not path.is_symlink())
    return tuple(CampaignFolder(path) for path in real if is_file(path / CampaignFolder.plan_file))


def reference_campaign(root: Path | None = None) -> CampaignFolder:
    """The committed campaign or campaigns: data/reference. Raises StoreError when there is none."""
    folder = CampaignFolder((root or project_root()) / "data" / REFERENCE)
    if not members(folder):
        raise StoreError(
            f"no campaign in {folder.path}: copy a finished campaign's folder there, or several into {SEVERAL}/"
        )
    return folder


def find_campaign(name: str | None = None, root: Path | None = None) -> CampaignFolder:
    """A campaign by name, by folder, or by what the environment asks for.

    `name` may be `latest`, `reference`, a campaign id, or a path to a folder with a campaign or with several of one
    commit (see `members`); None takes LOCKBENCH_CAMPAIGN.
    With neither, the latest campaign is taken, and the reference campaign where nothing was measured yet. Raises
    StoreError, with the names that exist, when a campaign was named and is not there.
    """
    asked = _named(name) or os.environ.get(CAMPAIGN_VARIABLE) or "latest"
    if asked == REFERENCE:
        return reference_campaign(root)
    if members(CampaignFolder(Path(asked))):
        return CampaignFolder(Path(asked).resolve())
    store = runs_store(root)
    # Only `latest` falls back: a campaign that was named must never be replaced by another without a word.
    if asked == "latest" and not (store.root / "latest" / "campaign.json").exists():
        return reference_campaign(root)
    return store.open(CampaignFolder, asked)


def find_networks(name: str | None = None, root: Path | None = None) -> CampaignFolder:
    """A campaign to predict from, as `find_campaign`; without a name and LOCKBENCH_CAMPAIGN the reference, since the
    latest campaign is rarely about networks."""
    return find_campaign(name if name is not None else os.environ.get(CAMPAIGN_VARIABLE) or REFERENCE, root)


def _named(name: str | None) -> str | None:
    """What was asked for by name. An empty name is a mistake (a variable that is not set), and never the latest."""
    if name is not None and not name.strip():
        raise StoreError("an empty name names no campaign: leave the option out for the latest")
    return name


def reference_hazards(root: Path | None = None) -> HazardFolder | None:
    """The committed hazard campaign, data/reference/hazards; None where the reference has none."""
    path = (root or project_root()) / "data" / REFERENCE / HAZARDS
    return HazardFolder(path) if (path / HazardFolder.plan_file).is_file() else None


def find_hazards(name: str | None = None, root: Path | None = None) -> HazardFolder | None:
    """A hazard campaign by name, by folder, or by what the environment asks for; None where there is none at all.

    As `find_campaign`, with LOCKBENCH_HAZARDS and `latest-hazards`. Raises StoreError, with the names that exist, when
    a campaign was named and is not there.
    """
    asked = _named(name) or os.environ.get(HAZARDS_VARIABLE) or HazardFolder.latest
    if asked == NO_HAZARDS:
        return None
    if asked == REFERENCE:
        found = reference_hazards(root)
        if found is None:
            raise StoreError(f"no hazard campaign in data/{REFERENCE}/{HAZARDS}: copy a finished one's folder there")
        return found
    if is_file(Path(asked) / HazardFolder.plan_file):
        return HazardFolder(Path(asked).resolve())
    store = runs_store(root)
    # Only the latest falls back: a campaign that was named must never be replaced by another without a word.
    if asked == HazardFolder.latest and not (store.root / asked / HazardFolder.plan_file).exists():
        return reference_hazards(root)
    return store.open(HazardFolder, asked)


def hazards_beside(campaign: CampaignFolder, name: str | None = None, root: Path | None = None) -> HazardFolder | None:
    """The hazard campaign that a report shows beside a campaign of load; None where there is none.

    What is named or what LOCKBENCH_HAZARDS says (`none`: none at all). Else the reference campaign goes with the
    reference's own, and any other with the latest of its store: never with one from another machine that nobody asked
    for. Raises StoreError as `find_hazards` does.
    """
    asked = _named(name) or os.environ.get(HAZARDS_VARIABLE)
    if asked == NO_HAZARDS:
        return None
    if asked:
        return find_hazards(asked, root)
    if campaign.path == (root or project_root()) / "data" / REFERENCE:
        return reference_hazards(root)
    latest = runs_store(root).root / HazardFolder.latest
    return find_hazards(HazardFolder.latest, root) if (latest / HazardFolder.plan_file).is_file() else None
