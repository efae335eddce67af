"""What `lockbench servers` does: installs the programs of those server sets that nothing here can serve."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from bench.servers.apt import install
from bench.servers.commands import InstallError, Say
from bench.servers.npm import npm_install
from bench.servers.spec import Missing, ServerSpec


class Sources(Protocol):
    """What is asked of the supervisor here."""

    home: Path

    def source(self, spec: ServerSpec) -> str | Missing: ...


def install_missing(
    specs: Sequence[ServerSpec],
    supervisor: Sources,
    ask: Callable[[str], bool] | None = None,
    say: Say = print,
) -> None:
    """Install what is missing, first Debian's packages, then npm's into the home folder. Raises InstallError.

    A set that runs from native programs, from containers or at a URL needs nothing. `ask`, where given, is asked before
    anything is installed.
    """
    lacking = [spec for spec in specs if isinstance(supervisor.source(spec), Missing)]
    if not lacking:
        say("every server is there: nothing to install")
        return
    install(tuple(_each(spec.debian_packages for spec in lacking)), ask=ask, say=say)
    npm_install(supervisor.home / "npm", tuple(_each(spec.npm_packages for spec in lacking)), ask=ask, say=say)
    for spec in lacking:
        still = supervisor.source(spec)
        if isinstance(still, Missing):
            raise InstallError(f"{spec.title} still needs {still.what}: {still.install}")
    say(f"installed: {', '.join(spec.title for spec in lacking)}")


def _each(groups: Iterator[tuple[str, ...]]) -> Iterator[str]:
    for group in groups:
        yield from group
