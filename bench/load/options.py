"""The load's options: on Locust's command line, in its environment variables, and in the form of its web page.

Those that say what the clients do are made from the fields of `Behaviour` (bench/records/workload.py); the others stand
here. No argument groups are used: Locust leaves grouped arguments out of its form (locustio/locust#2560). Every default
is a value, not None, because the form gives a field the type of its default. The form checks nothing, so everything is
checked here, when a test starts.
"""

import json
import os
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bench.errors import LockbenchError
from bench.jobs.keeper import keeper
from bench.load.bounds import (
    SPAWN_RATE_PER_S,
    exactly_number,
    exactly_whole,
    number,
    run_time_s,
    whole,
)
from bench.load.channel import FD_VARIABLE
from bench.records.ladder import steps_to
from bench.records.network import NO_NETWORK, network_name
from bench.records.workload import (
    AUTO,
    BY_LOCK,
    CLIENTS_PER_PROCESS_AT_MOST,
    CONTENDED,
    JOBS,
    MEETING,
    PROCESSES_AT_MOST,
    SATURATION,
    UNCONTENDED,
    Behaviour,
    Parameter,
    parameters,
)
from bench.systems.base import ClientOptions
from bench.systems.registry import PROBES, SYSTEMS, System
from bench.systems.wait import Wait

if TYPE_CHECKING:
    from locust.argument_parser import LocustArgumentParser

_T = TypeVar("_T")


GIVE_UP_S = 2.0  # a system that fails every operation for this long has stopped answering
_LOOPBACK = "127.0.0.1"
_PORT = whole(1, 65_535)
_BOUNDED: dict[str, Callable[[Any], Any]] = {
    "--users": whole(1, PROCESSES_AT_MOST * CLIENTS_PER_PROCESS_AT_MOST),  # and fewer where there are fewer processes
    "--spawn-rate": number(*SPAWN_RATE_PER_S),
    "--run-time": run_time_s,
    "--processes": whole(-1, PROCESSES_AT_MOST),
    "--expect-workers": whole(1, PROCESSES_AT_MOST),
    "--web-port": _PORT,
    "--master-bind-port": _PORT,
    "--master-port": _PORT,
}
_EXACTLY: dict[type, Callable[[Any], Any]] = {int: exactly_whole, float: exactly_number}


class BadOptions(LockbenchError):
    """The options make no test; one message names every mistake."""


class _Option(NamedTuple):
    name: str
    default: str | int | float
    help: str
    choices: tuple[str, ...] | None = None
    in_form: bool = True


def option_of(one: Parameter) -> str:
    """What Locust calls a parameter."""
    return "--workload" if one.field == "name" else f"--{one.field.replace('_', '-')}"


def _made_from(one: Parameter) -> _Option:
    # The web form puts a help text into its field's label, on one line, and cuts it after about 90 characters.
    unit = {"ms": ", in milliseconds", "s": ", in seconds"}.get(one.unit, "")
    zero = f"; 0: {one.zero}" if one.zero else ""
    text = f"{one.help}{unit}{zero}. Example: {one.example}"
    return _Option(option_of(one), one.initial, text, one.choices or None, one.in_form)


_NETWORK = next(one for one in parameters() if one.field == "network")
# - uncontended: each client has a key of its own. contended: all clients want the same keys. saturation: as
#   uncontended, with as many clients as it takes to reach the ceiling. rate: operations arrive at a rate, whatever the
#   system answers, and any free client takes the next. hot-cold: as contended, with many keys of unlike popularity.
#   contended-rate: as rate, all for one key.
# - keys that clients share are taken at random. 0 is one key for contended, a hundred for hot-cold, and a key for each
#   client for the others.
# - wait `auto` is the registry's default of the system for contended and hot-cold, and `try` for the others.
#   `poll-5ms-j20` asks every 5 ms, each pause shortened at random by up to 20 %.
_OPTIONS = (
    _Option("--system", "redis", "Lock system that SelectedLockUser drives. Example: etcd"),  # choices: `_driven`
    _Option("--beside", "", "Further systems under the same load, side by side. Example: etcd,zookeeper"),
    *map(_made_from, parameters(Behaviour)),
    _made_from(_NETWORK),
    _Option("--lock-seed", 1, "Seed of keys and arrivals, and part of the keys' names; a whole number. Example: 7"),
    _Option("--record-into", "", "Folder for the result of a measured window; empty: no record.", in_form=False),
    _Option(
        "--give-up-s", GIVE_UP_S, "End the test when every operation has failed for so many seconds.", in_form=False
    ),
    _Option(
        "--client-variant", "{}", "Variant of the client, over its system's own: a JSON object of texts.", in_form=False
    ),
)


