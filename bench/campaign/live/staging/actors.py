"""Two holders of one system: real clients in processes of their own, which take a key in turn, until a button strikes.

They read, hold and write as a careless client does: nobody looks at the lease again before the write. Each presents its
token with its first read (`Presented.BEFORE_READ`), so that a fence sees every write that comes too late.

Three kinds of threads: the act's own has the actors and the faults (the kernel kills an actor with the thread that
started it), one for each actor asks it for its turns, and there is the caller's.
"""

import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from bench.campaign.live.staging.act import RESOURCE, Act, Place
from bench.campaign.live.staging.buttons import BUTTONS, Button, arguments_of, struck_by
from bench.campaign.live.staging.heard import Heard
from bench.errors import LockbenchError
from bench.hazards.actor_process import ActorFailed, Interrupted, Message
from bench.hazards.cast import Backstage, Cast
from bench.hazards.faults.base import InForce, Scene
from bench.hazards.faults.registry import FAULTS
from bench.hazards.resources.base import Presented, Rule
from bench.hazards.resources.registry import host_of
from bench.hazards.scenario import ActorPart
from bench.hazards.timeline import now_ns
from bench.records.hazards import FaultWindow, Scalar
from bench.systems.base import Outcome

NAMES = ("A", "B")
_KEY = "two-holders"
_TTL_MS = 2_000
_HOLD_S = 0.4
_WAITS_MS = 4_000  # of one acquire; then it asks again
_PAUSE_AFTER_FAILURE_S = 0.2
_BACK_AFTER_S = 3.0  # somebody who was killed
_LOOK_FOR_HOLDER_EVERY_S = 0.02
_HOLDER_WITHIN_S = 10.0  # so long a button waits for somebody to hold
_ANSWER_WITHIN_S = 600.0  # an actor that is stopped answers when it goes on
_DRIVERS_END_WITHIN_S = 5.0
_END, _WAKE = "end", "wake"


class Press(NamedTuple):
    """A button of the page, its numbers checked."""

    button: str
    seconds: float
    amount: float | None


class _Struck(NamedTuple):
    button: Button
    in_force: InForce
    until_s: float  # on the monotonic clock
    window: FaultWindow


