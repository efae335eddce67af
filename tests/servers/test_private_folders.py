"""PostgreSQL comes up whatever the umask and wherever the home is; where it cannot, the folder is named.

As root its servers run as another account, which has to reach their folders; for a plain user there is no such account.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.errors import LockbenchError
from bench.servers.running.accounts import closed_to, make_way
from bench.servers.running.supervisor import ServersError, Supervisor
from bench.servers.spec import Found
from bench.systems.postgres_row.server import ACCOUNT, PostgresServers

POSTGRES = PostgresServers()
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="a plain user's servers run as that user")


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lockbench-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


# Below a folder that everybody passes through, one that was made as the umask says, and one that is shut.
HOMES = {"open": "home", "to be made": "a/b/home", "shut": "shut/home"}


@pytest.mark.servers
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("mask", "home"),
    [(0o077, "open"), (0o077, "to be made"), (0o077, "shut"), (0o027, "shut"), (0o002, "to be made")],
)
def test_it_comes_up_whatever_the_umask(place: Path, home: str, mask: int) -> None:
    (place / "shut").mkdir()
    (place / "shut").chmod(0o700)
    os.umask(mask)
    supervisor = Supervisor(place / HOMES[home])
    try:
        assert supervisor.up([POSTGRES])["postgres"].source == "native"
    finally:
        supervisor.down([POSTGRES])
        shutil.rmtree(supervisor.outside, ignore_errors=True)


@as_root
@pytest.mark.usefixtures("umask")
def test_a_place_that_cannot_be_reached_is_named_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shut = place / "shut o'clock"
    shut.mkdir(mode=0o700)
    monkeypatch.setattr(Supervisor, "outside", shut / "elsewhere")
    with pytest.raises(ServersError) as told:
        Supervisor(shut / "home").up([POSTGRES])
    assert f"{shut} is closed to that account" in str(told.value)


@as_root
def test_programs_that_cannot_be_reached_are_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "bin").mkdir(mode=0o700)
    programs = {name: str(place / "bin" / name) for name in ("postgres", "initdb")}
    for program in programs.values():
        Path(program).write_text("#!/bin/sh\n")
        Path(program).chmod(0o755)
    monkeypatch.setattr(PostgresServers, "find", lambda self: Found(programs, "15.1"))
    supervisor = Supervisor(place / "home")
    with pytest.raises(LockbenchError, match=f"{place}/bin is closed"):
        supervisor.up([POSTGRES])
    shutil.rmtree(supervisor.outside, ignore_errors=True)


@as_root
@pytest.mark.usefixtures("umask")
def test_a_way_is_made_and_what_was_there_is_left_as_it_was(place: Path) -> None:
    os.umask(0o077)
    (place / "theirs").mkdir(mode=0o700)
    make_way(place / "ours" / "deep" / "folder", ACCOUNT)
    make_way(place / "theirs" / "deep" / "folder", ACCOUNT)
    assert closed_to(ACCOUNT, place / "ours" / "deep") is None
    assert closed_to(ACCOUNT, place / "theirs" / "deep") == place / "theirs"
