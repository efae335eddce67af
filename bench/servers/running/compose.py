"""The servers of docker-compose.yml, on a Docker engine that somebody runs on this machine.

Containers get free loopback ports from the engine, so `address` asks for them after every `up`; a restart moves them.
"""

import json
import shutil
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import LockbenchError

COMPOSE_FILE = Path("docker-compose.yml")  # of the folder that lockbench runs in, as for `docker compose` itself
_ASK_WITHIN_S = 10.0
_UP_WITHIN_S = 600.0  # the first time, images are pulled
_DOWN_WITHIN_S = 120.0


class ComposeError(LockbenchError):
    """Docker Compose did not do what was asked; the message has its own words."""


@dataclass(frozen=True, slots=True)
class Container:
    """Proof of which container answers for a service: a container's id is never used twice."""

    service: str
    container_id: str
    image_id: str
    started_at: str

    def __str__(self) -> str:
        return f"container {self.container_id[:12]} of image {self.image_id.removeprefix('sha256:')[:12]}"


def engine_answers() -> bool:
    """Is there a `docker compose` here, and an engine behind it that answers in time?"""
    if shutil.which("docker") is None or not COMPOSE_FILE.exists():
        return False
    try:
        _docker("compose", "version", within_s=_ASK_WITHIN_S)
        # `docker info` exits with 0 on some versions although no engine answered; its server version is then empty.
        return bool(_docker("info", "--format", "{{.ServerVersion}}", within_s=_ASK_WITHIN_S).strip())
    except ComposeError:
        return False


def up(services: Sequence[str]) -> None:
    """Start these services and wait until each is healthy. Those that run already are left as they are."""
    # --no-deps: a server set is asked for by all of its nodes' names, and nothing else may start beside it.
    _compose("up", "--detach", "--wait", "--no-deps", "--quiet-pull", *services, within_s=_UP_WITHIN_S)


def address(service: str, port: int) -> tuple[str, int]:
    """Where this machine reaches a container's port. Raises ComposeError when the service is not up."""
    published = _compose("port", service, str(port), within_s=_ASK_WITHIN_S).strip()
    host, _, number = published.rpartition(":")
    if not number.isdigit() or number == "0":
        raise ComposeError(
            f"{service} does not publish port {port}: is it up? (`docker compose port` says {published!r})"
        )
    # 0.0.0.0 would mean that a changed compose file publishes to the network; a client still dials loopback.
    return ("127.0.0.1" if host in ("0.0.0.0", "[::]", "") else host.strip("[]"), int(number))


def container(service: str, port: int, address: tuple[str, int]) -> Container:
    """Which container answers for a service at an address. Raises ComposeError when none runs, or another's port is it.

    Containers that are started anew get other ports, and the engine gives the old ones to whom it likes: the Redis
    that answers at the address of before may be another service's.
    """
    running = sorted(containers([service], running=True))
    if len(running) != 1:
        raise ComposeError(f"{len(running)} containers of {service} run, not one: `docker compose ps` shows them")
    seen = json.loads(_docker("inspect", "--type", "container", running[0], within_s=_ASK_WITHIN_S))[0]
    published = [int(one["HostPort"]) for one in seen["NetworkSettings"]["Ports"].get(f"{port}/tcp") or ()]
    if address[1] not in published:
        raise ComposeError(f"{service} was restarted: it is at port {published or 'none'} now, not at {address[1]}")
    return Container(service, seen["Id"], seen["Image"], seen["State"]["StartedAt"])


def containers(services: Sequence[str], *, running: bool = False) -> frozenset[str]:
    """The ids of these services' containers, of those alone that run, or also of those that ended."""
    which = ("--status", "running") if running else ("--all",)
    return frozenset(_compose("ps", "--quiet", *which, *services, within_s=_ASK_WITHIN_S).split())


def stop(container_ids: Collection[str]) -> list[str]:
    """Remove those of these containers that are still there, with the data in them; the names of their services."""
    shown = ("ps", "--all", "--no-trunc", "--format", '{{.ID}} {{.Label "com.docker.compose.service"}}')
    every = (line.partition(" ") for line in _docker(*shown, within_s=_ASK_WITHIN_S).splitlines())
    found = {one: service for one, _, service in every if one in container_ids}
    if found:
        _docker("rm", "--force", "--volumes", *sorted(found), within_s=_DOWN_WITHIN_S)
    return sorted(found.values())


def down() -> None:
    """Stop and remove every container, network and volume of the project, also of services since renamed."""
    _compose("down", "--volumes", "--remove-orphans", within_s=_DOWN_WITHIN_S)


def _compose(*arguments: str, within_s: float) -> str:
    # No project name: Compose takes the folder's, so `docker compose ps` at a terminal shows what lockbench started.
    # All profiles: `down` must see services that are not started by default.
    options = ("--file", str(COMPOSE_FILE), "--profile", "lab", "--profile", "load")
    return _docker("compose", *options, *arguments, within_s=within_s)


def _docker(*arguments: str, within_s: float) -> str:
    """Standard output of one docker command. Raises ComposeError when it fails or takes too long."""
    shown = f"docker {' '.join(arguments)}"
    try:
        done = subprocess.run(
            ["docker", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise ComposeError(f"`{shown}` did not end within {within_s:g} s: is the Docker engine well?") from late
    except OSError as absent:
        raise ComposeError(f"`docker` cannot be run: {absent}") from absent
    if done.returncode != 0:
        raise ComposeError(f"`{shown}` failed: {done.stderr.strip()[-500:] or done.stdout.strip()[-500:]}")
    return done.stdout
