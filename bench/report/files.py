"""Writing finished files: whole or not at all, with one message that says what to do when it cannot be done."""

import os
import tempfile
from pathlib import Path

from bench.errors import LockbenchError


class ReportError(LockbenchError):
    """A report cannot be written or rendered; the message says what to do."""


def write_file(path: Path, content: bytes) -> Path:
    """Write `content` beside `path` and rename it over; makes the folder. Raises ReportError. Returns `path`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        aside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            aside.chmod(0o644)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as refused:
        raise ReportError(
            f"cannot write {path}: {refused.strerror}. Free space or choose a folder you may write to"
        ) from refused
    return path
