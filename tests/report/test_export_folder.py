"""What `export` may write into: an empty folder or its own. Anything else is refused, and no byte of it changes."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.analysis.places import project_root
from bench.records.store import CampaignFolder
from bench.report.export import MANIFEST, export
from bench.report.export_folder import add_to_export, refuse_foreign, replace_export
from bench.report.files import ReportError
from tests import campaigns

NOBODY = 65534
OURS = {"lockbench_version": "0.1.0", "campaign_id": "earlier", "git_commit": "0123456789ab"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> CampaignFolder:
    """One run: enough for every file."""
    plans = campaigns.plans(("redis",), ("uncontended",), repetitions=1)
    folder = campaigns.start(tmp_path_factory.mktemp("tiny"), plans)
    campaigns.add_run(folder, plans[0], campaigns.measured(plans[0], campaigns.SHAPES["redis"]))
    return folder


@pytest.fixture(autouse=True)
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files of a few bytes: drawing takes seconds, and what is in the files does not matter here."""
    files = {"claims.md": (b"new\n", ("redis-uncontended-01",)), "runs.csv": (b"new\n", ("redis-uncontended-01",))}
    monkeypatch.setattr("bench.report.export._files", lambda evidence: files)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some other checkout, with what is committed in one."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("data/claims.csv", "data/reference/campaign.json", "README.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("committed\n")
    replace_export(root / "figures", OURS, {}, {"claims.md": (b"committed\n", ())})
    return root


def earlier(folder: Path, **more: str) -> Path:
    """An export of another campaign, with a file that no export of this one has; `more` are files of somebody else."""
    replace_export(folder, OURS, {}, {"claims.md": (b"earlier\n", ("one",)), "hazards.html": (b"earlier\n", ("two",))})
    for name, words in more.items():
        (folder / name).write_text(words)
    return folder


def note(folder: Path, name: str = "notes.txt", words: str = "mine") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(words)
    return folder


def linked(link: Path, to: Path) -> Path:
    link.symlink_to(to)
    return link


def with_manifest(folder: Path, text: str) -> Path:
    note(folder, MANIFEST, text)
    return note(folder, "claims.md")


def swapped(folder: Path, name: str, to: Path) -> Path:
    """A link in the place of a file that was exported."""
    (folder / name).unlink()
    (folder / name).symlink_to(to)
    return folder


def with_folder(folder: Path, name: str) -> Path:
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()
    return folder


def listing(*names: str) -> str:
    return json.dumps({"lockbench_version": "0.1.0", "files": [{"file": name, "sha256": "0"} for name in names]})


