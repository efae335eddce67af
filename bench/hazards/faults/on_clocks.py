"""Steps of the wall clock of running servers and clients, and a client's machine suspended. No other process's clock is
touched."""

import time
from collections.abc import Mapping, Sequence
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


class ClockNotSeen(LockbenchError):
    """A server or client tells another time than the one that was set: the fault is not in force, or not over."""


def clock_jump(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Step the wall clock of servers ahead `by` so much (back, where negative), as an operator or a time daemon does.

    In force once each server tells the new time itself; over once each tells the machine's time again. A server that
    died in between has no clock to set back.
    """
    servers = servers_of(scene)
    names = nodes_of(servers, target, arguments)
    by_ms = float(arguments["by_ms"])
    clocks = {name: ServerClock.of(servers.state(name)) for name in names}

    def remove() -> None:
        with ExitStack() as every:  # each is tried, also after another has failed
            for clock in clocks.values():
                every.callback(clock.remove)

    # From here on `mend` sets them back, whatever becomes of this trial; `over` takes that off the list again.
    servers.on_mend.append(remove)
    try:
        for clock in clocks.values():
            clock.back()  # the halt that the first change needs comes before the step, not between two servers' steps
        for clock in clocks.values():
            clock.step(by_ms)
    except ProcessLookupError as gone:
        raise ClockNotSeen(f"a server ended before its clock was stepped: {gone}") from gone
    told = _seen(scene, servers, names, by_ms)

    def over() -> int:
        ended_ns = now_ns()
        remove()
        servers.on_mend.remove(remove)
        alive = [name for name in names if clocks[name].process.alive()]
        _seen(scene, servers, alive, 0.0)
        return ended_ns

    return InForce(now_ns(), told, over, by_ms, "ms", ", ".join(names))


def client_clock(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Step the wall clock of one actor's process, its client library's included, ahead `by` so much (back, where
    negative). In force once the actor itself tells the new time."""
    actor, by_ms = scene.cast.actor(target), float(arguments["by_ms"])
    true_ns = time.time_ns() - now_ns()
    clock = _set(actor, by_ms)

    def told(offset_ms: float) -> str:
        seen_ms = (scene.cast.ask(target, "tell_time")["ahead_ns"] - true_ns) / 1e6
        if abs(seen_ms - offset_ms) > CLIENT_WITHIN_MS:
            raise ClockNotSeen(f"{target} was set {offset_ms:+g} ms off, and is {seen_ms:+.1f} ms")
        return f"{target} is {seen_ms:+.1f} ms off, by its own clocks"

    def over() -> int:
        ended_ns = now_ns()
        if actor.alive:
            clock.restore()
            told(0.0)
        return ended_ns

    confirmed = told(by_ms)  # if it is not seen, the trial ends, and the actor with it
    return InForce(now_ns(), confirmed, over, by_ms, "ms")


def suspend(scene: Scene, target: str, _: Mapping[str, Any]) -> InForce:
    """Suspend the machine of one actor, as its process sees it: stopped whole, and when it goes on, its monotonic
    clocks have stood still, while CLOCK_BOOTTIME, the wall clock and everybody else went on.

    A real machine cannot be suspended here. The actor's clocks stay behind until it has done what it was asked for
    meanwhile, and told what they say; then they are put right again (see `ProcessClock`).
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
    told = {name: seen_offset(str(scene.values["system"]), servers.state(name)) for name in names}
    for name, seen in told.items():
        if not seen.agrees_with(offset_ms):
            raise ClockNotSeen(f"{name} was set {offset_ms:+g} ms off, and is {seen}")
    return "; ".join(f"{name} is {seen}" for name, seen in told.items())
