"""Installs the Debian packages that servers need, and nothing that is there already."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from bench.servers.autostart import clear_leftovers, disable_services, leftovers, refuse_new_daemons, services_stay_off
from bench.servers.commands import CommandFailed, InstallError, Say, as_root, run_shown

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


def install(packages: Sequence[str], *, ask: Callable[[str], bool] | None = None, say: Say = print) -> tuple[str, ...]:
    """Install those of `packages` that are missing; return them (empty: nothing was done, no program was run but dpkg).

    `say` gets first the sentence that tells what will be installed, then apt's output, a line at a time. `ask` is asked
    before anything changes; None means yes. No service of the distribution runs or is enabled afterwards that was not
    before. Raises InstallError with what to do: not Debian, no root, no network, apt busy, refused, a service started.
    """
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    if leftovers():
        clear_leftovers(as_root(interactive=at_terminal), say)
    wanted = missing_packages(packages)
    if not wanted:
        return ()
    command = f"apt-get install -y --no-install-recommends {shlex.join(wanted)}"
    if not is_debian(_os_release()):
        raise InstallError(f"only Debian and Ubuntu can be served here; install {', '.join(wanted)} in your own way")
    root = as_root(interactive=at_terminal)
    say(f"installing with apt{' through sudo' if root else ''}, none of them left running: {', '.join(wanted)}")
    if ask is not None and not ask(f"Install {', '.join(wanted)}?"):
        raise InstallError(f"nothing was installed; later, run: {command}")

    before = installed_packages()
    try:
        with services_stay_off(root, say):
            _apt_install(root, wanted, say)
    finally:
        # Also after a failure: packages that were configured before the one that failed have enabled their services.
        new = tuple(sorted(installed_packages() - before))
        files = _files_of(new)
        disable_services(root, files, say)
    refuse_new_daemons(files)
    return wanted


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


def _apt_install(root: Sequence[str], packages: Collection[str], say: Say) -> None:
    """Refresh apt's lists only when they do not know a package, or name a version that the archive has replaced."""
    try:
        if not _known(packages):
            say("apt's package lists are empty or old: refreshing them")
            _apt(root, say, "update")
            if not _known(packages):
                unknown = [name for name in packages if not _known([name])]
                raise InstallError(
                    f"no package {', '.join(unknown)} in this machine's apt sources: is `main` among them?"
                )
        try:
            _apt(root, say, "install", "-y", "--no-install-recommends", *packages)
        except CommandFailed as failed:
            if "404" not in failed.output:
                raise
            say("the archive has newer versions than apt's lists: refreshing them, then once more")
            _apt(root, say, "update")
            _apt(root, say, "install", "-y", "--no-install-recommends", *packages)
    except CommandFailed as failed:
        raise InstallError(f"installing {', '.join(packages)} failed: {explain(failed.output)}") from failed


def _apt(root: Sequence[str], say: Say, *arguments: str) -> None:
    # sudo resets the environment, so env(1) sets it on the far side.
    assignments = [f"{name}={value}" for name, value in _ENVIRONMENT.items()]
    run_shown([*root, "env", *assignments, "apt-get", "-q", *_LOCK, *arguments], say)


def _known(packages: Collection[str]) -> bool:
    """Do apt's lists have an installable version of each?"""
    shown = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", *packages], capture_output=True, timeout=60, check=False
    )
    return shown.returncode == 0


def _files_of(packages: Collection[str]) -> tuple[str, ...]:
    return tuple(_read("dpkg-query", "--listfiles", *packages).splitlines()) if packages else ()


def _os_release() -> dict[str, str]:
    return parse_os_release(OS_RELEASE.read_text(encoding="utf-8")) if OS_RELEASE.exists() else {}


def _read(*argv: str) -> str:
    environment = {**os.environ, **_ENVIRONMENT}
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True, env=environment).stdout
