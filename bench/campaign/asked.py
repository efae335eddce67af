"""Cells of the user's own: parameters as people write them, read, swept and checked.

They come from the options of `lockbench run` or from a workload file. What is not asked for is as in the campaign's
mode.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.analysis.contention.fault_kinds import EVERY as EVERY_FAULT
from bench.analysis.contention.fault_kinds import faults_of, why_not
from bench.campaign.modes import Asked, Mode
from bench.errors import LockbenchError
from bench.load.options import crowd_misfits, misfits, reader_of
from bench.records.durations import duration_text, read_duration
from bench.records.network import PEER_RTT_MS_AT_MOST, read_network
from bench.records.workload import CLIENTS_PER_PROCESS_AT_MOST, HOLDER_KILLED, MEETING, Parameter, Workload, parameters
from bench.systems.registry import System
from bench.systems.wait import EVERY

CELLS_AT_MOST = 1_000  # a sweep of more is a slip of the pen, and would take a day
BY_OPTION = {one.option: one for one in parameters() if one.field != "name"}
_BY_FIELD = {one.field: one for one in BY_OPTION.values()}


class BadWorkload(LockbenchError):
    """What was asked for makes no runs; one message names every mistake."""


def by_options(
    workloads: Sequence[str], given: Mapping[str, str], systems: Sequence[System], mode: Mode
) -> tuple[Asked, ...]:
    """The cells of a command line: every workload with every combination of the values. `given` is text by option.

    Raises BadWorkload with all mistakes.
    """
    wrong: list[str] = []
    values: dict[str, Sequence[Any]] = {}
    for option, text in given.items():
        one = BY_OPTION[option]
        values[one.field] = read_all(one, text.split(","), wrong, f"--{option}")
        for why in unsuitable(one, workloads):
            wrong.append(f"--{option}: {why}; choose workloads with -w")
    cells: tuple[Asked, ...] = ()
    try:
        if not wrong:
            cells = tuple(cell for workload in workloads for cell in sweep(workload, values))
    except ValueError as mistake:
        wrong.append(str(mistake))
    wrong += [f"--{option}: {why}" for option, why in mistakes_of(cells, systems, mode)]
    if wrong:
        raise BadWorkload("; ".join(wrong))
    return cells


def read_one(one: Parameter, text: str) -> Any:
    """One value as people write it, a duration with its unit. Raises ValueError."""
    if not one.unit:
        every = {"wait": EVERY, "fault": EVERY_FAULT}
        return text if every.get(one.field) == text else reader_of(one)(text)
    value = read_duration(text, one.unit)
    least, none = max(one.low, one.planned_from), one.planned_none and not one.low
    if not (least <= value <= one.high or (none and not value)):
        low, high = (duration_text(end, one.unit) for end in (least, one.high))
        raise ValueError(f"{text} is {'neither 0 nor within' if none else 'outside'} {low} to {high}")
    if one.kind is int and not value.is_integer():
        raise ValueError(f"{text} is not a whole number of milliseconds")
    return one.kind(value)


def read_all(one: Parameter, texts: Sequence[str], wrong: list[str], place: str) -> tuple[Any, ...]:
    """The values of a list, each once, in its order; what is no value goes into `wrong` with its place."""
    found: dict[Any, None] = {}
    for text in texts:
        try:
            found[read_one(one, text)] = None
        except ValueError as mistake:
            wrong.append(f"{place}: {mistake}")
    return tuple(found)


def unsuitable(one: Parameter, workloads: Sequence[str]) -> Iterator[str]:
    """Why a parameter makes no sense for some of these workloads; nothing where it does for all."""
    others = [workload for workload in workloads if workload not in one.of]
    if others:
        plural = "s" if len(one.of) > 1 else ""
        yield f"only for the workload{plural} {', '.join(one.of)}, not for {', '.join(others)}"


def sweep(workload: str, values: Mapping[str, Sequence[Any]], name: str = "") -> tuple[Asked, ...]:
    """A cell for every combination of the values, by field; a name gets what varies. Raises ValueError for too many."""
    count = math.prod(map(len, values.values()))
    if count > CELLS_AT_MOST:
        raise ValueError(f"{count:,} combinations of values are more than {CELLS_AT_MOST:,}")
    cells = []
    for combination in itertools.product(*values.values()):
        changes = dict(zip(values, combination, strict=True))
        varied = [_BY_FIELD[one].text(value) for one, value in changes.items() if len(values[one]) > 1]
        cells.append(Asked(workload, changes, ", ".join([name, *varied]) if name else ""))
    return tuple(cells)


def mistakes_of(cells: Sequence[Asked], systems: Sequence[System], mode: Mode) -> tuple[tuple[str, str], ...]:
    """What cannot be done as asked on these systems: the option and why, each once."""
    if any(one.changes.get("fault") == EVERY_FAULT for one in cells) and not any(map(faults_of, systems)):
        return (("fault", f"{', '.join(entry.name for entry in systems)} can have none: they have no servers"),)
    workloads = ((entry, one) for cell in cells for entry in systems for one in cell.cells_on(entry, mode))
    return tuple(dict.fromkeys(mistake for entry, one in workloads for mistake in _mistakes(one, entry)))


def _mistakes(workload: Workload, entry: System) -> Iterator[tuple[str, str]]:
    if workload.name in MEETING and not workload.keys:
        yield "keys", f"clients of {workload.name} share keys: ask for 1 or more"
    hold, ttl, window = (_BY_FIELD[name].text(getattr(workload, name)) for name in ("hold_ms", "ttl_ms", "measure_s"))
    # A lease of a session is kept alive while its client lives; here nobody renews that of a grant.
    if workload.hold_ms >= workload.ttl_ms and entry.client_class.capabilities.lease_scope == "grant":
        yield "hold", f"{hold} is not below {ttl}, so every grant would expire while held"
    if workload.hold_ms >= workload.measure_s * 1_000:
        yield "hold", f"{hold} is not below {window}, so nothing would be measured"
    if workload.clients < workload.processes:
        yield (
            "processes",
            f"each of {workload.processes} load processes needs a client, and there is {workload.clients}",
        )
    if workload.clients > workload.processes * CLIENTS_PER_PROCESS_AT_MOST:
        most = f"{CLIENTS_PER_PROCESS_AT_MOST:,} for each load process"
        yield "clients", f"{workload.clients:,} are more than {most}: ask for more of these with processes"
    yield from _misplaced_fault(workload, entry)
    yield from _misplaced_network(workload, entry)
    yield from _misplaced_peer_network(workload, entry)
    for name, why in (*crowd_misfits(workload, workload.clients, workload.processes), *misfits(workload, entry)):
        yield _BY_FIELD[name].option, why


def _misplaced_fault(workload: Workload, entry: System) -> Iterator[tuple[str, str]]:
    if not workload.has_fault:
        return
    if why := why_not(workload.fault, entry):
        yield "fault", f"{entry.name} cannot have {workload.fault}: {why}"
    if workload.keys != 1:
        yield "keys", "a fault is measured on one key"
    ends_s = workload.fault_after_s + workload.fault_s
    if ends_s >= workload.measure_s:
        ends, window = (duration_text(value, "s") for value in (ends_s, workload.measure_s))
        yield "fault-after", f"the fault ends {ends} after the window opens, which is {window} long"


def _misplaced_network(workload: Workload, entry: System) -> Iterator[tuple[str, str]]:
    if not workload.has_network:
        return
    if entry.servers is None:
        yield "network", f"{entry.name} has no servers, so there is no network before them"
    if workload.has_fault and workload.fault != HOLDER_KILLED:  # lines lead to servers that stay where they are
        yield (
            "network",
            f"a fault of the servers is measured without a network of its own; {HOLDER_KILLED} may have one",
        )


def _misplaced_peer_network(workload: Workload, entry: System) -> Iterator[tuple[str, str]]:
    asked = read_network(workload.peer_network)
    if asked is None:
        return
    if entry.servers is None:
        yield "peer-network", f"{entry.name} has no servers, so there is no network between them"
    elif not entry.servers.peer_port_names:
        yield "peer-network", f"{entry.name}'s servers do not talk to each other"
    if asked.rtt_ms + asked.jitter_ms > PEER_RTT_MS_AT_MOST:
        most = duration_text(PEER_RTT_MS_AT_MOST, "ms")
        yield "peer-network", f"{asked.name} is more than {most}: servers so far apart lose their leader"
    if workload.has_fault:
        yield "peer-network", "a fault is measured without a network of its own"
