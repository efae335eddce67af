"""Running a server as another account: Postgres refuses root."""

import os
import pwd
from collections.abc import Iterable
from pathlib import Path


def can_enter(account: str, folder: Path) -> bool:
    """Could `account` reach files under `folder`? Checks the search permission of every existing parent.

    Only the mode bits are read (no ACLs): a wrong "no" costs a folder elsewhere, nothing more.
    """
    entry = pwd.getpwnam(account)
    groups = {entry.pw_gid, *os.getgrouplist(account, entry.pw_gid)}
    for parent in (folder, *folder.parents):
        if not parent.exists():
            continue
        mode = parent.stat()
        shift = 6 if mode.st_uid == entry.pw_uid else 3 if mode.st_gid in groups else 0
        if not mode.st_mode >> shift & 0o1:
            return False
    return True


def hand_over(folders: Iterable[Path], account: str | None) -> None:
    """Make `account` the owner of these folders, readable by nobody else. None: leave them as they are."""
    if account is None:
        return
    entry = pwd.getpwnam(account)
    for folder in folders:
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        folder.chmod(0o700)
