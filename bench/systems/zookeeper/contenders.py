"""One key's queue of contenders, as a session sees and changes it. It finds or deletes every node that it made."""

from collections.abc import Callable
from typing import Any, NamedTuple

from kazoo.exceptions import ConnectionLoss, KazooException, NoAuthError, NoNodeError, SessionExpiredError
from kazoo.protocol.states import KazooState

from bench.systems.base import Outcome, Refusal
from bench.systems.zookeeper.bell import Bell
from bench.systems.zookeeper.names import own_name
from bench.systems.zookeeper.session import NoAnswer, Session


class Place(NamedTuple):
    """A contender's node, and the session that must still live for the node to be ours."""

    parent: str
    name: str
    czxid: int
    session: int

    @property
    def path(self) -> str:
        return f"{self.parent}/{self.name}"


class Refused(KazooException):  # type: ignore[misc]  # kazoo has no type hints
    """The server does not allow it, and nothing of ours is left of the attempt."""


class Contenders:
    """One client's dealings with queues. Methods raise KazooException unless they say otherwise."""

    def __init__(self, session: Session, moved: Bell | None = None) -> None:
        self._session = session
        self._kazoo = session.kazoo
        self._moved = moved or Bell()  # rings when what is watched has changed
        self._orphans: set[tuple[str, str]] = set()  # parent and prefix of nodes of ours that may still be there
        self._kazoo.add_listener(self._state_changed)

    def enqueue(self, parent: str, prefix: str, herd: bool = False) -> tuple[Place, list[str]]:
        """Create our node, then read the queue: both in one latency, since a session's requests keep their order.

        In a `herd` the read watches as well, for `wait_in_herd`.
        """
        broken, watch = False, self._wake if herd else None
        while True:
            if herd:
                self._moved.clear()
            spent = self._session.bound_of_a_call()
            created = self._kazoo.create_async(
                f"{parent}/{prefix}", b"", ephemeral=True, sequence=True, include_data=True
            )
            listed = self._kazoo.get_children_async(parent, watch=watch)
            try:
                path, stat = self._session.answer(created)
                names = self._session.answer(listed)
            except NoNodeError:  # the first use of this key, or somebody deleted its queue
                self._session.ask(lambda: self._kazoo.ensure_path_async(parent))
                continue
            except NoAuthError as refused:  # an answer leaves no doubt: of the create, or of the look after it
                if created.successful() and not self.withdraw(parent, prefix, created.value[0].rpartition("/")[2]):
                    raise
                raise Refused(f"the server refuses: {refused!r}") from refused
            except ConnectionLoss:  # the reply is lost, and perhaps the request: our node tells which
                # Whoever was silent for the bound of a call loses the connection at the instant at which the call is
                # over: a thread that comes late would find the one where another finds the other.
                too_late = broken or spent()
                if found := self._found_again(parent, prefix):
                    return found
                if too_late:
                    raise
                broken = True  # once: nothing is done, and it was the old connection that ended, while idle perhaps
                continue
            except NoAnswer:
                created.rawlink(lambda _: self._sweep_soon())
                raise
            return Place(parent, path.rpartition("/")[2], stat.czxid, stat.ephemeralOwner), names

    def _found_again(self, parent: str, prefix: str) -> tuple[Place, list[str]] | None:
        """After a lost reply: our place, by the leader's word, and the queue. None: the create was not done."""
        try:
            names = self.read_synced(parent)
        except NoNodeError:
            return None
        name = own_name(names, prefix)
        stat = self._session.ask(lambda: self._kazoo.exists_async(f"{parent}/{name}")) if name else None
        if name is None or stat is None:
            return None
        self._moved.ring()  # nothing watches since this read: a waiter in a herd looks again at once
        return Place(parent, name, stat.czxid, stat.ephemeralOwner), names

    def read_synced(self, parent: str) -> list[str]:
        """The queue as the leader has it, after everything this session sent before, also through another server."""
        names: list[str] = self._after_sync(parent, lambda: self._kazoo.get_children_async(parent))
        return names

    def holds(self, place: Place) -> bool:
        """Is our node still there, by the leader's word? A follower may not have heard yet that a session expired."""
        stat = self._after_sync(place.parent, lambda: self._kazoo.exists_async(place.path))
        return stat is not None and stat.czxid == place.czxid

    def _after_sync(self, parent: str, look: Callable[[], Any]) -> Any:
        def send() -> Any:
            self._kazoo.sync_async(parent)  # answered in order, so there is no need to wait for this one
            return look()

        return self._session.ask(send)

    def wait_behind(self, place: Place, ahead: str, seconds: float) -> list[str]:
        """Wait until the node `ahead` is gone, or our own (somebody deleted it: no use in waiting), or the connection
        breaks, or `seconds` are over. May end early. Then the queue.
        """
        self._wait_for_one_of((place.path, f"{place.parent}/{ahead}"), seconds)
        names: list[str] = self._session.ask(lambda: self._kazoo.get_children_async(place.parent), seconds)
        return names

    def wait_in_herd(self, parent: str, seconds: float) -> list[str]:
        """Wait until anyone has joined or left the queue since it was read, or as above. Then the queue, watched again.

        Reading and watching are one request, so nothing falls in between.
        """
        self._wait_until_moved(seconds)
        self._moved.clear()
        names: list[str] = self._session.ask(lambda: self._kazoo.get_children_async(parent, watch=self._wake), seconds)
        return names

    def _wait_for_one_of(self, paths: tuple[str, str], seconds: float) -> None:
        self._moved.clear()
        looks: list[Any] = []

        def send() -> Any:
            # A get: it sets no watch when the node is gone already, where the watch of an exists would stay for ever.
            # And one method for all waits: kazoo keeps watchers in a set, so those of timed-out waits do not pile up.
            looks[:] = [self._kazoo.get_async(path, watch=self._wake) for path in paths]
            return looks[-1]

        try:
            self._session.ask(send, seconds)
            looks[0].get()  # answered before the other one
        except NoNodeError:
            return
        self._wait_until_moved(seconds)

    def _wait_until_moved(self, seconds: float) -> None:
        """For a session's timeout at most: an event that the servers keep back, on a connection that lives, hangs
        nobody."""
        self._moved.wait(min(seconds, self._session.timeout_ms / 1e3))

    def delete(self, parent: str, prefix: str, name: str) -> bool:
        """Delete a node of ours. False: it was gone, and not by an earlier try of ours whose reply was lost.

        When the server's answer cannot be had, the node is looked for again after the next connection.
        """
        tries = 0

        def send() -> Any:
            nonlocal tries
            tries += 1
            return self._kazoo.delete_async(f"{parent}/{name}")

        self._orphans.add((parent, prefix))
        try:
            self._session.ask(send)
            done = True
        except NoNodeError:
            done = tries > 1
        self._orphans.discard((parent, prefix))
        return done

    def withdraw(self, parent: str, prefix: str, name: str | None) -> bool:
        """Leave no node of ours in the queue, named or not. False: that is not known now, and is seen to later."""
        self._orphans.add((parent, prefix))
        try:
            name = name or own_name(self.read_synced(parent), prefix)
            if name:
                self.delete(parent, prefix, name)
        except (NoNodeError, SessionExpiredError):
            pass  # without the queue, or the session, there is no node of ours either
        except KazooException:
            return False
        self._orphans.discard((parent, prefix))
        return True

    def abandon(self, parent: str, prefix: str) -> None:
        """The caller was thrown out of an acquire: whatever is left of it is deleted, by another thread and soon.

        Asks nothing here, where every wait could be thrown out of as well. What was sent for the node is answered
        before the look for it, so a create that was under way is found.
        """
        self._orphans.add((parent, prefix))
        self._sweep_soon()

    def _wake(self, _: Any) -> None:
        self._moved.ring()

    def _state_changed(self, state: str) -> None:
        if state == KazooState.LOST:
            self._orphans.clear()  # the servers delete what belonged to the session
        elif state == KazooState.CONNECTED:
            self._sweep_soon()

    def _sweep_soon(self) -> None:
        # At once, not at the next acquire: an idle client's pings would keep its own forgotten node before all others.
        if self._orphans:
            self._kazoo.handler.spawn(self._sweep)

    def _sweep(self) -> None:
        for parent, prefix in tuple(self._orphans):
            self.withdraw(parent, prefix, None)


def outcome_of(failure: KazooException) -> Refusal:
    """Of a renewal or a release: what the server answered is known, and the rest is not."""
    outcomes = {SessionExpiredError: Outcome.LOST, NoAuthError: Outcome.ERROR}
    return Refusal(outcomes.get(type(failure), Outcome.UNKNOWN), repr(failure))
