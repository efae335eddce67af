"""Acquires that are ended from outside: by an exception out of a signal handler, by Ctrl-C, by a greenlet's kill."""

import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType

from bench.conformance.actors import Actor
from bench.conformance.bounds import AT_ONCE_MS, LONG_TTL_MS, OVERRUN_MS, PATIENCE_MS
from bench.conformance.harness import Harness, eventually, let_pass, now_ms
from bench.conformance.interrupted import ended_by
from bench.conformance.together import Running
from bench.systems.base import LockClient, Outcome, Refusal, Released
from bench.systems.memory import store

SEED = 20_261_128
INSTANTS = 10  # of each situation and each way of being ended, shared by a system's ways of waiting
INSTANTS_OF_A_WAIT = (2, 5)  # at least, at most
WAITING_MS = 120  # whoever waits has joined the queue by now; instants are drawn from the start up to here
HANDOFF_MS = 30  # when the holder releases, if it does; instants are drawn around it
# The interpreter looks for signals on entering a function and after a call into C, and calls a profiler there as well.
LOOKS_FOR_SIGNALS = ("call", "c_return")
INSTANTS_OF_CLEAN_UP = 40  # among as many of those is the second interruption drawn, from the first on
UNSEEN_S = 0.5  # a signal that came between the interpreter's last look and a blocking call is sent again after that
GAP_MS = (0.05, 0.6)  # between a second or third interruption and the one before, where it is drawn in time
INTERRUPTED = "interrupted"
# Ends an acquire of a key by the actor after so many milliseconds, and says how it ended.
Attempt = Callable[[Actor, str, float], str]


class OutOfTime(Exception):
    """What a program's own signal handler raises to end what takes it too long."""


def check_interrupted_acquire_leaves_nothing(bench: Harness) -> None:
    """An exception out of a signal handler ends acquires at random instants: no entry is left, and the next client is
    granted at once. The interrupted client works on, or says that it does not, and so do the grants that it holds.
    """
    for wait in bench.waits:
        for kind in (OutOfTime, KeyboardInterrupt):
            spawn = partial(bench.spawn, ttl_ms=LONG_TTL_MS, processes=False, wait=wait)
            _Trials(bench, spawn, partial(_raise_within, kind), f"{kind.__name__} in a wait by {wait}").play()


def check_acquire_interrupted_again_leaves_nothing(bench: Harness) -> None:
    """The same where the clean-up is interrupted as well, once or twice: Ctrl-C was pressed again, or a timer struck
    after it. Nothing is left then either, be it that another thread or the client's next call sees to it.
    """
    for wait in bench.waits:
        for times, by_instant in ((2, True), (3, False)):
            spawn = partial(bench.spawn, ttl_ms=LONG_TTL_MS, processes=False, wait=wait)
            attempt = partial(_raise_within, KeyboardInterrupt, again=times - 1, by_instant=by_instant)
            how = "at a chosen instant" if by_instant else "soon after"
            _Trials(bench, spawn, attempt, f"{times} interruptions, the second {how}, in a wait by {wait}").play()


def check_killed_greenlet_leaves_nothing(bench: Harness) -> None:
    """The same for a greenlet that is killed within its acquire, as Locust does with users that do not stop in time."""
    for wait in bench.waits:
        spawn = partial(bench.spawn, ttl_ms=LONG_TTL_MS, greenlets=True, wait=wait)
        _Trials(bench, spawn, _kill_greenlet, f"the kill of a greenlet in a wait by {wait}").play()


