"""Wall clocks of running servers and clients that step or run fast, and a client's machine suspended. No other
process's clock is touched."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from bench.errors import LockbenchError
from bench.hazards.actor_process import ActorFailed, ActorProcess
from bench.hazards.clocks.observed import seen_offset
from bench.hazards.clocks.process_clock import ProcessClock
from bench.hazards.clocks.server_clock import ServerClock
from bench.hazards.clocks.stub import MONOTONIC
from bench.hazards.faults.base import InForce, Scene
from bench.hazards.faults.targets import nodes_of, servers_of
from bench.hazards.lab.servers import LabServers
from bench.hazards.timeline import now_ns

CLIENT_WITHIN_MS = 50.0  # two looks at two clocks of one actor are not at one instant
_RATE_SEEN_OVER_S = 0.2  # a rate is seen by two looks; the second of the pair that counts comes at the fault's end


class ClockNotSeen(LockbenchError):
    """A server or client tells another time than the one that was set: the fault is not in force, or not over."""


def clock_jump(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Step the wall clock of servers ahead `by` so much (back, where negative), as an operator or a time daemon does.

    In force once each server tells the new time itself; over once each tells the machine's time again. A server that
    died in between has no clock to set back.
    """
    by_ms = float(arguments["by_ms"])
    clocks = _Clocks(scene, target, arguments)
    clocks.change(lambda clock: clock.step(by_ms))
    confirmed = _seen(scene, clocks.servers, clocks.names, by_ms)
    return InForce(now_ns(), confirmed, clocks.put_right, by_ms, "ms", ", ".join(clocks.names))


