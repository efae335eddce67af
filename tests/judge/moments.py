"""Who believed in which key when, and which faults lay on whom. Instants are ns on one clock."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from tests.judge.records import Fields, Trial

MS = 1_000_000


def of_key(events: list[Fields]) -> dict[str, list[Fields]]:
    found: dict[str, list[Fields]] = defaultdict(list)
    for event in events:
        found[event["key"]].append(event)
    return found


def end_ns(trial: Trial, belief: Fields) -> int:
    """When a belief ended. One without an end lasted as long as the trial."""
    return trial.ended_ns if belief["until_ns"] is None else int(belief["until_ns"])


@cache
def two_at_once_ns(trial: Trial) -> int:
    """The time in which two or more beliefs in one key held: a belief holds from its telling up to its end."""
    total = 0
    for beliefs in of_key(trial.beliefs).values():
        changes = [(int(one["from_ns"]), 1) for one in beliefs] + [(end_ns(trial, one), -1) for one in beliefs]
        believers, since = 0, 0
        for at_ns, change in sorted(changes):
            if believers >= 2:
                total += at_ns - since
            believers, since = believers + change, at_ns
    return total


def _overlapping(trial: Trial) -> Iterator[tuple[Fields, Fields]]:
    """Pairs of beliefs that held at one instant, the one told first coming first."""
    for beliefs in of_key(trial.beliefs).values():
        held = [one for one in beliefs if end_ns(trial, one) > one["from_ns"]]
        for one in held:
            for other in held:
                first = (one["from_ns"], one["asked_ns"], one["grant"]) < (
                    other["from_ns"],
                    other["asked_ns"],
                    other["grant"],
                )
                if first and end_ns(trial, one) > other["from_ns"]:
                    yield one, other


def believed_on_ms(trial: Trial) -> float:
    """The longest that a client believed on after a later grant had been told, beside which it had believed."""
    spans = [(end_ns(trial, earlier) - later["from_ns"]) / MS for earlier, later in _overlapping(trial)]
    return max(spans, default=0.0)


def together_since_ms(trial: Trial, since_ns: int) -> float:
    """The longest that two believed together after an instant."""
    spans = [
        (min(end_ns(trial, earlier), end_ns(trial, later)) - max(later["from_ns"], since_ns)) / MS
        for earlier, later in _overlapping(trial)
    ]
    return max(spans, default=0.0)


def struck_meanwhile(trial: Trial, actor: str, from_ns: int, until_ns: int) -> bool:
    """Was a fault in force on this client at any instant between? A kill is not one: the dead tell nothing."""
    return any(
        fault["target"] == actor
        and fault["kind"] != "kill"
        and fault["began_ns"] <= until_ns
        and (fault["ended_ns"] is None or fault["ended_ns"] >= from_ns)
        for fault in trial.faults()
    )


def good_when_told(trial: Trial, belief: Fields) -> bool:
    """Was the grant still good when its client read it? By its lease; without one, if nothing struck the client."""
    if belief.get("lease_until_ns") is not None:
        return bool(belief["lease_until_ns"] > belief["from_ns"])
    return not struck_meanwhile(trial, belief["actor"], belief["asked_ns"], belief["from_ns"])
