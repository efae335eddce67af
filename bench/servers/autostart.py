"""Keeps the distribution's own services off while their packages are installed.

Debian starts a daemon as soon as its package is configured, and enables it for the next boot. Here only the programs
are wanted: no machine shall serve Redis or Postgres because somebody ran a benchmark on it. Three things see to it:

1. policy-rc.d(8): invoke-rc.d and deb-systemd-invoke ask /usr/sbin/policy-rc.d before they start anything. Ours says no
   (101), except for services that run already and that an upgrade may need to restart.
2. postgresql-common makes a database cluster at installation unless create_main_cluster is off.
3. Afterwards, what the new packages enabled is disabled again.

Everything written here carries a mark with the writer's pid and its plan, so that the next call can clear up after a
SIGKILL.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

from bench.servers.commands import InstallError, Say
from bench.servers.interruption import ending_signals

_MARK = re.compile(
    r"^# lockbench: temporary, by process (?P<pid>\d+) started at (?P<started>[\d.]+), to install (?P<plan>.*)$",
    re.MULTILINE,
)
_SYSTEMD_RUNS = Path("/run/systemd/system")
_DEADLINE_S = 60.0


class OtherInstall(InstallError):
    """Another lockbench is installing packages at this moment."""


@dataclass(frozen=True, slots=True)
class Places:
    """The files that are written for a while."""

    policy: Path = Path("/usr/sbin/policy-rc.d")
    cluster_policy: Path = Path("/etc/postgresql-common/createcluster.d/lockbench.conf")


PLACES = Places()


@dataclass(frozen=True, slots=True)
class CutOff:
    """An installation that was killed: the files it left, and the packages that it was about to install."""

    files: tuple[Path, ...]
    plan: frozenset[str]


@contextmanager
def services_stay_off(
    root: Sequence[str], say: Say, plan: Collection[str] = (), places: Places = PLACES
) -> Iterator[None]:
    """For a block, no package that gets configured may start a service. What was there before is back afterwards.

    `plan`: the packages that the block will install. A policy-rc.d of the machine's own is left alone: a container's
    usually forbids every start, and any other was written by an owner who decided. What it lets start is found by
    `refuse_new_daemons`. Raises OtherInstall.
    """
    if cut := cut_off(places):
        say(f"removing what a killed lockbench left: {', '.join(map(str, cut.files))}")
        _call(root, "rm", "-f", *(str(path) for path in cut.files))
    ours: list[Path] = []
    folder = places.cluster_policy.parent
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    with _signals_raise():
        try:
            if places.policy.exists():
                say(f"{places.policy} is there already and stays: it decides whether services start")
            else:
                ours.append(places.policy)
                _put(root, places.policy, policy_script(active_services(), plan), "0755")
            ours.append(places.cluster_policy)
            _put(root, places.cluster_policy, f"{_mark(plan)}\ncreate_main_cluster = false\n", "0644")
            yield
        finally:
            _call(root, "rm", "-f", *(str(path) for path in ours))
            # Only folders that were not there before, and of those only what the package did not adopt (it fills them).
            for parent in made:
                _call(root, "rmdir", "--ignore-fail-on-non-empty", str(parent))


def cut_off(places: Places = PLACES) -> CutOff | None:
    """What a killed lockbench left behind; None: nothing. Raises OtherInstall while one is at work."""
    files, plan = [], set()
    for path in (places.policy, places.cluster_policy):
        mark = _MARK.search(_text(path))
        if mark is None:
            continue
        pid = int(mark["pid"])
        if pid != os.getpid() and _alive(pid, float(mark["started"])):
            raise OtherInstall(f"process {pid} is installing servers right now: wait until it is done")
        files.append(path)
        plan |= set(mark["plan"].split())
    return CutOff(tuple(files), frozenset(plan)) if files else None


def policy_script(already_active: Sequence[str], plan: Collection[str] = ()) -> str:
    """The text of policy-rc.d: 101 (not allowed) for every service but those that run already."""
    names = sorted({name.removesuffix(".service") for name in already_active})
    patterns = "|".join(f"'{name}'|'{name}.service'" for name in names if re.fullmatch(r"[\w@.:\\-]+", name))
    allowed = f'case "$id" in {patterns}) exit 104 ;; esac\n' if patterns else ""
    return (
        "#!/bin/sh\n"
        f"{_mark(plan)}\n"
        "# No service of newly installed packages starts meanwhile. Remove this file if no such process runs.\n"
        'for id in "$@"; do case "$id" in --*) ;; *) break ;; esac; done\n'
        f"{allowed}"
        "exit 101\n"
    )


def active_services() -> tuple[str, ...]:
    """The services that systemd runs now; empty where systemd does not run."""
    if not _SYSTEMD_RUNS.is_dir():
        return ()
    listed = subprocess.run(
        ["systemctl", "list-units", "--type=service", "--state=active,activating,reloading", "--plain", "--no-legend"],
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=True,
    ).stdout
    return tuple(line.split()[0] for line in listed.splitlines() if line.strip())


def units_in(files: Collection[str]) -> tuple[str, ...]:
    """The systemd services and sockets among a package's files, templates (`name@.service`) included."""
    pattern = re.compile(r"(?:/usr)?/lib/systemd/system/([^/]+\.(?:service|socket))")
    return tuple(sorted({found[1] for name in files if (found := pattern.fullmatch(name))}))


