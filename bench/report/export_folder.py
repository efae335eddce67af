"""The folder that an export goes into: an empty one, or one that lockbench made. Whatever else lies there is not ours.

Whose a folder is, its manifest says, file by file with a digest. So a file that somebody put there or changed since is
known, and stops the export before anything was written.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from bench.analysis.places import is_committed
from bench.report.files import ReportError, write_file
from bench.report.run_ranges import run_ranges

MANIFEST = "MANIFEST.json"
_ELSEWHERE = "choose an empty or a new folder"
_NAMED = 3  # names of files in one message


def refuse_foreign(target: Path, names: Collection[str] = ()) -> None:
    """Raise ReportError, with what to do, unless `target` may be written: it is missing, empty, or lockbench's own.

    `names` are the files about to be written, where they are known already.
    """
    try:
        place = target.resolve()
        if is_committed(place):
            raise ReportError(
                f"{target} holds what is committed with the project and rendered by `lockbench report --reference`: "
                f"{_ELSEWHERE}"
            )
        if not place.exists():
            if target.is_symlink():
                raise ReportError(f"{target} is a link that leads nowhere: {_ELSEWHERE}")
            above = next(folder for folder in place.parents if folder.exists())
            if not above.is_dir():  # said here, since drawing takes seconds
                raise ReportError(f"cannot write {target}: {above} is a file, not a folder; choose a folder elsewhere")
            return
        if not place.is_dir():
            raise ReportError(f"{target} is a file, not a folder: {_ELSEWHERE}")
        there = {path.name for path in place.iterdir()}
        if there:
            _refuse_entries(target, place, there, names)
    except (OSError, RuntimeError) as refused:  # RuntimeError: a circle of links, before Python 3.13
        why = getattr(refused, "strerror", None) or refused
        raise ReportError(f"cannot use {target}: {why}. {_ELSEWHERE.capitalize()}") from refused


def _refuse_entries(target: Path, place: Path, there: Collection[str], names: Collection[str]) -> None:
    listed = _listed(place)
    if listed is None:
        raise ReportError(f"{target} is not empty, and no export of lockbench: {_ELSEWHERE}")
    changed = sorted(name for name in listed if name in there and not _as_written(place / name, listed[name]))
    if changed:
        raise ReportError(
            f"changed in {target} since lockbench wrote it: {_some(changed)}. Move it away, or {_ELSEWHERE}"
        )
    in_the_way = sorted(name for name in names if name in there and name not in listed and name != MANIFEST)
    if in_the_way:
        raise ReportError(f"not lockbench's, and in the way in {target}: {_some(in_the_way)}. Move it, or {_ELSEWHERE}")


def replace_export(
    target: Path,
    provenance: Mapping[str, object],
    campaigns: Mapping[str, Collection[str]],
    files: Mapping[str, tuple[bytes, Sequence[str]]],
) -> list[Path]:
    """Write files (name -> content and the runs behind it) and their manifest; remove what an earlier export left.

    `campaigns` names the runs of each campaign: a file with all of them behind it says so in few words. The caller has
    asked `refuse_foreign`, or the folder is ours by its place. Returns the files, sorted.
    """
    before = _listed(target) or {}
    # A manifest without digests first: after an interruption everything that may lie here is still known to be ours.
    _write_manifest(target, {**provenance, "unfinished": True}, ({"file": name} for name in sorted({*before, *files})))
    for path in (target / name for name in before.keys() - files.keys()):
        if path.is_file() or path.is_symlink():
            _remove(path)
    written = [write_file(target / name, content) for name, (content, _) in sorted(files.items())]
    # The whole one comes last: where it is, what it names is complete.
    known = {name: run_ranges(runs) for name, runs in campaigns.items()}
    entries = (_entry(name, content, runs, known) for name, (content, runs) in sorted(files.items()))
    written.append(_write_manifest(target, {**provenance, "runs": known}, entries))
    return sorted(written)


def add_to_export(target: Path, paths: Iterable[Path], runs: Sequence[str]) -> None:
    """Name more files of `target` in its manifest, so that the next export knows them as lockbench's."""
    manifest = json.loads((target / MANIFEST).read_text(encoding="utf-8"))
    entries = {entry["file"]: entry for entry in manifest.pop("files")}
    entries |= {path.name: _entry(path.name, path.read_bytes(), runs, manifest["runs"]) for path in paths}
    _write_manifest(target, manifest, (entries[name] for name in sorted(entries)))


def _entry(
    name: str, content: bytes, runs: Sequence[str], campaigns: Mapping[str, Sequence[str]]
) -> Mapping[str, object]:
    ranges = run_ranges(runs)
    whole = {campaign: every for campaign, every in campaigns.items() if every and set(every) <= set(ranges)}
    rest = set(ranges).difference(*whole.values())
    behind = [*(f"all of {campaign}" for campaign in whole), *(one for one in ranges if one in rest)]
    return {"file": name, "sha256": hashlib.sha256(content).hexdigest(), "runs": behind}


def _write_manifest(target: Path, facts: Mapping[str, object], entries: Iterable[Mapping[str, object]]) -> Path:
    text = json.dumps({**facts, "files": list(entries)}, indent=1, ensure_ascii=False) + "\n"
    return write_file(target / MANIFEST, text.encode("utf-8"))


def _listed(place: Path) -> dict[str, str | None] | None:
    """The files that the folder's manifest names, with their digests; None where there is no manifest of lockbench's.

    A manifest that leads elsewhere, or names files elsewhere, is not one that lockbench wrote here.
    """
    path = place / MANIFEST
    if path.is_symlink() or not path.is_file():
        return None
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(manifest["lockbench_version"], str):
            return None
        listed = {str(entry["file"]): entry.get("sha256") for entry in manifest["files"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return listed if all(Path(name).name == name and "\0" not in name for name in listed) else None


def _as_written(path: Path, digest: str | None) -> bool:
    """Is it a plain file, with the content that it was given? Without a digest its export was interrupted."""
    if path.is_symlink() or not path.is_file():
        return False
    return digest is None or hashlib.sha256(path.read_bytes()).hexdigest() == digest


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as refused:
        raise ReportError(f"cannot remove {path}, of an earlier export: {refused.strerror}") from refused


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
