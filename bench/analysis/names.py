"""Titles, looks, order and kinship of systems, from the registry's static entries. No adapter is imported here."""

import re
from collections.abc import Mapping
from functools import cache

from bench.systems.registry import HEADLINE, POLLING, SYSTEMS, Look, Trips, Wait

EMULATOR_TAG = "emulator"


def title(system: str, engine: str = "") -> str:
    """The name for people; a system with several engines is named after the one that answered."""
    entry = SYSTEMS.get(system)
    name = entry.title if entry is not None else system
    return f"{name} ({engine})" if engine else name


def tags(system: str) -> tuple[str, ...]:
    """The registry's tags, for a system that was not measured; a run records its own."""
    return SYSTEMS[system].tags if system in SYSTEMS else ()


def look(system: str) -> Look | None:
    """Its colour, marker and line; None where the registry has none."""
    return SYSTEMS[system].look if system in SYSTEMS else None


def default_wait(system: str) -> str:
    """How its clients wait where nobody says otherwise."""
    return SYSTEMS[system].default_wait if system in SYSTEMS else ""


def strategy(wait: str) -> str:
    """The strategy of a way to wait, without its parameters."""
    return Wait.parse(wait).strategy


def pauses(wait: str) -> bool:
    """Does a client that has to ask again pause first?"""
    return Wait.parse(wait).interval_ms > 0.0


def polls(strategy: str) -> bool:
    """Does a client ask again after a pause of its own?"""
    return strategy in POLLING


def hand_off_trips(system: str, strategy: str) -> Trips | None:
    """See `System`; None: by this strategy a hand-off is an acquire of a free lock."""
    return SYSTEMS[system].hand_off_trips.get(strategy) if system in SYSTEMS else None


def headline() -> tuple[str, ...]:
    """The systems of the first comparison, in its order."""
    return HEADLINE


def position(system: str) -> int:
    """Where a system stands in every table: registry order, then the unknown ones of old records."""
    names = list(SYSTEMS)
    return names.index(system) if system in SYSTEMS else len(names)


def claimed_as(system: str) -> str:
    """The system whose claims apply to this row: itself, or the one whose durable sibling it is."""
    return _sibling_of().get(system, system)


@cache
def _sibling_of() -> Mapping[str, str]:
    """Durable sibling -> the system whose claims it shares: claims do not say what they assume about durability."""
    return {entry.durable_variant: name for name, entry in SYSTEMS.items() if entry.durable_variant is not None}


def in_order(title: str) -> tuple[tuple[int, str], ...]:
    """A key by which titles of workloads are sorted: numbers in them by their size, 8 clients before 32."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", title))
