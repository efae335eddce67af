"""Round trips counted from what sockets sent and were given: by their order, whatever travels side by side."""

import pytest

from bench.conformance.hand_offs import Overheard
from bench.servers.breaking.proxy import Direction

WAYS = {"s": Direction.TO_SERVER, "c": Direction.TO_CLIENT}


@pytest.mark.parametrize(
    ("pieces", "round_trips"),
    [
        ("", 0),
        ("c", 0),  # a wake-up, or the answer to what was asked long ago
        ("csc", 1),  # woken, and a look
        ("sssss" + "ccccc", 1),  # five servers at the same time
        ("cscsc", 2),  # woken, and one thing after another
        ("css" + "cc", 1),
        ("cs", 0),  # nobody waits for the answer
    ],
)
def test_what_follows_one_another_counts(pieces: str, round_trips: int) -> None:
    heard = Overheard([(100 + place, WAYS[one]) for place, one in enumerate(pieces)])
    assert heard.round_trips(100, 100 + len(pieces)) == round_trips


def test_what_was_before_and_after_does_not_count() -> None:
    heard = Overheard([(at, WAYS[one]) for at, one in enumerate("scscsc")])
    assert heard.round_trips(2, 3) == 1


def test_several_sockets_are_put_in_order() -> None:
    """Each proxy tells in a thread of its own."""
    heard = Overheard([(1, WAYS["s"]), (4, WAYS["c"]), (3, WAYS["c"]), (2, WAYS["s"])])
    assert heard.round_trips(0, 5) == 1
