"""Lock clients, one a kind of system: what each asks, what it makes of the answers, and when it knows of a loss."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from bench.simulator.kinds import Kind
from bench.simulator.network import SILENCE, Link, Task
from bench.simulator.services import LeaseServer, Queue, Row
from bench.simulator.world import NS_PER_MS, WallClock, World

_DRIFT_PERCENT, _DRIFT_NS = 1, 2 * NS_PER_MS  # what a lease on several independent servers sets aside
_LEASE_PARTS = 4  # a connection that is silent for one of them is doubted
_BEATS = 3  # a session is kept alive so often within its timeout
_NS_PER_S = 1_000_000_000


class Grant:
    """One successful acquire."""

    __slots__ = ("deadline_ns", "owner", "session", "token")

    def __init__(self, owner: str, token: int | None, deadline_ns: int | None, session: object = None) -> None:
        self.owner, self.token, self.deadline_ns, self.session = owner, token, deadline_ns, session


Acquired = Generator[None, Any, tuple[str, Grant | None]]
Answered = Generator[None, Any, str]


class Client:
    """One session with the lock's servers."""

    goes_on_after: tuple[str, ...] = ("busy",)

    def __init__(self, world: World, kind: Kind, name: str, ttl_ns: int, call_ns: int) -> None:
        self.world, self.kind, self._name, self._ttl_ns, self._call_ns = world, kind, name, ttl_ns, call_ns
        self.link = Link(world)
        self.wall = WallClock()
        self.node_timeout_ns = 50 * NS_PER_MS
        self.neglected = False  # its session is not kept alive
        self.look: Callable[[], None] = lambda: None  # called when it may have come to know of a loss
        self._grants = 0

    def acquire(self, task: Task, patience_ns: int) -> Acquired:
        """Take the key, waiting so long; 0: ask once."""
        until_ns = self.world.now_ns + patience_ns
        while True:
            outcome, grant = yield from self._attempt(task, until_ns if patience_ns else 0)
            pause_ns = self.kind.poll_ns
            if outcome not in self.goes_on_after or not pause_ns or self.world.now_ns + pause_ns > until_ns:
                return ("timeout" if patience_ns and outcome == "busy" else outcome), grant
            yield from task.sleep(self.world.now_ns + pause_ns)

    def lost(self, grant: Grant) -> bool:
        """Does this client know, without asking, that the grant is gone?"""
        return grant.deadline_ns is not None and self.world.now_ns >= grant.deadline_ns

    def silent(self, cut: bool) -> None:
        """Its process has stopped or ended, or (`cut`) its cable was pulled: the servers hear nothing of it."""

    def heard(self, cut: bool) -> None:
        """It goes on, or is back on the network."""

    def killed(self) -> None:
        """Its process has ended, and its sockets are closed."""
        self.silent(cut=False)

    def restarted(self) -> None:
        """All of its servers were ended, and with them its connections."""

    def _next_owner(self) -> str:
        self._grants += 1
        return f"{self._name}-{self._grants}"

    def _attempt(self, task: Task, until_ns: int) -> Acquired:
        raise NotImplementedError

    def renew(self, task: Task, grant: Grant) -> Answered:
        """Begin the lease again."""
        raise NotImplementedError

    def release(self, task: Task, grant: Grant) -> Answered:
        """Free the key if this grant still has it."""
        raise NotImplementedError


