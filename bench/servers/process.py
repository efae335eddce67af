"""Native server processes: started so that they can always be found again, ended only when they are ours.

A pid alone is no identity: numbers are reused. A process is named here by its pid *and* its start time in kernel ticks
*and* the boot it belongs to. The child writes these itself, before it becomes the server: at no instant does a server
run that no file knows of, even when lockbench is killed with SIGKILL right after the fork.
"""

import contextlib
import os
import pwd
import select
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.servers.interruption import uninterrupted
from bench.servers.spec import Launch
from bench.servers.surroundings import environment_without

# $0 is the pid file; "$@" is the server's own command line, which replaces the shell under the same pid. Field 22 of
# proc(5)'s stat is the start time; it is the 20th after the command's closing bracket.
_RECORD_THEN_BECOME = (
    "set -e; read -r stat </proc/$$/stat; n=1; "
    "for field in ${stat##*) }; do [ $n = 20 ] && break; n=$((n+1)); done; "
    'printf "%s %s %s\\n" $$ "$field" "$(cat /proc/sys/kernel/random/boot_id)" >"$0.new"; mv "$0.new" "$0"; '
    'exec "$@"'
)
_RECORD_WITHIN_S = 10.0
_CREDENTIAL_WORDS = ("PASSWORD", "SECRET", "TOKEN", "ACCESS_KEY")


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process of one boot: a pid cannot be mistaken for its successor."""

    pid: int
    start_ticks: int
    boot_id: str

    @classmethod
    def read(cls, path: Path) -> "ProcessId | None":
        """The process that a pid file names; None when there is no whole file."""
        try:
            pid, ticks, boot = path.read_text(encoding="ascii").split()
            return cls(int(pid), int(ticks), boot)
        except (OSError, ValueError):
            return None

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """The process that has this number now; None when there is none, or only a zombie."""
        stat = _stat_fields(pid)
        return None if stat is None or stat[0] == "Z" else cls(pid, int(stat[19]), boot_id())

    def alive(self) -> bool:
        """Is this very process there (and not a zombie)?"""
        if self.boot_id != boot_id():
            return False
        stat = _stat_fields(self.pid)
        return stat is not None and stat[0] != "Z" and int(stat[19]) == self.start_ticks


def boot_id() -> str:
    """Of this machine since its start."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def clock_id() -> str:
    """Which monotonic clock this process reads: that of a machine since its start, or of a time namespace on it, as a
    container may have. Only instants of one clock may be subtracted."""
    try:
        namespace = str(Path("/proc/self/ns/time").readlink())
    except OSError:  # a kernel before 5.6 has one clock
        namespace = ""
    return f"{boot_id()} {namespace}".strip()


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the state on (field 3 of proc(5)); None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def start(launch: Launch, pid_file: Path, log_path: Path) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, its output appended to `log_path`, its identity in `pid_file`.

    The environment is the caller's without anything that looks like a credential, and without what the launch hides.
    """
    environment = {
        name: value
        for name, value in environment_without(launch.hidden).items()
        if not any(word in name for word in _CREDENTIAL_WORDS)
    }
    account = pwd.getpwnam(launch.run_as) if launch.run_as else None
    pid_file.unlink(missing_ok=True)
    # An interruption waits until the child has written its file: before that, whoever cleans up would not find it.
    with uninterrupted("starting a server"), log_path.open("ab") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _RECORD_THEN_BECOME, str(pid_file), *launch.argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**environment, **launch.env},
            cwd=pid_file.parent,
            start_new_session=True,  # Ctrl-C at the terminal reaches lockbench only, which stops its servers in order
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
        deadline = time.monotonic() + _RECORD_WITHIN_S
        while not pid_file.exists() and time.monotonic() < deadline:
            try:
                process.wait(0.002)
            except subprocess.TimeoutExpired:
                continue
            break  # ended at once; whoever waits for its readiness reports that with its log
    return process


def stop(process: ProcessId, stop_signal: str, within_s: float) -> bool:
    """End one process: politely, then with SIGKILL. True when it was there and is gone; False when it was not there.

    SIGCONT goes with the polite signal, to the processes below as well: a paused process would not act on it, and a
    PostgreSQL whose sessions are paused would wait for them.
    """
    if not process.alive():
        return False
    try:
        watch = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not process.alive():  # the pidfd now pins the process; look again before any signal is sent through it
            return False
        for number in (signal.Signals[stop_signal], signal.SIGKILL):
            signal.pidfd_send_signal(watch, number)
            if number != signal.SIGKILL:
                for member in family(process.pid):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        member.resume()
            if ended(watch, within_s):
                return True
        raise TimeoutError(f"process {process.pid} did not end within {within_s:g} s of SIGKILL")
    except ProcessLookupError:
        return True
    finally:
        os.close(watch)
        reap(process.pid)


def family(pid: int) -> list[psutil.Process]:
    """A process and everything below it, itself first; empty when it is gone.

    By parentage: PostgreSQL gives each of its processes a session and process group of its own.
    """
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def ended(watch: int, within_s: float) -> bool:
    """Does the process behind a pidfd end in time?"""
    return bool(readable([watch], within_s))


def readable(descriptors: Iterable[int], within_s: float | None) -> set[int]:
    """Those that have something to read or are at their end, empty when the time is over; None: as long as it takes."""
    poller = select.poll()  # select() takes no descriptor above 1 023, and a load process has thousands
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poller.poll(None if within_s is None else within_s * 1000)}


def reap(pid: int) -> None:
    """Collect the exit status where the process is our own child, so that no zombie stays."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return  # started by an earlier lockbench: its parent is init now


def last_lines(log_path: Path, count: int = 5) -> str:
    """The end of a server's log, for an error message."""
    try:
        lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(line[:300] for line in lines[-count:]) or "(empty log)"
