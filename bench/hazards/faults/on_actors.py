"""Faults of one client: its process stopped or killed, its network late, silent, cut or deaf, its wall clock wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.errors import LockbenchError
from bench.hazards.actor_process import CONFIRMED_WITHIN_S, ActorFailed
from bench.hazards.cast import ANSWERS_WITHIN_S
from bench.hazards.faults.base import InForce, Scene
from bench.hazards.timeline import now_ns
from bench.servers.breaking.proxy import Direction, FaultProxy, Shots

_DIRECTIONS = {"both": Direction.BOTH, "to_server": Direction.TO_SERVER, "to_client": Direction.TO_CLIENT}


def pause(scene: Scene, target: str, _: Mapping[str, Any]) -> InForce:
    """Stop the whole process, every thread of it, as a long collection or a frozen machine would."""
    actor = scene.cast.actor(target)
    return InForce(actor.pause(), "every thread in state T (/proc)", actor.resume)


def stall(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Hold up the actor's worker `for` so long; its other threads run, its watchdog among them. What it is asked in the
    meantime it does afterwards."""
    actor, for_ms = scene.cast.actor(target), float(arguments["for_ms"])
    count = len(actor.said("stalling")) + 1
    number = actor.send("stall", for_ms=for_ms)
    begun = scene.cast.wait_said(target, "stalling", count, CONFIRMED_WITHIN_S)
    if begun is None:
        raise ActorFailed(f"{target} did not say that it stalls within {CONFIRMED_WITHIN_S:g} s")

    def over() -> int:
        return int(scene.cast.collect(target, number, for_ms / 1000.0 + ANSWERS_WITHIN_S)["answered_ns"])

    return InForce(begun["at_ns"], "said by its worker", over, for_ms, "ms")


def kill(scene: Scene, target: str, _: Mapping[str, Any]) -> InForce:
    """End the process at once. The kernel closes its sockets, as it does when a process crashes."""
    return InForce(scene.cast.actor(target).kill(), "waited for by its parent")


def partition(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Pull the cable between the actor and the lock's servers: nothing arrives, nothing is reset. The resource is
    still reached. Arguments: `direction` both, to_server or to_client; `nodes`, on the way to the first so many servers
    only.

    `both` is a cable indeed: packets are not even acknowledged, so that the keepalives of either end can find out. One
    direction alone is silence above TCP, as of a process in between that has stopped forwarding.
    """
    proxies = scene.cast.proxies(target)[: int(arguments["nodes"]) if "nodes" in arguments else None]
    direction = _DIRECTIONS[str(arguments.get("direction", "both"))]
    confirmed = f"{len(proxies)} proxies forward nothing"
    for proxy in proxies:
        if direction is Direction.BOTH:
            confirmed = f"{len(proxies)} proxies throw every packet away"
            try:
                proxy.unplug()
            except OSError as no_filters:
                raise LockbenchError(f"no cable can be pulled here: no socket filters ({no_filters})") from no_filters
        else:
            proxy.drop(direction)
    began_ns = now_ns()

    return InForce(began_ns, confirmed, lambda: _restored(proxies))


def slow_link(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Hold every byte for `delay` in a direction; with `nodes`, on the way to the first so many servers only."""
    proxies = scene.cast.proxies(target)[: int(arguments["nodes"]) if "nodes" in arguments else None]
    delay_ms = float(arguments["delay_ms"])
    direction = _DIRECTIONS[str(arguments.get("direction", "both"))]
    for proxy in proxies:
        proxy.delay(delay_ms, direction)
    began_ns = now_ns()

    return InForce(began_ns, f"{len(proxies)} proxies are late", lambda: _restored(proxies), delay_ms, "ms")


def swallow_reply(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Lose the reply to the actor's next request that names the trial's key; what went before may be answered.

    Aimed by the key, so that a keepalive's reply is not taken for the acquire's. A connection that has lost a reply
    hears nothing more: a stream has no gap. Arguments: `requests`, how many are struck so, each on a connection of its
    own (1; a client that asks several servers at once sends as many); `then_sever` resets each such connection once the
    server has answered. The measure `replies_lost` counts the requests struck.
    """
    proxies = scene.cast.proxies(target)
    shots = Shots(int(arguments.get("requests", 1)))
    for proxy in proxies:
        proxy.lose_replies(scene.key.encode(), shots, then_sever=bool(arguments.get("then_sever", False)))
    began_ns = now_ns()

    def over() -> int:
        ended_ns = _restored(proxies)
        scene.measures["replies_lost"] = float(shots.fired)
        return ended_ns

    return InForce(began_ns, f"{len(proxies)} proxies wait for a request that names the key", over)


def request_held(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Keep back the actor's next request to the lock's servers that names the trial's key, with all that follows it on
    its connection. Other connections are served: the actor may find out over a new one.

    Argument: `requests`, how many are held so, each on a connection of its own (1; a client that asks several servers
    at once sends as many). The measure `requests_held` counts them. At the end what was held arrives.
    """
    proxies = scene.cast.proxies(target)
    shots = Shots(int(arguments.get("requests", 1)))
    for proxy in proxies:
        proxy.hold_requests(scene.key.encode(), shots)
    began_ns = now_ns()

    def over() -> int:
        scene.measures["requests_held"] = float(shots.fired)
        return _restored(proxies)

    return InForce(began_ns, f"{len(proxies)} proxies wait for a request that names the key", over)


def write_held(scene: Scene, target: str, _: Mapping[str, Any]) -> InForce:
    """Keep back what the actor sends to the resource; at the end it arrives. The lock's servers are reached."""
    proxies = scene.cast.resource_proxies(target)
    for proxy in proxies:
        proxy.drop(Direction.TO_SERVER)
    began_ns = now_ns()
    return InForce(began_ns, f"{len(proxies)} proxies forward nothing to the resource", lambda: _restored(proxies))


def _restored(proxies: Sequence[FaultProxy]) -> int:
    """End every fault of these; the instant before the first of them forwarded anything."""
    ended_ns = now_ns()
    for proxy in proxies:
        proxy.restore()
    return ended_ns
