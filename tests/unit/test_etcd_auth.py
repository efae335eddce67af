"""Users on a real etcd: tokens whose time is over, and users that are added, while locks are held and waited for."""

import base64
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.conformance.together import Running
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.etcd import upkeep
from bench.systems.etcd.lock import EtcdLock
from bench.systems.wait import Wait
from tests.certificates import rsa_pair
from tests.thorough import one_in
from tests.unit.etcd_server import ask, etcd

TRY, WATCH = Wait("try"), Wait("watch")
TOKEN_S = 2  # etcd's own default is five minutes
TTL_MS = 10_000
CALL_MS = 10_000  # a password is costly to check, on purpose
PATIENCE_MS = 30_000


def _jwt(folder: Path) -> str:
    private, public = rsa_pair(folder)
    keys = f"pub-key={public},priv-key={private}"
    return f"--auth-token=jwt,{keys},sign-method=RS256,ttl={TOKEN_S}s"


TOKENS: dict[str, Callable[[Path], str]] = {"simple": lambda _: f"--auth-token-ttl={TOKEN_S}", "jwt": _jwt}


class Users:
    """A cluster that knows a root and one user, who may only touch our keys."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.endpoint = Endpoint((("127.0.0.1", port),), {}, {"user": "locks", "password": "pw"})
        ours = {"key": _base64(b"lockbench"), "range_end": _base64(b"lockbencj")}
        for path, question in (
            ("auth/user/add", {"name": "root", "password": "pw"}),
            ("auth/user/add", {"name": "locks", "password": "pw"}),
            ("auth/role/add", {"name": "root"}),
            ("auth/role/add", {"name": "ours"}),
            ("auth/role/grant", {"name": "ours", "perm": {"permType": "READWRITE", **ours}}),
            ("auth/user/grant", {"user": "root", "role": "root"}),
            ("auth/user/grant", {"user": "locks", "role": "ours"}),
            ("auth/enable", {}),
        ):
            ask(port, path, question)

    def token_runs_out(self) -> None:
        time.sleep(2.2 * TOKEN_S)  # pace: the passing of time is the subject; simple tokens are looked through once a s

    def user_is_added(self) -> None:
        token = ask(self.port, "auth/authenticate", {"name": "root", "password": "pw"})["token"]
        ask(self.port, "auth/user/add", {"name": uuid.uuid4().hex, "password": "pw"}, token)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@pytest.fixture(scope="module", params=TOKENS)
def users(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    folder = tmp_path_factory.mktemp("etcd")
    with etcd(folder, TOKENS[request.param](folder), "--bcrypt-cost=4") as port:
        yield Users(port)


def _renew(client: LockClient, grant: Grant) -> object:
    return client.renew(grant)


def _release(client: LockClient, grant: Grant) -> object:
    return client.release(grant)


def _acquire(client: LockClient, grant: Grant) -> object:
    return client.acquire(f"{grant.key}-next", TTL_MS, 0, TRY)


def _queue(client: LockClient, grant: Grant) -> object:
    """The first to wait with the old token; its predecessor leaves while it waits."""
    with EtcdLock.open(client.endpoint, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)) as other:
        held = other.acquire(f"{grant.key}-queue", TTL_MS, 0, TRY)
        assert isinstance(held, Grant)
        waiting = Running(lambda: client.acquire(held.key, TTL_MS, PATIENCE_MS, WATCH))
        time.sleep(0.2)  # pace: let it be on its way into the queue
        other.release(held)
        return waiting.result(PATIENCE_MS)


def _tell_facts(client: LockClient, _: Grant) -> object:
    return client.server_facts()


CALLS = {"renew": _renew, "release": _release, "acquire": _acquire, "queue": _queue, "facts": _tell_facts}
EVENTS = {"the token runs out": Users.token_runs_out, "a user is added": Users.user_is_added}


@pytest.mark.parametrize("event", EVENTS)
def test_holders_go_on(users: Users, event: str) -> None:
    """One for each call that may be the first after the event."""
    options = ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)
    with ExitStack() as opened:
        clients = {call: opened.enter_context(EtcdLock.open(users.endpoint, options)) for call in CALLS}
        grants = {call: client.acquire(f"{event}-{call}", TTL_MS, 0, TRY) for call, client in clients.items()}
        EVENTS[event](users)
        for call, client in clients.items():
            goes_on(client, grants[call], call)


def goes_on(client: LockClient, grant: Grant | Refusal, call: str) -> None:
    assert isinstance(grant, Grant)
    answer = CALLS[call](client, grant)
    assert not isinstance(answer, Refusal), (call, answer)
    if call != "release":
        assert isinstance(client.release(grant), Released), call
    for turn in range(3):
        again = client.acquire(f"again-{turn}", TTL_MS, 0, TRY)
        assert isinstance(again, Grant), (call, again)
        assert isinstance(client.release(again), Released)


@pytest.mark.parametrize("event", one_in(2, EVENTS))
def test_a_session_that_outlives_its_token_is_kept_alive_and_revoked(users: Users, event: str) -> None:
    client = EtcdLock.open(users.endpoint, ClientOptions(ttl_ms=4_000, call_timeout_ms=CALL_MS))
    grant = client.acquire(f"kept {event}", 4_000, 0, TRY)
    assert isinstance(grant, Grant)
    EVENTS[event](users)
    time.sleep(5)  # pace: longer than the lease, which the background keeps alive
    assert client.lost(grant) is None
    client.close()
    with EtcdLock.open(users.endpoint, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)) as other:
        assert isinstance(other.acquire(grant.key, TTL_MS, 0, TRY), Grant), "the revocation did not get through"


def test_what_an_operator_does_to_a_lock_is_done_as_the_user(users: Users) -> None:
    with EtcdLock.open(users.endpoint, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)) as client:
        assert isinstance(client.acquire("upkeep", TTL_MS, 0, TRY), Grant)
        before, after = upkeep.touch(users.endpoint, "upkeep")
        assert after["mod_revision"] > before["mod_revision"]
        assert upkeep.erase(users.endpoint, "upkeep").startswith("deleted 1 keys")


def test_a_refusal_that_no_token_cures_is_an_error_with_etcd_s_word(users: Users) -> None:
    nobody = Endpoint(users.endpoint.addresses)
    with EtcdLock.open(
        nobody, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)
    ) as client:  # a lease needs no user
        answer = client.acquire("mine", TTL_MS, 0, TRY)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.ERROR
        assert "user name is empty" in answer.reason


def test_a_wrong_password_is_told_at_open(users: Users) -> None:
    wrong = Endpoint(users.endpoint.addresses, {}, {"user": "locks", "password": "no"})
    with pytest.raises(ConnectionError, match="authentication failed"):
        EtcdLock.open(wrong, ClientOptions(call_timeout_ms=CALL_MS))
