"""Faults of one client: its process stopped or killed, its network late, silent, cut or deaf, its wall clock wrong."""

import time
from collections.abc import Mapping
from typing import Any

from bench.hazards.faults.base import InForce, Scene
from bench.servers.proxy import Direction

_DIRECTIONS = {"both": Direction.BOTH, "to_server": Direction.TO_SERVER, "to_client": Direction.TO_CLIENT}


def pause(scene: Scene, target: str, _: Mapping[str, Any]) -> InForce:
    """Stop the whole process, every thread of it, as a long collection or a frozen machine would."""
    actor = scene.cast.actor(target)
    return InForce(actor.pause(), "every thread in state T (/proc)", actor.resume)


def kill(scene: Scene, target: str, _: Mapping[str, Any]) -> InForce:
    """End the process at once. The kernel closes its sockets, as it does when a process crashes."""
    return InForce(scene.cast.actor(target).kill(), "waited for by its parent")


def partition(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Pull the cable between the actor and the lock's servers: nothing arrives, nothing is reset. The resource is
    still reached. Argument: `direction` both, to_server or to_client."""
    proxies = scene.cast.proxies(target)
    direction = _DIRECTIONS[str(arguments.get("direction", "both"))]
    for proxy in proxies:
        proxy.drop(direction)
    began_ns = time.monotonic_ns()

    def over() -> int:
        for proxy in proxies:
            proxy.restore()
        return time.monotonic_ns()

    return InForce(began_ns, f"{len(proxies)} proxies forward nothing", over)


def slow_link(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Hold every byte for `delay` in a direction; with `nodes`, on the way to the first so many servers only."""
    proxies = scene.cast.proxies(target)[: int(arguments["nodes"]) if "nodes" in arguments else None]
    delay_ms = float(arguments["delay_ms"])
    direction = _DIRECTIONS[str(arguments.get("direction", "both"))]
    for proxy in proxies:
        proxy.delay(delay_ms, direction)
    began_ns = time.monotonic_ns()

    def over() -> int:
        for proxy in proxies:
            proxy.restore()
        return time.monotonic_ns()

    return InForce(began_ns, f"{len(proxies)} proxies are late", over, delay_ms, "ms")


def swallow_reply(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Lose the next reply that the servers send this actor; `then_sever` resets the connection as well."""
    proxies = scene.cast.proxies(target)
    for proxy in proxies:
        proxy.swallow_reply(then_sever=bool(arguments.get("then_sever", False)))
    began_ns = time.monotonic_ns()

    def over() -> int:
        swallowed = sum(proxy.wait_swallowed(0.0) for proxy in proxies)
        scene.measures["replies_swallowed"] = float(swallowed)
        for proxy in proxies:
            proxy.restore()
        return time.monotonic_ns()

    return InForce(began_ns, f"{len(proxies)} proxies lose their next reply", over)


def client_clock(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Set the actor's wall clock ahead by `by` (behind, where negative). Its monotonic clock goes on as it is."""
    offset_ms = float(arguments["by_ms"])
    actor = scene.cast.actor(target)
    scene.cast.ask(target, "shift_clock", offset_ms=offset_ms)
    began_ns = time.monotonic_ns()

    def over() -> int:
        if actor.alive:
            scene.cast.ask(target, "shift_clock", offset_ms=0.0)
        return time.monotonic_ns()

    return InForce(began_ns, "answered by the actor", over, offset_ms, "ms")
