"""The native load generators: where they are, and how one is run."""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.errors import LockbenchError
from bench.servers.surroundings import environment_without

_WITHIN_S = 60.0


class NativeToolFailed(LockbenchError):
    """A native load generator is missing, ended with an error, or printed what cannot be read."""


def find_program(name: str, beside: str | None, install: str) -> str:
    """The path of a program: beside the server's own, in the path, or in this environment.

    Raises NativeToolFailed with the command that installs it.
    """
    folders = [str(Path(beside).parent)] if beside is not None else []
    for places in (*folders, None, str(Path(sys.prefix) / "bin")):
        path = shutil.which(name, path=places)
        if path is not None:
            return path
    raise NativeToolFailed(f"calibrating needs {name}, which is not installed. Install it with: {install}")


def run_program(argv: Sequence[str], environment: Mapping[str, str] | None = None, hidden: tuple[str, ...] = ()) -> str:
    """What a program printed. It ends with this process's interest in it: killed on Ctrl-C. Raises NativeToolFailed.

    Variables of ours whose names begin with one of `hidden` are not shown to it.
    """
    name = Path(argv[0]).name
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
            env={**environment_without(hidden), "LC_ALL": "C", **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        raise NativeToolFailed(f"{name} did not end within {_WITHIN_S:.0f} s") from None
    except OSError as refused:
        raise NativeToolFailed(f"{argv[0]} cannot be run: {refused.strerror}") from refused
    if done.returncode != 0:
        raise NativeToolFailed(f"{name} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def version_of(path: str) -> str:
    """The first line of `--version`."""
    return run_program([path, "--version"]).partition("\n")[0].strip()
