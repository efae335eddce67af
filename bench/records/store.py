"""Run folders on disk: written in phases, each file whole or absent, never changed afterwards."""

import fcntl
import itertools
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ValidationError

from bench.errors import LockbenchError
from bench.records.hazards import HazardCampaign, HazardChecked, HazardHistory, HazardPlan
from bench.records.packed_runs import RUNS_FILE, PackedRuns
from bench.records.schema import (
    AROUND_FILE,
    LIVE,
    SCHEMA_VERSION,
    Added,
    Campaign,
    Checked,
    Environment,
    Failed,
    Measured,
    Resumed,
    RunPlan,
    RunState,
)

_Model = TypeVar("_Model", bound=BaseModel)
REFERENCE = "reference"  # asks for the committed campaign
NO_HAZARDS = "none"  # asks for a report without hazards
_MEASURE_AGAIN = "Move the run's folder away, or measure again"
GET_AGAIN = "Get the campaign again"  # of one that was packed, which nobody measures here
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


class StoreError(LockbenchError):
    """The data folder cannot be written or read; the message says what to do."""


_PhaseRecord = RunPlan | Measured | Checked | HazardPlan | HazardHistory | HazardChecked | Failed
_FILE_NAMES: dict[type[BaseModel], str] = {
    RunPlan: "plan",
    HazardPlan: "plan",
    Measured: "measured",
    HazardHistory: "history",
    Checked: "checked",
    HazardChecked: "checked",
    Failed: "failed",
}
PHASES = tuple(dict.fromkeys(_FILE_NAMES.values()))
_Plan = TypeVar("_Plan", RunPlan, HazardPlan)
_Checked = TypeVar("_Checked", Checked, HazardChecked)


class AnyRunFolder(Generic[_Plan, _Checked]):
    """One run's folder, or its row in a packed campaign. Its state is read from the phases that exist."""

    measurement: ClassVar[str]  # the phase in which it was measured
    _plan: type[_Plan]
    _checked: type[_Checked]

    def __init__(self, path: Path, packed: PackedRuns | None = None) -> None:
        self.path = path
        self._packed = packed

    def has(self, phase: str) -> bool:
        """Was this phase (`plan`, `checked`, ...) written?"""
        return (self.path / f"{phase}.json").exists() or self._in_pack(phase) is not None

    def text(self, phase: str) -> bytes:
        """The record of a phase as it was written. Raises StoreError."""
        path = self.path / f"{phase}.json"
        packed = None if path.exists() else self._in_pack(phase)
        return _bytes(path) if packed is None else packed.encode()

    def _in_pack(self, phase: str) -> str | None:
        try:
            return self._packed.text(self.path.name, phase) if self._packed is not None else None
        except (OSError, ValueError) as broken:
            raise StoreError(f"{self.path.parent / RUNS_FILE} is damaged: {broken}. {GET_AGAIN}") from broken

    def _read(self, phase: str, model: type[_Model]) -> _Model:
        path = self.path / f"{phase}.json"
        if path.exists() or self._in_pack(phase) is None:
            return _parsed(self.text(phase), str(path), model)
        where = f"{self.path.parent / RUNS_FILE}, {phase} of {self.path.name},"
        return _parsed(self.text(phase), where, model, GET_AGAIN)

    @property
    def plan(self) -> _Plan:
        return self._read("plan", self._plan)

    @property
    def checked(self) -> _Checked:
        return self._read("checked", self._checked)

    @property
    def failed(self) -> Failed:
        return self._read("failed", Failed)

    @property
    def log_path(self) -> Path:
        return self.path / "log.txt"

    @property
    def state(self) -> RunState:
        if self.has("failed"):
            return RunState.FAILED
        if self.has("checked"):
            return RunState.CHECKED
        if self.has(self.measurement):
            return RunState.MEASURED
        return RunState.INTERRUPTED

    def write(self, record: _PhaseRecord) -> None:
        """Add one phase. Raises StoreError when that phase was written before: a run is immutable."""
        write_once(self.path / f"{_FILE_NAMES[type(record)]}.json", record)