class Actors(Act):
    """Those of one system, until `stop`."""

    def __init__(self, place: Place, fence: bool) -> None:
        self._ttl_ms = max(_TTL_MS, place.entry.client_class.capabilities.ttl_min_ms)
        self._heard = Heard(self._ttl_ms)
        self._hearing = threading.Lock()
        self._asked: queue.SimpleQueue[Press | str] = queue.SimpleQueue()
        self._turn = threading.Lock()  # who has it may ask an actor for something, or strike
        self._holding = ""  # who holds, and has not written yet
        self._fenced: dict[str, bool] = {}  # was the fence on when a turn began?
        self._gone: dict[str, float] = {}  # who was killed or has failed, and when it comes back
        self._struck: _Struck | None = None
        self._pending: tuple[Press, float] | None = None  # what waits for a holder, and for how long
        self._cast: Cast | None = None
        self._drivers: dict[str, threading.Thread] = {}
        super().__init__(place, fence)

    # -- from outside ----------------------------------------------------------------------------------------------

    def press(self, press: Press) -> None:
        """Strike, as soon as there is somebody to strike. What is not possible is said in `report`."""
        self._asked.put(press)

    def end_fault(self) -> None:
        """End what is in force before its time."""
        self._asked.put(_END)

    def stop(self) -> None:
        """See `Act`."""
        super().stop()
        self._asked.put(_WAKE)

    def _report(self) -> dict[str, Any]:
        struck = self._struck
        with self._hearing:
            self._hear()
            heard = self._heard.report(now_ns(), [] if struck is None else [struck.window])
        left_s = None if struck is None else round(max(0.0, struck.until_s - time.monotonic()), 1)
        return {
            **heard,
            "actors": list(NAMES),
            "scenario": None,
            "ttl_ms": self._ttl_ms,
            "ended_ago_s": 0.0,
            "fault_ends_in_s": left_s,
        }

    # -- the act's own thread --------------------------------------------------------------------------------------

    def _act(self) -> None:
        host = host_of(RESOURCE, {})
        parts = {name: ActorPart(proxied=True) for name in NAMES}
        entry, servers = self._place.entry, self._place.servers
        with self._place.log_path.open("a", encoding="utf-8") as log, host.hosted() as resource:
            backstage = Backstage(entry, servers.endpoint, RESOURCE, resource, log, self._stopping.is_set)
            try:
                with Cast(parts, backstage) as self._cast:
                    self._begin(*NAMES)
                    try:
                        self._serve(self._cast)
                    finally:
                        self._stopping.set()
                        try:
                            self._put_right()
                        finally:
                            for driver in self._drivers.values():  # nobody asks an actor for anything any more
                                driver.join(_DRIVERS_END_WITHIN_S)
            finally:
                with self._hearing:
                    self._hear()
                    self._heard.end(now_ns())
                    self._cast = None

    def _serve(self, cast: Cast) -> None:
        values: Mapping[str, Scalar] = {"system": self._place.entry.name, "ttl_ms": self._ttl_ms}
        while not self._stopping.is_set():
            try:
                asked = self._asked.get(timeout=self._next_s())
            except queue.Empty:
                self._do_what_is_due()
            else:
                if asked == _END:
                    self._put_right()
                elif isinstance(asked, Press) and (self._struck is not None or self._pending is not None):
                    self._say(f"{BUTTONS[asked.button].title}: refused, since another fault is in force")
                elif isinstance(asked, Press):
                    self._pending = asked, time.monotonic() + _HOLDER_WITHIN_S
            if self._pending is not None:
                self._try_to_strike(*self._pending, Scene(cast, self._place.servers, _KEY, values, {}, {}))

    def _next_s(self) -> float | None:
        due_s = [*self._gone.values(), *([] if self._struck is None else [self._struck.until_s])]
        if self._pending is not None:
            due_s.append(time.monotonic() + _LOOK_FOR_HOLDER_EVERY_S)
        return max(0.0, min(due_s) - time.monotonic()) if due_s else None

    def _try_to_strike(self, press: Press, until_s: float, scene: Scene) -> None:
        """What waits for a holder is tried again, until an instant: meanwhile others come back, or all end."""
        title = BUTTONS[press.button].title
        try:
            struck = self._strike(press, BUTTONS[press.button], scene)
        except (LockbenchError, OSError, ValueError) as failed:
            self._pending = None
            self._say(f"{title}: {failed}")
            self._mend(scene.cast)
            return
        if struck or time.monotonic() >= until_s:
            self._pending = None
        if not struck and self._pending is None:
            self._say(f"{title}: nobody holds the lock")

    def _do_what_is_due(self) -> None:
        now_s = time.monotonic()
        if self._struck is not None and self._struck.until_s <= now_s:
            self._put_right()
        back = [name for name, at_s in self._gone.items() if at_s <= now_s]
        if back:
            self._replace(*back)

    def _replace(self, *names: str) -> None:
        """Start actors anew."""
        assert self._cast is not None
        with self._hearing:
            self._hear()  # those who are gone, before they are replaced
        for name in names:
            self._gone.pop(name, None)
        self._begin(*names, anew=True)

    def _begin(self, *names: str, anew: bool = False) -> None:
        """Give actors a session each, and let them take their turns."""
        assert self._cast is not None
        try:
            if anew:
                self._cast.replace(*names)
            self._cast.open({"ttl_ms": self._ttl_ms}, *names)
        except ActorFailed as failed:  # its servers are down, say: once more later
            self._say(str(failed))
            self._gone |= dict.fromkeys(names, time.monotonic() + _BACK_AFTER_S)
            return
        for name in names:
            driver = threading.Thread(target=self._drive, args=(name,), name=f"turns of {name}", daemon=True)
            self._drivers[name] = driver
            driver.start()

    def _strike(self, press: Press, button: Button, scene: Scene) -> bool:
        """False where a holder is to be struck, and nobody holds."""
        arguments = arguments_of(button, press.amount, self._place.servers.spec)
        if button.of_servers:
            target = struck_by(button, self._place.servers.spec)
            in_force = FAULTS[button.fault](scene, target, arguments)
        else:
            with self._turn:  # nobody writes or releases meanwhile
                if not self._can_be_struck:
                    return False
                target, self._holding = self._holding, ""
                in_force = FAULTS[button.fault](scene, target, arguments)
                if button.fault == "kill":
                    self._gone[target] = time.monotonic() + _BACK_AFTER_S
                    with self._hearing:
                        self._hear()
                        self._heard.killed(target, in_force.began_ns)
        ended_ns = None if in_force.over is not None else in_force.began_ns
        window = in_force.window(button.fault, target, ended_ns)
        self._say(f"{button.title}: {window.target}, {in_force.confirmed}")
        if in_force.over is None:
            self._over(window)
        else:
            self._struck = _Struck(button, in_force, time.monotonic() + press.seconds, window)
        return True

    @property
    def _can_be_struck(self) -> bool:
        """Is there somebody who holds, in a turn that began after the fence was last switched?"""
        return self._holding != "" and self._fenced[self._holding] == self.fence

    def _put_right(self) -> None:
        """End the fault that is in force, if any."""
        struck, self._struck = self._struck, None
        if struck is None:
            return
        assert struck.in_force.over is not None
        ended_ns = None
        try:
            if not (self._closing and struck.button.of_servers):  # else they are about to be killed
                ended_ns = struck.in_force.over()
        except Interrupted:  # over, and nobody is left to confirm it
            self._say(f"{struck.button.title}: its end was not confirmed")
        except (LockbenchError, OSError, ValueError) as failed:
            self._say(f"{struck.button.title}: {failed}")
            assert self._cast is not None
            self._mend(self._cast)
        self._over(struck.window.model_copy(update={"ended_ns": ended_ns or now_ns()}))
        self._say(f"{struck.button.title}: over")

    def _mend(self, cast: Cast) -> None:
        """A fault has gone wrong half-way: proxies open, actors going on, servers as they were."""
        for proxies in cast.all_proxies():
            for proxy in proxies:
                proxy.restore()
        for name in NAMES:
            with suppress(ActorFailed):
                cast.actor(name).resume()
        self._mend_servers()

    def _over(self, window: FaultWindow) -> None:
        with self._hearing:
            self._heard.struck(window)
        self._place.on_fault(window)

    # -- the thread of one actor -----------------------------------------------------------------------------------

    def _drive(self, name: str) -> None:
        """Turn after turn, until the end. An actor that is gone gets a successor."""
        try:
            while not self._stopping.is_set():
                self._take_turn(name)
        except Interrupted:
            return
        except ActorFailed as gone:
            if name not in self._gone and not self._stopping.is_set():
                with self._hearing:
                    self._hear()
                    self._heard.killed(name, now_ns())
                self._say(str(gone))
                self._gone[name] = time.monotonic() + _BACK_AFTER_S
                self._asked.put(_WAKE)

    def _take_turn(self, name: str) -> None:
        fence = self._fenced[name] = self.fence
        how = {"rule": Rule.BELOW.value, "presented": Presented.BEFORE_READ.value}
        self._ask(name, "begin", key=_KEY, fence=fence, **how)
        wait = self._place.entry.default_wait
        granted = self._ask(name, "acquire", ttl_ms=self._ttl_ms, timeout_ms=_WAITS_MS, wait=wait)["outcome"]
        if granted in (Outcome.BUSY, Outcome.TIMEOUT):
            return
        if granted != Outcome.ACQUIRED:
            self._reopen(name)
            return
        if self._ask(name, "read")["outcome"] == "read":
            with self._turn:
                self._holding = name
            self._stopping.wait(_HOLD_S)  # pace: the hold
            with self._turn:
                if self._holding == name:
                    self._holding = ""
            self._ask(name, "write")
        self._ask(name, "release")

    def _reopen(self, name: str) -> None:
        """A session anew, as soon as the servers give one."""
        while not self._stopping.wait(_PAUSE_AFTER_FAILURE_S):  # pace: servers that are down answer at once
            if self._ask(name, "reopen")["outcome"] == "opened":
                return

    def _ask(self, name: str, do: str, **request: Any) -> Message:
        """Raises ActorFailed, Interrupted."""
        assert self._cast is not None
        with self._turn:
            number = self._cast.actor(name).send(do, **request)
        return self._cast.collect(name, number, _ANSWER_WITHIN_S)

    def _hear(self) -> None:
        """Take what they have said. The caller has the hearing."""
        if self._cast is not None:
            for name in NAMES:
                if self._cast.has(name):
                    self._heard.add(name, self._cast.actor(name).take_messages())