def clock_drift(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Let the wall clock of servers run fast by `percent` (slow, where negative), as a bad oscillator or a daemon that
    slews does: no step, and a gain that grows.

    In force once each server has reported, twice, how much it gained; they are asked again at the end, and that is the
    note `clock_drift`.
    """
    percent = float(arguments["percent"])
    clocks = _Clocks(scene, target, arguments)
    started_us: list[int] = []  # in node order
    clocks.change(lambda clock: started_us.append(clock.drift(percent / 100.0)))
    starts = dict(zip(clocks.names, started_us, strict=True))
    _gained(scene, clocks.servers, starts, percent)
    time.sleep(_RATE_SEEN_OVER_S)  # pace: the time over which a gain is to be seen
    confirmed = _gained(scene, clocks.servers, starts, percent)

    def over() -> int:
        alive = {name: starts[name] for name in clocks.alive}
        scene.notes["clock_drift"] = _gained(scene, clocks.servers, alive, percent)
        return clocks.put_right()

    return InForce(now_ns(), confirmed, over, percent, "%", ", ".join(clocks.names))


class _Clocks:
    """The clocks of the servers that a fault names, until they are put right."""

    def __init__(self, scene: Scene, target: str, arguments: Mapping[str, Any]) -> None:
        self._scene = scene
        self.servers = servers_of(scene)
        self.names = nodes_of(self.servers, target, arguments)
        self._clocks = {name: ServerClock.of(self.servers.state(name)) for name in self.names}

    @property
    def alive(self) -> list[str]:
        return [name for name in self.names if self._clocks[name].process.alive()]

    def change(self, change: Callable[[ServerClock], object]) -> None:
        """Change each. From here on `mend` sets them back, whatever becomes of this trial."""
        self.servers.on_mend.append(self._remove)
        try:
            for clock in self._clocks.values():
                clock.back()  # the halt that the first change needs comes before it, not between two servers' changes
            for clock in self._clocks.values():
                change(clock)
        except ProcessLookupError as gone:
            raise ClockNotSeen(f"a server ended before its clock was changed: {gone}") from gone

    def put_right(self) -> int:
        """The machine's time again, as each server says that is left. The instant at which that began."""
        ended_ns = now_ns()
        self._remove()
        self.servers.on_mend.remove(self._remove)
        _seen(self._scene, self.servers, self.alive, 0.0)
        return ended_ns

    def _remove(self) -> None:
        with ExitStack() as every:  # each is tried, also after another has failed
            for clock in self._clocks.values():
                every.callback(clock.remove)


def client_clock(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Step the wall clock of one actor's process, its client library's included, ahead `by` so much (back, where
    negative). In force once the actor itself tells the new time."""
    actor, by_ms = scene.cast.actor(target), float(arguments["by_ms"])
    true_ns = time.time_ns() - now_ns()
    clock = _set(actor, by_ms)

    def seen(offset_ms: float) -> str:
        seen_ms = (scene.cast.ask(target, "tell_time")["ahead_ns"] - true_ns) / 1e6
        if abs(seen_ms - offset_ms) > CLIENT_WITHIN_MS:
            raise ClockNotSeen(f"{target} was set {offset_ms:+g} ms off, and is {seen_ms:+.1f} ms")
        return f"{target} is {seen_ms:+.1f} ms off, by its own clocks"

    def over() -> int:
        ended_ns = now_ns()
        if actor.alive:
            clock.restore()
            seen(0.0)
        return ended_ns

    confirmed = seen(by_ms)  # if it is not seen, the trial ends, and the actor with it
    return InForce(now_ns(), confirmed, over, by_ms, "ms")


def suspend(scene: Scene, target: str, _: Mapping[str, Any]) -> InForce:
    """Suspend the machine of one actor, as its process sees it: stopped whole, and when it goes on, its monotonic
    clocks have stood still, while CLOCK_BOOTTIME, the wall clock and everybody else went on.

    A real machine cannot be suspended here. The actor's clocks stay behind until it has done what it was asked for
    meanwhile, and reports what they say; then they are put right again (see `ProcessClock`).
    """
    actor = scene.cast.actor(target)
    true_ns = now_ns() - time.monotonic_ns()  # what this machine has been suspended for since its start
    began_ns = actor.pause()

    def over() -> int:
        if not actor.alive:
            return now_ns()
        clock = ProcessClock(actor.pid, MONOTONIC)
        stood_still_us = (now_ns() - began_ns) // 1_000
        try:
            clock.set(-stood_still_us)
            ended_ns = actor.resume()
            behind_ms = (scene.cast.ask(target, "tell_time")["behind_ns"] - true_ns) / 1e6
        finally:
            with suppress(ProcessLookupError):
                clock.restore()
        if abs(behind_ms - stood_still_us / 1e3) > CLIENT_WITHIN_MS:
            raise ClockNotSeen(f"{target} was set {stood_still_us / 1e3:g} ms back, and is {behind_ms:.1f} ms behind")
        scene.notes[f"{target}.suspend"] = f"its monotonic clock is {behind_ms:.1f} ms behind, by its own clocks"
        return ended_ns

    return InForce(began_ns, "every thread in state T (/proc)", over)


def _set(actor: ActorProcess, by_ms: float) -> ProcessClock:
    try:
        clock = ProcessClock(actor.pid)
        clock.set(round(by_ms * 1e3))
    except ProcessLookupError as gone:
        raise ActorFailed(f"actor {actor.name} ended before its clock was stepped") from gone
    return clock


def _seen(scene: Scene, servers: LabServers, names: Sequence[str], offset_ms: float) -> str:
    """What each server says of its clock. Raises ClockNotSeen unless that is `offset_ms`."""
    offsets = {name: seen_offset(str(scene.values["system"]), servers.state(name)) for name in names}
    for name, seen in offsets.items():
        if not seen.agrees_with(offset_ms):
            raise ClockNotSeen(f"{name} was set {offset_ms:+g} ms off, and is {seen}")
    return "; ".join(f"{name} is {seen}" for name, seen in offsets.items())


def _gained(scene: Scene, servers: LabServers, starts: Mapping[str, int], percent: float) -> str:
    """How much each server's clock has gained since it began to run fast. Raises ClockNotSeen if it is another rate."""
    gains = []
    for name, start_us in starts.items():
        asked_ms = time.time_ns() / 1e6 - start_us / 1e3
        seen = seen_offset(str(scene.values["system"]), servers.state(name))
        answered_ms = time.time_ns() / 1e6 - start_us / 1e3
        least_ms, most_ms = sorted((percent / 100.0 * asked_ms, percent / 100.0 * answered_ms))
        if not (seen.least_ms <= most_ms and seen.most_ms >= least_ms):
            raise ClockNotSeen(f"{name} was to gain {percent:g} % for {answered_ms:.0f} ms, and is {seen}")
        gains.append(f"{name} is {seen}, after {answered_ms:.0f} ms")
    return "; ".join(gains)