class RunFolder(AnyRunFolder[RunPlan, Checked]):
    """The folder of a run of load."""

    measurement = "measured"
    _plan, _checked = RunPlan, Checked

    @property
    def measured(self) -> Measured:
        return self._read("measured", Measured)

    @property
    def events_path(self) -> Path:
        return self.path / "events.parquet"

    @property
    def around_path(self) -> Path:
        return self.path / AROUND_FILE


class HazardRunFolder(AnyRunFolder[HazardPlan, HazardChecked]):
    """The folder of a hazard run."""

    measurement = "history"
    _plan, _checked = HazardPlan, HazardChecked

    @property
    def history(self) -> HazardHistory:
        return self._read("history", HazardHistory)


_Campaign = TypeVar("_Campaign", Campaign, HazardCampaign)
_Run = TypeVar("_Run", RunFolder, HazardRunFolder)


class AnyCampaignFolder(Generic[_Campaign, _Run]):
    """One campaign's folder."""

    plan_file: ClassVar[str]
    latest: ClassVar[str]  # the link to the newest campaign of the kind
    title: ClassVar[str]  # of the kind, in a message
    command: ClassVar[str]  # that makes campaigns of the kind
    for_example: ClassVar[str]  # arguments for that command
    shown_by: ClassVar[str]  # the command that shows a finished campaign, up to its name
    _record: type[_Campaign]
    _run: type[_Run]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._packed = PackedRuns(path / RUNS_FILE)

    @property
    def campaign(self) -> _Campaign:
        return _read(self.path / self.plan_file, self._record)

    @property
    def environment(self) -> Environment:
        return _read(self.path / "environment.json", Environment)

    @classmethod
    def to_resume(cls, campaign_id: str) -> str:
        """The command that goes on with a campaign of this kind."""
        return f"{cls.command} --resume {campaign_id}"

    def run(self, run_id: str) -> _Run:
        return self._run(self.path / run_id, self._packed)

    def start_run(self, plan: RunPlan | HazardPlan) -> _Run:
        """Make the run's folder and write its plan: from here on an interruption is visible."""
        folder = self.run(plan.run_id)
        with _told(folder.path):
            folder.path.mkdir()
        folder.write(plan)
        return folder

    def state_of(self, plan: RunPlan | HazardPlan) -> RunState | None:
        """How far a planned run came; None when it was never started."""
        folder = self.run(plan.run_id)
        return folder.state if folder.path.exists() or folder.has("plan") else None

    def set_aside(self, plan: RunPlan | HazardPlan) -> Path:
        """Rename the folder of a run without a measurement, so that its id is free again; returns its new place.

        Nothing is deleted: what an interrupted run had written may tell why. Raises StoreError for a run that has a
        measurement, which is never replaced by another.
        """
        folder = self.run(plan.run_id)
        state = folder.state
        if state not in (RunState.INTERRUPTED, RunState.FAILED):
            raise StoreError(f"{folder.path} is {state}: a run that has a measurement is never set aside")
        places = (self.path / f"{plan.run_id}.{state}-{number}" for number in itertools.count(1))
        place = next(path for path in places if not path.exists())
        with _told(place):
            folder.path.rename(place)
        return place

    def attempts_aside(self) -> tuple[str, ...]:
        """Names of the folders that were set aside, by planned run and then by number."""
        found: list[str] = []
        for plan in self.campaign.runs:
            kept = (self.path.glob(f"{plan.run_id}.{state}-*") for state in (RunState.INTERRUPTED, RunState.FAILED))
            found += sorted((path.name for path in itertools.chain(*kept)), key=lambda name: (len(name), name))
        return tuple(found)

    def write_resumed(self, record: Resumed) -> None:
        """Note that the campaign goes on, in a file of its own for each time."""
        write_once(self.path / f"resumed-{len(self.resumptions()) + 1}.json", record)

    def resumptions(self) -> tuple[Resumed, ...]:
        """Each time that this campaign went on, oldest first."""
        paths = (self.path / f"resumed-{number}.json" for number in itertools.count(1))
        return tuple(_read(path, Resumed) for path in itertools.takewhile(Path.exists, paths))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be the only process that adds runs to this campaign. The kernel lets go when this process ends in any way.

        Raises StoreError at once when another one is at it, from whichever home folder.
        """
        with (self.path / self.plan_file).open("rb") as plan:
            try:
                fcntl.flock(plan, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as busy:
                raise StoreError(f"another lockbench is measuring {self.path}: wait for its end") from busy
            yield

    def runs(self) -> Iterator[_Run]:
        """The runs that were started, in planned order."""
        for plan in self.campaign.runs:
            folder = self.run(plan.run_id)
            if folder.has("plan"):
                yield folder


class CampaignFolder(AnyCampaignFolder[Campaign, RunFolder]):
    """The folder of a campaign of load."""

    plan_file = "campaign.json"
    latest = "latest"
    title = "campaign"
    command, for_example, shown_by = "lockbench run", "--quick", "lockbench report --campaign"
    _record = Campaign
    _run = RunFolder

    @property
    def campaign(self) -> Campaign:
        """The plan, with the runs that were added to it later."""
        planned = super().campaign
        added = tuple(run for one in self.additions() for run in one.runs)
        return planned.model_copy(update={"runs": (*planned.runs, *added)})

    def write_added(self, record: Added) -> None:
        """Plan more runs, in a file of its own for each time."""
        write_once(self.path / f"added-{len(self.additions()) + 1}.json", record)

    def additions(self) -> tuple[Added, ...]:
        """What was added to the campaign's own plan, oldest first."""
        paths = (self.path / f"added-{number}.json" for number in itertools.count(1))
        return tuple(_read(path, Added) for path in itertools.takewhile(Path.exists, paths))


