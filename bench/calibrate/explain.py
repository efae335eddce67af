"""Why a line misses its target: the functions that took the processor, or the parts of a latency that servers timed."""

import statistics
from collections.abc import Mapping, Sequence

from bench.analysis.floor import CriticalPath
from bench.calibrate.locust_runs import LocustRun, Sampled
from bench.records.numbers import percent
from bench.records.schema import Environment

_SHOWN = 8


def explain_by_samples(sampled: Sampled) -> str:
    """The functions whose own code, and what the kernel did for them, took most of the load's processor time."""
    if not sampled.samples:
        return "no samples were taken"
    rooms = ", ".join(f"{percent(share)} {room}" for room, share in by_room(sampled.functions).items() if share >= 0.01)
    top = ", ".join(
        f"{place} {percent(count / sampled.samples)}" for place, count in sampled.functions.most_common(_SHOWN)
    )
    return (
        f"of the load's processor time {percent(sampled.kernel_share)} is the kernel's; by place: {rooms}; "
        f"by function: {top} ({sampled.samples} samples)"
    )


def by_room(functions: Mapping[str, int]) -> dict[str, float]:
    """Shares of the samples, by who wrote the function: a room of the bench, or a library."""
    rooms: dict[str, int] = {}
    for place, count in functions.items():
        room = _room_of(place.split("/"))
        rooms[room] = rooms.get(room, 0) + count
    total = sum(rooms.values())
    return {room: count / total for room, count in sorted(rooms.items(), key=lambda item: -item[1])}


def _room_of(parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return "python"
    if parts[0] != "bench":
        return parts[0]
    return "/".join(parts[:-1][: 3 if parts[1] == "systems" else 2])


def explain_by_floor(
    path: CriticalPath, environment: Environment, runs: Sequence[tuple[LocustRun, Mapping[str, float]]]
) -> str:
    """Floor, client and servers' own means beside the median acquire, in µs. The parts overlap; see `Parts`."""
    median_us = statistics.median(run.acquire_us_p50 for run, _ in runs)
    cpu_us = statistics.median(run.cpu_ms_per_pair for run, _ in runs) * 1e3
    means = [
        f"{words} {mean:.0f} µs"
        for name, words in (
            ("answer", "from a request's arrival to its answer, disk and peers included,"),
            ("execute", "to execute it"),
            ("fsync", "for one durable write"),
        )
        if (mean := _mean_us([view for _, view in runs], name)) is not None
    ]
    trips = f"{path.round_trips} round trips of {environment.loopback_rtt_us_p50:.0f} µs"
    writes = f"{path.durable_writes} durable writes of {environment.fdatasync_us_p50:.0f} µs"
    return (
        f"the median acquire takes {median_us:.0f} µs; its floor is {path.floor_us(environment):.0f} µs "
        f"({trips} and {writes}). The client's processor time is {cpu_us:.0f} µs for acquire and release together. "
        f"The servers say of themselves, as means over the whole run: {'; '.join(means) or 'nothing'}. What no clock "
        f"covers is waiting for one of {environment.cpu_count} processors, which the client shares with all servers"
    )


def _mean_us(views: Sequence[Mapping[str, float]], name: str) -> float | None:
    calls = sum(view.get(f"{name}_calls", 0.0) for view in views if f"{name}_us" in view)
    spent_us = sum(view.get(f"{name}_us", 0.0) for view in views)
    return spent_us / calls if calls else None
