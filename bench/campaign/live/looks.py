"""What the servers of a live session say of themselves, and what the machine has spent: two looks, beside the load.

A server that does not answer, as one that somebody has just killed, is no reason to lose the session.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.campaign.servers import server_view
from bench.errors import LockbenchError
from bench.load.measured import Surroundings
from bench.load.runner import facts_of, where
from bench.records.processor_time import Reading, read, used
from bench.records.schema import Facts, Struck
from bench.servers.counters import gained
from bench.servers.endpoint import Endpoint
from bench.servers.running.pinning import place
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import System, system

SupervisorOf = Callable[[System], Supervisor]  # who knows a system's servers
_NOWHERE = ("none", Endpoint(()))


@dataclass(frozen=True, slots=True)
class Look:
    """At one instant; a system that did not answer has no facts, and servers that tell nothing have an empty view."""

    places: Mapping[str, tuple[str, Endpoint]]  # by system
    facts: Mapping[str, Facts]
    views: Mapping[str, Mapping[str, float]]
    machine: Reading
    servers_are_ours: bool


def look(systems: Sequence[str], supervisor_of: SupervisorOf, when: str) -> Look:
    """Ask all servers, `when` (before, after) the load. How long a client waits for an answer bounds it."""
    entries = [system(name) for name in systems]
    places: dict[str, tuple[str, Endpoint]] = {}
    facts: dict[str, Facts] = {}
    views: dict[str, Mapping[str, float]] = {}
    for entry in entries:
        try:
            places[entry.name] = where(entry, supervisor_of(entry))
            facts[entry.name] = facts_of(entry, places[entry.name][1], when)
            views[entry.name] = server_view(entry.name, supervisor_of(entry))
        except LockbenchError:
            continue
    pids = _pids(entries, supervisor_of)
    machine = read(sorted(os.sched_getaffinity(0)), pids)
    return Look(places, facts, views, machine, bool(pids))


def surroundings(
    name: str, before: Look, after: Look, length_s: float, cpu_s: float, faults: Sequence[Struck]
) -> Surroundings:
    """What the two say, for the record of one system."""
    source, endpoint = before.places.get(name, after.places.get(name, _NOWHERE))
    nobody = Facts(version="not known", identity="no answer", durability={}, nodes=None)
    return Surroundings(
        source=source,
        endpoint=endpoint,
        facts_before=before.facts.get(name, nobody),
        facts_after=after.facts.get(name, nobody.model_copy(update={"identity": "no answer afterwards"})),
        use=used(before.machine, after.machine, cpu_s, length_s),
        placement=place(False, 1).words(before.servers_are_ours),
        faults=tuple(faults),
    )


def view_gained(name: str, before: Look, after: Look) -> dict[str, float]:
    """What the servers of a system counted meanwhile. Empty where another system of the session has the same ones."""
    both = before.views.keys() & after.views.keys()
    sets = [system(one).server_set for one in before.places]
    if name not in both or sets.count(system(name).server_set) != 1:
        return {}
    return gained(before.views[name], after.views[name])


def _pids(entries: Sequence[System], supervisor_of: SupervisorOf) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        try:
            found |= {} if entry.servers is None else supervisor_of(entry).running(entry.servers).pids
        except LockbenchError:
            continue
    return found