def add_options(parser: "LocustArgumentParser") -> None:
    """Add the options to Locust's parser. Those for the campaign runner alone stay out of the web form.

    Locust's own numbers get bounds, and its web page and its master's port stay on loopback: who wants them elsewhere
    says so (`--web-host`, `--master-bind-host`, their environment variables, or locust.conf).
    """
    parser.set_defaults(web_host=_LOOPBACK, master_bind_host=_LOOPBACK)
    for name, read in _BOUNDED.items():
        parser._option_string_actions[name].type = _argument(read)
    for option in _OPTIONS:
        word = option.name.removeprefix("--").removeprefix("lock-").replace("-", "_").upper()
        parser.add_argument(
            option.name,
            default=option.default,
            type=_argument(_EXACTLY.get(type(option.default), str)),
            choices=_driven() if option.name == "--system" else option.choices,
            help=option.help,
            env_var=f"LOCUST_LOCK_{word}",
            include_in_web_ui=option.in_form and (option.name != option_of(_NETWORK) or is_of_lockbench()),
        )


def is_of_lockbench() -> bool:
    """Did `lockbench live` start this process? It has delay lines, and keeps what a test has done."""
    return FD_VARIABLE in os.environ


def _driven() -> tuple[str, ...]:
    """Every system; asked for late, since packages from outside are imported for it."""
    return (*SYSTEMS, *PROBES)