REFUSED: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "figures/ of this project": (lambda tmp, root: project_root() / "figures", "committed.*report --reference"),
    "figures/ of another checkout": (lambda tmp, root: root / "figures", "committed"),
    "a folder in figures/": (lambda tmp, root: root / "figures" / "new", "committed"),
    "data/reference": (lambda tmp, root: root / "data" / "reference", "committed"),
    "figures/ by another way": (lambda tmp, root: root / "data" / ".." / "figures", "committed"),
    "a link to figures/": (lambda tmp, root: linked(tmp / "out", root / "figures"), "committed"),
    "a link above figures/": (lambda tmp, root: linked(tmp / "out", root) / "figures", "committed"),
    "a checkout": (lambda tmp, root: root, "not empty"),
    "a folder with a file": (lambda tmp, root: note(tmp / "out"), "not empty"),
    "a folder with a hidden file": (lambda tmp, root: note(tmp / "out", ".keep"), "not empty"),
    "a folder with a folder": (lambda tmp, root: _nested(tmp), "not empty"),
    "a link to a folder with a file": (lambda tmp, root: linked(tmp / "out", note(tmp / "real")), "not empty"),
    "files of ours without a manifest": (lambda tmp, root: note(tmp / "out", "claims.md"), "not empty"),
    "a manifest that is no JSON": (lambda tmp, root: with_manifest(tmp / "out", "<<<<<<< HEAD"), "not empty"),
    "a manifest that is a list": (lambda tmp, root: with_manifest(tmp / "out", "[]"), "not empty"),
    "a manifest of another program": (lambda tmp, root: with_manifest(tmp / "out", '{"files": []}'), "not empty"),
    "a manifest that names a path": (
        lambda tmp, root: with_manifest(tmp / "out", listing("../notes.txt")),
        "not empty",
    ),
    "a manifest with odd entries": (
        lambda tmp, root: with_manifest(tmp / "out", '{"lockbench_version": "0", "files": ["claims.md"]}'),
        "not empty",
    ),
    "a manifest that is a link": (
        lambda tmp, root: _manifest_link(tmp, root),
        "not empty",
    ),
    "an export, one file changed since": (
        lambda tmp, root: note(earlier(tmp / "out"), "claims.md", "edited"),
        r"changed in .*claims\.md",
    ),
    "an export, a stale file changed since": (
        lambda tmp, root: note(earlier(tmp / "out"), "hazards.html", "edited"),
        r"changed in .*hazards\.html",
    ),
    "an export, a link for a file": (
        lambda tmp, root: swapped(earlier(tmp / "out"), "claims.md", root / "README.md"),
        r"changed in .*claims\.md",
    ),
    "an export, a folder for a file": (
        lambda tmp, root: with_folder(earlier(tmp / "out"), "claims.md"),
        r"changed in .*claims\.md",
    ),
    "an export, a file of somebody else in the way": (
        lambda tmp, root: earlier(tmp / "out", **{"runs.csv": "mine"}),
        r"in the way .*runs\.csv",
    ),
    "an export, a folder in the way": (
        lambda tmp, root: with_folder(earlier(tmp / "out"), "runs.csv"),
        r"in the way .*runs\.csv",
    ),
    "a file": (lambda tmp, root: note(tmp, "out") / "out", "a file, not a folder"),
    "a link to a file": (lambda tmp, root: linked(tmp / "out", root / "README.md"), "a file, not a folder"),
    "a folder below a file": (lambda tmp, root: note(tmp, "out") / "out" / "review", "choose a"),
    "a link that leads nowhere": (lambda tmp, root: linked(tmp / "out", tmp / "gone"), "leads nowhere"),
    "a link to itself": (lambda tmp, root: linked(tmp / "out", tmp / "out"), "cannot use"),
    "a device": (lambda tmp, root: Path(os.devnull), "a file, not a folder"),
    "a name that is too long": (lambda tmp, root: tmp / ("x" * 300), "cannot use|cannot write"),
}


def _nested(tmp: Path) -> Path:
    (tmp / "out" / "inner").mkdir(parents=True)
    return tmp / "out"


def _manifest_link(tmp: Path, root: Path) -> Path:
    (tmp / "out").mkdir()
    linked(tmp / "out" / MANIFEST, root / "figures" / MANIFEST)
    return note(tmp / "out", "claims.md")


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_ours_is_refused_and_stays_as_it_was(
    tiny: CampaignFolder, checkout: Path, tmp_path: Path, case: str
) -> None:
    make, told = REFUSED[case]
    target = make(tmp_path, checkout)
    before = {**snapshot(tmp_path), **snapshot(checkout), **snapshot(project_root() / "figures")}
    with pytest.raises(ReportError, match=told):
        export(tiny, target)
    assert {**snapshot(tmp_path), **snapshot(checkout), **snapshot(project_root() / "figures")} == before


