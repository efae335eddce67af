"""The network that a run is asked to have, as people write it: between clients and servers, or between servers.

`none` is what there is: loopback on one machine, or whatever lies before servers of the user's own. All else is asked
for by its round trip, `rtt=0.5ms`, or by the name of a preset; then, joined by `+`, `jitter=0.1ms` (of a round trip,
at most that much on top, at random) and `reset=30s` (how long a connection lives on average before it is reset).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from bench.records.durations import duration_text, read_duration

NO_NETWORK = "none"
RTT_MS_AT_MOST = 1_000.0  # a client gives a call up after 2 s
PEER_RTT_MS_AT_MOST = 200.0  # jitter included; servers that hear of their leader much later choose another
_FURTHER = {"jitter": ("ms", 0.001, RTT_MS_AT_MOST), "reset": ("s", 0.1, 86_400.0)}
_JOINS = "+"


@dataclass(frozen=True, slots=True)
class Network:
    """What is asked for; what it came to is measured. `name` is how it is written, the same for the same network."""

    name: str
    rtt_ms: float
    jitter_ms: float = 0.0  # of a round trip, on top: uniform from 0, half of it each way
    reset_after_s: float = 0.0  # mean life of a connection; 0: it is never reset


@dataclass(frozen=True, slots=True)
class Preset:
    """A round trip that has a name, and who says that it is typical."""

    rtt_ms: float
    what: str
    source: str


_DEAN = "Jeff Dean, Designs, Lessons and Advice from Building Large Distributed Systems (LADIS 2009), slide 24"
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "zone": Preset(0.5, "two machines of one datacenter", _DEAN),
        "region": Preset(
            2.0, "two zones of one region, at most", "Microsoft, What are availability zones? (learn.microsoft.com)"
        ),
        "wan": Preset(150.0, "California and the Netherlands", _DEAN),
    }
)


@cache
def read_network(text: str) -> Network | None:
    """What a text asks for; None for `none`. Raises ValueError, which says how to write one."""
    if text == NO_NETWORK:
        return None
    first, *more = text.strip().split(_JOINS)
    option, _, value = first.partition("=")
    if first in PRESETS:
        name, rtt_ms = first, PRESETS[first].rtt_ms
    elif option == "rtt":
        rtt_ms = _within(value, "ms", 0.0, RTT_MS_AT_MOST)
        name = f"rtt={_brief(rtt_ms, 'ms')}"
    else:
        raise ValueError(f"{text!r} is no network: write {NO_NETWORK}, {', '.join(PRESETS)}, or rtt=0.5ms")
    further = {"jitter": 0.0, "reset": 0.0}
    for part in more:
        option, _, value = part.partition("=")
        if further.get(option) != 0.0:
            raise ValueError(f"{part!r} in {text!r}: add jitter=0.1ms or reset=30s, each once")
        unit, low, high = _FURTHER[option]
        further[option] = _within(value, unit, low, high)
    for option, (unit, _, _) in _FURTHER.items():  # in one order, whatever theirs was
        if further[option]:
            name += f"{_JOINS}{option}={_brief(further[option], unit)}"
    return Network(name, rtt_ms, further["jitter"], further["reset"])


def network_name(text: str) -> str:
    """The same network as it is always written. Raises ValueError."""
    network = read_network(text)
    return NO_NETWORK if network is None else network.name


def _within(text: str, unit: str, low: float, high: float) -> float:
    value = read_duration(text, unit)
    if not low <= value <= high:
        raise ValueError(f"{text} is outside {_brief(low, unit)} to {_brief(high, unit)}")
    return value


def _brief(value: float, unit: str) -> str:
    return duration_text(value, unit).replace(" ", "")
