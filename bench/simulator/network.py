"""Threads of clients, and the way between a client and its servers, with what may befall both."""

from collections.abc import Callable, Generator
from typing import Any, Final

from bench.simulator.world import World

Flow = Generator[None, Any, None]
Call = Callable[[int], Any]  # what the servers do at an instant, and answer
ONE_WAY_NS = 200_000


SILENCE: Final = object()  # no answer came in the time allowed


class Process:
    """One client's process: while it is stopped, what would happen in it waits; once dead, nothing does."""

    __slots__ = ("backlog", "dead", "name", "stopped")

    def __init__(self, name: str) -> None:
        self.name = name
        self.stopped = self.dead = False
        self.backlog: list[tuple[Callable[..., object], tuple[Any, ...]]] = []

    def happen(self, do: Callable[..., object], *what: Any) -> None:
        """Do something in this process: now, or when it goes on."""
        if self.stopped:
            self.backlog.append((do, what))
        elif not self.dead:
            do(*what)

    def go_on(self) -> None:
        """After a stop: all that was waiting, in its order."""
        self.stopped = False
        backlog, self.backlog = self.backlog, []
        for do, what in backlog:
            self.happen(do, *what)


class Task:
    """One thread. It waits at each `yield`, for the answer that comes first; later ones find it elsewhere."""

    __slots__ = ("_flow", "_process", "_world", "serial")

    def __init__(self, world: World, process: Process, flow: Callable[["Task"], Flow]) -> None:
        self._world, self._process, self.serial = world, process, 0
        self._flow = flow(self)
        process.happen(self._step, 0, None)

    def resume(self, serial: int, answer: Any) -> None:
        """An answer to what was asked under this number."""
        if serial == self.serial:
            self._process.happen(self._step, serial, answer)

    def _step(self, serial: int, answer: Any) -> None:
        if serial != self.serial:
            return
        self.serial = serial + 1
        try:
            self._flow.send(answer)
        except StopIteration:
            self.serial = -1

    def sleep(self, until_ns: int) -> Flow:
        """Wait for an instant."""
        self._world.at(max(until_ns, self._world.now_ns), self.resume, self.serial, None)
        yield


class Link:
    """The way of one client to the servers of its lock, or to the resource."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.out_ns = self.back_ns = ONE_WAY_NS
        self.holds_out = self.holds_back = False  # nothing gets through in this direction
        self.down = False  # nobody listens at the other end: the next call is refused at once
        self.cut_nodes = 0  # the first so many servers are out of reach
        self.holds = self.swallows = 0  # of the next so many requests: held up, or carried out and their replies lost
        self.severs = False  # ... and the connection is reset, so that the client need not wait
        self.requests_held = self.replies_held = 0
        self._held_out: list[tuple[Task, int, Call, int]] = []
        self._held_back: list[tuple[Task, int, Any]] = []

    def call(self, task: Task, do: Call, patience_ns: int) -> Generator[None, Any, Any]:
        """Ask the servers, and wait for the answer. SILENCE when none came."""
        now_ns = self._world.now_ns
        self._world.at(now_ns + self.out_ns, self._arrive, task, task.serial, do, now_ns + patience_ns)
        answer = yield
        return answer

    def tell(self, task: Task, serial: int, answer: Any) -> None:
        """Send an answer, or a notification, to the client."""
        if self.holds_back:
            self.replies_held += 1
            self._held_back.append((task, serial, answer))
        else:
            self._world.at(self._world.now_ns + self.back_ns, task.resume, serial, answer)

    def restore(self) -> None:
        """End what lies on this way. What was held up arrives, in its order."""
        self.holds_out = self.holds_back = False
        self.holds = self.swallows = self.cut_nodes = 0
        self.out_ns = self.back_ns = ONE_WAY_NS
        held_out, self._held_out = self._held_out, []
        held_back, self._held_back = self._held_back, []
        for entry in held_out:
            self._world.at(self._world.now_ns + ONE_WAY_NS, self._arrive, *entry)
        for task, serial, answer in held_back:
            self._world.at(self._world.now_ns + ONE_WAY_NS, task.resume, serial, answer)

    def _arrive(self, task: Task, serial: int, do: Call, until_ns: int) -> None:
        world = self._world
        if self.down or self.holds_out or self.holds:
            self.requests_held += 1
            self.holds = 0
            if not self.down:
                self._held_out.append((task, serial, do, until_ns))
            world.at(world.now_ns if self.down else max(until_ns, world.now_ns), task.resume, serial, SILENCE)
            return
        answer = do(world.now_ns)
        if self.swallows or self.holds_back:
            width = len(answer) if isinstance(answer, list) else 1
            struck = min(self.swallows, width)
            self.swallows -= struck
            if self.holds_back or struck == width:
                if self.holds_back:
                    self.tell(task, serial, answer)
                early = struck and self.severs
                world.at(world.now_ns if early else max(until_ns, world.now_ns), task.resume, serial, SILENCE)
                return
            answer[:struck] = [None] * struck
        answered_ns = world.now_ns + self.back_ns
        if answered_ns > until_ns:
            world.at(max(until_ns, world.now_ns), task.resume, serial, SILENCE)
        world.at(answered_ns, task.resume, serial, answer)
