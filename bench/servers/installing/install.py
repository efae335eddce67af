"""What `lockbench servers` does: installs the programs of those server sets that nothing here can serve."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from bench.servers.installing.apt import install
from bench.servers.installing.commands import InstallError, Say, tell
from bench.servers.installing.npm import npm_install
from bench.servers.spec import Missing, ServerSpec


class Sources(Protocol):
    """What is asked of the supervisor here."""

    home: Path

    def source(self, spec: ServerSpec) -> str | Missing: ...


def install_missing(
    specs: Sequence[ServerSpec],
    supervisor: Sources,
    ask: Callable[[str], bool] | None = None,
    say: Say = tell,
    progress: Say | None = None,
) -> None:
    """Install what is missing, first Debian's packages, then npm's into the home folder. Raises InstallError.

    A set that runs from native programs, from containers or at a URL needs nothing. `ask`, where given, is asked before
    anything is installed; `progress`, where given, gets the installers' own output.
    """
    lacking = [spec for spec in specs if isinstance(supervisor.source(spec), Missing)]
    debian = dict.fromkeys(package for spec in lacking for package in spec.debian_packages)
    npm = dict.fromkeys(package for spec in lacking for package in spec.npm_packages)
    install(tuple(debian), ask=ask, say=say, progress=progress)
    npm_install(supervisor.home / "npm", tuple(npm), ask=ask, say=say, progress=progress)
    for spec in lacking:
        still = supervisor.source(spec)
        if isinstance(still, Missing):
            raise InstallError(f"{spec.title} still needs {still.what}: {still.install}")
    say(
        f"installed: {', '.join(spec.title for spec in lacking)}"
        if lacking
        else "every server is there: nothing to install"
    )
