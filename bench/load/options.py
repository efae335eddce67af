"""The load's options: on Locust's command line, in its environment variables, and in the form of its web page.

No argument groups are used: Locust leaves grouped arguments out of its form (locustio/locust#2560). Every default is a
value, not None, because the form gives a field the type of its default. The form checks nothing, so everything is
checked here, when a test starts.
"""

import json
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bench.errors import LockbenchError
from bench.load.bounds import (
    CLIENTS_PER_PROCESS_AT_MOST,
    PROCESSES_AT_MOST,
    SPAWN_RATE_PER_S,
    exactly_number,
    exactly_whole,
    number,
    run_time_s,
    whole,
)
from bench.load.schedule import ARRIVALS
from bench.records.ladder import steps_to
from bench.systems.base import ClientOptions
from bench.systems.registry import PROBES, SYSTEMS, System
from bench.systems.wait import Wait

if TYPE_CHECKING:
    from locust.argument_parser import LocustArgumentParser

RATE, HOT_COLD, SATURATION = "rate", "hot-cold", "saturation"
WORKLOADS = ("uncontended", "contended", SATURATION, RATE, HOT_COLD)
_KEYS_OF = {"contended": 1, HOT_COLD: 100}  # where --keys is 0: how many the clients share; others have one each
_MEETING = tuple(_KEYS_OF)  # clients of these workloads meet at a key
AUTO = "auto"
_DRIVEN = (*SYSTEMS, *PROBES)
_T = TypeVar("_T")


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


