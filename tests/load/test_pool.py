"""A pool of connections: whoever asked first is served first, and whatever ends a client, no connection is lost."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import gevent
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.load.pool import Borrower, Pool
from bench.systems.base import RELEASED, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.wait import Wait

TRY = Wait("try")
HOLD_S = 0.002


@dataclass
class Made:
    """What was done with the connections of a pool."""

    made: "list[Connection]" = field(default_factory=list)
    refuse: int = 0  # so many connections cannot be opened

    def __call__(self) -> "Connection":
        gevent.sleep(0)  # pace: a connection takes a turn of the loop
        if self.refuse:
            self.refuse -= 1
            raise ConnectionError("nobody listens")
        self.made.append(Connection())
        return self.made[-1]

    @property
    def open(self) -> int:
        return sum(not one.closed for one in self.made)


class Connection(LockClient):
    """Grants whatever is asked for, and says when it is used as no connection may be."""

    def __init__(self) -> None:
        self.closed = 0
        self.asked: list[int] = []  # the timeouts that were left
        self._busy = False
        self.answer: Grant | Refusal | None = None

    def acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        assert not self.closed
        assert not self._busy, "two clients in one conversation"
        self._busy = True
        self.asked.append(timeout_ms)
        gevent.sleep(0)  # pace: the server's answer takes a turn of the loop
        answer = self.answer or Grant(key, "me", None, ttl_ms, None)
        self._busy = isinstance(answer, Grant)
        return answer

    def release(self, grant: Grant) -> Released | Refusal:
        assert self._busy
        gevent.sleep(0)  # pace: likewise
        self._busy = False
        return RELEASED

    def close(self) -> None:
        self.closed += 1

    def _connect(self) -> None: ...

    _close = _server_facts = _acquire = _renew = _release = _connect  # type: ignore[assignment]


def acquired(borrower: Borrower, timeout_ms: int = 1_000) -> Grant:
    answer = borrower.acquire("k", 1_000, timeout_ms, TRY)
    assert isinstance(answer, Grant)
    return answer


def started(borrower: Borrower, timeout_ms: int = 1_000) -> gevent.Greenlet:
    """An acquire that waits for a connection."""
    waiting = gevent.spawn(borrower.acquire, "k", 1_000, timeout_ms, TRY)
    gevent.sleep(0)  # pace: until it waits
    assert not waiting.ready()
    return waiting


@pytest.fixture
def connect() -> Made:
    return Made()


@pytest.fixture
def pool(connect: Made) -> Pool:
    return Pool(1, connect)


@pytest.fixture
def members(pool: Pool) -> Iterator[list[Borrower]]:
    """Four clients of a pool of one connection; all of them leave at the end."""
    found = [Borrower(pool) for _ in range(4)]
    yield found
    for one in found:
        one.close()


def test_only_so_many_connections_are_opened_before_anybody_asks(connect: Made) -> None:
    pool = Pool(3, connect)
    clients = [Borrower(pool) for _ in range(5)]
    assert connect.open == 3
    grants = [acquired(one) for one in clients[:3]]
    assert len({id(one._connection) for one in clients[:3]}) == 3
    for one, grant in zip(clients, grants, strict=False):
        assert one.release(grant) == RELEASED
    for one in clients:
        one.close()
    assert [one.closed for one in connect.made] == [1, 1, 1], "each once"


def test_who_waits_is_served_in_the_order_of_asking(members: list[Borrower]) -> None:
    first, *others = members
    grant = acquired(first)
    waiting = [started(one) for one in others]
    order: list[int] = []
    for place, one in enumerate(waiting):
        one.link(lambda _, place=place: order.append(place))
    first.release(grant)
    last = gevent.spawn(first.acquire, "k", 1_000, 1_000, TRY)  # at the very moment at which a connection comes back
    for borrower, one in [*zip(others, waiting, strict=True), (first, last)]:
        assert not last.ready()
        borrower.release(one.get(timeout=5))
    assert order == [0, 1, 2]


def test_waiting_for_a_connection_is_part_of_the_timeout(members: list[Borrower], connect: Made) -> None:
    first, second, third, _ = members
    grant = acquired(first)
    refused = second.acquire("k", 1_000, 20, TRY)
    assert isinstance(refused, Refusal)
    assert (refused.outcome, refused.reason) == (Outcome.TIMEOUT, "no connection of the pool was free in time")
    waiting = started(third)
    gevent.sleep(0.05)  # pace: so long it waits
    first.release(grant)
    third.release(waiting.get(timeout=5))
    assert connect.made[0].asked[0] == 1_000
    assert 500 < connect.made[0].asked[-1] <= 950, "what is left of it is the lock's"


def test_a_refused_acquire_gives_its_connection_back(members: list[Borrower], connect: Made) -> None:
    connect.made[0].answer = Refusal(Outcome.BUSY, "held")
    for one in members:
        assert one.acquire("k", 1_000, 0, TRY) == connect.made[0].answer


def test_a_client_that_is_killed_while_it_waits_leaves_the_queue(members: list[Borrower], connect: Made) -> None:
    first, second, third, _ = members
    grant = acquired(first)
    doomed, waiting = started(second), started(third)
    doomed.kill()
    first.release(grant)
    third.release(waiting.get(timeout=5))
    assert [one.closed for one in connect.made] == [0]


def test_a_client_that_is_killed_as_its_connection_comes_passes_it_on(members: list[Borrower], connect: Made) -> None:
    """Handed over, and killed before it could run: the one moment at which a connection might be nobody's."""
    first, second, third, _ = members
    grant = acquired(first)
    doomed, waiting = started(second), started(third)
    doomed.kill(block=False)
    first._pool.give_back(first._connection)
    first._connection = None
    assert not doomed.ready()
    connect.made[0]._busy = False
    third.release(waiting.get(timeout=5))
    assert doomed.ready()
    assert grant.key == "k"
    assert [one.closed for one in connect.made] == [0]


