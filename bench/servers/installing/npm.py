"""Installs npm packages into a folder of ours, never into the machine's own."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.servers.installing.commands import CommandFailed, InstallError, Say, run_shown, tell

NODE_OLDEST = 18


def npm_install(
    prefix: Path,
    packages: Sequence[str],
    *,
    ask: Callable[[str], bool] | None = None,
    say: Say = tell,
    progress: Say | None = None,
) -> tuple[str, ...]:
    """Install `name@version` packages under `prefix`/node_modules where that very version is not there; return those.

    `say`, `progress` and `ask` are as for apt's `install`. Raises InstallError: no Node.js of version 18
    or newer, no npm, no network, refused.
    """
    wanted = tuple(
        package for package in packages if installed_version(prefix, name_of(package)) != version_of(package)
    )
    if not wanted:
        return ()
    require_node()
    say(f"installing with npm into {prefix}: {', '.join(wanted)}")
    if ask is not None and not ask(f"Install {', '.join(wanted)} into {prefix}?"):
        raise InstallError(f"nothing was installed; later, run: npm install --prefix {prefix} {' '.join(wanted)}")
    prefix.mkdir(parents=True, exist_ok=True)
    # All packages at once: with --no-save npm treats what it is not given as extraneous, and removes it.
    argv = ["npm", "install", "--prefix", str(prefix), "--no-audit", "--no-fund", "--no-save", *packages]
    try:
        run_shown(argv, progress or (lambda _: None))
    except CommandFailed as failed:
        raise InstallError(
            f"npm could not install {', '.join(wanted)}; is there a network? It said:\n{failed.output}"
        ) from failed
    return wanted


def require_node() -> None:
    """Raise InstallError unless node (18 or newer) and npm are there."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            raise InstallError(f"there is no {command} here: install Node.js {NODE_OLDEST} or newer with npm")
    version = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, timeout=30, check=True
    ).stdout.strip()
    if major_version(version) < NODE_OLDEST:
        raise InstallError(f"Node.js {version} is too old: install version {NODE_OLDEST} or newer")


def major_version(version: str) -> int:
    """The 20 of `v20.11.1`. Raises InstallError for anything else."""
    match = re.match(r"v(\d+)\.", version)
    if match is None:
        raise InstallError(f"`node --version` says {version!r}, which is no version")
    return int(match[1])


def name_of(package: str) -> str:
    """`dynalite` of `dynalite@3.2.2`; a scope's leading @ is part of the name."""
    return package[0] + package[1:].rpartition("@")[0] if "@" in package[1:] else package


def version_of(package: str) -> str:
    """`3.2.2` of `dynalite@3.2.2`. Raises ValueError for a package without one: an unpinned server is no topology."""
    if "@" not in package[1:]:
        raise ValueError(f"{package!r} has no version: write name@version")
    return package.rpartition("@")[2]


def installed_version(prefix: Path, name: str) -> str | None:
    """The version under `prefix`, or None where the package is not there (or not whole)."""
    try:
        version = json.loads((prefix / "node_modules" / name / "package.json").read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError):
        return None
    return str(version)
