"""Claimed latencies over networks, judged once more: from plans, events and measured round trips alone.

A median acquire over a round trip r is f + n r. The judge finds n as the median of the slopes between all pairs of runs
over different networks, takes the nearest integer where the adapter declares it too and it is near, and adds the round
trips that servers have between each other. What is left of each run at r = 0 is its f. A claim from a to b then holds
from r = (a - f) / n to (b - f) / n, and that is compared with the network that the claim's own words name.
"""

import csv
import io
import itertools
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

from tests.judge.comparison import Comparison

NEAR = 0.15
NEEDED_FOR_P99 = math.ceil(math.log(0.025) / math.log(0.99))
_NETWORKS = {"on the same network": 0.5, "in one region": 2.0}  # ms at most
_REGION_MS = 2.0


@dataclass(frozen=True)
class Point:
    """One run; µs."""

    network: str
    rtt: float
    p50: float
    p99: float | None = None
    peers: str = "none"  # the network between servers
    peer_rtt: float = 0.0


@dataclass(frozen=True)
class System:
    """What the runs of one system say, and what its adapter declares."""

    points: Sequence[Point]
    declared: int
    peers: int = 0
    at_most: bool = False
    emulator: bool = False


@dataclass(frozen=True)
class Judged:
    """A verdict, and the round trips in ms for which the claim holds."""

    verdict: str
    low: float
    high: float


def judge(claim: Mapping[str, str], system: System) -> Judged:
    """`claim` is a row of claims.csv: low and high in ms, and its words."""
    named = [limit for words, limit in _NETWORKS.items() if words in claim["claim"]]
    limit = named[0] if named else _REGION_MS
    low, high = float(claim["low"] or 0.0), float(claim["high"] or "inf")
    trips = counted(system)
    client = float(system.declared) if abs(trips - system.declared) <= NEAR else trips
    peers = between_servers(system, client)
    every = client + peers
    left = sorted(one.p50 - client * one.rtt - peers * one.peer_rtt for one in system.points)
    ends = list(bounds(left))
    if system.at_most:
        ends[0] = 0.0
    middle = statistics.median(left)
    found = Judged("", (low * 1e3 - middle) / every / 1e3, (high * 1e3 - middle) / every / 1e3)
    if system.emulator:
        return Judged("not testable here", found.low, found.high)
    kinds = {_kind((low * 1e3 - end) / every / 1e3, (high * 1e3 - end) / every / 1e3, limit) for end in ends}
    if len(kinds) > 1:
        verdict = "cannot say"
    elif kinds == {"above"}:
        verdict = "fails"
    elif kinds == {"all"}:
        tail = _tail(system.points)
        stays = tail is not None and (high * 1e3 - middle - tail) / every / 1e3 >= limit
        verdict = "holds" if stays else "holds here with a condition"
    else:
        verdict = "fails" if kinds == {"none"} and named else "holds here with a condition"
    return Judged(verdict, found.low, found.high)


def _kind(low: float, high: float, limit: float) -> str:
    if high < 0.0:
        return "above"
    if low > limit:
        return "none"
    return "all" if low <= 0.0 and high >= limit else "some"


def counted(system: System) -> float:
    """The median slope between runs over different networks, with the same one between servers."""
    pairs = itertools.combinations(_most([(one.peers, one) for one in system.points]), 2)
    return statistics.median((b.p50 - a.p50) / (b.rtt - a.rtt) for a, b in pairs if a.network != b.network)


def between_servers(system: System, client: float) -> float:
    """The same between servers, where three networks or more were there; else what is declared."""
    points = _most([(one.network, one) for one in system.points])
    if len({one.peers for one in points}) < 3:
        return float(system.peers)
    pairs = itertools.combinations(points, 2)
    slope = statistics.median(
        (b.p50 - a.p50 - client * (b.rtt - a.rtt)) / (b.peer_rtt - a.peer_rtt) for a, b in pairs if a.peers != b.peers
    )
    return float(system.peers) if abs(slope - system.peers) <= NEAR else slope


