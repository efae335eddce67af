"""What a run's events say of waiting, in plain loops: by the names of the columns that print it.

The hand-off is from the answer to a release until the answer to the next client's acquire, if that client had asked
before. The wait in a fair queue is everybody else once, with the mean of what a grant keeps from the others; where
requests arrive at instants of their own, it is that of these arrivals one after the other. A grant overtakes if some
request older than a whole grant still waits. Times in µs.
"""

import bisect
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

Events = Sequence[Mapping[str, int]]  # outcome is a word
_FRACTIONS = {"p50": 0.5, "p99": 0.99}


def waits(workload: Mapping[str, object], events: Events, window_ns: tuple[int, int]) -> dict[str, float]:
    """Of the grants that one run answered within its window; `events` have those around it as well. Left out is what so
    few operations do not tell."""
    opens_ns, closes_ns = window_ns
    grants = sorted((one for one in events if one["outcome"] == "acquired"), key=lambda one: one["acquired_ns"])
    asks = [(one["started_ns"], one["acquired_ns"]) for one in events]  # of a refusal too: when it was answered
    counted = [one for one in grants if opens_ns <= one["acquired_ns"] < closes_ns]
    keys = sorted({one["key"] for one in counted})
    clients = int(str(workload["clients"]))
    starved: list[tuple[int, int]] = []
    if workload["keys"] == 1 and workload["name"] == "contended":
        # Who is in no record waited all the time.
        starved = [(opens_ns - 1, closes_ns + 1)] * (clients - len({one["client"] for one in events}))
    handed, queued, took_over, overtaking, streak = [], [], [], 0, 0
    for key in keys:
        mine = [one for one in grants if one["key"] == key]
        of_key = [(one["started_ns"], one["acquired_ns"]) for one in events if one["key"] == key]
        overtaking += _overtaking(mine, of_key + starved, window_ns)
        inside = (one["client"] for one in mine if opens_ns <= one["acquired_ns"] < closes_ns)
        streak = max(streak, *(len(list(same)) for _, same in itertools.groupby(inside)))
        for before, after in itertools.pairwise(mine):
            if not opens_ns <= after["acquired_ns"] < closes_ns:
                continue
            free = min(before["freed_ns"], after["acquired_ns"])
            queued.append(max(0, free - after["intended_ns"]))
            if after["client"] != before["client"]:
                took_over.append(after["acquired_ns"] - after["started_ns"])
            if after["client"] != before["client"] and after["started_ns"] <= free:
                handed.append(after["acquired_ns"] - before["freed_ns"])
    got = [sum(one["client"] == client for one in counted) for client in {one["client"] for one in counted}]
    got += [0] * (clients - len(got))
    lengths = [answered - started for started, answered in asks + starved]
    found = {
        "overtaking_share": overtaking / len(counted),
        "jain_index": sum(got) ** 2 / (clients * sum(one * one for one in got)),
        "clients_without_grant": float(got.count(0)),
        "longest_wait_us": max(lengths) / 1e3,
        "wait_by_time_us": sum(one * one for one in lengths) / sum(lengths) / 1e3,
    }
    if queued:
        found |= {"changed_hands_share": len(took_over) / len(queued), "longest_streak": float(streak)}
    found |= {f"handed_wait_us_{name}": value for name, value in _percentiles(took_over).items()}
    found |= {f"hand_off_us_{name}": value for name, value in _percentiles(handed).items()}
    found |= {f"queue_wait_us_{name}": value for name, value in _percentiles(queued).items()}
    if handed:
        found["hand_off_us_mean"] = statistics.fmean(handed) / 1e3
    if handed and len(keys) == 1:
        arrivals = [one for one in events if opens_ns <= one["intended_ns"] < closes_ns]
        fair = _fair(workload, counted, arrivals, statistics.fmean(handed))
        if fair is not None:
            found["fair_wait_us_p99"] = fair / 1e3
        if fair and "queue_wait_us_p99" in found:
            found["wait_by_fair_p99"] = found["queue_wait_us_p99"] * 1e3 / fair
    return found


def _overtaking(grants: Events, asks: Sequence[tuple[int, int]], window_ns: tuple[int, int]) -> int:
    """How many grants went past a request that was older than the last grant before they were asked for."""
    by_answer = sorted(asks, key=lambda one: one[1])
    answered = [one[1] for one in by_answer]
    # Of all that are answered at or after a place in that order: when the oldest was asked.
    oldest = list(itertools.accumulate((one[0] for one in reversed(by_answer)), min))[::-1]
    instants = [one["acquired_ns"] for one in grants]
    count, place = 0, 0
    for grant in grants:
        while place < len(answered) and answered[place] <= grant["acquired_ns"]:
            place += 1
        earlier = bisect.bisect_right(instants, grant["started_ns"])
        within = window_ns[0] <= grant["acquired_ns"] < window_ns[1]
        count += within and earlier > 0 and place < len(oldest) and oldest[place] < instants[earlier - 1]
    return count


def _fair(workload: Mapping[str, object], grants: Events, arrivals: Events, hand_off_ns: float) -> float | None:
    """The 99th percentile of the wait in a fair queue, in ns; without arrivals of their own all wait alike."""
    service = statistics.fmean(one["freed_ns"] - one["acquired_ns"] for one in grants) + hand_off_ns
    if workload["name"] == "contended":
        thinks = float(str(workload.get("think_ms", 0.0))) * 1e6
        return max(0.0, (int(str(workload["clients"])) - 1) * service - thinks)
    first = min((one for one in arrivals if one["outcome"] == "acquired"), key=lambda one: one["intended_ns"])
    wait = max(0.0, first["acquired_ns"] - first["intended_ns"] - hand_off_ns)
    every = [wait]
    for before, after in itertools.pairwise(sorted(one["intended_ns"] for one in arrivals)):
        wait = max(0.0, wait + service - (after - before))
        every.append(wait)
    found = _percentiles(every).get("p99")
    return None if found is None else found * 1e3


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    """The least value that so many do not exceed, where the largest of the sample exceeds the true one, with 97.5 %."""
    ordered = sorted(values)
    return {
        name: ordered[math.ceil(fraction * len(ordered)) - 1] / 1e3
        for name, fraction in _FRACTIONS.items()
        if len(ordered) >= math.ceil(math.log(0.025) / math.log(fraction))
    }
