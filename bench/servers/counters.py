"""Counters that only rise, read twice: what happened in between."""

from collections.abc import Mapping


def gained(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """`after` less `before`, by name; a name that was not there before began at 0, as a label's first use does.

    Empty when any counter fell or vanished: a server was started anew in between, and then no difference means
    anything, also of those that happen to have risen.
    """
    if any(after.get(name, -1.0) < value for name, value in before.items()):
        return {}
    return {name: value - before.get(name, 0.0) for name, value in sorted(after.items())}