# The web form puts a help text into its field's label, on one line: what does not fit in about 90 characters is cut.
#
# - uncontended: each client has a key of its own. contended: all clients want the same keys. saturation: as
#   uncontended, with as many clients as it takes to reach the ceiling. rate: operations arrive at a rate, whatever the
#   system answers, and any free client takes the next. hot-cold: as contended, with many keys of unlike popularity.
# - keys that clients share are taken at random. 0 is one key for contended, a hundred for hot-cold, and a key for each
#   client for the others.
# - wait `auto` is the registry's default of the system for contended and hot-cold, and `try` for the others.
#   `poll-5ms-j20` asks every 5 ms, each pause shortened at random by up to 20 %.
_OPTIONS = (
    _Option("--system", "redis", "Lock system that SelectedLockUser drives. Example: etcd", _DRIVEN),
    _Option(
        "--workload",
        "uncontended",
        "What the clients do: own keys, the same key, a rate. Example: contended",
        WORKLOADS,
    ),
    _Option("--keys", 0, "Number of keys that the clients share; 0: as the workload says. Example: 4"),
    _Option("--ttl-ms", 10_000, "Lease of a lock, in milliseconds. Example: 10000"),
    _Option("--hold-ms", 0.0, "How long a client holds a lock before it releases it, in milliseconds. Example: 1.5"),
    _Option("--wait", AUTO, "How to wait for a held lock: auto, try, block, watch, poll-5ms-j20. Example: poll-20ms"),
    _Option("--timeout-ms", 5_000, "How long a client waits for a held lock, in milliseconds. Example: 5000"),
    _Option("--rate-per-s", 100.0, "rate: operations per second, of all clients together. Example: 250"),
    _Option("--arrivals", "poisson", "rate: at random instants, or at equal gaps. Example: uniform", ARRIVALS),
    _Option("--zipf-exponent", 0.99, "hot-cold: how unlike the keys are; 0: all alike. Example: 1.2"),
    _Option(
        "--step-s",
        0.0,
        "saturation, before a window: length of each step of 1, 2, 4 ... clients, in seconds; 0: no steps. Example: 1",
        in_form=False,
    ),
    _Option("--lock-seed", 1, "Seed of keys and arrivals, and part of the keys' names; a whole number. Example: 7"),
    _Option("--warmup-s", 1.0, "What starts in the first seconds is not counted, in seconds. Example: 2"),
    _Option(
        "--measure-s",
        0.0,
        "Length of the measured window, after which the test ends, in seconds; 0: no end.",
        in_form=False,
    ),
    _Option("--record-into", "", "Folder for the result of a measured window; empty: no record.", in_form=False),
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
            choices=option.choices,
            help=option.help,
            env_var=f"LOCUST_LOCK_{word}",
            include_in_web_ui=option.in_form,
        )


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
    """Checked options. `keys` is 0 where each client has its own."""

    system: str
    workload: str
    keys: int
    ttl_ms: int
    hold_ms: float
    wait_text: str
    timeout_ms: int
    seed: int
    warmup_s: float
    measure_s: float  # 0: until the test is stopped
    record_into: Path | None
    variant: Mapping[str, str] = field(default_factory=dict)
    rate_per_s: float = 1.0
    arrivals: str = ARRIVALS[0]
    zipf_exponent: float = 0.0
    step_s: float = 0.0

    @classmethod
    def read(cls, options: Namespace | Mapping[str, Any]) -> "LoadSettings":
        """Check options from a command line or a form (numbers may be texts). Raises BadOptions with all mistakes."""
        given = options if isinstance(options, Mapping) else vars(options)
        wrong: list[str] = []

        def take(name: str, convert: Callable[[Any], _T], otherwise: _T) -> _T:
            try:
                return convert(given[name])
            except ValueError as mistake:
                wrong.append(f"--{name.replace('_', '-')}: {mistake}")
                return otherwise

        settings = cls(
            system=take("system", _one_of(_DRIVEN), ""),
            workload=take("workload", _one_of(WORKLOADS), ""),
            keys=take("keys", whole(0, 1_000_000), 0),
            ttl_ms=take("ttl_ms", whole(1, 86_400_000), 1),
            hold_ms=take("hold_ms", number(0, 3_600_000), 0.0),
            wait_text=take("wait", _wait, AUTO),
            timeout_ms=take("timeout_ms", whole(0, 3_600_000), 0),
            rate_per_s=take("rate_per_s", number(0.001, 1_000_000), 1.0),
            arrivals=take("arrivals", _one_of(ARRIVALS), ARRIVALS[0]),
            zipf_exponent=take("zipf_exponent", number(0, 10), 0.0),
            step_s=take("step_s", number(0, 3_600), 0.0),
            seed=take("lock_seed", whole(0, 2**63 - 1), 0),
            warmup_s=take("warmup_s", number(0, 3_600), 0.0),
            measure_s=take("measure_s", number(0, 86_400), 0.0),
            record_into=Path(given["record_into"]) if given["record_into"] else None,
            variant=take("client_variant", _texts, {}),
        )
        if settings.workload == "uncontended" and settings.keys:
            wrong.append("--keys: in the uncontended workload each client has its own key; leave it at 0")
        if settings.record_into is not None and not settings.measure_s:
            wrong.append("--record-into: needs --measure-s, the length of the window")
        if wrong:
            raise BadOptions("; ".join(wrong))
        return settings

    def fit(self, entry: System) -> None:
        """Raise BadOptions when clients of one system cannot do as asked: wait like that, or keep so short a lease."""
        self.wait(entry)
        lowest_ms = entry.client_class.capabilities.ttl_min_ms
        if self.ttl_ms < lowest_ms:
            raise BadOptions(f"--ttl-ms: {entry.name} keeps no lease shorter than {lowest_ms} ms, not {self.ttl_ms}")

    def wait(self, entry: System) -> Wait:
        """How clients of one system wait. Raises BadOptions when the system cannot wait like that."""
        automatic = entry.default_wait if self.workload in _MEETING else "try"
        wait = Wait.parse(automatic if self.wait_text == AUTO else self.wait_text)
        known = entry.client_class.capabilities.wait_strategies
        if wait.strategy not in known:
            raise BadOptions(f"--wait: {entry.name} cannot wait by {wait}; it knows {', '.join(known)}")
        return wait

    def client_options(self, entry: System) -> ClientOptions:
        """How clients of one system are opened."""
        return ClientOptions(ttl_ms=self.ttl_ms, variant={**entry.client_variant, **self.variant})

    @property
    def shared_keys(self) -> int:
        """Number of keys that all clients draw from; 0: each client has its own."""
        return self.keys or _KEYS_OF.get(self.workload, 0)

    @property
    def open_loop(self) -> bool:
        """Do operations arrive at instants of their own?"""
        return self.workload == RATE

    def climbs(self, clients: int) -> bool:
        """Do so many clients look for their best number before the window?"""
        return self.workload == SATURATION and self.step_s > 0 and self.measure_s > 0 and bool(steps_to(clients))

    def key(self, index: int) -> str:
        """The name of a key. It holds the run's seed: what a killed run left locked is in no later run's way."""
        return f"lockbench-{self.seed}-{index}"

    def key_of_probe(self, index: int) -> str:
        """The name of a key that no client uses."""
        return f"lockbench-{self.seed}-probe-{index}"


def default_of(name: str) -> str | int | float:
    """The default of an option, by the name that it has in a form."""
    return next(option.default for option in _OPTIONS if option.name == f"--{name.replace('_', '-')}")


def _one_of(known: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is none of {', '.join(known)}")
        return str(value)

    return check


def _wait(value: Any) -> str:
    return AUTO if value == AUTO else str(Wait.parse(str(value)))


def _texts(value: Any) -> dict[str, str]:
    tree = json.loads(value)
    if not isinstance(tree, dict) or not all(isinstance(item, str) for item in tree.values()):
        raise ValueError("not a JSON object of texts")
    return tree
