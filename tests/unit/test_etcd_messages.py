"""The queue's keys and messages, without a server."""

import pytest

from bench.systems.etcd import messages
from bench.systems.etcd.entry import Entry
from bench.systems.etcd.messages import Place
from bench.systems.etcd.stubs import etcdrpc
from tests.unit.etcd_scripted import range_answer, txn_answer

ENTRY = Entry("a", 0x1F, "c-1")
ODD_KEYS = ["a", "a/b", "a/", "/", "a%2Fb", "a b", "{x}", "ключ", "..", "a0", "x" * 500]


def test_an_entry_lies_in_its_own_queue_only() -> None:
    entries = [Entry(key, 1, "o") for key in ODD_KEYS]
    for entry in entries:
        inside = [other.lock_key for other in entries if other.key.startswith(entry.queue)]
        assert inside == [entry.lock_key]


def test_the_range_of_a_queue_ends_after_its_last_key() -> None:
    for key in ODD_KEYS:
        entry = Entry(key, 2**63 - 1, "\U0010ffff")
        asked = messages.join_request(entry, only_if_free=False).success[1].request_range
        assert asked.key <= entry.key < asked.range_end
        assert not asked.key <= entry.void < asked.range_end


def test_a_slash_in_an_owner_stays_in_the_entry() -> None:
    assert Entry("a", 1, "x/y").key.count(b"/") == 2


def test_only_a_try_insists_on_an_empty_queue() -> None:
    assert len(messages.join_request(ENTRY, only_if_free=False).compare) == 1
    guard = messages.join_request(ENTRY, only_if_free=True).compare[1]
    assert (guard.key, guard.range_end, guard.create_revision) == (b"lockbench/a/", b"lockbench/a0", 0)
    assert guard.target == etcdrpc.Compare.CREATE


def test_a_join_reads_the_two_newest() -> None:
    asked = messages.join_request(ENTRY, only_if_free=False).success[1].request_range
    assert asked.limit == 2
    assert asked.sort_target == etcdrpc.RangeRequest.CREATE
    assert asked.sort_order == etcdrpc.RangeRequest.DESCEND


def test_the_first_has_no_predecessor() -> None:
    answer = txn_answer(40, etcdrpc.ResponseOp(), range_answer((ENTRY.key, 40)))
    assert messages.joined(answer) == Place(40, None, 40)


def test_a_later_one_waits_for_the_one_before() -> None:
    answer = txn_answer(40, etcdrpc.ResponseOp(), range_answer((ENTRY.key, 40), (b"lockbench/a/other", 37)))
    assert messages.joined(answer) == Place(40, b"lockbench/a/other", 40)


def test_a_join_kept_out_has_no_place() -> None:
    assert messages.joined(txn_answer(40, succeeded=False)) is None


def test_settling_leaves_a_mark_that_the_join_respects() -> None:
    settle = messages.settle_request(ENTRY)
    mark = settle.failure[0].request_put
    assert mark.key == messages.join_request(ENTRY, only_if_free=False).compare[0].key
    assert mark.lease == ENTRY.lease_id


@pytest.mark.parametrize(
    ("answer", "revision"),
    [
        (txn_answer(50, range_answer((ENTRY.key, 40))), 40),
        (txn_answer(50, etcdrpc.ResponseOp(), succeeded=False), None),
    ],
)
def test_settling_finds_the_key_or_excludes_it(answer: object, revision: int | None) -> None:
    assert messages.settled(answer) == revision


def test_a_look_asks_only_for_those_before() -> None:
    before = messages.look_request(ENTRY, 40).success[1].request_range
    assert (before.max_create_revision, before.limit) == (39, 1)


def test_a_look_that_finds_nobody_before_is_the_turn() -> None:
    answer = txn_answer(60, range_answer((ENTRY.key, 40)), range_answer())
    assert messages.looked(answer, 40) == Place(40, None, 60)


def test_nobody_before_is_no_turn_without_our_own_key() -> None:
    """etcd issues 9921 and 11456: the predecessor is gone, and so is our lease."""
    assert messages.looked(txn_answer(60, range_answer(), range_answer()), 40) is None


def test_a_key_of_our_name_and_another_revision_is_not_ours() -> None:
    assert messages.looked(txn_answer(60, range_answer((ENTRY.key, 59)), range_answer()), 40) is None


def test_the_watch_of_the_predecessor_and_of_ourselves_begins_right_after_the_look() -> None:
    watches = [request.create_request for request in messages.watch_requests(ENTRY, Place(40, b"p", 60))]
    assert [(watch.key, watch.start_revision) for watch in watches] == [(b"p", 61), (ENTRY.key, 61)]
    assert all(list(watch.filters) == [etcdrpc.WatchCreateRequest.NOPUT] for watch in watches)


def test_the_watch_of_a_herd_covers_the_queue_and_no_other_from_the_same_revision_on() -> None:
    (request,) = messages.herd_requests(ENTRY, Place(40, b"p", 60))
    watch = request.create_request
    assert (watch.key, watch.range_end, watch.start_revision) == (ENTRY.queue, ENTRY.queue_end, 61)
    assert list(watch.filters) == [etcdrpc.WatchCreateRequest.NOPUT]


def test_a_delete_names_the_revision() -> None:
    request = messages.delete_request(ENTRY, 40)
    assert request.compare[0].create_revision == 40
    assert not request.failure
