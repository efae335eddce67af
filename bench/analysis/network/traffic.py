"""What a lock sends: messages and bytes for each acquire and release, each hand-off, and each idle second.

What is sent by itself meanwhile (keep-alives, heartbeats) is subtracted at its own rate, so that it counts as idle
traffic alone. Both directions together.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.runs import RunRow, Setting
from bench.records.schema import Carried, Traffic, TrafficPhase

UNITS = ("messages", "bytes")


@dataclass(frozen=True, slots=True)
class Sent:
    """Of one system: by what was done, the median of the runs in messages and in bytes. Names: see `_NUMBERS`."""

    system: str
    ttl_ms: int
    wait: str
    numbers: Mapping[str, Mapping[str, float]]
    runs: tuple[RunRow, ...]


def sent(rows: Iterable[RunRow]) -> tuple[Sent, ...]:
    """Every system of which somebody counted it, in the order of the rows."""
    groups: dict[tuple[str, Setting | None], list[RunRow]] = {}
    for row in rows:
        if row.traffic is not None and not row.void:
            groups.setdefault((row.system, row.setting), []).append(row)
    return tuple(_sent(runs) for runs in groups.values())


def _sent(runs: Sequence[RunRow]) -> Sent:
    counted = [run.traffic for run in runs if run.traffic is not None]
    numbers = {}
    for name, number in _NUMBERS.items():
        found = [by_unit for one in counted if (by_unit := _each_unit(number, one)) is not None]
        if found:
            numbers[name] = {unit: statistics.median(one[unit] for one in found) for unit in UNITS}
    return Sent(runs[0].system, counted[0].ttl_ms, counted[0].wait, numbers, tuple(runs))


_Of = Callable[[TrafficPhase, str], float | None]  # what a phase carried on one side, in a unit
_Number = Callable[[Traffic, str], float | None]


def _each_unit(number: _Number, traffic: Traffic) -> Mapping[str, float] | None:
    found = {unit: number(traffic, unit) for unit in UNITS}
    return {unit: value for unit, value in found.items() if value is not None} if None not in found.values() else None


def _in(carried: Carried | None, unit: str) -> float | None:
    return None if carried is None else float(getattr(carried, unit))


def _clients(phase: TrafficPhase, unit: str) -> float | None:
    return _in(phase.clients, unit)


def _peers(phase: TrafficPhase, unit: str) -> float | None:
    return _in(phase.peers, unit)


def _a_second(of: _Of, phase: str, less: str = "") -> _Number:
    """In a phase, less what another has by itself."""

    def number(traffic: Traffic, unit: str) -> float | None:
        carried = of(traffic.phases[phase], unit)
        if carried is None:
            return None
        rate = carried / traffic.phases[phase].seconds
        return max(0.0, rate - (_a_second(of, less)(traffic, unit) or 0.0)) if less else rate

    return number


def _each(of: _Of, phase: str, less: str) -> _Number:
    """For each of what was done in a phase, less what another has by itself in that time."""

    def number(traffic: Traffic, unit: str) -> float | None:
        done = traffic.phases[phase]
        carried, idle = of(done, unit), _a_second(of, less)(traffic, unit)
        return None if carried is None or idle is None else max(0.0, carried - idle * done.seconds) / done.times

    return number


_NUMBERS: Mapping[str, _Number] = {
    "pair": _each(_clients, "pairs", "open"),
    "hand_off": _each(_clients, "hand_offs", "waiter"),
    "holder_s": _a_second(_clients, "holder"),
    "waiter_s": _a_second(_clients, "waiter", "holder"),
    "peers_pair": _each(_peers, "pairs", "open"),
    "peers_hand_off": _each(_peers, "hand_offs", "waiter"),
    "peers_holder_s": _a_second(_peers, "holder"),
    "peers_waiter_s": _a_second(_peers, "waiter", "holder"),
}