def test_a_connection_in_the_middle_of_a_conversation_is_closed_and_its_place_stays(
    members: list[Borrower], connect: Made
) -> None:
    first, second, third, _ = members
    doomed = gevent.spawn(first.acquire, "k", 1_000, 1_000, TRY)
    gevent.sleep(0)  # pace: until it is in the call
    waiting = [started(second), started(third)]
    doomed.kill()
    first.close()
    assert connect.made[0].closed == 1
    for one, asked in zip((second, third), waiting, strict=True):
        one.release(asked.get(timeout=5))
    assert [one.closed for one in connect.made] == [1, 0], "a new one in its place"
    members[0] = Borrower(first._pool)  # the fixture closes each once


def test_a_connection_that_cannot_be_opened_is_an_error_and_its_place_stays(pool: Pool, connect: Made) -> None:
    first, second = Borrower(pool), Borrower(pool)
    grant = acquired(first)
    waiting = started(second)
    connect.refuse = 1
    assert grant.key == "k"
    first.close()  # in the middle
    refused = waiting.get(timeout=5)
    assert isinstance(refused, Refusal)
    assert (refused.outcome, refused.reason) == (Outcome.ERROR, "nobody listens")
    second.release(acquired(second))
    second.close()
    assert [one.closed for one in connect.made] == [1, 1]


def test_a_client_that_cannot_connect_takes_no_part(connect: Made) -> None:
    connect.refuse = 1
    pool = Pool(2, connect)
    with pytest.raises(ConnectionError, match="nobody listens"):
        Borrower(pool)
    one = Borrower(pool)
    one.close()
    assert [made.closed for made in connect.made] == [1]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 2**32),
)
def test_whatever_is_killed_the_others_go_on_and_nothing_stays_open(
    size: int, plans: list[tuple[int, bool]], seed: int
) -> None:
    """Each client makes its turns; some are killed at any point of them."""
    connect = Made()
    pool = Pool(size, connect)

    def client(turns: int) -> int:
        borrower = Borrower(pool)
        try:
            for _ in range(turns):
                grant = acquired(borrower, 5_000)
                gevent.sleep(0)  # pace: a hold
                borrower.release(grant)
            return turns
        finally:
            borrower.close()

    running = [(gevent.spawn(client, turns), turns, doomed) for turns, doomed in plans]
    for place, (one, _, doomed) in enumerate(running):
        for _ in range((seed >> place) % 5):
            gevent.sleep(0)  # pace: killed at any point
        if doomed:
            one.kill(block=False)
    for one, turns, doomed in running:
        one.join(timeout=5)
        assert one.ready(), "it waits for a connection that never comes"
        assert doomed or one.value == turns
    assert all(one.closed == 1 for one in connect.made)
    assert len(pool._free) == size
    assert not pool._waiting
