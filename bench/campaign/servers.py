"""Servers for the length of a campaign: which of them are its own, also when an earlier campaign was killed."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.servers.running.supervisor import ServersError, Supervisor
from bench.servers.spec import ServerSpec
from bench.systems.registry import every_server_set, system

Progress = Callable[[str], None]
_NOTE = "campaign-servers.json"  # in the home: server sets that a campaign started, with the identity of each


@contextmanager
def servers_up(supervisor: Supervisor, specs: Sequence[ServerSpec], keep: bool, progress: Progress) -> Iterator[None]:
    """Have these sets up for a block, and afterwards stop those that this call started; `keep` leaves them all up.

    Servers that were up before stay up, unless a campaign that was killed had started them: nobody else would stop
    those. A note of the own sets is kept for that case. The caller holds the home's campaign lock.
    """
    note = supervisor.home / _NOTE
    up_before = _up(supervisor, specs) - _left_behind(note, supervisor, specs, progress)
    running = supervisor.up(specs, progress)
    own = [spec for spec in specs if spec.name not in up_before]
    if not keep:
        _write(note, {spec.name: running[spec.name].identity for spec in own})
    try:
        yield
    finally:
        if not keep:
            supervisor.down(own, progress)
            note.unlink(missing_ok=True)


def server_view(name: str, supervisor: Supervisor) -> Mapping[str, float]:
    """What a system's servers counted so far. Read outside the window, which the reading itself must not disturb."""
    spec = system(name).servers
    if spec is None:
        return {}
    try:
        return spec.view(supervisor.endpoint(spec))
    except ConnectionError as silent:
        raise ServersError(str(silent)) from silent


def _up(supervisor: Supervisor, specs: Sequence[ServerSpec]) -> set[str]:
    """The sets of which every node proves itself now."""
    lines = supervisor.status(specs)
    return {line.set_name for line in lines} - {line.set_name for line in lines if line.problem is not None}


def _left_behind(note: Path, supervisor: Supervisor, specs: Sequence[ServerSpec], progress: Progress) -> set[str]:
    """Sets that a killed campaign started and that still run; those that are not needed now are stopped at once.

    The identity decides: servers that the user has started since then are the user's.
    """
    noted = _read(note)
    if not noted:
        return set()
    every = every_server_set()
    same: set[str] = set()
    for spec in every:
        identities = [line.identity for line in supervisor.status([spec]) if line.problem is None]
        if identities and noted.get(spec.name) == "; ".join(identities):
            same.add(spec.name)
    needed = {spec.name for spec in specs}
    supervisor.down([spec for spec in every if spec.name in same - needed], progress)
    return same


def _write(note: Path, identities: Mapping[str, str]) -> None:
    aside = note.with_suffix(".new")
    aside.write_text(json.dumps(dict(identities), indent=1) + "\n", encoding="utf-8")
    aside.replace(note)


def _read(note: Path) -> Mapping[str, str]:
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
