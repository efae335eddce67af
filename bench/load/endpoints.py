"""Where a load process finds the servers of a system.

LOCKBENCH_ENDPOINT_<SYSTEM> (dashes as underscores) comes first. It holds `host:port,host:port`, or a whole endpoint as
JSON: that is how the campaign runner hands its own on, secrets included, since another user cannot read a process's
environment. Otherwise it is the servers that `lockbench up` brought up, or those that lockbench.toml names.
"""

import json
import os
from collections.abc import Mapping

from bench.errors import LockbenchError
from bench.load.options import BadOptions, LoadSettings
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import NotRunning, Supervisor
from bench.servers.surroundings import check_names
from bench.systems.base import Grant, Outcome, Refusal
from bench.systems.registry import System
from bench.systems.wait import Wait

Address = tuple[str, int]


class NoEndpoint(LockbenchError):
    """There is no server to drive; the message says how to get one."""


def variable_of(entry: System) -> str:
    """The environment variable that names a system's servers."""
    return f"LOCKBENCH_ENDPOINT_{entry.name.upper().replace('-', '_')}"


def endpoint_of(entry: System, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """How clients reach a system. Raises NoEndpoint."""
    text = environment.get(variable_of(entry), "")
    if text:
        try:
            if text.startswith("{"):
                return Endpoint.from_tree(json.loads(text))
            check_names(addresses := _read_addresses(text), environment)
            return Endpoint(addresses)
        except (ValueError, KeyError, TypeError) as wrong:
            name = variable_of(entry)
            raise NoEndpoint(f"{name} is neither host:port,host:port nor an endpoint as JSON: {wrong}") from None
    spec = entry.servers
    if spec is None:
        return Endpoint(())
    try:
        return Supervisor.default().endpoint(spec)
    except NotRunning as down:
        raise NoEndpoint(str(down)) from down


def behind_lines(endpoint: Endpoint, places: Mapping[Address, Address]) -> Endpoint:
    """The same servers, reached through the delay lines before them, where there are any. Raises NoEndpoint."""
    if not places:
        return endpoint
    missing = [address for address in endpoint.addresses if address not in places]
    if missing:  # going there directly would be another network than the one that was asked for
        raise NoEndpoint(f"there is no delay line before {missing[0][0]}:{missing[0][1]}")
    return endpoint.at(tuple(places[address] for address in endpoint.addresses))


def not_reached(refused: ConnectionError) -> str:
    """What a user reads when servers do not answer."""
    return f"{str(refused).rstrip('.')}. `lockbench status` shows which servers are up, `lockbench up` starts them"


def check_served(entry: System, settings: LoadSettings) -> None:
    """Take one lock that nobody wants, from this process, and give it back. Raises BadOptions when that cannot be done
    with these settings: no servers, or servers that shorten or lengthen the lease.
    """
    try:
        with entry.client_class.open(endpoint_of(entry), settings.client_options(entry)) as client:
            answer = client.acquire(settings.key_of_probe(0), settings.ttl_ms, 0, Wait("try"))
            if isinstance(answer, Grant):
                client.release(answer)
    except ConnectionError as refused:
        raise BadOptions(not_reached(refused)) from refused
    except (LockbenchError, ValueError) as refused:
        raise BadOptions(str(refused)) from refused
    if isinstance(answer, Refusal) and answer.outcome is not Outcome.BUSY:
        raise BadOptions(f"{entry.title} does not lock: {answer.reason}")
    if isinstance(answer, Grant) and answer.ttl_ms != settings.ttl_ms:
        raise BadOptions(f"--ttl-ms: the servers of {entry.name} make {answer.ttl_ms} ms of {settings.ttl_ms}")


def to_environment(entry: System, endpoint: Endpoint) -> dict[str, str]:
    """The environment variable that hands an endpoint to a load process. Never print or store it: it holds secrets."""
    return {variable_of(entry): json.dumps(endpoint.to_tree())}


def _read_addresses(text: str) -> tuple[tuple[str, int], ...]:
    pairs = []
    for item in text.split(","):
        host, _, port = item.strip().rpartition(":")
        if not host:
            raise ValueError(f"{item!r} has no port")
        pairs.append((host.strip("[]"), int(port)))
    return tuple(pairs)