def disable_services(root: Sequence[str], files: Collection[str], say: Say) -> None:
    """Turn off, for now and for the next boot, the services among the files of packages that were not there before."""
    units = units_in(files)
    if shutil.which("systemctl") is None:
        # A container, or another init: Debian's own helpers undo what its maintainer scripts did.
        for unit in units:
            _call(root, "deb-systemd-helper", "disable", unit)
        for name in files:
            if name.startswith("/etc/init.d/"):
                _call(root, "update-rc.d", Path(name).name, "disable")
        return
    for unit in units:
        running = unit.replace("@.", "@*.")  # a template runs as instances
        if _SYSTEMD_RUNS.is_dir() and _call((), "systemctl", "is-active", "--quiet", running) is not None:
            say(f"stopping {running}")
            _call(root, "systemctl", "stop", running)
        if (_call((), "systemctl", "is-enabled", unit) or "").strip() == "enabled":
            say(f"{unit} is installed and stays off (`systemctl enable --now {unit}` would start it)")
            _call(root, "systemctl", "disable", "--quiet", unit)


def processes_now() -> frozenset[tuple[int, float]]:
    """Every process as (pid, start time)."""
    return frozenset((process.pid, process.create_time()) for process in psutil.process_iter())


def processes_of(files: Collection[str], before: Collection[tuple[int, float]] = ()) -> tuple[str, ...]:
    """The processes, other than those of `before`, that run one of `files` or have it on their command line.

    For the files of a package that was not installed a moment ago this finds what its installation started. Processes
    of containers and chroots are left out: their /usr/bin/redis-server is another file.
    """
    plain = {name: os.path.realpath(name) for name in files if _is_file(name)}  # a package's list has folders, too
    known = {*plain, *plain.values()}
    found = []
    for process in psutil.process_iter():
        words: list[str] = []
        try:
            if (process.pid, process.create_time()) in before or not _shares_our_root(process.pid):
                continue
            words = process.cmdline()
            program = process.exe()
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:  # somebody else's process: its command line can be read, its program cannot
            program = ""
        if program in known or any(word in known for line in words for word in re.split(r"[\s:=]+", line)):
            found.append(f"pid {process.pid}: {' '.join(words)[:80]}")
    return tuple(found)


def refuse_new_daemons(files: Collection[str], before: Collection[tuple[int, float]]) -> None:
    """Raise InstallError when something of newly installed packages runs: nobody asked for it."""
    appeared = processes_of(files, before)
    if appeared:
        raise InstallError(
            f"the packages are installed, but that started a server nobody asked for ({'; '.join(appeared)}): stop it, "
            "then run the same command again"
        )


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except PermissionError:
        return False  # in a folder that we may not enter, such as /etc/sudoers.d: no program of a server is there


def _shares_our_root(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/root/").samefile("/")
    except PermissionError:
        return True  # another account's: it cannot be told, so it counts
    except FileNotFoundError:
        return False  # gone


def _mark(plan: Collection[str]) -> str:
    us, names = psutil.Process(), " ".join(sorted(plan))
    return f"# lockbench: temporary, by process {us.pid} started at {us.create_time():.2f}, to install {names}"


def _alive(pid: int, started: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started) < 0.02
    except psutil.NoSuchProcess:
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, PermissionError):
        return ""


def _put(root: Sequence[str], path: Path, text: str, mode: str) -> None:
    """Write a file that only root may write. The text goes through a file of our own: a pipe would need a shell."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="lockbench-") as aside:
        aside.write(text)
        aside.flush()
        for argv in (("mkdir", "-p", str(path.parent)), ("install", "-m", mode, aside.name, str(path))):
            if _call(root, *argv) is None:
                raise InstallError(f"{path} cannot be written: is this root, or may sudo run {argv[0]}?")


def _call(root: Sequence[str], *argv: str) -> str | None:
    """Standard output of a short command, or None when it failed."""
    done = subprocess.run([*root, *argv], capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    return done.stdout if done.returncode == 0 else None


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that clean-up runs; the mark is for SIGKILL."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        before = {number: signal.signal(number, leave) for number in ending_signals() if number is not signal.SIGINT}
    except ValueError:  # only the main thread may set handlers; from another thread the mark has to do
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