def _raise_within(
    kind: type[BaseException], actor: Actor, key: str, after_ms: float, again: int = 0, by_instant: bool = False
) -> str:
    """Raises in the main thread, and only while an acquire is under way there: one that has ended has an answer.

    And `again` so often, counted from the raising before, so that the clean-up is what is struck: after some time, or
    the first of them at one of the clean-up's instants, which no time would find on a machine that does much else.
    """
    draw = random.Random(after_ms)
    left, instants, struck = again, draw.randrange(INSTANTS_OF_CLEAN_UP), False

    def raise_and_go_on() -> None:
        nonlocal left, struck
        struck = True
        if left > 0:
            left -= 1
            if by_instant and left == again - 1:
                sys.setprofile(profile)
            else:
                timers.append(_signal_after(draw.uniform(*GAP_MS)))
        raise kind(f"{after_ms:.2f} ms into an acquire")

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal instants
        if event not in LOOKS_FOR_SIGNALS or not _within_an_acquire(frame) or out_of_reach(frame):
            return
        instants -= 1
        if instants < 0:
            sys.setprofile(None)
            raise_and_go_on()

    def strike(_signal: int, frame: FrameType | None) -> None:
        if not out_of_reach(frame) and _within_an_acquire(frame):
            raise_and_go_on()
        elif not struck or out_of_reach(frame):  # on a busy machine the acquire may not have begun yet
            timers.append(_signal_after(0.1))

    def send_again() -> None:
        while not ended.wait(UNSEEN_S):
            if not struck:
                signal.pthread_kill(main, signal.SIGUSR1)

    main, ended = threading.main_thread().ident or 0, threading.Event()
    timers: list[threading.Timer] = []
    before = signal.signal(signal.SIGUSR1, strike)
    sender = threading.Thread(target=send_again, daemon=True)
    sender.start()
    try:
        timers.append(_signal_after(after_ms))
        return str(actor.ask("acquire", key=key, timeout_ms=PATIENCE_MS)["outcome"])
    except BaseException as raised:
        if not ended_by(raised, kind):
            raise
        return INTERRUPTED
    finally:
        struck = True
        sys.setprofile(None)
        ended.set()
        sender.join()
        for timer in timers:
            timer.cancel()
            timer.join()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # one that is late
        signal.signal(signal.SIGUSR1, before)


def _signal_after(after_ms: float) -> threading.Timer:
    main = threading.main_thread().ident
    timer = threading.Timer(after_ms / 1000, signal.pthread_kill, (main, signal.SIGUSR1))
    timer.daemon = True
    timer.start()
    return timer


def _within_an_acquire(frame: FrameType | None) -> bool:
    return any(one.f_code is LockClient.acquire.__code__ for one in _callers(frame))


def out_of_reach(frame: FrameType | None) -> bool:
    """In memory's store, which stands for a server, nothing is raised for what a client meets. And what is raised while
    an object is deleted, or while that is told, is swallowed by Python."""
    codes = [one.f_code for one in _callers(frame)]
    return any(
        code.co_filename == store.__file__ or code.co_name in ("__del__", "_remove", "unraisable_hook")
        for code in codes
    )


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _kill_greenlet(actor: Actor, key: str, after_ms: float) -> str:
    answer = actor.ask("kill", key=key, timeout_ms=PATIENCE_MS, after_ms=after_ms)
    return INTERRUPTED if answer["outcome"] == "killed" else str(answer["outcome"])


