"""A waiter in a herd, against a client of kazoo's whose answers are scripted."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kazoo.exceptions import ConnectionLoss, NoNodeError

from bench.systems.zookeeper.bell import Bell
from bench.systems.zookeeper.contenders import Contenders, Place
from bench.systems.zookeeper.session import Session

PARENT, PREFIX = "/lockbench/a", "c-1_"
OURS, BEFORE = "c-1_0000000002", "c-0_0000000001"
SESSION_MS = 4_000
CREATED = (f"{PARENT}/{OURS}", SimpleNamespace(czxid=7, ephemeralOwner=31))


class Moved(Bell):
    """A bell that notes how long it was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.is_set = False
        self.waited_s: list[float] = []
        self.set_when_waited: list[bool] = []

    def ring(self) -> None:
        self.is_set = True

    def clear(self) -> None:
        self.is_set = False

    def wait(self, seconds: float) -> None:
        self.waited_s.append(seconds)
        self.set_when_waited.append(self.is_set)


class Kazoo:
    """Answers in order, an exception by raising it; `asked` has each request, and whether it watches."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, bool]] = []
        self.moved = Moved()
        self.handler = SimpleNamespace(spawn=lambda _: None)

    def add_listener(self, _: Callable[[str], None]) -> None:
        pass

    def _answer(self, what: str, watch: object = None) -> Any:
        self.asked.append((what, watch is not None))
        return self._answers.pop(0)

    def create_async(self, path: str, *_: Any, **__: Any) -> Any:
        return self._answer("create")

    def get_children_async(self, path: str, watch: object = None) -> Any:
        return self._answer("list", watch)

    def exists_async(self, path: str) -> Any:
        return self._answer("exists")

    def sync_async(self, path: str) -> Any:
        self.asked.append(("sync", False))

    def ensure_path_async(self, path: str) -> Any:
        return self._answer("ensure")


def _contenders(kazoo: Kazoo) -> Contenders:
    def answer(value: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    session = SimpleNamespace(
        kazoo=kazoo,
        answer=answer,
        ask=lambda send, *_: answer(send()),
        timeout_ms=SESSION_MS,
        id=31,
        bound_of_a_call=lambda: lambda: False,
    )
    return Contenders(cast(Session, session), kazoo.moved)


def test_the_list_that_travels_with_the_create_watches_too() -> None:
    kazoo = Kazoo(CREATED, [BEFORE, OURS])
    kazoo.moved.ring()  # by an event of an earlier wait, perhaps
    place, names = _contenders(kazoo).enqueue(PARENT, PREFIX, herd=True)
    assert (place, names) == (Place(PARENT, OURS, 7, 31), [BEFORE, OURS])
    assert kazoo.asked == [("create", False), ("list", True)]
    assert not kazoo.moved.is_set


def test_who_waits_for_the_one_before_watches_nothing_yet() -> None:
    kazoo = Kazoo(CREATED, [BEFORE, OURS])
    _contenders(kazoo).enqueue(PARENT, PREFIX)
    assert kazoo.asked == [("create", False), ("list", False)]


def test_every_look_of_a_herd_is_a_watch() -> None:
    kazoo = Kazoo([BEFORE, OURS], [OURS])
    contenders = _contenders(kazoo)
    assert contenders.wait_in_herd(PARENT, 1.0) == [BEFORE, OURS]
    assert contenders.wait_in_herd(PARENT, 1.0) == [OURS]
    assert kazoo.asked == [("list", True)] * 2
    assert kazoo.moved.waited_s == [1.0, 1.0]


def test_after_a_create_whose_reply_was_lost_nothing_watches_so_the_first_look_comes_at_once() -> None:
    kazoo = Kazoo(ConnectionLoss(), ConnectionLoss(), [BEFORE, OURS], CREATED[1], [OURS])
    contenders = _contenders(kazoo)
    contenders.enqueue(PARENT, PREFIX, herd=True)
    assert kazoo.asked[2:] == [("sync", False), ("list", False), ("exists", False)]
    assert contenders.wait_in_herd(PARENT, 60.0) == [OURS]
    assert kazoo.moved.set_when_waited == [True]


def test_the_first_use_of_a_key_watches_as_any_other() -> None:
    kazoo = Kazoo(NoNodeError(), NoNodeError(), None, CREATED, [OURS])
    _contenders(kazoo).enqueue(PARENT, PREFIX, herd=True)
    assert kazoo.asked[-2:] == [("create", False), ("list", True)]


@pytest.mark.parametrize(("left_s", "waits_s"), [(60.0, SESSION_MS / 1e3), (0.3, 0.3)])
def test_an_event_that_never_comes_is_waited_for_no_longer_than_a_session(left_s: float, waits_s: float) -> None:
    kazoo = Kazoo([OURS])
    _contenders(kazoo).wait_in_herd(PARENT, left_s)
    assert kazoo.moved.waited_s == [waits_s]


def test_a_queue_that_somebody_deleted_is_told() -> None:
    with pytest.raises(NoNodeError):
        _contenders(Kazoo(NoNodeError())).wait_in_herd(PARENT, 1.0)