def _argument(read: Callable[[Any], Any]) -> Callable[[str], Any]:
    """A reader for argparse, which shows the reason only of its own exception."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except ValueError as mistake:
            raise ArgumentTypeError(str(mistake)) from None

    return convert


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """Checked options: what each client does, and what is no part of that."""

    system: str
    workload: Behaviour
    seed: int
    beside: tuple[str, ...] = ()  # further systems under the same load
    network: str = NO_NETWORK  # between clients and servers, as `bench.records.network` writes it
    record_into: Path | None = None
    variant: Mapping[str, str] = field(default_factory=dict)
    give_up_s: float = GIVE_UP_S
    # Of the workload; fields of their own, since they are read between the two clock reads of a measurement.
    ttl_ms: int = field(init=False)
    timeout_ms: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ttl_ms", self.workload.ttl_ms)
        object.__setattr__(self, "timeout_ms", self.workload.timeout_ms)

    @classmethod
    def read(cls, options: Namespace | Mapping[str, Any]) -> "LoadSettings":
        """Check options from a command line or a form (numbers may be texts). Raises BadOptions with all mistakes."""
        given = options if isinstance(options, Mapping) else vars(options)
        wrong: list[str] = []

        def take(option: str, convert: Callable[[Any], _T], otherwise: _T) -> _T:
            try:
                return convert(given[option.removeprefix("--").replace("-", "_")])
            except ValueError as mistake:
                wrong.append(f"{option}: {mistake}")
                return otherwise

        settings = cls(
            system=take("--system", _one_of(_driven()), ""),
            workload=Behaviour(
                **{one.field: take(option_of(one), reader_of(one), one.initial) for one in parameters(Behaviour)}
            ),
            seed=take("--lock-seed", whole(0, 2**63 - 1), 0),
            beside=take("--beside", _each_of(_driven()), ()),
            network=take("--network", network_name, NO_NETWORK),
            record_into=Path(given["record_into"]) if given["record_into"] else None,
            variant=take("--client-variant", _texts, {}),
            give_up_s=take("--give-up-s", number(0.1, 3_600.0), GIVE_UP_S),
        )
        if settings.system in settings.beside:
            wrong.append(f"--beside: {settings.system} is the first system already")
        does = settings.workload
        if settings.beside and (does.open_loop or does.name in JOBS or does.strangers):
            wrong.append("--beside: systems side by side need a closed loop of locks, without strangers")
        if settings.workload.name == UNCONTENDED and settings.workload.keys:
            wrong.append("--keys: in the uncontended workload each client has its own key; leave it at 0")
        if settings.record_into is not None and not settings.workload.measure_s:
            wrong.append("--record-into: needs --measure-s, the length of the window")
        if wrong:
            raise BadOptions("; ".join(wrong))
        return settings

    @property
    def systems(self) -> tuple[str, ...]:
        """Every system that is under this load."""
        return (self.system, *self.beside)

    def fit(self, entry: System) -> None:
        """Raise BadOptions when clients of one system cannot do as asked: wait like that, or keep so short a lease."""
        wrong = [f"--{name.replace('_', '-')}: {mistake}" for name, mistake in misfits(self.workload, entry)]
        if self.network != NO_NETWORK and entry.servers is None:
            wrong.append(f"--network: {entry.name} has no servers, so there is no network before them")
        if wrong:
            raise BadOptions("; ".join(wrong))

    def wait(self, entry: System) -> Wait:
        """How clients of one system wait. Raises BadOptions when the system cannot wait like that."""
        try:
            return wait_of(self.workload, entry)
        except ValueError as mistake:
            raise BadOptions(f"--wait: {mistake}") from None

    def client_options(self, entry: System) -> ClientOptions:
        """How clients of one system are opened."""
        return ClientOptions(ttl_ms=self.ttl_ms, variant={**entry.client_variant, **self.variant})

    @property
    def hold_ms(self) -> float:
        """How long a client holds a lock."""
        return self.workload.hold_ms

    def climbs(self, clients: int) -> bool:
        """Do so many clients look for their best number before the window?"""
        asked = self.workload
        return asked.name == SATURATION and asked.step_s > 0 and asked.measure_s > 0 and bool(steps_to(clients))

    def key(self, index: int) -> str:
        """The name of a key. It holds the run's seed: what a killed run left locked is in no later run's way."""
        return key_name(self.seed, index)

    def key_of_probe(self, index: int) -> str:
        """The name of a key that no client uses."""
        return f"lockbench-{self.seed}-probe-{index}"


def key_name(seed: int, index: int) -> str:
    """What a run with this seed calls its keys."""
    return f"lockbench-{seed}-{index}"


def default_of(name: str) -> str | int | float:
    """The default of an option, by the name that it has in a form."""
    return next(option.default for option in _OPTIONS if option.name == f"--{name.replace('_', '-')}")


def reader_of(one: Parameter) -> Callable[[Any], Any]:
    """Reads a parameter from a text without a unit. It raises ValueError."""
    if one.choices:
        return _one_of(one.choices)
    if one.kind is str:
        return network_name if one.field in ("network", "peer_network") else _wait
    return whole(int(one.low), int(one.high)) if one.kind is int else number(one.low, one.high)


def wait_of(workload: Behaviour, entry: System) -> Wait:
    """How clients of one system wait in a workload. Raises ValueError when the system cannot wait like that."""
    automatic = entry.default_wait if workload.name in MEETING else "try"
    wait = Wait.parse(automatic if workload.wait == AUTO else workload.wait)
    known = entry.client_class.capabilities.wait_strategies
    if wait.strategy not in known:
        raise ValueError(f"{entry.name} cannot wait by {wait}; it knows {', '.join(known)}")
    return wait


def misfits(workload: Behaviour, entry: System) -> Iterator[tuple[str, str]]:
    """What clients of one system cannot do as asked: the field and why, for each mistake."""
    try:
        wait_of(workload, entry)
    except ValueError as mistake:
        yield "wait", str(mistake)
    lowest_ms = entry.client_class.capabilities.ttl_min_ms
    if workload.ttl_ms < lowest_ms:
        yield "ttl_ms", f"{entry.name} keeps no lease shorter than {lowest_ms} ms, not {workload.ttl_ms}"
    if workload.name in JOBS:
        from bench.jobs.ways import WAYS  # here: it imports the database's client library, which few commands need

        if workload.name not in WAYS[workload.way].workloads:
            yield "way", f"{workload.way} is no way to {workload.name}"
        if workload.way != BY_LOCK and entry.server_set != keeper().server_set:
            yield "way", f"{workload.way} takes no lock, so {entry.name} has no part in it: choose {keeper().name}"


def crowd_misfits(workload: Behaviour, clients: int, processes: int, systems: int = 1) -> Iterator[tuple[str, str]]:
    """What so many clients in so many load processes cannot do as asked: the field and why, for each mistake."""
    if systems > 1 and clients % (systems * processes):
        yield "beside", f"{clients:,} clients cannot be shared evenly by {systems} systems, in each load process"
    if workload.name != CONTENDED:
        return
    meeting = max(0, clients - workload.strangers)
    if workload.strangers and meeting < processes:
        left = f"{workload.strangers:,} of {clients:,} clients leave {meeting or 'none'} to meet at the key"
        yield "strangers", f"{left}, and each load process needs one"
    if workload.pool > (each := clients // processes):
        yield "pool", f"{workload.pool:,} connections are more than the clients of a load process: {each:,}"


def _one_of(known: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is none of {', '.join(known)}")
        return str(value)

    return check


def _each_of(known: tuple[str, ...]) -> Callable[[Any], tuple[str, ...]]:
    one_of = _one_of(known)

    def check(value: Any) -> tuple[str, ...]:
        names = tuple(one_of(name.strip()) for name in str(value).split(",") if name.strip())
        if len(set(names)) < len(names):
            raise ValueError("one system is named twice")
        return names

    return check


def _wait(value: Any) -> str:
    return AUTO if value == AUTO else str(Wait.parse(str(value)))


def _texts(value: Any) -> dict[str, str]:
    tree = json.loads(value)
    if not isinstance(tree, dict) or not all(isinstance(item, str) for item in tree.values()):
        raise ValueError("not a JSON object of texts")
    return tree
