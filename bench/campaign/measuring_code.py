"""Which code made a campaign's numbers: runs may be added to it later as long as that is the same.

A commit says too much: most commits change a table, a sentence or a test. What a run measures depends on the adapters,
the servers' settings and the load, and on how a campaign prepares both.
"""

import hashlib
import subprocess
from pathlib import Path

import bench

_ROOMS = ("systems", "servers", "load", "jobs", "campaign")


def measuring_code(package: Path = Path(bench.__file__).parent) -> str:
    """Sixteen hex digits over every file of code of these rooms, by its path and content."""
    digest = hashlib.sha256()
    paths = (path for room in _ROOMS for path in (package / room).rglob("*.py"))
    for path in sorted(paths):
        for part in (str(path.relative_to(package)).encode(), path.read_bytes()):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()[:16]


def git_commit() -> str:
    """The commit of this checkout, `-dirty` when the tree differs from it; `unknown` where there is no checkout."""
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
