"""Every system of the bench, by name: its own, one line a folder, and those that packages from outside declare.

A package declares its systems by an entry point in the group `lockbench.systems` whose value is a tuple of `System`,
like the ENTRIES of the folders here. They are looked for only when a name is asked for that is none of the bench's own,
or when all systems are listed; what is broken is reported once, by the name of its package, and left out.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from bench.errors import LockbenchError
from bench.servers.spec import ServerSpec
from bench.systems.entry import DASHED, DOTTED, SOLID, BrokenSystem, Look, System, Trips, carefully
from bench.systems.wait import POLLING, Wait

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = (
    "DASHED",
    "DOTTED",
    "HEADLINE",
    "POLLING",
    "PROBES",
    "SERVER_SETS",
    "SOLID",
    "SYSTEMS",
    "BrokenSystem",
    "Look",
    "System",
    "Trips",
    "UnknownSystem",
    "Wait",
    "every_server_set",
    "is_server_set",
    "packages_of",
    "server_sets",
    "sharing_servers",
    "system",
)

# One line a folder, in the order of the tables.
_FOLDERS = (
    "redis",
    "redis_replicated",
    "redlock",
    "zookeeper",
    "etcd",
    "postgres_row",
    "postgres_advisory",
    "dynamodb",
    "memory",
    "null",
    "faulty",
)
GROUP = "lockbench.systems"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SET_NAME = re.compile(r"[a-z][a-z0-9]*")  # part of the names of variables: LOCKBENCH_<SET>_URL
_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_log = logging.getLogger("lockbench")


class UnknownSystem(LockbenchError):
    """A name that the registry does not have."""


def _own() -> Iterator[tuple[tuple[System, ...], tuple[System, ...]]]:
    for folder in _FOLDERS:
        module = import_module(f"bench.systems.{folder}.entries")
        yield module.ENTRIES, getattr(module, "PROBES", ())


_FOUND = tuple(_own())
_OWN: Mapping[str, System] = {entry.name: entry for entries, _ in _FOUND for entry in entries}
# What `lockbench calibrate` drives beside the systems: one backend's command alone. No locks, and no rows of any table.
PROBES: Mapping[str, System] = {entry.name: entry for _, probes in _FOUND for entry in probes}
# What `all` means: of the bench's own only, so that a package changes no campaign that does not name its systems.
HEADLINE: tuple[str, ...] = tuple(name for name, entry in _OWN.items() if entry.headline)
SERVER_SETS: tuple[str, ...] = tuple(dict.fromkeys(entry.server_set for entry in _OWN.values() if entry.server_set))


@dataclass(frozen=True, slots=True)
class _Outside:
    systems: Mapping[str, System]
    problems: tuple[str, ...]


@cache
def _outside() -> _Outside:
    """What packages declare. What is wrong with one is logged, once, and takes nothing else with it."""
    from importlib.metadata import entry_points  # here: most commands do without, and it takes its time to import

    systems: dict[str, System] = {}
    problems: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.dist.name if one.dist else "", one.name)):
        package = point.dist.name if point.dist is not None else "without a name"
        try:
            for entry in _declared(point, package):
                _check(entry, {**_OWN, **PROBES, **systems})
                systems[entry.name] = replace(entry, package=package, headline=False)
        except Exception as wrong:  # noqa: BLE001 - an entry may be anything
            said = str(wrong) if isinstance(wrong, BrokenSystem) else f"{type(wrong).__name__}: {wrong}"
            problems.append(f"package {package}: its systems cannot be loaded from {point.value}: {said}")
            _log.warning("%s", problems[-1])
    return _Outside(systems, tuple(problems))


def _declared(point: "EntryPoint", package: str) -> Iterable[System]:
    declared = carefully(point.load, f"importing {point.value} of package {package}")
    if not isinstance(declared, tuple) or not declared or not all(isinstance(entry, System) for entry in declared):
        raise BrokenSystem("its value must be a tuple of bench.systems.entry.System")
    return declared


def _check(entry: System, known: Mapping[str, System]) -> None:
    """Raise BrokenSystem for an entry that cannot stand beside the others."""
    if not _NAME.fullmatch(entry.name) or entry.name == "all":
        raise BrokenSystem(f"{entry.name!r} cannot be a name: use lower-case letters, digits and single dashes")
    if entry.name in known:
        owner = known[entry.name].package or "the bench itself"
        raise BrokenSystem(f"the name {entry.name} is taken, by {owner}: choose another")
    for path in (entry.client_path, entry.servers_path, entry.leftovers_path, entry.presence_path):
        if path is not None and not _PATH.fullmatch(path):
            raise BrokenSystem(f"{entry.name}: {path!r} is not package.module:name")
    if (entry.servers_path is None) != (entry.server_set is None):
        raise BrokenSystem(f"{entry.name}: servers_path and server_set go together")
    if entry.server_set is not None:
        if not _SET_NAME.fullmatch(entry.server_set):
            raise BrokenSystem(f"{entry.name}: {entry.server_set!r} cannot name servers: use letters and digits")
        paths = {one.servers_path for one in known.values() if one.server_set == entry.server_set}
        if paths and entry.servers_path not in paths:
            raise BrokenSystem(f"{entry.name}: the servers' name {entry.server_set} is taken: choose another")


class _Systems(Mapping[str, System]):
    """The bench's own first, in the order of the tables. Packages are looked at only where those do not suffice."""

    def __getitem__(self, name: str) -> System:
        return _OWN[name] if name in _OWN else _outside().systems[name]

    def __iter__(self) -> Iterator[str]:
        yield from _OWN
        yield from _outside().systems

    def __len__(self) -> int:
        return len(_OWN) + len(_outside().systems)


SYSTEMS: Mapping[str, System] = _Systems()


def system(name: str) -> System:
    """The entry of one system. Raises UnknownSystem with the names that exist."""
    entry = _OWN.get(name) or PROBES.get(name) or SYSTEMS.get(name)
    if entry is None:
        raise UnknownSystem(f"no system {name!r}: choose from {', '.join(SYSTEMS)}, or all")
    return entry


def server_sets(systems: Iterable[System]) -> tuple[ServerSpec, ...]:
    """The distinct server sets behind some systems, in their order. Raises BrokenSystem."""
    specs: dict[str, ServerSpec] = {}
    for entry in systems:
        spec = entry.servers
        if spec is not None:
            specs.setdefault(spec.name, spec)
    return tuple(specs.values())


@cache
def every_server_set() -> tuple[ServerSpec, ...]:
    """The server sets of all systems. One from outside that cannot be had is logged, once, and left out."""
    specs: dict[str, ServerSpec] = {}
    for entry in SYSTEMS.values():
        try:
            specs.update({spec.name: spec for spec in server_sets([entry]) if spec.name not in specs})
        except BrokenSystem as broken:
            _log.warning("%s", broken)
    return tuple(specs.values())


def packages_of(names: Iterable[str]) -> tuple[str, ...]:
    """The packages from outside that some systems come from."""
    return tuple(dict.fromkeys(entry.package for entry in map(system, names) if entry.package))


def sharing_servers(name: str) -> frozenset[str]:
    """The systems whose servers are those of one system, itself among them."""
    own = system(name).server_set
    return frozenset(entry.name for entry in SYSTEMS.values() if entry.server_set == own) if own else frozenset({name})


def is_server_set(name: str) -> bool:
    """Is this the name of a system's servers?"""
    return name in SERVER_SETS or any(entry.server_set == name for entry in SYSTEMS.values())
