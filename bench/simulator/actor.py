"""An actor of the model: a process with a lock client, a way to the resource, and requests that it does in turn."""

from collections import deque
from typing import Any

from bench.records.hazards import EndOfBelief
from bench.simulator.clients import Answered, Client, Grant
from bench.simulator.history import Asking, Attempt, Believing, History, Resource
from bench.simulator.network import SILENCE, Flow, Link, Process, Task
from bench.simulator.world import NS_PER_MS, World

_RESOURCE_WITHIN_NS = 5_000 * NS_PER_MS


class Request:
    """One thing that an actor was asked for, and its answer: no instant until it came."""

    __slots__ = ("answered_ns", "arguments", "began_ns", "do", "lease_ns", "outcome")

    def __init__(self, do: str, arguments: dict[str, Any]) -> None:
        self.do, self.arguments, self.outcome = do, arguments, ""
        self.began_ns = 0
        self.answered_ns = self.lease_ns = None  # type: int | None


class Actor:
    """Verbs are the methods named `_do_<verb>`, as those of the lab's actors, which these follow."""

    def __init__(
        self, world: World, name: str, client: Client, resource: Resource, history: History, presents: bool
    ) -> None:
        self.world, self.client, self.process = world, client, Process(name)
        self.resource_link = Link(world)
        self._resource, self._history, self._presents = resource, history, presents
        self._requests: deque[Request] = deque()
        self._busy = False
        self._grant: Grant | None = None
        self.belief: Believing | None = None
        self._value_read = 0
        self._watch = 0  # which watchdog is the last one; all others have ended
        self.acquires = 0
        client.look = lambda: self.process.happen(self.look)

    @property
    def believes(self) -> bool:
        """Does it believe that it holds the key?"""
        return self.belief is not None and self.belief.until_ns is None

    def ask(self, do: str, **arguments: Any) -> Request:
        """Ask for something; it is done when all before it is, and the process is not stopped."""
        request = Request(do, arguments)
        self.process.happen(self._enqueue, request)
        return request

    def stop(self) -> None:
        """Stop the whole process."""
        self.process.stopped = True
        self.client.silent(cut=False)

    def go_on(self) -> None:
        """... and let it go on."""
        self.client.heard(cut=False)
        self.process.go_on()

    def kill(self) -> None:
        """End the process at once: the dead believe nothing."""
        self.end_belief(EndOfBelief.KILLED)
        self.process.dead = True
        self.process.stopped = False
        self.client.killed()

    def look(self) -> None:
        """What the client knows by now, as a thread finds out that asks it all the time."""
        if self.believes and self._grant is not None and self.client.lost(self._grant):
            self.end_belief(EndOfBelief.LOST)

    def end_belief(self, why: EndOfBelief) -> None:
        """It knows now that it does not hold the key."""
        if self.belief is not None and self.belief.until_ns is None:
            self.belief.until_ns, self.belief.ended_by = self.world.now_ns, why

    def _enqueue(self, request: Request) -> None:
        self._requests.append(request)
        if not self._busy:
            self._busy = True
            Task(self.world, self.process, self._work)

    def _work(self, task: Task) -> Flow:
        while self._requests:
            request = self._requests.popleft()
            request.began_ns = self.world.now_ns
            request.outcome = yield from getattr(self, f"_do_{request.do}")(task, **request.arguments)
            request.answered_ns = self.world.now_ns
            if request.do == "acquire" and self._grant is not None:
                request.lease_ns = self._grant.deadline_ns
        self._busy = False

    # -- verbs -----------------------------------------------------------------------------------------------------

    def _do_acquire(self, task: Task, timeout_ns: int = 0, watchdog_ns: int = 0) -> Answered:
        asking = Asking(self.process.name, self.world.now_ns, timeout_ns > 0)
        self._history.asks.append(asking)
        self.acquires += 1
        outcome, grant = yield from self.client.acquire(task, timeout_ns)
        asking.answered_ns, asking.outcome = self.world.now_ns, outcome
        if grant is not None:
            self._grant = grant
            self.belief = Believing(
                self.process.name, grant.owner, grant.token, asking.asked_ns, self.world.now_ns, grant.deadline_ns
            )
            self._history.beliefs.append(self.belief)
            self._look_at_its_end(grant)
            if watchdog_ns:
                self._watch += 1
                watch = self._watch
                Task(self.world, self.process, lambda task: self._renewing(task, watchdog_ns, watch))
        return outcome

    def _do_contend(self, task: Task, grants: int, timeout_ns: int) -> Answered:
        for _ in range(grants):
            if (yield from self._do_acquire(task, timeout_ns)) == "acquired":
                yield from self._do_release(task)
        return "contended"

    def _do_read(self, task: Task) -> Answered:
        if self._presents:
            return (yield from self._have_judged(task, None))
        self._value_read = yield from self.resource_link.call(task, lambda _: self._resource.value, _RESOURCE_WITHIN_NS)
        return "read"

    def _do_write(self, task: Task, unless_lost: bool = False) -> Answered:
        if unless_lost and self._grant is not None and self.client.lost(self._grant):
            self.end_belief(EndOfBelief.LOST)
            return "lost"
        return (yield from self._have_judged(task, self._value_read + 1))

    def _have_judged(self, task: Task, value: int | None) -> Answered:
        grant, resource = self._grant, self._resource
        assert grant is not None, "a scenario has an actor acquire before it uses the grant"
        attempt = Attempt(self.process.name, grant.owner, grant.token, self.world.now_ns, self._value_read, value)
        self._history.attempts.append(attempt)
        answer = yield from self.resource_link.call(
            task, lambda now_ns: resource.judge(attempt, now_ns), _RESOURCE_WITHIN_NS
        )
        if answer is SILENCE:
            return "unknown"
        attempt.answered_ns = self.world.now_ns
        if not attempt.accepted:
            if self._grant is grant:
                self.end_belief(EndOfBelief.REFUSED)
            return "refused"
        self._value_read = attempt.value_before if value is None else value
        return "read" if value is None else "accepted"

    def _do_check(self, task: Task) -> Answered:
        yield from task.sleep(self.world.now_ns)
        self.look()
        return "held" if self.believes else "lost"

    def _do_renew(self, task: Task) -> Answered:
        grant = self._grant
        assert grant is not None, "a scenario has an actor acquire before it renews"
        outcome = yield from self.client.renew(task, grant)
        if outcome == "renewed" and self.belief is not None and self._grant is grant:
            self.belief.lease_until_ns = grant.deadline_ns
            self.belief.renewals += 1
            self._look_at_its_end(grant)
        elif outcome == "lost" and self._grant is grant:
            self.end_belief(EndOfBelief.LOST)
        return outcome

    def _do_release(self, task: Task) -> Answered:
        self._watch += 1
        grant = self._grant
        assert grant is not None, "a scenario has an actor acquire before it releases"
        self.end_belief(EndOfBelief.RELEASED)
        return (yield from self.client.release(task, grant))

    def _do_stall(self, task: Task, for_ns: int) -> Answered:
        yield from task.sleep(self.world.now_ns + for_ns)
        return "stalled"

    def _renewing(self, task: Task, every_ns: int, watch: int) -> Flow:
        while True:
            yield from task.sleep(self.world.now_ns + every_ns)
            if watch != self._watch or (yield from self._do_renew(task)) == "lost":
                return

    def _look_at_its_end(self, grant: Grant) -> None:
        if grant.deadline_ns is not None and self.client.kind.lease == "grant":
            self.world.at(grant.deadline_ns, self.client.look)
