"""Lock clients of the tests: what is known of a system's data is known through its locks."""

from bench.hazards.lab.servers import LabServers
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait

TTL_MS = 60_000
TIMEOUT_MS = 15_000
TRY = Wait("try")


def client(system: str, endpoint: Endpoint, ttl_ms: int = TTL_MS) -> LockClient:
    return SYSTEMS[system].client_class.open(endpoint, ClientOptions(ttl_ms=ttl_ms, call_timeout_ms=5_000))


def grant_of(one: LockClient, key: str) -> Grant:
    answer = one.acquire(key, one.options.ttl_ms, 0, TRY)
    assert isinstance(answer, Grant), answer
    return answer


def token_of(system: str, endpoint: Endpoint, key: str) -> int:
    """The token of one more grant of the key, which is free before and after."""
    with client(system, endpoint) as one:
        grant = grant_of(one, key)
        assert isinstance(one.release(grant), Released)
    assert grant.token is not None
    return grant.token


def is_free(system: str, endpoint: Endpoint, key: str) -> bool:
    with client(system, endpoint) as one:
        answer = one.acquire(key, TTL_MS, 0, TRY)
        if isinstance(answer, Refusal):
            assert answer.outcome is Outcome.BUSY, answer
        return isinstance(answer, Grant)


def restart(servers: LabServers, *nodes: str, keep_data: bool = True) -> None:
    """Kill nodes, all before any is started again."""
    for node in nodes:
        servers.kill(node)
    servers.start(*nodes, keep_data=keep_data)
