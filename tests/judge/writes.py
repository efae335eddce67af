"""Writes that came when another client had been granted the key, and updates that were lost."""

from functools import cache

from tests.judge.records import Fields, Trial


def _granted_after(trial: Trial, write: Fields, at_ns: int) -> bool:
    """Had a later grant of the write's key than its own been told before an instant?"""
    (own,) = [one for one in trial.beliefs if one["grant"] == write["grant"]]
    return any(one["key"] == write["key"] and own["from_ns"] < one["from_ns"] < at_ns for one in trial.beliefs)


def is_stale(trial: Trial, write: Fields) -> bool:
    """Sent when a later grant had been told."""
    return _granted_after(trial, write, write["sent_ns"])


def is_overtaken(trial: Trial, write: Fields) -> bool:
    """Sent before any later grant was told, and judged after one: it was on its way."""
    judged_ns = write.get("judged_ns")
    return judged_ns is not None and not is_stale(trial, write) and _granted_after(trial, write, judged_ns)


@cache
def stale(trial: Trial) -> list[Fields]:
    return [write for write in trial.writes if is_stale(trial, write)]


@cache
def late(trial: Trial) -> list[Fields]:
    """Stale ones and overtaken ones."""
    return [write for write in trial.writes if is_stale(trial, write) or is_overtaken(trial, write)]


def accepted(writes: list[Fields]) -> int:
    return sum(write["accepted"] is True for write in writes)


def refused(writes: list[Fields]) -> int:
    return sum(write["accepted"] is False for write in writes)


def lost_updates(trial: Trial) -> int:
    """Accepted writes that overwrote what their writers had not read."""
    return sum(write["accepted"] is True and write["value_before"] != write["value_read"] for write in trial.writes)


def was_read(trial: Trial, write: Fields) -> bool:
    """Was an accepted write read by every later holder that the resource accepted? Each of them, and there was one,
    began there with a presentation, behind this write in the resource's own order."""
    if write["accepted"] is not True:
        return False
    told_ns = {one["grant"]: one["from_ns"] for one in trial.beliefs}
    later: dict[str, list[tuple[int, bool]]] = {}
    for shows, attempts in ((False, trial.writes), (True, trial.presentations)):
        for one in attempts:
            after = one["key"] == write["key"] and told_ns[one["grant"]] > told_ns[write["grant"]]
            if after and one["accepted"] is True:
                later.setdefault(one["grant"], []).append((one["order"], shows))
    # Of a write and a presentation of one order nobody knows which came first.
    firsts = [min(attempts) for attempts in later.values()]
    return bool(firsts) and all(shows and order > write["order"] for order, shows in firsts)


def late_accepted(trial: Trial) -> int:
    """Late writes that were accepted, and not read by whoever held the key after them."""
    return sum(write["accepted"] is True and not was_read(trial, write) for write in late(trial))


def late_refused(trial: Trial) -> int:
    return refused(late(trial))


def late_read(trial: Trial) -> int:
    return sum(was_read(trial, write) for write in late(trial))


def ahead_of_the_fence(trial: Trial) -> int:
    """Late writes that a checked fence accepted before any later holder had shown its token to the resource."""
    if not (trial.fenced and trial.has_token):
        return 0
    told_ns = {one["grant"]: one["from_ns"] for one in trial.beliefs}
    ahead = 0
    for write in late(trial):
        if write["accepted"] is not True or was_read(trial, write):
            continue
        shown = any(
            other["accepted"] is True
            and other["key"] == write["key"]
            and other["order"] < write["order"]
            and told_ns[other["grant"]] > told_ns[write["grant"]]
            for other in (*trial.writes, *trial.presentations)
        )
        ahead += not shown
    return ahead
