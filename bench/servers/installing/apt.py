"""Installs the Debian packages that servers need, and nothing that is there already."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.servers.installing.commands import CommandFailed, InstallError, Say, as_root, run_shown, tell

# A command that is there, however it came, makes its package unnecessary: NodeSource's nodejs brings npm along and
# conflicts with Debian's npm, and a JDK from anywhere runs ZooKeeper as well as Debian's does.
COMMAND_OF: Mapping[str, str] = {"default-jre-headless": "java", "nodejs": "node", "npm": "npm"}
OS_RELEASE = Path("/etc/os-release")
_QUIETLY = Path(__file__).with_name("apt_quietly.sh")
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
    the distribution runs or is enabled afterwards that was not before: apt_quietly.sh sees to that.

    Raises InstallError with what to do: not Debian, no root, no network, apt busy, refused.
    """
    wanted = missing_packages(packages)
    if not wanted:
        return ()
    names = ", ".join(wanted)
    if not is_debian(_os_release()):
        raise InstallError(f"only Debian and Ubuntu can be served here; install {names} in your own way")
    root = as_root(interactive=sys.stdin is not None and sys.stdin.isatty())
    say(f"installing with apt{' through sudo' if root else ''}, none of them left running: {names}")
    if ask is not None and not ask(f"Install {names}?"):
        later = f"apt-get install -y --no-install-recommends {shlex.join(wanted)}"
        raise InstallError(f"nothing was installed; later, run: {later}")
    try:
        run_shown([*root, "sh", str(_QUIETLY), *wanted], progress or phases(say))
    except CommandFailed as failed:
        raise InstallError(f"apt could not install {names}: {explain(failed.output)}") from failed
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
    """What to do about a failure of apt, from the end of its output; its own words where it is none we know."""
    for sign, meaning in _EXPLANATIONS.items():
        if sign in output:
            return meaning
    errors = [line for line in output.splitlines() if line.startswith("E: ")]
    return f"apt said:\n{chr(10).join(errors) or output}"


def phases(say: Say) -> Say:
    """A `progress` that tells of hundreds of packages in a few lines."""
    left = {"Get:": "downloading", "Unpacking ": "unpacking", "Setting up ": "setting up"}

    def progress(line: str) -> None:
        if line.startswith("apt: "):
            say(line)
        if line.startswith("Need to get "):
            say(f"apt: {line}")
        for start in [start for start in left if line.startswith(start)]:
            say(f"apt: {left.pop(start)}")

    return progress


def _os_release() -> dict[str, str]:
    return parse_os_release(OS_RELEASE.read_text(encoding="utf-8")) if OS_RELEASE.exists() else {}


def _read(*argv: str) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True, env=environment).stdout