TAKEN: dict[str, Callable[[Path], Path]] = {
    "a folder that is not there": lambda tmp: tmp / "out",
    "a folder below one that is not there": lambda tmp: tmp / "reviews" / "out",
    "an empty folder": lambda tmp: _empty(tmp / "out"),
    "a link to an empty folder": lambda tmp: linked(tmp / "out", _empty(tmp / "real")),
    "an export": lambda tmp: earlier(tmp / "out"),
    "a link to an export": lambda tmp: linked(tmp / "out", earlier(tmp / "real")),
    "an export beside files of somebody else": lambda tmp: earlier(tmp / "out", **{"notes.txt": "mine", ".keep": ""}),
    "an export that was interrupted": lambda tmp: _interrupted(tmp / "out"),
    "an export of which a file is gone": lambda tmp: _without(earlier(tmp / "out"), "hazards.html"),
}


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _without(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    return folder


def _interrupted(folder: Path) -> Path:
    """The manifest that stands there while files are written, and one file that is new already."""
    note(folder, MANIFEST, json.dumps({**OURS, "unfinished": True, "files": [{"file": "claims.md"}]}))
    return note(folder, "claims.md", "half of another campaign")


@pytest.mark.parametrize("case", TAKEN)
def test_an_empty_folder_or_an_own_one_holds_one_export_afterwards(
    tiny: CampaignFolder, tmp_path: Path, case: str
) -> None:
    target = TAKEN[case](tmp_path)
    foreign = {
        path.name: path.read_bytes()
        for path in (target.iterdir() if target.is_dir() else ())
        if path.name in ("notes.txt", ".keep")
    }
    written = {path.name for path in export(tiny, target)}
    assert {path.name for path in target.iterdir()} == written | set(foreign), "stale files are gone, and no others"
    assert {name: (target / name).read_bytes() for name in foreign} == foreign
    manifest = json.loads((target / MANIFEST).read_text())
    assert manifest["campaign_id"] == campaigns.SYNTHETIC
    assert {entry["file"] for entry in manifest["files"]} == written - {MANIFEST}
    assert "unfinished" not in manifest


@pytest.mark.parametrize("here", [".", "", "../out", "out/.."])
def test_the_current_folder_is_a_folder_like_any_other(
    tiny: CampaignFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str
) -> None:
    note(tmp_path / "out")
    _empty(tmp_path / "empty")
    monkeypatch.chdir(tmp_path / ("out" if here != "out/.." else ""))
    with pytest.raises(ReportError, match="not empty"):
        export(tiny, Path(here))
    monkeypatch.chdir(tmp_path / "empty")
    assert export(tiny, Path())


def test_a_folder_that_is_read_only_is_one_clear_message(tmp_path: Path, passable: None) -> None:
    for target in (_empty(tmp_path / "out"), tmp_path / "out" / "below", earlier(tmp_path / "old")):
        if target.exists():
            target.chmod(0o555)
        before = snapshot(tmp_path)
        refuse_foreign(target)
        with as_somebody_without_rights(), pytest.raises(ReportError, match=r"Permission denied.*choose a folder"):
            replace_export(target, OURS, {}, {"claims.md": (b"new\n", ())})
        assert snapshot(tmp_path) == before


def test_what_was_added_to_an_export_goes_with_it(tiny: CampaignFolder, tmp_path: Path) -> None:
    export(tiny, tmp_path)
    add_to_export(tmp_path, [note(tmp_path, "comparison.ipynb") / "comparison.ipynb"], ["redis-uncontended-01"])
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert [one["runs"] for one in manifest["files"] if one["file"] == "comparison.ipynb"] == [["all of load"]]
    export(tiny, tmp_path)
    assert not (tmp_path / "comparison.ipynb").exists()


@pytest.fixture
def passable(tmp_path: Path) -> Iterator[None]:
    """Pytest keeps its temporary folders to their owner: let others pass through."""
    closed = [folder for folder in (tmp_path, *tmp_path.parents) if not folder.stat().st_mode & 0o001]
    modes = {folder: folder.stat().st_mode & 0o7777 for folder in closed}
    for folder, mode in modes.items():
        folder.chmod(mode | 0o011)
    yield
    for folder, mode in modes.items():
        folder.chmod(mode)


@contextmanager
def as_somebody_without_rights() -> Iterator[None]:
    """Root may write anywhere: be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def snapshot(folder: Path) -> dict[str, object]:
    """Every path below a folder with what it holds."""
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        for path in folder.rglob("*")
    }
