"""Installs the Debian packages that servers need, and nothing that is there already."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from bench.servers.autostart import (
    CutOff,
    cut_off,
    disable_services,
    processes_now,
    refuse_new_daemons,
    services_stay_off,
)
from bench.servers.commands import CommandFailed, InstallError, Say, as_root, run_shown, tell

# A command that is there, however it came, makes its package unnecessary: NodeSource's nodejs brings npm along and
# conflicts with Debian's npm, and a JDK from anywhere runs ZooKeeper as well as Debian's does.
COMMAND_OF: Mapping[str, str] = {"default-jre-headless": "java", "nodejs": "node", "npm": "npm"}
OS_RELEASE = Path("/etc/os-release")
_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
_LOCK = ("-o", "DPkg::Lock::Timeout=120")
# What apt prints, in English by LC_ALL, and what it means for the person in front of it.
_EXPLANATIONS: Mapping[str, str] = {
    "Could not get lock": "another program has been installing packages for over two minutes; wait until it is done",
    "dpkg was interrupted": "an earlier installation was cut off; run `dpkg --configure -a` as root",
    "Temporary failure resolving": "Debian's archive cannot be reached; is there a network?",
    "Could not resolve": "Debian's archive cannot be reached; is there a network?",
    "Could not connect": "Debian's archive cannot be reached; is there a network?",
    "No space left on device": "the disk is full",
    "unmet dependencies": "apt's packages contradict each other; run `apt-get --fix-broken install` as root",
    "not in the sudoers file": "sudo does not let you; run `make servers` as root once",
}


def install(
    packages: Sequence[str],
    *,
    ask: Callable[[str], bool] | None = None,
    say: Say = tell,
    progress: Say | None = None,
) -> tuple[str, ...]:
    """Install those of `packages` that are missing; return them (empty: nothing was done, no program was run but dpkg).

    `say` gets first the sentence that tells what will be installed. `progress` gets apt's output, a line at a time;
    without it `say` gets the phases of the work. `ask` is asked before anything changes; None means yes. No service of
    the distribution runs or is enabled afterwards that was not before.

    Raises InstallError with what to do: not Debian, no root, no network, apt busy, refused, a service started.
    """
    cut = cut_off()
    wanted = missing_packages(packages)
    if not wanted and cut is None:
        return ()
    names = ", ".join(wanted)
    if not is_debian(_os_release()):
        raise InstallError(f"only Debian and Ubuntu can be served here; install {names} in your own way")
    root = as_root(interactive=sys.stdin is not None and sys.stdin.isatty())
    if wanted:
        say(f"installing with apt{' through sudo' if root else ''}, none of them left running: {names}")
        if ask is not None and not ask(f"Install {names}?"):
            later = f"apt-get install -y --no-install-recommends {shlex.join(wanted)}"
            raise InstallError(f"nothing was installed; later, run: {later}")
    _install_quietly(root, wanted, cut, say, progress or phases(say))
    return wanted


def _install_quietly(root: Sequence[str], wanted: Collection[str], cut: CutOff | None, say: Say, progress: Say) -> None:
    processes = processes_now()
    plan = cut.plan if cut else frozenset()
    try:
        if cut:
            with services_stay_off(root, say, plan):
                _finish_what_was_cut_off(root, say, progress)
        if wanted:
            plan |= _plan(root, wanted, say, progress)
            with services_stay_off(root, say, plan):
                _apt_install(root, wanted, say, progress)
    finally:
        # Also after a failure: packages that were configured before the one that failed have enabled their services.
        new = tuple(sorted(plan & installed_packages()))
        disable_services(root, _files_of(_without_system_parts(new)), say)
    refuse_new_daemons(_files_of(new), processes)


def missing_packages(packages: Sequence[str]) -> tuple[str, ...]:
    """Those that are neither installed nor made unnecessary by a command that is there; in order, each once."""
    there = installed_packages()
    return tuple(
        dict.fromkeys(
            name
            for name in packages
            if name not in there and not (name in COMMAND_OF and shutil.which(COMMAND_OF[name]) is not None)
        )
    )


def installed_packages() -> frozenset[str]:
    """The names of all installed packages; empty where there is no dpkg."""
    if shutil.which("dpkg-query") is None:
        return frozenset()
    listed = _read("dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package}\n")
    return frozenset(line.split()[1] for line in listed.splitlines() if line.startswith("installed "))


def is_debian(os_release: Mapping[str, str]) -> bool:
    """Debian, Ubuntu, or something that says it is like them."""
    return bool({"debian", "ubuntu"} & {os_release.get("ID", ""), *os_release.get("ID_LIKE", "").split()})


def parse_os_release(text: str) -> dict[str, str]:
    """os-release(5): shell-like assignments."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): "".join(shlex.split(value)) for name, _, value in pairs}


