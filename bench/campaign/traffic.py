"""What a lock sends over the wire: counted at the delay lines after the load of a run, by clients of this process.

Only where one client alone has a network without a delay: messages and bytes do not depend on it, and nothing waits.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.campaign.networks import Emulated
from bench.campaign.peer_networks import EmulatedPeers
from bench.campaign.servers import Progress
from bench.errors import LockbenchError
from bench.load.runner import where
from bench.records.network import read_network
from bench.records.schema import Carried, RunPlan, Traffic, TrafficPhase
from bench.records.workload import UNCONTENDED
from bench.servers.endpoint import Endpoint
from bench.servers.network.counts import Tally
from bench.servers.network.lines import Lines
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import ClientOptions, Grant, LockClient
from bench.systems.registry import System, system
from bench.systems.wait import Wait

PAIRS, HAND_OFFS = 20, 5
_OPEN_S, _IDLE_S = 1.0, 3.0
# Sessions are kept alive a few times within their TTL, so this is short enough for some of that. Leases that nobody
# keeps alive must last.
_SESSION_TTL_MS, _LEASE_TTL_MS = 2_000, 60_000
_SETTLES_S = 0.3  # from asking for a held lock to waiting for it, with time to spare
_GRANTED_WITHIN_MS = 20_000
_TRY = Wait.parse("try")


class NotCounted(LockbenchError):
    """A lock was not to be had, so what it sends could not be counted."""


def traffic_of(
    plan: RunPlan, supervisor: Supervisor, network: Emulated, peers: EmulatedPeers | None, progress: Progress
) -> Traffic | None:
    """Counted where it can be; None elsewhere, or where the lock could not be had, which `progress` is told."""
    every = [read_network(plan.workload.network), read_network(plan.workload.peer_network)]
    delayed = any(one is not None and (one.rtt_ms or one.jitter_ms or one.reset_after_s) for one in every)
    if plan.workload.name != UNCONTENDED or plan.workload.clients != 1 or delayed:
        return None
    entry = system(plan.system)
    reached = where(entry, supervisor)[1]
    network.lines.divert(None)
    if peers is not None and peers.asked_at:
        reached = reached.at(tuple(peers.asked_at))
    try:
        return count(entry, network.lines.through(reached), network.lines, peers.lines if peers else None)
    except (NotCounted, OSError, RuntimeError) as refused:
        progress(f"what {entry.title} sends was not counted: {refused}")
        return None


def count(entry: System, endpoint: Endpoint, lines: Lines, peer_lines: Lines | None) -> Traffic:
    """`endpoint` is the system behind `lines`. Raises NotCounted, and what `LockClient.open` raises."""
    of_session = entry.client_class.capabilities.lease_scope == "session"
    ttl_ms = _SESSION_TTL_MS if of_session else _LEASE_TTL_MS
    wait = Wait.parse(entry.default_wait)
    options = ClientOptions(ttl_ms=ttl_ms, variant=entry.client_variant)
    key = f"traffic-{time.monotonic_ns()}"
    phases: dict[str, TrafficPhase] = {}

    def carried(name: str, act: Callable[[], object], times: int = 0) -> None:
        found = _carried(lines, peer_lines, act, times)
        phases[name] = found if name not in phases else _together(phases[name], found)

    with entry.client_class.open(endpoint, options) as holder:

        def granted(client: LockClient, how: Wait = _TRY) -> Grant:
            answer = client.acquire(key, ttl_ms, _GRANTED_WITHIN_MS, how)
            if not isinstance(answer, Grant):
                raise NotCounted(f"an acquire ended with {answer.outcome}: {answer.reason}")
            return answer

        def pairs() -> None:
            for _ in range(PAIRS):
                holder.release(granted(holder))

        holder.release(granted(holder))  # what is done once for each client, or for each key
        carried("open", lambda: _rest(_OPEN_S))
        carried("pairs", pairs, PAIRS)
        held = granted(holder)
        carried("holder", lambda: _rest(_IDLE_S))
        with entry.client_class.open(endpoint, options) as waiter:
            for number in range(HAND_OFFS):
                with _waiting(lambda: granted(waiter, wait)) as next_grant:
                    _rest(_SETTLES_S)
                    if not number:
                        carried("waiter", lambda: _rest(_IDLE_S))

                    def hand_off(held: Grant = held, next_grant: Callable[[], Grant] = next_grant) -> None:
                        holder.release(held)
                        next_grant()

                    carried("hand_offs", hand_off, 1)
                    waiter.release(next_grant())
                held = granted(holder)
            holder.release(held)
    return Traffic(ttl_ms=ttl_ms, wait=str(wait), phases=phases)


@contextmanager
def _waiting(acquire: Callable[[], Grant]) -> Iterator[Callable[[], Grant]]:
    """Wait for a lock in a thread of its own; the block's value waits for the grant. Raises what `acquire` raises."""
    found: list[Grant | Exception] = []

    def wait() -> None:
        try:
            found.append(acquire())
        except (NotCounted, OSError, RuntimeError) as refused:  # for whoever asks for the grant
            found.append(refused)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()

    def granted() -> Grant:
        waiting.join()
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    try:
        yield granted
    finally:
        waiting.join()


def _carried(lines: Lines, peer_lines: Lines | None, act: Callable[[], object], times: int) -> TrafficPhase:
    every = [one for one in (lines, peer_lines) if one is not None]
    before = [one.tally() for one in every]
    began_ns = time.monotonic_ns()
    act()
    seconds = (time.monotonic_ns() - began_ns) / 1e9
    clients, *peers = (_gained(was, one.tally()) for was, one in zip(before, every, strict=True))
    return TrafficPhase(seconds=round(seconds, 6), times=times, clients=clients, peers=peers[0] if peers else None)


def _gained(before: Tally, after: Tally) -> Carried:
    return Carried(
        messages_to=after.onward_messages - before.onward_messages,
        bytes_to=after.onward_bytes - before.onward_bytes,
        messages_from=after.backward_messages - before.backward_messages,
        bytes_from=after.backward_bytes - before.backward_bytes,
    )


def _together(one: TrafficPhase, more: TrafficPhase) -> TrafficPhase:
    return TrafficPhase(
        seconds=round(one.seconds + more.seconds, 6),
        times=one.times + more.times,
        clients=_sum(one.clients, more.clients),
        peers=_sum(one.peers, more.peers) if one.peers and more.peers else None,
    )


def _sum(one: Carried, more: Carried) -> Carried:
    return Carried(**{name: value + getattr(more, name) for name, value in one.model_dump().items()})


def _rest(seconds: float) -> None:
    """Do nothing, which is what is measured."""
    threading.Event().wait(seconds)
