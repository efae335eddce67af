"""A file whose every version is renamed into place. Atomic because the rename is exclusive.

`rename` alone, as "write a temporary file and rename it" is often read, replaces whatever stands there: readers never
see half a file, and of two writers the later silently undoes the earlier, however its own temporary file was opened.
What checks a fence must be exclusive at the instant at which the new version becomes *the* version. So a version is
named by its number, and the temporary file is renamed to that name only if nobody has it: by `link` and `unlink`, the
portable form of renameat2(RENAME_NOREPLACE), which fails with EEXIST as open(O_CREAT|O_EXCL) does. Number n + 1 can be
had once. A writer judges by version n; when n + 1 exists by the time that it links, it judges anew.

There is no lock file, hence none that a killed writer could leave behind: it leaves a temporary file of its own name,
which is in nobody's way. A writer that is stopped before its link holds up nobody either, and finds on waking that its
number is taken. In order: O_EXCL temporary file, write, fsync, link (the judgement), fsync of the folder, answer.

Versions are never removed during a block: they are the log. On a local file system; over NFS a `link` may have worked
though its reply was lost.
"""

import hashlib
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from bench.hazards.resources.base import (
    ANSWER_WITHIN_S,
    Attempt,
    Judged,
    Place,
    Reading,
    Resource,
    ResourceHost,
    ResourceUnreachable,
)
from bench.hazards.resources.ledger import State, entry_of, verdict_of

_temporaries = itertools.count(1)


@dataclass(slots=True)
class _Seen:
    """What this writer has read of a key: all versions up to the newest that it knows."""

    state: State = field(default_factory=State)
    log: list[Judged] = field(default_factory=list)
    verdicts: dict[str, Judged] = field(default_factory=dict)


class File(Resource):
    """A writer in a folder that others write in too."""

    kind: ClassVar[str] = "file"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys: dict[str, _Seen] = {}

    @classmethod
    def open(cls, place: Place) -> Self:
        folder = Path(place["folder"])
        if not folder.is_dir():
            raise ResourceUnreachable(f"there is no folder {folder}")
        return cls(folder)

    def read(self, key: str) -> Reading:
        return self._newest(key).state.reading

    def write(self, attempt: Attempt) -> Judged:
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while time.monotonic() < deadline:
            seen = self._newest(attempt.key)
            past = seen.verdicts.get(attempt.attempt_id)
            if past is not None:
                return past
            after, verdict = seen.state.judge(attempt)
            content = {"state": after.to_tree(), "entry": entry_of(attempt, verdict)}
            if self._publish(self._version(attempt.key, verdict.order), json.dumps(content).encode()):
                return verdict
            # Nothing of ours is in place, so judging anew is no retry of a write.
        raise ResourceUnreachable(f"others were quicker for {ANSWER_WITHIN_S:g} s")

    def judged(self, key: str) -> Sequence[Judged]:
        return tuple(self._newest(key).log)

    def close(self) -> None:
        return  # every file is closed where it was opened

    def _newest(self, key: str) -> _Seen:
        """Read on from the version last seen. Numbers have no gaps, so the first that is missing is the end."""
        seen = self._keys.setdefault(key, _Seen())
        while True:
            try:
                content = json.loads(self._version(key, seen.state.judged + 1).read_bytes())
            except FileNotFoundError:
                if not self._folder.is_dir():
                    raise ResourceUnreachable(f"the folder {self._folder} is gone") from None
                return seen
            except OSError as failed:
                raise ResourceUnreachable(str(failed)) from failed
            verdict = verdict_of(content["entry"])
            seen.state = State.from_tree(content["state"])
            seen.log.append(verdict)
            seen.verdicts[verdict.attempt_id] = verdict

    def _publish(self, version: Path, content: bytes) -> bool:
        """Put a version in place, durably. False: another writer has that number, and nothing of ours is in place."""
        temporary = self._folder / f"writing-{os.getpid()}-{next(_temporaries)}"
        try:
            with temporary.open("xb") as file:  # O_CREAT|O_EXCL
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, version)
            except FileExistsError:
                return False
            finally:
                temporary.unlink()
            self._flush_folder()
        except OSError as failed:
            raise ResourceUnreachable(str(failed)) from failed
        return True

    def _flush_folder(self) -> None:
        """A name is durable only when the folder that holds it is."""
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _version(self, key: str, number: int) -> Path:
        """Keys may be longer than a file's name."""
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.{number:08d}"


class FileHost(ResourceHost):
    """A folder of its own, removed at the end."""

    resource: ClassVar[type[Resource]] = File

    @contextmanager
    def hosted(self) -> Iterator[Place]:
        # A writer that was not yet dead may still create a file while the folder is being removed.
        with tempfile.TemporaryDirectory(prefix="lockbench-resource-", ignore_cleanup_errors=True) as folder:
            yield {"folder": folder}