class LeaseClient(Client):
    """A lease on one server, or on a majority of several that know nothing of each other."""

    def __init__(self, servers: Sequence[Any], *rest: Any) -> None:
        super().__init__(*rest)
        self._servers = servers
        self._worth_ns = self._ttl_ns
        self._patience_ns = min(self._call_ns, self._ttl_ns) // _LEASE_PARTS
        if self.kind.independent:
            self.goes_on_after = ("busy", "error")
            self._worth_ns = self._ttl_ns * (100 - _DRIFT_PERCENT) // 100 - _DRIFT_NS

    def _ask(self, task: Task, do: Callable[[Any, int], int]) -> Generator[None, Any, list[int | None]]:
        """Every server's answer to the same request; None where there is none."""
        link, servers, sent_ns = self.link, self._servers, self.world.now_ns
        slow_ns = min(self.node_timeout_ns, self._patience_ns) if self.kind.independent else self._patience_ns

        def at_servers(now_ns: int) -> list[int | None]:
            if not link.cut_nodes and len(servers) == 1 and servers[0].up:
                return [do(servers[0], now_ns)]
            return [
                do(server, now_ns) if number >= link.cut_nodes and server.up and not server.hung else None
                for number, server in enumerate(servers)
            ]

        answers = yield from link.call(task, at_servers, slow_ns)
        if answers is SILENCE:
            return [None] * len(servers)
        if None in answers and (link.cut_nodes or any(server.hung for server in servers)):
            yield from task.sleep(sent_ns + slow_ns)
        return list(answers)

    def _attempt(self, task: Task, until_ns: int) -> Acquired:
        owner, deadline_ns = self._next_owner(), self.world.now_ns + self._worth_ns
        answers = yield from self._take(task, owner)
        won, busy = sum(1 for answer in answers if answer), answers.count(0)
        in_time = self.world.now_ns < deadline_ns
        if won >= self.kind.quorum and in_time:
            return "acquired", Grant(owner, answers[0] if self.kind.token else None, deadline_ns)
        doubtful = None in answers and any(server.up for server in self._servers)
        if won or doubtful:
            left = yield from self._ask(task, lambda server, now_ns: _undo(server, now_ns, owner))
            if doubtful and None in left:
                return "unknown", None
        return ("busy" if busy and won + busy >= self.kind.quorum and in_time else "error"), None

    def _take(self, task: Task, owner: str) -> Generator[None, Any, list[int | None]]:
        drawn, ttl_ns = None, self._ttl_ns
        if self.kind.token_first:
            drawn = (yield from self._ask(task, lambda server, _: server.draw()))[0]
        return (yield from self._ask(task, lambda server, now_ns: server.take(now_ns, owner, ttl_ns, drawn)))

    def _lease_ns(self) -> int:
        return self._ttl_ns

    def renew(self, task: Task, grant: Grant) -> Answered:
        deadline_ns, lease_ns = self.world.now_ns + self._worth_ns, self._lease_ns()
        answers = yield from self._ask(task, lambda server, now_ns: server.renew(now_ns, grant.owner, lease_ns))
        if answers.count(1) >= self.kind.quorum and self.world.now_ns < deadline_ns:
            grant.deadline_ns = deadline_ns
            return "renewed"
        return "unknown" if answers.count(0) <= self.kind.nodes - self.kind.quorum else "lost"

    def release(self, task: Task, grant: Grant) -> Answered:
        known, any_owner = self.lost(grant), self.kind.any_owner
        answers = yield from self._ask(task, lambda server, now_ns: server.free(now_ns, grant.owner, any_owner))
        if answers.count(1) >= self.kind.quorum and not (known and not any_owner):
            return "released"
        return "lost" if known or answers.count(0) > self.kind.nodes - self.kind.quorum else "unknown"


def _undo(server: LeaseServer, now_ns: int, owner: str) -> int:
    server.barred.add(owner)
    return server.free(now_ns, owner)


class ItemClient(LeaseClient):
    """Whoever wants the key decides whether its lease is over: it saw no change for as long, or by the wall clock."""

    def __init__(self, *rest: Any) -> None:
        super().__init__(*rest)
        self._seen, self._since_ns = -1, 0

    def _lease_ns(self) -> int:
        return self.wall.at(self.world.now_ns) + self._ttl_ns

    def _take(self, task: Task, owner: str) -> Generator[None, Any, list[int | None]]:
        wall_ns, until_ns = self.wall.at(self.world.now_ns) if self.kind.by_wall else None, self._lease_ns()
        unchanged = self._seen >= 0 and self.world.now_ns - self._since_ns >= self._ttl_ns
        lapsed = self._seen if unchanged else -1
        answers = yield from self._ask(task, lambda item, _: item.take_over(owner, lapsed, wall_ns, until_ns))
        answer = answers[0]
        if answer is None:  # it reads who is there
            answer = (yield from self._ask(task, lambda item, _: item.token_of(owner)))[0] or None
        if answer is None or answer > 0:
            self._seen = -1
        elif -answer != self._seen:
            self._seen, self._since_ns = -answer, self.world.now_ns
        return [None if answer is None else max(0, answer)]


