"""When a record that nobody renews counts as left behind: after a whole lease seen, never before."""

import pytest

from bench.systems.dynamodb import observed
from bench.systems.dynamodb.item import Item
from bench.systems.dynamodb.observed import Observed

LEASE_MS = 1_000
LEASE_NS = LEASE_MS * 1_000_000


class Hand:
    """A clock that is moved by hand."""

    now_ns = 5_000_000_000

    def __call__(self) -> int:
        return self.now_ns


def held(version: str, lease_ms: int = LEASE_MS) -> Item:
    return Item({"holder": {"S": "a"}, "version": {"S": version}, "lease_ms": {"N": str(lease_ms)}})


@pytest.fixture
def hand() -> Hand:
    return Hand()


def test_a_key_that_was_never_seen_held_has_not_lapsed(hand: Hand) -> None:
    assert Observed(hand).lapsed("k") is None


def test_a_version_lapses_when_it_was_seen_for_its_own_lease(hand: Hand) -> None:
    seen = Observed(hand)
    seen.note("k", held("v1"))
    hand.now_ns += LEASE_NS - 1
    assert seen.lapsed("k") is None
    hand.now_ns += 1
    assert seen.lapsed("k") == "v1"
    assert seen.lapsed("another key") is None


def test_the_lease_is_the_one_that_the_holder_wrote(hand: Hand) -> None:
    seen = Observed(hand)
    seen.note("k", held("v1", lease_ms=3 * LEASE_MS))
    hand.now_ns += 3 * LEASE_NS - 1
    assert seen.lapsed("k") is None
    hand.now_ns += 1
    assert seen.lapsed("k") == "v1"


def test_seeing_the_same_version_again_does_not_start_anew(hand: Hand) -> None:
    seen = Observed(hand)
    seen.note("k", held("v1"))
    for _ in range(10):
        hand.now_ns += LEASE_NS // 10
        seen.note("k", held("v1"))
    assert seen.lapsed("k") == "v1"


def test_a_renewal_starts_anew(hand: Hand) -> None:
    seen = Observed(hand)
    seen.note("k", held("v1"))
    hand.now_ns += LEASE_NS - 1
    seen.note("k", held("v2"))
    hand.now_ns += LEASE_NS - 1
    assert seen.lapsed("k") is None
    hand.now_ns += 1
    assert seen.lapsed("k") == "v2"


@pytest.mark.parametrize("free", [Item({}), Item({"version": {"S": "v1"}, "lease_ms": {"N": "1000"}})])
def test_a_free_item_ends_the_observation(hand: Hand, free: Item) -> None:
    seen = Observed(hand)
    seen.note("k", held("v1"))
    hand.now_ns += 2 * LEASE_NS
    seen.note("k", free)
    assert seen.lapsed("k") is None
    seen.note("k", held("v1"))
    assert seen.lapsed("k") is None


def test_what_is_kept_is_bounded_and_the_oldest_goes(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed, "KEYS_MAX", 2)
    seen = Observed(hand)
    for key in ("a", "b", "c"):
        seen.note(key, held("v1"))
    hand.now_ns += LEASE_NS
    assert [seen.lapsed(key) for key in ("a", "b", "c")] == [None, "v1", "v1"]
    seen.forget("b")
    assert seen.lapsed("b") is None