@dataclass
class _Trials:
    """One way of being ended, in each situation at seeded random instants."""

    bench: Harness
    spawn: Callable[[], Actor]
    attempt: Attempt
    what: str

    def play(self) -> None:
        """AssertionError with the instant at which something was left, or nothing was said."""
        self._holder, self._stranger = self.bench.open(), self.bench.open()
        self._actor, draw, found = self.spawn(), random.Random(f"{SEED} {self.what}"), 0
        quick_ms = self._an_acquire_takes_ms()
        instants_ms = {
            "free": (0.0, 1.5 * quick_ms),
            "held": (0.0, float(WAITING_MS)),
            "handed over": (max(0.0, HANDOFF_MS - quick_ms), HANDOFF_MS + 2 * quick_ms),
        }
        least, most = INSTANTS_OF_A_WAIT
        for turn in range(max(least, min(most, INSTANTS // len(self.bench.waits)))):
            for situation, between_ms in instants_ms.items():
                after_ms = draw.uniform(*between_ms)
                self._where = f"{self.what}, {after_ms:.2f} ms into acquire {turn} of a key that was {situation}"
                found += self._end_one(situation, after_ms)
        self._actor.ask("close")
        assert found > 0, f"{self.what} found no acquire under way: the check showed nothing"

    def _an_acquire_takes_ms(self) -> float:
        began_ms = now_ms()
        for _ in range(5):
            key = self.bench.new_key("-free")
            self.bench.actor_acquires(self._actor, key)
            self._actor.ask("release", key=key)
        return (now_ms() - began_ms) / 10

    def _end_one(self, situation: str, after_ms: float) -> bool:
        """Whether the acquire was under way."""
        in_hand, key = self._one_in_hand(), self.bench.new_key()
        ended = self._acquire(key, situation, after_ms)
        assert ended in (INTERRUPTED, "acquired"), f"{self._where}: it said {ended}"
        if ended == INTERRUPTED:
            self._next_is_granted(key)
        else:
            self._actor.ask("release", key=key)
        if not self._goes_on(in_hand):
            self._actor.ask("close")
            self._actor = self.spawn()
        return ended == INTERRUPTED

    def _one_in_hand(self) -> str | None:
        """The key of another grant that the client holds meanwhile; None where a connection holds one at a time."""
        if self.bench.capabilities.lease_scope == "none":
            return None
        key = self.bench.new_key("-in-hand")
        self.bench.actor_acquires(self._actor, key)
        return key

    def _acquire(self, key: str, situation: str, after_ms: float) -> str:
        if situation == "free":
            return self.attempt(self._actor, key, after_ms)
        grant = self.bench.take(self._holder, key)
        before = len(self.bench.entries(key))

        def release_meanwhile() -> None:
            if situation == "handed over":
                let_pass(HANDOFF_MS)
                self._release_of_holder(self._holder.release(grant))

        releasing = Running(release_meanwhile)
        ended = self.attempt(self._actor, key, after_ms)
        releasing.result(PATIENCE_MS)
        if situation == "held":
            eventually(
                lambda: len(self.bench.entries(key)) <= before,
                AT_ONCE_MS,
                f"{self._where}: an entry stayed in the queue",
            )
            self.bench.must_be_held(key, "the holder, who was not interrupted,")
            self._release_of_holder(self._holder.release(grant))
        return ended

    def _release_of_holder(self, answer: Released | Refusal) -> None:
        assert isinstance(answer, Released), f"{self._where}: the holder's release said {answer}"

    def _next_is_granted(self, key: str) -> None:
        asked_ms = now_ms()
        answer = self.bench.ask(self._stranger, key, AT_ONCE_MS, self.bench.wait)
        assert not isinstance(answer, Refusal), f"{self._where}: the next client was not granted at once: {answer}"
        took_ms = now_ms() - asked_ms
        assert took_ms < AT_ONCE_MS + OVERRUN_MS, f"{self._where}: the next grant took {took_ms:.0f} ms"
        released = self._stranger.release(answer)
        assert isinstance(released, Released), f"{self._where}: the next client's release said {released}"

    def _goes_on(self, in_hand: str | None) -> bool:
        """Whether the interrupted client works. If it does not, it says so."""
        still_held = in_hand is not None and self._is_real(in_hand)
        released = self._actor.ask("release", key=in_hand) if in_hand else {}
        key = self.bench.new_key("-next")
        answer = self._actor.ask("acquire", key=key, timeout_ms=AT_ONCE_MS)
        if answer["outcome"] != "acquired":
            clearly = answer["outcome"] in (Outcome.ERROR, Outcome.LOST) and answer["reason"]
            assert clearly, f"{self._where}: the client neither works nor says that it does not: {answer}"
            return False
        assert self._is_real(key), f"{self._where}: the client's next grant was lost at once"
        answer = self._actor.ask("release", key=key)
        assert answer["outcome"] == Outcome.RELEASED, f"{self._where}: the release of the next grant said {answer}"
        if still_held:
            assert released["outcome"] == Outcome.RELEASED, f"{self._where}: a grant in hand, at release: {released}"
        return True

    def _is_real(self, key: str) -> bool:
        """Whether the client has the grant of this key. If it has not, it has been notified."""
        if self._actor.ask("lost", key=key)["reason"] is not None:
            return False
        seen = self.bench.ask(self._stranger, key)
        assert isinstance(seen, Refusal), (
            f"{self._where}: the client is not notified that it lost {key}, and a stranger got it"
        )
        return True