class Session:
    """What a client keeps alive, from its own side: `sure_ns` is when it must count as lost, if it is silent."""

    __slots__ = ("alive", "beat_ns", "sure_ns")

    def __init__(self, now_ns: int) -> None:
        self.alive, self.beat_ns = True, now_ns
        self.sure_ns: int | None = None


class SessionClient(Client):
    """A place in a queue, which lives with its session. Heartbeats are not played one by one: while nothing keeps them
    back they all arrive, and the session ends a timeout after the last one that did."""

    def __init__(self, queue: Queue, *rest: Any) -> None:
        super().__init__(*rest)
        self._queue = queue
        self._silences = 0
        self._session = Session(self.world.now_ns)

    def open(self) -> None:
        """Begin another session; the earlier one is nobody's."""
        self._session = Session(self.world.now_ns)
        if self.neglected or self._silences:
            self._unheard()

    def lost(self, grant: Grant) -> bool:
        session = self._session
        return grant.session is not session or (session.sure_ns is not None and self.world.now_ns >= session.sure_ns)

    def silent(self, cut: bool) -> None:
        self._silences += 1
        if self._silences == 1 and self._session.sure_ns is None:
            self._unheard()

    def heard(self, cut: bool) -> None:
        self._silences -= 1
        session = self._session
        if not self._silences and session.sure_ns is not None and self.world.now_ns < session.sure_ns:
            session.sure_ns, session.beat_ns = None, self.world.now_ns

    def _last_beat_ns(self) -> int:
        every_ns, beat_ns = self._ttl_ns // _BEATS, self._session.beat_ns
        return beat_ns + (self.world.now_ns - beat_ns) // every_ns * every_ns

    def _unheard(self) -> None:
        session = self._session
        beat_ns = self._last_beat_ns()
        session.sure_ns = sure_ns = beat_ns + self._ttl_ns
        lasts_ns = -(-self._ttl_ns // _NS_PER_S) * _NS_PER_S if self.kind.whole_s else self._ttl_ns
        self.world.at(sure_ns, self.look)
        self.world.at(beat_ns + lasts_ns + self.kind.grain_ns, self._expire, session, sure_ns)

    def _expire(self, session: Session, sure_ns: int) -> None:
        if session.sure_ns == sure_ns:
            session.alive = False
            self._queue.end(session)

    def _attempt(self, task: Task, until_ns: int) -> Acquired:
        if self._session.sure_ns is not None and self.world.now_ns >= self._session.sure_ns:
            self.open()
        session, owner, queue = self._session, self._next_owner(), self._queue
        watch = (self.link, task, task.serial + 1) if until_ns else None
        answer = yield from self.link.call(
            task, lambda _: queue.join(session, owner, watch) if session.alive else None, self._call_ns
        )
        if answer is SILENCE:  # its own entry has a name of its own, and is found again
            watch = (self.link, task, task.serial + 1) if until_ns else None
            answer = yield from self.link.call(task, lambda _: queue.find(owner, watch), self._call_ns)
            if answer is SILENCE or answer is None:
                return ("error" if (yield from self._leave(task, owner, bars=True)) else "unknown"), None
        if answer is None:
            return "lost", None
        token, first = answer
        if not first and not until_ns:
            return ("busy" if (yield from self._leave(task, owner)) else "unknown"), None
        if not first:
            self.world.at(until_ns, task.resume, task.serial, SILENCE)
            notice = yield
            if notice is SILENCE:
                return ("timeout" if (yield from self._leave(task, owner)) else "unknown"), None
            if not notice:
                return "lost", None
        grant = Grant(owner, token if self.kind.token else None, self._last_beat_ns() + self._ttl_ns, session)
        if self.lost(grant):
            yield from self._leave(task, owner)
            return "lost", None
        return "acquired", grant

    def _leave(self, task: Task, owner: str, bars: bool = False) -> Generator[None, Any, bool]:
        answer = yield from self.link.call(task, lambda _: self._queue.leave(owner, bars), self._call_ns)
        return answer is not SILENCE

    def renew(self, task: Task, grant: Grant) -> Answered:
        if self.lost(grant):
            return "lost"
        answer = yield from self.link.call(task, lambda _: self._queue.has(grant.owner), self._call_ns)
        return "unknown" if answer is SILENCE else "renewed" if answer else "lost"

    def release(self, task: Task, grant: Grant) -> Answered:
        known = self.lost(grant)
        answer = yield from self.link.call(task, lambda _: self._queue.leave(grant.owner), self._call_ns)
        return "unknown" if answer is SILENCE else "released" if answer and not known else "lost"


class RowClient(Client):
    """A row that is locked by a transaction: nothing ends it but the end of its connection."""

    def __init__(self, row: Row, *rest: Any) -> None:
        super().__init__(*rest)
        self._row = row
        self._connection: object = object()
        self._closed = False
        self._cuts = 0
        ttl_s = -(-self._ttl_ns // _NS_PER_S)
        idle_s, every_s = max(1, ttl_s // 2), max(1, ttl_s // 4)
        self._gives_up_ns = (idle_s + every_s * max(1, -(-(ttl_s - idle_s) // every_s))) * _NS_PER_S
        self._server_gives_up_ns = self._gives_up_ns + every_s * _NS_PER_S

    def lost(self, grant: Grant) -> bool:
        return self._closed or grant.session is not self._connection

    def silent(self, cut: bool) -> None:
        if cut:  # a stopped process is still acknowledged for by its kernel
            self._cuts += 1
            now_ns = self.world.now_ns
            self.world.at(now_ns + self._gives_up_ns, self._give_up, self._cuts)
            self.world.at(now_ns + self._server_gives_up_ns, self._ended, self._cuts, self._connection)

    def heard(self, cut: bool) -> None:
        self._cuts += cut

    def killed(self) -> None:
        self.world.at(self.world.now_ns + self.link.out_ns, self._row.free, self._connection)

    def restarted(self) -> None:
        self._closed = True
        self.look()

    def _give_up(self, cut: int) -> None:
        if cut == self._cuts:
            self.restarted()

    def _ended(self, cut: int, connection: object) -> None:
        if cut == self._cuts:
            self._row.free(connection)

    def _attempt(self, task: Task, until_ns: int) -> Acquired:
        if self._closed:
            self._connection, self._closed = object(), False
        owner, row, connection = self._next_owner(), self._row, self._connection
        watch = (self.link, task, task.serial + 1) if until_ns else None
        token = yield from self.link.call(task, lambda _: row.take(connection, watch), self._call_ns)
        if token == 0 and until_ns:
            self.world.at(until_ns, task.resume, task.serial, SILENCE)
            token = yield
            if token is SILENCE:
                token = yield from self.link.call(task, lambda _: row.give_up(connection), self._call_ns)
                if token is not SILENCE:
                    return "timeout", None
            if token is None:
                return "error", None
        if token is SILENCE:
            self._closed = True
            token = yield from self.link.call(task, lambda _: row.end(connection), self._call_ns)
            return ("unknown" if token is SILENCE else "error"), None
        if not token:
            return "busy", None
        return "acquired", Grant(owner, token if self.kind.token else None, None, connection)

    def renew(self, task: Task, grant: Grant) -> Answered:
        if self.lost(grant):
            return "lost"
        row, connection = self._row, self._connection
        answer = yield from self.link.call(task, lambda _: row.connection is connection, self._call_ns)
        if answer is SILENCE or not answer:
            self.restarted()
            return "lost"
        return "renewed"

    def release(self, task: Task, grant: Grant) -> Answered:
        if self.lost(grant):
            return "lost"
        row, connection = self._row, self._connection
        answer = yield from self.link.call(task, lambda _: row.free(connection), self._call_ns)
        if answer is SILENCE:
            self._closed = True
            return "unknown"
        return "released" if answer else "lost"
