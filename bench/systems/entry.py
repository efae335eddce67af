"""One row of the tables: a system, or a variant of one, as its own folder states it in `entries.py`.

Classes and functions are named by their path, `package.module:name`, and imported when first used: gRPC, kazoo and
boto3 are costly to import, and under gevent they must be imported after patching. A module of entries imports nothing
but this one.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from types import FrameType
from typing import Literal, NamedTuple, TypeVar, cast

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.interruption import Ended, tell_at_once
from bench.servers.spec import ServerSpec
from bench.systems.base import LockClient

Line = Literal["solid"] | tuple[float, Sequence[float]]  # as matplotlib takes it
SOLID: Line = "solid"
DASHED: Line = (0, (4.0, 1.6))
DOTTED: Line = (0, (1.2, 1.6))

# Holder and queue of a key as the servers store them, asked past the adapter; empty: nothing is left of it.
Leftovers = Callable[[Endpoint, str], list[str]]
# What servers say they have of all their clients (connections, sessions, …), counted by kind, without whoever asks.
Presence = Callable[[Endpoint], Mapping[str, int]]

_Kind = TypeVar("_Kind")


class BrokenSystem(LockbenchError):
    """What an entry names cannot be loaded; the message says which package declared it."""


@dataclass(frozen=True, slots=True)
class Look:
    """Colour, marker and line of one system in every figure; `hollow` markers are filled with white.

    The bench's own colours are those of Okabe and Ito (Color Universal Design, 2008), distinguishable under all common
    colour-vision deficiencies. A durable sibling has its system's colour, with a dashed line and hollow markers.
    """

    colour: str
    marker: str
    line: Line = SOLID
    hollow: bool = False

    @property
    def face(self) -> str:
        return "white" if self.hollow else self.colour


class Trips(NamedTuple):
    """Round trips one after another: between a client and its server, and between servers before they answer."""

    client: int
    peers: int = 0


@dataclass(frozen=True, slots=True)
class System:
    """One row of the tables: an adapter, the servers behind it, and the variant of either.

    `default_wait` is how contended clients wait, best first for the system; it is part of a row's name in every table.
    `hand_off_trips` is what lies between a release's answer and the next client's grant, by wait strategy, where the
    waiter only looks or is handed the lock. By any other strategy it asks for a free lock, as without contention.
    `server_variant` goes to `ServerSpec.configure` before each run, `client_variant` into `ClientOptions.variant`.
    `headline` systems are what `all` means.
    """

    name: str
    title: str
    client_path: str
    default_wait: str
    servers_path: str | None = None  # None: needs no server
    server_set: str | None = None  # the `ServerSpec.name` of those, so that nothing is imported to know it
    leftovers_path: str | None = None  # a `Leftovers`; the conformance suite counts with it
    presence_path: str | None = None  # a `Presence`; None: the servers do not tell
    look: Look | None = None  # None: one made from the name
    headline: bool = False
    hand_off_trips: Mapping[str, Trips] = field(default_factory=dict)
    durable_variant: str | None = None  # the sibling row with durable writes, measured beside this one
    client_variant: Mapping[str, str] = field(default_factory=dict)
    server_variant: Mapping[str, str] = field(default_factory=dict)
    patient_variant: Mapping[str, str] = field(default_factory=dict)  # lifts limits that a client sets within one call
    client_cost_target_ms: float | None = (
        None  # CPU of a lock pair, uncontended; `lockbench calibrate` holds it to that
    )
    tags: tuple[str, ...] = ()
    is_lock: bool = True  # False: a floor or a probe, which excludes nobody
    package: str = ""  # the package from outside that declares it; empty: the bench itself

    @property
    def client_class(self) -> type[LockClient]:
        return self._class(self.client_path, LockClient)  # type: ignore[type-abstract]  # a class that extends it

    @property
    def servers(self) -> ServerSpec | None:
        """The servers behind it. Raises BrokenSystem where they are not those that the entry says."""
        if self.servers_path is None:
            return None
        kind = self._class(self.servers_path, ServerSpec)  # type: ignore[type-abstract]
        try:
            spec = kind()
        except TypeError as unfinished:  # it lacks a method, or wants arguments
            raise BrokenSystem(f"{self._said}: {self.servers_path} cannot be made: {unfinished}") from unfinished
        if spec.name != self.server_set:
            raise BrokenSystem(
                f"{self._said} names its servers {self.server_set}, but {self.servers_path} names them {spec.name}"
            )
        return spec

    @property
    def leftovers(self) -> Leftovers:
        """How its store is looked into. Raises BrokenSystem where the entry names no way."""
        if self.leftovers_path is None:
            raise BrokenSystem(
                f"{self._said} has no leftovers_path: name a function that lists what is stored for a key"
            )
        return cast(Leftovers, self._load(self.leftovers_path))

    @property
    def presence(self) -> Presence:
        """How its servers are asked for what they have of their clients."""
        if self.presence_path is None:
            return lambda _endpoint: {}
        return cast(Presence, self._load(self.presence_path))

    @property
    def folder(self) -> str:
        """The package of its adapter: entries that share it are variants of one adapter."""
        module = self.client_path.partition(":")[0]
        return module.rpartition(".")[0] or module

    @property
    def _said(self) -> str:
        return f"the system {self.name} of {self.package}" if self.package else f"the system {self.name}"

    def _class(self, path: str, kind: type[_Kind]) -> type[_Kind]:
        found = self._load(path)
        if not (isinstance(found, type) and issubclass(found, kind)):
            raise BrokenSystem(f"{self._said}: {path} is no class that extends {kind.__module__}.{kind.__name__}")
        return found

    def _load(self, path: str) -> object:
        module, _, name = path.partition(":")
        if not self.package:
            return getattr(import_module(module), name)
        what = f"importing {path} of package {self.package}"
        try:
            return carefully(lambda: getattr(import_module(module), name), what)
        except BrokenSystem as broken:
            raise BrokenSystem(f"{self._said}: {path} cannot be loaded: {broken}") from broken


def carefully(load: Callable[[], object], what: str) -> object:
    """What a package from outside loads. Raises BrokenSystem, whatever its modules raise when they are imported.

    A signal still ends this process, and says in what it came.
    """
    interrupted: list[int] = []
    try:
        with _noticing(interrupted):
            return load()
    except BaseException as raised:  # also what is no Exception, as a test framework's skip
        if interrupted or isinstance(raised, Ended):
            tell_at_once(f"interrupted while {what}")
            raise
        raise BrokenSystem(f"{type(raised).__name__}: {raised}") from raised


@contextmanager
def _noticing(interrupted: list[int]) -> Iterator[None]:
    """Where Ctrl-C raises KeyboardInterrupt, note that it came: anybody can raise one."""
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.append(number)
        usual(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