class HazardFolder(AnyCampaignFolder[HazardCampaign, HazardRunFolder]):
    """The folder of a hazard campaign."""

    plan_file = "hazards.json"
    latest = "latest-hazards"
    title = "hazard campaign"
    command, for_example, shown_by = "lockbench hazard run", "all", "lockbench report --hazards"
    _record = HazardCampaign
    _run = HazardRunFolder


_Folder = TypeVar("_Folder", bound=AnyCampaignFolder[Any, Any])
_LINKS = (CampaignFolder.latest, HazardFolder.latest)
_RESERVED = frozenset({*_LINKS, REFERENCE, NO_HAZARDS})  # in each place where a campaign is named, these mean another


def require_name(campaign_id: str) -> None:
    """Raise StoreError for what cannot name a campaign: it is a folder's name, and a word of the command line."""
    if not _SAFE_NAME.fullmatch(campaign_id):
        raise StoreError(
            f"{campaign_id[:130]!r} cannot name a campaign: use up to 120 letters, digits, dots, dashes and "
            "underscores, a letter or a digit first"
        )
    # Folded, since some disks do not tell the two apart.
    if campaign_id.casefold() in _RESERVED:
        raise StoreError(f"{campaign_id!r} cannot name a campaign: it is how another one is asked for")


class Store:
    """A folder of campaigns, such as data/runs."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()  # load processes work in folders of their own

    def require_room(self, campaign_id: str) -> None:
        """Raise StoreError when no campaign of this name can be started here. Nothing is left there.

        For whoever has servers to start first: that takes a while, and is in vain where this raises.
        """
        require_name(campaign_id)
        path = self.root / campaign_id
        with _told(path):
            if (self.root.is_symlink() or self.root.exists()) and not self.root.is_dir():
                raise StoreError(f"{self.root} is not a folder: move it away or set LOCKBENCH_DATA to a folder")
            if path.exists():
                raise FileExistsError
            there = next(folder for folder in (self.root, *self.root.parents) if folder.exists())
            with tempfile.TemporaryFile(dir=there):
                pass
        for link in _LINKS:
            if (self.root / link).exists() and not (self.root / link).is_symlink():
                raise StoreError(
                    f"{self.root / link} stands where the link to the newest campaign belongs: give it another name"
                )

    def start(self, kind: type[_Folder], campaign: Campaign | HazardCampaign, environment: Environment) -> _Folder:
        """Make the campaign's folder, write its plan and environment, and point the kind's latest link at it.

        Not for a live session, which is asked for by name only.
        """
        self.require_room(campaign.campaign_id)
        path = self.root / campaign.campaign_id
        with _told(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
        with _told(path):
            path.mkdir()
        write_once(path / kind.plan_file, campaign)
        write_once(path / "environment.json", environment)
        if campaign.mode != LIVE:
            self._point_latest(kind.latest, campaign.campaign_id)
        return kind(path)

    def _point_latest(self, link: str, campaign_id: str) -> None:
        # A new link is made aside and renamed over the old one: a reader sees the old or the new, never none.
        aside = self.root / f".{link}-{os.getpid()}"
        with _told(aside):
            aside.unlink(missing_ok=True)
            aside.symlink_to(campaign_id)
            aside.replace(self.root / link)

    def open(self, kind: type[_Folder], campaign_id: str | None = None) -> _Folder:
        """A campaign by name, the one started last without a name. Raises StoreError with the names that exist."""
        campaign_id = kind.latest if campaign_id is None else campaign_id
        path = self.root / campaign_id
        if not is_file(path / kind.plan_file):
            names = ", ".join(sorted(self.names(kind))) or f"none yet; `{kind.command} {kind.for_example}` makes one"
            raise StoreError(f"no campaign {campaign_id!r} in {self.root}: there is {names}")
        return kind(path.resolve())

    def names(self, kind: type[AnyCampaignFolder[Any, Any]]) -> Iterator[str]:
        """Names of all campaigns of a kind."""
        try:
            paths = list(self.root.iterdir())
        except OSError:
            return  # no such folder, or none that can be had: no campaign is in it
        for path in paths:
            if not path.is_symlink() and (path / kind.plan_file).exists():
                yield path.name

    @classmethod
    def default(cls) -> Self:
        """data/runs under the current folder, or where LOCKBENCH_DATA points."""
        return cls(Path(os.environ.get("LOCKBENCH_DATA") or "data/runs"))


def write_once(path: Path, record: BaseModel) -> None:
    """Write a record so that `path` holds all of it or does not exist, also after a crash or a full disk."""
    if path.exists():
        raise StoreError(f"{path} exists: a finished phase is never written again")
    # Histories are long, and read by programs: a line each. All other records are for people too.
    indent = None if isinstance(record, HazardHistory) else 1
    write_atomically(path, record.model_dump_json(indent=indent) + "\n")


def write_atomically(path: Path, text: str) -> None:
    """Write beside, fsync, rename: the only way in which this package writes a file that others read."""
    with _told(path):
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(aside).chmod(0o644)
            Path(aside).replace(path)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn the operating system's refusal into one message that says what to do."""
    try:
        yield
    except FileExistsError as taken:
        raise StoreError(f"{path} exists already: give the campaign another name with --name") from taken
    except OSError as refused:
        raise StoreError(
            f"cannot write {path}: {refused.strerror}. Free space or set LOCKBENCH_DATA to a folder you may write to"
        ) from refused


def is_file(path: Path) -> bool:
    """Is there such a file? A name that is too long names none, nor does one in a folder that may not be entered."""
    try:
        return path.is_file()
    except OSError:
        return False


def _read(path: Path, model: type[_Model]) -> _Model:
    return _parsed(_bytes(path), str(path), model)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as refused:
        raise StoreError(f"cannot read {path}: {refused.strerror}") from refused


def _parsed(text: bytes, where: str, model: type[_Model], remedy: str = _MEASURE_AGAIN) -> _Model:
    """`where` the record lies, for a message."""
    try:
        version = json.loads(text).get("schema_version")
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{where} has schema version {version}; this lockbench reads {SCHEMA_VERSION}. Read it with the "
                "lockbench that wrote it, or measure again under another name"
            )
        return model.model_validate_json(text)
    except (ValidationError, ValueError, AttributeError, RecursionError) as broken:
        raise StoreError(f"{where} is damaged: {broken}. {remedy}") from broken
