"""The contract's own checks: a caller's mistake never reaches an adapter, and what is good passes unchanged."""

from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.servers.endpoint import Endpoint
from bench.systems.base import (
    KEY_BYTES_MAX,
    KEY_CHARACTERS_MAX,
    RELEASED,
    Capabilities,
    ClientOptions,
    Grant,
    LockClient,
    Refusal,
    Released,
    ServerFacts,
    check_key,
    check_ttl,
)
from bench.systems.wait import Wait

TRY = Wait("try")
LEASED = Capabilities(
    fencing_source=None,
    token_rises=False,
    expiry_judge="server",
    lease_scope="grant",
    queue_order="none",
    durability="none",
    nodes=0,
    quorum=0,
    wait_strategies=("try", "poll"),
)


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_ns = 1_000

    def monotonic_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)


class Recording(LockClient):
    """An adapter that grants all it is asked, and writes down what reached it."""

    capabilities: ClassVar[Capabilities] = LEASED

    def _connect(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.closes = 0

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        self.asked.append(("acquire", key, ttl_ms, timeout_ms, str(wait)))
        deadline_ns = self.clock.monotonic_ns() + ttl_ms * 1_000_000
        return Grant(key, self._next_owner(), None, ttl_ms, deadline_ns)

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        self.asked.append(("renew", grant.key, ttl_ms))
        return replace(grant, ttl_ms=ttl_ms)

    def _release(self, grant: Grant) -> Released | Refusal:
        self.asked.append(("release", grant.key))
        return RELEASED

    def _close(self) -> None:
        self.closes += 1

    def _server_facts(self) -> ServerFacts:
        return ServerFacts("0", "recording", {}, 0)


class OfSession(Recording):
    capabilities: ClassVar[Capabilities] = replace(LEASED, lease_scope="session")


def opened(kind: type[Recording] = Recording, **options: object) -> Recording:
    return kind.open(Endpoint(()), ClientOptions(clock=HandClock(), **options))  # type: ignore[arg-type]


def taken(client: LockClient, ttl_ms: int = 1_000) -> Grant:
    answer = client.acquire("k", ttl_ms, 0, TRY)
    assert isinstance(answer, Grant)
    return answer


# Any text but lone surrogates (which are no UTF-8) and NUL.
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@given(st.text(LETTERS, min_size=1, max_size=KEY_CHARACTERS_MAX))
def test_a_key_passes_unchanged_if_and_only_if_its_bytes_fit(key: str) -> None:
    client = opened()
    if len(key.encode()) <= KEY_BYTES_MAX:
        client.acquire(key, 1_000, 0, TRY)
        assert client.asked == [("acquire", key, 1_000, 0, "try")]
    else:
        with pytest.raises(ValueError, match="bytes of UTF-8"):
            client.acquire(key, 1_000, 0, TRY)
        assert client.asked == []


@given(st.text(LETTERS, max_size=40), st.text(LETTERS, max_size=40))
def test_nul_anywhere_is_refused(before: str, after: str) -> None:
    with pytest.raises(ValueError, match="without NUL"):
        check_key(f"{before}\0{after}")


@pytest.mark.parametrize(
    ("key", "fits"),
    [
        ("", False),
        ("k" * KEY_CHARACTERS_MAX, True),
        ("k" * (KEY_CHARACTERS_MAX + 1), False),
        ("🔑" * (KEY_BYTES_MAX // 4), True),
        ("🔑" * (KEY_BYTES_MAX // 4) + "k", False),
        ("\ud800", False),
        (" ", True),
        ("..", True),
        ("\n", True),
    ],
)
def test_keys_at_the_limits(key: str, fits: bool) -> None:
    if fits:
        check_key(key)
    else:
        with pytest.raises(ValueError, match=r"."):
            check_key(key)


def test_a_refused_key_is_not_printed_whole() -> None:
    with pytest.raises(ValueError, match="513 characters") as refused:
        check_key("secret" * 85 + "xyz")
    assert len(str(refused.value)) < 200


@given(st.integers(max_value=0))
def test_a_lease_of_no_length_is_refused_everywhere(ttl_ms: int) -> None:
    client = opened()
    grant = taken(client)
    client.asked.clear()
    with pytest.raises(ValueError, match="at least 1 ms"):
        client.acquire("k", ttl_ms, 0, TRY)
    with pytest.raises(ValueError, match="at least 1 ms"):
        client.renew(grant, ttl_ms)
    assert client.asked == []


@given(st.integers(min_value=1))
def test_a_lease_of_some_length_passes(ttl_ms: int) -> None:
    check_ttl(ttl_ms)


def test_a_negative_timeout_is_refused() -> None:
    client = opened()
    with pytest.raises(ValueError, match="cannot be negative"):
        client.acquire("k", 1_000, -1, TRY)
    assert client.asked == []


def test_a_way_of_waiting_that_the_system_lacks_is_refused_by_name() -> None:
    client = opened()
    with pytest.raises(ValueError, match="Recording cannot wait by watch: it knows try, poll"):
        client.acquire("k", 1_000, 0, Wait("watch"))
    assert client.asked == []


def test_a_lease_of_the_session_is_asked_for_at_open() -> None:
    client = opened(OfSession, ttl_ms=2_000)
    with pytest.raises(ValueError, match="ttl_ms=3000"):
        client.acquire("k", 3_000, 0, TRY)
    taken(client, 2_000)
    assert client.asked == [("acquire", "k", 2_000, 0, "try")]


def test_a_renewal_asks_for_the_same_lease_unless_told() -> None:
    client = opened()
    grant = taken(client, 1_500)
    client.renew(grant)
    client.renew(grant, 700)
    assert client.asked[1:] == [("renew", "k", 1_500), ("renew", "k", 700)]


def test_a_grant_is_lost_from_its_deadline_on_by_the_injected_clock() -> None:
    client = opened()
    grant = taken(client, 10)
    assert client.lost(grant) is None
    client.clock.sleep(0.009_999_999)
    assert client.lost(grant) is None
    client.clock.sleep(0.000_000_001)
    assert client.lost(grant) is not None
    assert client.lost(replace(taken(client, 10), deadline_ns=None)) is None


def test_owners_are_never_used_twice() -> None:
    clients = [opened(), opened()]
    owners = [taken(client).owner for client in clients for _ in range(100)]
    assert len(set(owners)) == len(owners)


def test_a_with_block_closes_also_on_an_exception() -> None:
    client = opened()

    def fail() -> None:
        with client as same:
            assert same is client
            raise KeyError("k")

    with pytest.raises(KeyError):
        fail()
    assert client.closes == 1


def test_secrets_stay_out_of_what_is_printed() -> None:
    endpoint = Endpoint((("h", 1),), {"database": "d"}, {"password": "hunter2"})
    assert "hunter2" not in f"{endpoint!r} {endpoint}"
    assert endpoint.at((("p", 2),)) == Endpoint((("p", 2),), {"database": "d"}, {"password": "hunter2"})