def _most(named: Sequence[tuple[str, Point]]) -> Sequence[Point]:
    """Those with the name that most have."""
    names = [name for name, _ in named]
    common = max(dict.fromkeys(names), key=names.count)
    return [one for name, one in named if name == common]


def bounds(ordered: Sequence[float]) -> tuple[float, float]:
    """The innermost pair of order statistics that holds the median with 95 %: by counting coins; else the range."""
    count = len(ordered)
    best = 0
    for place in range(count // 2):
        outside = sum(math.comb(count, heads) for heads in range(place + 1)) / 2**count
        if outside <= 0.025:
            best = place
    return ordered[best], ordered[-1 - best]


def _tail(points: Sequence[Point]) -> float | None:
    """Of the networks in which every run has enough acquires."""
    short = {(one.network, one.peers) for one in points if one.p99 is None}
    tails = [one.p99 - one.p50 for one in points if (one.network, one.peers) not in short and one.p99 is not None]
    return statistics.median(tails) if tails else None


def systems_of(folder: Path, void: set[str], at_most: set[str]) -> Mapping[str, System]:
    """From a campaign's folder with one for each run. Which runs are void, and which systems bound, is given."""
    machine = json.loads((folder / "environment.json").read_text())
    runs: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*/plan.json")):
        plan = json.loads(path.read_text())
        alone = plan["workload"]["name"] == "uncontended" and plan["workload"]["clients"] == 1
        networks = (plan["workload"].get(which, "none") for which in ("network", "peer_network"))
        if alone and plan["run_id"] not in void and any(one != "none" for one in networks):
            runs.setdefault(plan["system"], []).append(path.parent)
    found = {}
    for system, paths in runs.items():
        first = json.loads((paths[0] / "measured.json").read_text())
        found[system] = System(
            [_point(path, machine["loopback_rtt_us_p50"]) for path in paths],
            int(first["capabilities"]["acquire_round_trips"]),
            int(first["capabilities"]["peer_round_trips"]),
            system in at_most,
            "emulator" in first["tags"],
        )
    return found


def _point(run: Path, loopback: float) -> Point:
    plan, measured = (json.loads((run / f"{name}.json").read_text()) for name in ("plan", "measured"))
    rtt, peer_rtt = (
        statistics.median(one["us_p50"] for side in ("before", "after") for one in measured[which][side])
        if measured.get(which)
        else loopback
        for which in ("network", "peer_network")
    )
    rows = parquet.read_table(run / "events.parquet").to_pylist()
    took = sorted(one["acquired_ns"] - one["started_ns"] for one in rows if one["outcome"] == "acquired")
    p99 = took[math.ceil(0.99 * len(took)) - 1] / 1e3 if len(took) >= NEEDED_FOR_P99 else None
    asked = [plan["workload"].get(which, "none") for which in ("network", "peer_network")]
    return Point(asked[0], rtt, took[(len(took) - 1) // 2] / 1e3, p99, asked[1], peer_rtt)


def compare_claims(text: str, claims: str, systems: Mapping[str, System], seen: Comparison) -> None:
    """The printed claims.csv against the judge, for each system that was measured over networks."""
    stated = {row["id"]: row for row in csv.DictReader(io.StringIO(claims))}
    for row in csv.DictReader(io.StringIO(text)):
        if row["metric"] != "acquire_latency" or row["system"] not in systems:
            continue
        mine = judge(stated[row["id"]], systems[row["system"]])
        where = f"{row['id']}, {row['system']}"
        seen.same(f"{where}, verdict", row["verdict"], mine.verdict)
        low, high = float(row["break_even_round_trip_ms_low"]), float(row["break_even_round_trip_ms_high"])
        seen.close(f"{where}, from", low, max(0.0, mine.low), 0.01 + 0.01 * mine.low)
        seen.close(f"{where}, to", high, mine.high, 0.01 + 0.01 * abs(mine.high))
