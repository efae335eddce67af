"""Running a server as another account: Postgres refuses root."""

import os
import pwd
import shlex
from collections.abc import Iterable
from pathlib import Path

_OTHERS_PASS_THROUGH = 0o711


def closed_to(account: str, folder: Path) -> Path | None:
    """The folder that keeps `account` from files under `folder`; None: it can enter. Looks at every existing parent.

    Only the mode bits are read (no ACLs): a wrong "closed" costs a folder elsewhere, nothing more.
    """
    entry = pwd.getpwnam(account)
    groups = {entry.pw_gid, *os.getgrouplist(account, entry.pw_gid)}
    for parent in (folder, *folder.parents):
        if not parent.exists():
            continue
        mode = parent.stat()
        shift = 6 if mode.st_uid == entry.pw_uid else 3 if mode.st_gid in groups else 0
        if not mode.st_mode >> shift & 0o1:
            return parent
    return None


def remedy(closed: Path) -> str:
    """What to do about a folder or program that is closed to an account, as the rest of a sentence about that."""
    return f"and {closed} is closed to that account. Run: chmod o+x {shlex.quote(str(closed))}"


def make_way(folder: Path, account: str | None) -> None:
    """Make the parents of a folder so that `account` can pass through them, whatever the umask. None: any will do."""
    for parent in reversed(folder.parents):
        if not parent.exists():
            parent.mkdir()
            if account is not None:
                parent.chmod(_OTHERS_PASS_THROUGH)


def hand_over(folders: Iterable[Path], account: str | None) -> None:
    """Make `account` the owner of these folders, readable by nobody else. None: leave them as they are."""
    if account is None:
        return
    entry = pwd.getpwnam(account)
    for folder in folders:
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        folder.chmod(0o700)
