"""Programs that install things: run with their output shown as it comes, and explained when they fail."""

import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from bench.errors import LockbenchError

Say = Callable[[str], None]


def tell(text: str) -> None:
    """Print at once: what is said before an installation must be in the log before it, too."""
    print(text, flush=True)


class InstallError(LockbenchError):
    """Something could not be installed; the message says what to do about it."""


class CommandFailed(Exception):
    """A program ended with an exit code other than 0. `output` is the end of what it printed."""

    def __init__(self, argv: Sequence[str], code: int, output: str) -> None:
        super().__init__(f"`{' '.join(argv)}` ended with exit code {code}:\n{output}")
        self.output = output


def run_shown(argv: Sequence[str], say: Say, environment: Mapping[str, str] | None = None) -> None:
    """Run a program and pass each line of its output to `say` as it comes. Raises CommandFailed, FileNotFoundError.

    Standard input is closed: an installer that would ask a question must fail, not wait for an answer nobody sees.
    """
    last: deque[str] = deque(maxlen=15)
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **(environment or {})},
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                last.append(line.rstrip())
                say(line.rstrip())
        finally:
            # Left early by a signal: an installer whose output nobody reads dies of it, with packages half configured.
            deque(process.stdout, maxlen=0)
    if process.returncode != 0:
        raise CommandFailed(argv, process.returncode, "\n".join(last))


def as_root(interactive: bool) -> tuple[str, ...]:
    """What to put before a command so that it runs as root: nothing for root, else sudo. Raises InstallError.

    A sudo that would ask for a password is used only when somebody sits at a terminal to type it.
    """
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") is None:
        raise InstallError("installing packages needs root, and there is no sudo here: run `make servers` as root once")
    if subprocess.run(["sudo", "-n", "true"], capture_output=True, timeout=30, check=False).returncode == 0:
        return ("sudo", "-n")
    if interactive:
        return ("sudo",)
    raise InstallError("sudo would ask for a password, and nobody is at a terminal: run `make servers` as root once")