def explain(output: str) -> str:
    """What to do about a failure of apt, from the end of its output; the output itself where it is none we know."""
    for sign, meaning in _EXPLANATIONS.items():
        if sign in output:
            return meaning
    return f"apt said:\n{output}"


def phases(say: Say) -> Say:
    """A `progress` that tells of hundreds of packages in four lines."""
    left = {"Get:": "downloading", "Unpacking ": "unpacking", "Setting up ": "setting up"}

    def progress(line: str) -> None:
        if line.startswith("Need to get "):
            say(f"apt: {line}")
        for start in [start for start in left if line.startswith(start)]:
            say(f"apt: {left.pop(start)}")

    return progress


def _finish_what_was_cut_off(root: Sequence[str], say: Say, progress: Say) -> None:
    """The lockbench that was killed took its apt along, and dpkg refuses all work until that is finished.

    Only after a cut of our own: what somebody else interrupted, somebody else has to look at.
    """
    say("finishing the installation that was cut off")
    try:
        run_shown([*root, *_assignments(), "dpkg", "--force-confold", "--configure", "-a"], progress)
    except CommandFailed as failed:
        raise InstallError(
            f"the installation that was cut off cannot be finished: {explain(failed.output)}"
        ) from failed


def _plan(root: Sequence[str], packages: Collection[str], say: Say, progress: Say) -> frozenset[str]:
    """All packages that apt would newly install, dependencies included. Refreshes lists that do not know one."""
    if not _known(packages):
        say("apt's package lists are empty or old: refreshing them")
        _apt(root, progress, "update")
        if not _known(packages):
            unknown = ", ".join(name for name in packages if not _known([name]))
            raise InstallError(f"no package {unknown} in this machine's apt sources: is `main` among them?")
    lines: list[str] = []
    _apt((), lines.append, "--simulate", "install", "--no-install-recommends", *packages)
    # "Inst name (version ...)"; an upgrade has the old version in brackets between the two.
    return frozenset(line.split()[1].partition(":")[0] for line in lines if re.match(r"Inst \S+ \(", line))


def _apt_install(root: Sequence[str], packages: Collection[str], say: Say, progress: Say) -> None:
    """Once more with fresh lists where they name a version that the archive has replaced."""
    try:
        _apt(root, progress, "install", "-y", "--no-install-recommends", *packages)
    except InstallError as failed:
        if "404" not in str(failed):
            raise
        say("the archive has newer versions than apt's lists: refreshing them, then once more")
        _apt(root, progress, "update")
        _apt(root, progress, "install", "-y", "--no-install-recommends", *packages)


def _apt(root: Sequence[str], progress: Say, *arguments: str) -> None:
    try:
        run_shown([*root, *_assignments(), "apt-get", "-q", *_LOCK, *arguments], progress)
    except CommandFailed as failed:
        raise InstallError(f"`apt-get {' '.join(arguments)}` failed: {explain(failed.output)}") from failed


def _assignments() -> tuple[str, ...]:
    """sudo resets the environment, so env(1) sets it on the far side."""
    return ("env", *(f"{name}={value}" for name, value in _ENVIRONMENT.items()))


def _known(packages: Collection[str]) -> bool:
    """Do apt's lists have an installable version of each?"""
    shown = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", *packages], capture_output=True, timeout=60, check=False
    )
    return shown.returncode == 0


def _without_system_parts(packages: Collection[str]) -> tuple[str, ...]:
    """Leave out what belongs to the operating system (section admin: systemd, dbus, udev), should it come along.

    A minimal container may get systemd as a dependency of a dependency. Its consoles and mounts are not servers.
    """
    if not packages:
        return ()
    listed = _read("dpkg-query", "--show", "--showformat=${Package} ${Section}\n", *packages)
    pairs = (line.split(maxsplit=1) for line in listed.splitlines())
    return tuple(name for name, *section in pairs if not section or section[0].rpartition("/")[2] != "admin")


def _files_of(packages: Collection[str]) -> tuple[str, ...]:
    return tuple(_read("dpkg-query", "--listfiles", *packages).splitlines()) if packages else ()


def _os_release() -> dict[str, str]:
    return parse_os_release(OS_RELEASE.read_text(encoding="utf-8")) if OS_RELEASE.exists() else {}


def _read(*argv: str) -> str:
    environment = {**os.environ, **_ENVIRONMENT}
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True, env=environment).stdout
