"""Lock services, as their clients' requests find them: each method is what happens on a server at one instant.

Four kinds: servers that keep a lease by a clock (alone, or each for itself where there are several), an item whose
lease is judged by whoever wants it, a queue of sessions, and a row that belongs to a connection. One key each.
"""

from dataclasses import dataclass

from bench.simulator.network import ONE_WAY_NS, Link, Task
from bench.simulator.world import WallClock, World

Watch = tuple[Link, Task, int]  # whom to notify, and under which number


class LeaseServer:
    """One server that keeps the key until the lease is over, by its own wall clock."""

    __slots__ = ("barred", "clock", "count", "hung", "owner", "until_ns", "up")

    def __init__(self) -> None:
        self.clock = WallClock()
        self.owner, self.until_ns, self.count = "", 0, 0
        self.up, self.hung = True, False
        self.barred: set[str] = set()  # whose requests, should they still come, are of connections that were ended

    def take(self, now_ns: int, owner: str, ttl_ns: int, token: int | None) -> int:
        """The token, or 0 while another has the key."""
        wall_ns = self.clock.at(now_ns)
        if (self.owner and wall_ns < self.until_ns) or owner in self.barred:
            return 0
        self.owner, self.until_ns = owner, wall_ns + ttl_ns
        return self.draw() if token is None else token

    def draw(self) -> int:
        """The next number of the counter."""
        self.count += 1
        return self.count

    def renew(self, now_ns: int, owner: str, lease_ns: int) -> int:
        """1 if this owner has the key, whose lease begins again."""
        if not self.holds(now_ns, owner):
            return 0
        self.until_ns = self.clock.at(now_ns) + lease_ns
        return 1

    def free(self, now_ns: int, owner: str, any_owner: bool = False) -> int:
        """1 if the key was freed."""
        if not self.holds(now_ns, self.owner if any_owner else owner):
            return 0
        self.owner = ""
        return 1

    def holds(self, now_ns: int, owner: str) -> bool:
        """Does this owner have the key?"""
        return bool(owner) and self.owner == owner and self.clock.at(now_ns) < self.until_ns

    def forget(self) -> None:
        """Restarted without its data."""
        self.owner, self.until_ns, self.count = "", 0, 0


class Item(LeaseServer):
    """A record in a store that judges nothing: it stays until somebody says that it is over, by what it read of it."""

    __slots__ = ("version",)

    def __init__(self) -> None:
        super().__init__()
        self.version = 0

    def take_over(self, owner: str, lapsed: int, wall_ns: int | None, until_ns: int) -> int:
        """The token. While another has the item, its version, negative. `wall_ns`: judge by the end written in it."""
        over = self.version == lapsed if wall_ns is None else self.until_ns < wall_ns
        if (self.owner and not over) or owner in self.barred:
            return -self.version
        self.owner, self.until_ns = owner, until_ns
        self.version += 1
        return self.draw()

    def token_of(self, owner: str) -> int:
        """The token of this owner's grant; 0: the item is not its."""
        return self.count if owner and self.owner == owner else 0

    def renew(self, now_ns: int, owner: str, lease_ns: int) -> int:
        """1 if this owner has the item, which changes. The end that is written in it is its holder's word."""
        if self.owner != owner:
            return 0
        self.version += 1
        self.until_ns = lease_ns
        return 1

    def holds(self, now_ns: int, owner: str) -> bool:
        """Does this owner have the item?"""
        return bool(owner) and self.owner == owner


@dataclass(slots=True)
class Place:
    """One entry of a queue."""

    session: object
    owner: str
    revision: int
    watch: Watch | None


class Queue:
    """Entries in order of their revisions; the first has the key. An entry goes with its session."""

    __slots__ = ("_places", "_revision", "_world", "barred")

    def __init__(self, world: World) -> None:
        self._world = world
        self._places: list[Place] = []
        self._revision = 0
        self.barred: set[str] = set()

    def join(self, session: object, owner: str, watch: Watch | None) -> tuple[int, bool]:
        """The entry's revision, and whether it is the first; if not, its client is notified when it is."""
        self._revision += 1
        if owner in self.barred:
            return self._revision, False
        first = not self._places
        self._places.append(Place(session, owner, self._revision, None if first else watch))
        return self._revision, first

    def has(self, owner: str) -> bool:
        """Is this owner's entry there?"""
        return any(place.owner == owner for place in self._places)

    def find(self, owner: str, watch: Watch | None) -> tuple[int, bool] | None:
        """What `join` answered, for a client that did not hear it; None: the entry is not there."""
        for number, place in enumerate(self._places):
            if place.owner == owner:
                place.watch = watch if number else None
                return place.revision, not number
        return None

    def leave(self, owner: str, bars: bool = False) -> int:
        """1 if the entry was there, and is gone now. `bars`: should it come yet, it is refused."""
        if bars:
            self.barred.add(owner)
        return self._keep([place for place in self._places if place.owner != owner])

    def end(self, session: object) -> None:
        """A session is over: its entries go."""
        for place in self._places:
            if place.session is session and place.watch is not None:
                link, task, serial = place.watch
                link.tell(task, serial, False)
        self._keep([place for place in self._places if place.session is not session])

    def touch(self) -> None:
        """Another write to the entry: it counts for revisions, and moves nobody's place."""
        self._revision += 1

    def _keep(self, kept: list[Place]) -> int:
        gone = len(self._places) - len(kept)
        first = self._places[0] if self._places else None
        self._places = kept
        if kept and kept[0] is not first and kept[0].watch is not None:
            (link, task, serial), kept[0].watch = kept[0].watch, None
            # The look after the notification, one round trip.
            self._world.at(self._world.now_ns + 2 * ONE_WAY_NS, link.tell, task, serial, True)
        return min(1, gone)


class Row:
    """A row that a connection holds; others wait on the server, first come, first served."""

    __slots__ = ("_count", "_waiting", "connection", "ended")

    def __init__(self) -> None:
        self.connection: object | None = None
        self.ended: set[object] = set()  # connections from which nothing is accepted any more
        self._count = 0
        self._waiting: list[tuple[object, Watch]] = []

    def take(self, connection: object, watch: Watch | None) -> int:
        """The token, or 0 while another has the row: then the connection waits, if it is to."""
        if self.connection is None and connection not in self.ended:
            return self._to(connection)
        if watch is not None and connection not in self.ended:
            self._waiting.append((connection, watch))
        return 0

    def end(self, connection: object) -> int:
        """The connection is over."""
        self.ended.add(connection)
        return self.free(connection)

    def give_up(self, connection: object) -> int:
        """Wait no longer."""
        self._waiting = [entry for entry in self._waiting if entry[0] is not connection]
        return 1

    def free(self, connection: object) -> int:
        """1 if this connection had the row; the first one that waits has it now."""
        self.give_up(connection)
        if self.connection is not connection:
            return 0
        self.connection = None
        if self._waiting:
            taker, (link, task, serial) = self._waiting.pop(0)
            link.tell(task, serial, self._to(taker))
        return 1

    def forget(self) -> None:
        """Restarted: no connection is left."""
        for _, (link, task, serial) in self._waiting:
            link.tell(task, serial, None)
        self.connection, self._waiting = None, []

    def _to(self, connection: object) -> int:
        self.connection = connection
        self._count += 1
        return self._count
