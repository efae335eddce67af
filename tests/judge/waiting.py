"""Waiters that were never served."""

from functools import cache

from tests.judge.moments import MS, end_ns, good_when_told, struck_meanwhile
from tests.judge.records import Fields, Trial


@cache
def never_served(trial: Trial) -> int:
    """Asks that were ready to wait, and were never answered, or timed out at a key that was free."""
    return sum(_unserved(trial, ask) for ask in trial.asks if ask.get("waited", True))


def _unserved(trial: Trial, ask: Fields) -> bool:
    if ask["answered_ns"] is None:
        return _killed_ns(trial, ask) is None and not _stopped_for_good(trial, ask["actor"])
    if ask["outcome"] != "timeout" or struck_meanwhile(trial, ask["actor"], ask["asked_ns"], ask["answered_ns"]):
        return False
    free_since_ns = max([ask["asked_ns"], *_surely_free_ns(trial, ask)])
    free_ns = ask["answered_ns"] - free_since_ns
    return bool(free_ns > trial.ttl_ms * MS and free_ns >= (ask["answered_ns"] - ask["asked_ns"]) / 2)


def _surely_free_ns(trial: Trial, ask: Fields) -> list[int]:
    """For all that may have taken the key before the answer: from when on it surely had not any more."""
    lease_ns = int(trial.ttl_ms * MS)
    free = []
    for belief in trial.beliefs:
        since_ns = belief["from_ns"] if good_when_told(trial, belief) else belief["asked_ns"]
        if belief["key"] == ask["key"] and since_ns < ask["answered_ns"]:
            free.append(end_ns(trial, belief) + belief["ttl_ms"] * MS)
    for other in trial.asks:
        harmless = other["outcome"] in ("busy", "timeout", "error")
        if other["key"] != ask["key"] or harmless or other["asked_ns"] >= ask["answered_ns"]:
            continue
        over_ns = other["answered_ns"] if other["answered_ns"] is not None else _killed_ns(trial, other)
        free.append((trial.ended_ns if over_ns is None else over_ns) + lease_ns)
    return free


def _killed_ns(trial: Trial, ask: Fields) -> int | None:
    """When the asker was last killed, if that was after it asked."""
    kills = [fault["began_ns"] for fault in trial.faults("kill") if fault["target"] == ask["actor"]]
    return max(kills) if kills and max(kills) >= ask["asked_ns"] else None


def _stopped_for_good(trial: Trial, actor: str) -> bool:
    return any(
        fault["target"] == actor and (fault["ended_ns"] is None or fault["ended_ns"] >= trial.ended_ns)
        for fault in trial.faults("pause")
    )
