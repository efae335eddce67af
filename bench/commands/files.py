"""Files that a command is asked to write."""

import tempfile
from pathlib import Path

from bench.errors import LockbenchError


def require_writable(option: str, path: Path) -> None:
    """Refuse now what would be refused in a few minutes."""
    if not path.parent.is_dir():
        raise LockbenchError(f"{option}: there is no folder {path.parent}: make it first")
    if path.is_dir():
        raise LockbenchError(f"{option}: {path} is a folder: name a file in it")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as refused:
        raise LockbenchError(f"{option}: {path.parent} cannot be written into: {refused.strerror}") from refused
