"""One actor: a process of its own with one lock client and one connection to the resource, led by the stage.

    python -m bench.hazards.actor <name> <pid of the stage>

Requests are JSON lines on standard input, done one after the other; everything that matters to a history is said in
JSON lines on standard output at the instant it happens, so that an actor that is killed has reported all it knew.
A request that is sent while the actor is stopped (SIGSTOP) is carried out the moment it goes on.

Two threads stand beside the worker while a grant is held. The *monitor* asks `LockClient.lost` every few milliseconds:
it is the earliest at which this client can know, and ends the belief. The *watchdog*, where the scenario wants one,
renews; it lives on while the worker stalls, and stops with it when the whole process is stopped.
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench.hazards.resources.base import (
    Attempt,
    Judged,
    OfTheLock,
    Presented,
    Resource,
    ResourceUnreachable,
    Rule,
    WriteRefused,
)
from bench.hazards.resources.registry import open_resource
from bench.hazards.timeline import now_ns
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.clock import SYSTEM_CLOCK, SystemClock
from bench.systems.registry import system
from bench.systems.wait import Wait

MONITOR_EVERY_S = 0.005
_OURS = "actor's"  # begins the names of threads that an actor cannot do without
_PR_SET_PDEATHSIG = 1


class _StandsStill(SystemClock):
    """What no lock may lean on: it does not count the time for which the machine is suspended."""

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()


class Actor:
    """The worker and what it holds. Verbs are the methods named `do_<verb>`; each returns what its answer adds."""

    def __init__(self, name: str, say: Callable[..., None]) -> None:
        self._name = name
        self._say = say
        self._client: LockClient | None = None
        self._client_calls = threading.Lock()  # a client is used by one thread at a time
        self._resource: Resource | None = None
        self._opened: dict[str, Any] = {}  # how the session was opened last
        self._sessions = 0
        self._play: Mapping[str, Any] = {}
        self._grant: Grant | None = None  # also one that is gone: a careless writer writes under it
        self._value_read = 0
        self._attempts = 0
        self._changes = threading.RLock()  # of `_grant` and `_believing`
        self._believing = False
        self._watchdog: threading.Event | None = None
        threading.Thread(target=self._monitor, name=f"{_OURS} monitor", daemon=True).start()

    def carry_out(self, request: dict[str, Any]) -> None:
        """Do one request and answer it. What the adapter or the resource raises is an answer too."""
        number, verb = request.pop("id"), request.pop("do")
        began_ns = now_ns()
        try:
            answer = getattr(self, f"do_{verb}")(**request)
        except (ConnectionError, ResourceUnreachable) as failure:
            answer = {"outcome": "unreachable", "reason": str(failure)}
        self._say("answer", id=number, do=verb, began_ns=began_ns, answered_ns=now_ns(), **answer)

    def do_open(self, **how: Any) -> dict[str, Any]:
        """Connect to the lock's system and to the resource; an earlier session is ended first."""
        self._opened = how
        return self._connect(**how)

    def do_reopen(self) -> dict[str, Any]:
        """End the session and begin another, as a client does that starts anew: it has no connection from before."""
        if self._grant is not None:
            self._end_belief(self._grant, "released", "its session was ended")
        return self._connect(**self._opened)

    def _connect(
        self,
        system_name: str,
        endpoint: Mapping[str, Any],
        ttl_ms: int,
        call_timeout_ms: int,
        variant: Mapping[str, str],
        resource_kind: str,
        place: Mapping[str, Any],
        suspension_uncounted: bool = False,
    ) -> dict[str, Any]:
        self.shut()
        self._sessions += 1
        entry = system(system_name)
        options = ClientOptions(
            client=f"{self._name}-{os.getpid()}-{self._sessions}",  # no two sessions may have a grant of one name
            ttl_ms=ttl_ms,
            call_timeout_ms=call_timeout_ms,
            variant={**entry.client_variant, **variant},
            clock=_StandsStill() if suspension_uncounted else SYSTEM_CLOCK,
        )
        self._client = entry.client_class.open(Endpoint.from_tree(endpoint), options)
        self._resource = open_resource(resource_kind, place)
        if isinstance(self._resource, OfTheLock):
            self._resource.join(self._client)
        return {"outcome": "opened"}

    def do_facts(self) -> dict[str, Any]:
        """What the servers tell of themselves."""
        with self._client_calls:
            facts = self._lock.server_facts()
        return {
            "outcome": "told",
            "facts": {
                "version": facts.version,
                "identity": facts.identity,
                "durability": dict(facts.durability),
                "nodes": facts.nodes,
            },
        }

    def do_begin(self, **play: Any) -> dict[str, Any]:
        """A new trial: its key, fence, rule and so on, until the next one."""
        self._stop_watchdog()
        with self._changes:
            self._play, self._grant, self._believing, self._value_read = play, None, False, 0
        return {"outcome": "begun"}

    def do_acquire(self, ttl_ms: int, timeout_ms: int, wait: str, watchdog_ms: float = 0.0) -> dict[str, Any]:
        """Take the lock, waiting up to `timeout_ms`; with a watchdog that renews every `watchdog_ms` from then on."""
        key = self._play["key"]
        strategy = Wait.parse(wait)
        waited = strategy.strategy != "try"
        asked_ns = now_ns()
        self._say("asking", key=key, asked_ns=asked_ns, waited=waited)
        with self._client_calls:
            answer = self._lock.acquire(key, ttl_ms, timeout_ms, strategy)
            from_ns = now_ns()
        outcome = Outcome.ACQUIRED if isinstance(answer, Grant) else answer.outcome
        reason = answer.reason if isinstance(answer, Refusal) else ""
        self._say("asked", asked_ns=asked_ns, answered_ns=from_ns, outcome=outcome, reason=reason)
        if not isinstance(answer, Grant):
            return {"outcome": outcome, "reason": reason}
        with self._changes:
            self._grant, self._believing = answer, True
            self._say(
                "held",
                key=key,
                grant=answer.owner,
                token=answer.token,
                asked_ns=asked_ns,
                from_ns=from_ns,
                ttl_ms=ttl_ms,
                lease_until_ns=answer.deadline_ns,
            )
        if watchdog_ms:
            self._start_watchdog(watchdog_ms / 1000.0)
        facts = {"token": answer.token, "grant": answer.owner, "lease_until_ns": answer.deadline_ns}
        return {"outcome": outcome, **facts}

    def do_read(self) -> dict[str, Any]:
        """Read the resource; the next write builds on it. Where the play's protocol is to present the token before the
        first read, each read presents it, in one step."""
        if self._play["presented"] == Presented.BEFORE_READ:
            return self._present(self._held)
        reading = self._open_resource.read(self._play["key"])
        self._value_read = reading.value
        return {"outcome": "read", "value": reading.value, "highest": reading.highest}

    def do_write(self, unless_lost: bool = False) -> dict[str, Any]:
        """Write what was read plus one, under the grant, whether or not that still stands (a careless writer).

        `unless_lost`: ask the client first, and write only if it does not know better (a careful one).
        """
        grant = self._held
        if unless_lost and (why := self._lost()) is not None:
            return {"outcome": Outcome.LOST, "reason": why}
        value = self._value_read + 1
        answer, judged = self._have_judged(grant, value)
        if judged is not None and judged.accepted:
            self._value_read = value
        return answer

    def _present(self, grant: Grant) -> dict[str, Any]:
        answer, judged = self._have_judged(grant, None)
        if judged is None or not judged.accepted:
            return answer
        self._value_read = judged.value_before
        highest = max(judged.highest_before, grant.token or 0)
        return {"outcome": "read", "value": judged.value_before, "highest": highest}

    def _have_judged(self, grant: Grant, value: int | None) -> tuple[dict[str, Any], Judged | None]:
        """Send one write (without a value: one presentation) under a grant; what came of it, and the verdict if any."""
        self._attempts += 1
        attempt = Attempt(
            attempt_id=f"{self._name}-{os.getpid()}-{self._attempts}",
            actor=self._name,
            key=self._play["key"],
            grant=grant.owner,
            token=grant.token,
            fence=self._play["fence"],
            rule=Rule(self._play["rule"]),
            value_read=self._value_read,
            value=value,
        )
        sending, sent = ("presenting", "presented") if value is None else ("writing", "wrote")
        self._say(sending, sent_ns=now_ns(), **attempt.to_tree())
        sent_ns = now_ns()
        try:
            judged = self._open_resource.write(attempt)
        except WriteRefused as refused:
            self._say(sent, attempt_id=attempt.attempt_id, sent_ns=sent_ns, reason=str(refused))
            self._end_belief(grant, "lost", str(refused))
            return {"outcome": "refused", "reason": str(refused)}, None
        except ResourceUnreachable as silence:
            self._say(sent, attempt_id=attempt.attempt_id, sent_ns=sent_ns, reason=str(silence))
            return {"outcome": Outcome.UNKNOWN, "reason": str(silence)}, None
        answered_ns = now_ns()
        self._say(
            sent,
            attempt_id=attempt.attempt_id,
            sent_ns=sent_ns,
            answered_ns=answered_ns,
            order=judged.order,
            accepted=judged.accepted,
            highest_before=judged.highest_before,
            value_before=judged.value_before,
            judged_ns=judged.judged_ns,
        )
        if judged.accepted:
            return {"outcome": "accepted"}, judged
        # A token is refused only because a greater one was seen: another client holds the key, or held it since.
        self._end_belief(grant, "refused", f"the resource has seen token {judged.highest_before}")
        return {"outcome": "refused", "reason": f"token {grant.token} is below {judged.highest_before}"}, judged

    def do_check(self) -> dict[str, Any]:
        """Ask the client, which asks nobody, whether it knows that the grant is gone."""
        why = self._lost()
        return {"outcome": "held"} if why is None else {"outcome": Outcome.LOST, "reason": why}

    def do_renew(self) -> dict[str, Any]:
        """Renew the lease once."""
        return self._renew()

    def do_stall(self, for_ms: float) -> dict[str, Any]:
        """The worker does nothing for a while; its watchdog, if it has one, lives. Said at its beginning."""
        self._say("stalling", at_ns=now_ns())
        time.sleep(for_ms / 1000.0)  # fault: this stall is what the scenario asked for
        return {"outcome": "stalled"}

    def do_release(self) -> dict[str, Any]:
        """Give the lock back. The client stops believing when it sends this."""
        self._stop_watchdog()
        grant = self._held
        self._end_belief(grant, "released", "")
        with self._client_calls:
            answer = self._lock.release(grant)
        return {"outcome": answer.outcome, "reason": "" if isinstance(answer, Released) else answer.reason}

    def do_contend(
        self, grants: int, ttl_ms: int, timeout_ms: int, wait: str, hold_ms: float = 0.0, write: bool = False
    ) -> dict[str, Any]:
        """Take and release the lock `grants` times, as fast as the others let it; `write`: a read and a write in each.

        An acquire that is not granted counts as one of the turns: this ends also where the lock cannot be had.
        """
        tally: dict[str, int] = {}
        for _ in range(grants):
            outcome = str(self.do_acquire(ttl_ms, timeout_ms, wait)["outcome"])
            tally[outcome] = tally.get(outcome, 0) + 1
            if outcome != Outcome.ACQUIRED:
                continue
            if write:
                self.do_read()
                self.do_write()
            if hold_ms:
                time.sleep(hold_ms / 1000.0)  # pace: the length of a hold, as the scenario asked
            self.do_release()
        return {"outcome": "contended", "tally": tally}

    def do_tell_time(self) -> dict[str, Any]:
        """How far this process's wall clock is ahead of the history's, and its monotonic one behind."""
        behind_ns = now_ns() - time.monotonic_ns()
        return {"outcome": "told", "ahead_ns": time.time_ns() - now_ns(), "behind_ns": behind_ns}

    def shut(self) -> None:
        """Close what is open."""
        self._stop_watchdog()
        with self._changes:
            self._believing = False
        if self._client is not None:
            with self._client_calls:
                self._client.close()
            self._client = None
        if self._resource is not None:
            self._resource.close()
            self._resource = None

    # -- beside the worker -----------------------------------------------------------------------------------------

    def _monitor(self) -> None:
        while True:
            time.sleep(MONITOR_EVERY_S)  # pace: how soon a client that looks all the time comes to know
            with self._changes:
                if self._believing:
                    self._lost()

    def _start_watchdog(self, every_s: float) -> None:
        self._stop_watchdog()
        ended = self._watchdog = threading.Event()

        def renew_until_ended() -> None:
            while not ended.wait(every_s):
                if self._renew(ended)["outcome"] == Outcome.LOST:
                    return

        threading.Thread(target=renew_until_ended, name=f"{_OURS} watchdog", daemon=True).start()

    def _stop_watchdog(self) -> None:
        if self._watchdog is not None:
            self._watchdog.set()
            self._watchdog = None

    def _renew(self, ended: threading.Event | None = None) -> dict[str, Any]:
        with self._client_calls:
            if ended is not None and ended.is_set():  # released while this waited for its turn
                return {"outcome": Outcome.LOST, "reason": "released"}
            grant = self._held
            answer = self._lock.renew(grant)
            at_ns = now_ns()
            # All is said before the next call may begin: it may be one that ends the session, and with it the trial.
            if isinstance(answer, Grant):
                with self._changes:
                    self._grant = answer
                self._say("renewed", grant=grant.owner, at_ns=at_ns, lease_until_ns=answer.deadline_ns)
                return {"outcome": "renewed"}
            if answer.outcome is Outcome.LOST:
                self._end_belief(grant, "lost", answer.reason)
        return {"outcome": answer.outcome, "reason": answer.reason}

    def _lost(self) -> str | None:
        """Why the client knows that its grant is gone, which ends the belief in it; None while it does not know.

        Asked of the newest lease and reported in one step: a renewal that came in between would leave an answer about a
        lease that is not the last, and a belief that ended too early hides an overlap.
        """
        with self._changes:
            grant = self._held
            why = self._lock.lost(grant)
            if why is not None:
                self._end_belief(grant, "lost", why)
        return why

    def _end_belief(self, grant: Grant, by: str, reason: str) -> None:
        """Say once for each grant when and why its client stopped believing."""
        with self._changes:
            if not self._believing or self._grant is None or self._grant.owner != grant.owner:
                return
            self._believing = False
            self._say("ended", grant=grant.owner, at_ns=now_ns(), by=by, reason=reason)

    @property
    def _lock(self) -> LockClient:
        assert self._client is not None, "the stage opens an actor before it asks for a lock"
        return self._client

    @property
    def _open_resource(self) -> Resource:
        assert self._resource is not None, "the stage opens an actor before it writes"
        return self._resource

    @property
    def _held(self) -> Grant:
        assert self._grant is not None, "the stage has an actor acquire before it uses the grant"
        return self._grant


def _die_with_the_stage(stage_pid: int) -> None:
    """Have the kernel kill this process, stopped or not, when the thread that started it ends in any way."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != stage_pid:  # it ended before the call above
        sys.exit(1)


def _end_with_ours(failure: threading.ExceptHookArgs) -> None:
    """An actor whose monitor or watchdog has failed would go on with beliefs that nobody ends: end it, and be seen."""
    threading.__excepthook__(failure)  # into the run's log
    if failure.thread is not None and failure.thread.name.startswith(_OURS):
        os._exit(1)  # from a thread, nothing less ends the process


def main() -> None:
    """Serve the stage until it closes standard input."""
    threading.excepthook = _end_with_ours
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the stage's to handle: it ends its actors in order
    name, stage_pid = sys.argv[1], int(sys.argv[2])
    _die_with_the_stage(stage_pid)
    turn = threading.Lock()

    def say(what: str, **facts: Any) -> None:
        line = json.dumps({"say": what, **facts})
        with turn:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    actor = Actor(name, say)
    say("ready", pid=os.getpid())
    for line in sys.stdin:
        actor.carry_out(json.loads(line))
    actor.shut()


if __name__ == "__main__":
    main()
