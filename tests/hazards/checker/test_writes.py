"""Stale writes, lost updates and the resource's own faults, at their edges."""

from typing import Any

import pytest

from bench.hazards.checker import check_trial
from bench.records.hazards import Presentation, Write
from tests.hazards.checker.records import belief, presentation, trial, unanswered, write

TWO = (belief("a", 0, None), belief("b", 10, 20))


def stale(*writes: Write, beliefs: Any = TWO) -> list[tuple[str, bool | None, bool]]:
    found = check_trial(trial(beliefs=beliefs, writes=writes)).stale_writes
    return [(one.grant, one.accepted, one.by_token) for one in found]


def test_a_write_sent_at_the_instant_of_the_telling_is_not_stale() -> None:
    assert stale(write("a", 10)) == []
    assert stale(write("a", 11)) == [("a", True, False)]


def test_the_latest_grant_writes_freely() -> None:
    assert stale(write("b", 50)) == []


def test_a_grant_told_at_the_same_instant_is_not_later() -> None:
    assert stale(write("a", 50), write("b", 60, order=2), beliefs=(belief("a", 10, 20), belief("b", 10, 20))) == []


def test_a_grant_of_another_key_is_not_later() -> None:
    assert stale(write("a", 50), beliefs=(belief("a", 0, 60), belief("b", 10, 20, key="other"))) == []


def test_a_later_grant_of_the_writer_itself_makes_its_old_one_stale() -> None:
    assert stale(write("a", 11, actor="x"), beliefs=(belief("a", 0, 9, actor="x"), belief("b", 10, 20, actor="x"))) == [
        ("a", True, False)
    ]


def test_every_verdict_counts_and_a_fence_sees_what_is_below_the_highest() -> None:
    writes = (
        write("a", 11, token=1, order=1, highest_before=0),
        write("b", 12, token=2, order=2, highest_before=1),
        write("a", 13, token=1, order=3, highest_before=2, accepted=False),
        unanswered("a", 14, token=1),
        write("a", 15, order=4, highest_before=2),
    )
    found = [("a", True, False), ("a", False, True), ("a", None, False), ("a", True, False)]
    assert stale(*writes) == found
    checked = check_trial(trial(beliefs=TWO, writes=writes))
    assert (checked.stale_accepted, checked.stale_refused, checked.unknown) == (2, 1, 1)


def test_a_write_sent_in_time_and_judged_after_the_next_grant_is_overtaken() -> None:
    """It is late on the wire: no look of its writer could have told. One that was sent late is stale, and not both."""

    def overtaken(sent_ns: int, judged_ns: int | None, **fields: Any) -> list[tuple[str, bool | None, bool]]:
        late = write("a", sent_ns, judged_ns=judged_ns, **fields)
        found = check_trial(trial(beliefs=TWO, writes=[late])).overtaken_writes
        return [(one.grant, one.accepted, one.by_token) for one in found]

    assert overtaken(5, 10) == []
    assert overtaken(5, 11) == overtaken(10, 11) == [("a", True, False)]
    assert overtaken(11, 12) == [], "it is stale"
    assert overtaken(5, None) == [], "the resource did not tell when it judged"
    assert overtaken(5, 11, token=1, highest_before=2, accepted=False) == [("a", False, True)]
    both = [write("a", 5, judged_ns=12), write("a", 5, judged_ns=13, order=2, accepted=False, token=1)]
    checked = check_trial(trial(beliefs=TWO, writes=both))
    assert (checked.overtaken_accepted, checked.overtaken_refused, checked.stale_writes) == (1, 1, ())


def test_a_late_write_that_every_later_holder_read_did_no_harm() -> None:
    """A late write that comes before the presentation is taken by any fence. The next holder reads it in that step."""
    beliefs = (*TWO, belief("c", 30, 40))

    def read(order: int, *others: Write | Presentation, accepted: bool = True) -> bool:
        late = write("a", 11, order=order, accepted=accepted)
        checked = check_trial(
            trial(
                beliefs=beliefs,
                writes=[late, *(one for one in others if isinstance(one, Write))],
                presentations=[one for one in others if isinstance(one, Presentation)],
            )
        )
        (found,) = checked.stale_writes
        assert checked.late_read == found.read_by_next
        return found.read_by_next

    assert not read(1), "nobody came after it"
    assert read(1, presentation("b", 12, order=2))
    assert read(1, presentation("b", 12, order=2), write("b", 13, order=3))
    assert not read(2, presentation("b", 12, order=1)), "it came behind the new holder's read"
    assert not read(1, write("b", 13, order=2)), "when that one had read, nobody knows"
    assert not read(1, write("b", 13, order=2), presentation("b", 14, order=3))
    assert not read(1, presentation("b", 12, order=2), accepted=False)
    assert read(1, presentation("c", 31, order=2)), "the next one never came to the resource"
    assert not read(2, presentation("b", 12, order=1), presentation("c", 31, order=3))
    assert not read(1, presentation("b", 12, order=2, accepted=False)), "what is refused reads nothing"
    assert read(2, presentation("a", 5, order=1), presentation("b", 12, order=3)), "its own came before"


def test_an_update_is_lost_when_another_value_was_read() -> None:
    def lost(**fields: Any) -> int:
        return check_trial(trial(beliefs=TWO, writes=[write("b", 12, **fields)])).lost_updates

    assert lost(value_read=4, value_before=4) == 0
    assert lost(value_read=4, value_before=5) == 1
    assert lost(value_read=4, value_before=5, accepted=False) == 0
    assert lost(value_read=4, value_before=5, accepted=None, order=0) == 0


def faults(*writes: Write, rule: str | None = None) -> int:
    parameters = {} if rule is None else {"rule": rule}
    return check_trial(trial(beliefs=TWO, writes=writes, parameters=parameters)).fence_faults


@pytest.mark.parametrize(
    ("rule", "token", "accepted", "expected"),
    [
        (None, 2, True, 1),
        (None, 2, False, 0),
        (None, 3, True, 0),
        (None, 3, False, 1),
        (None, 4, True, 0),
        ("below", 3, True, 0),
        ("at_most", 2, False, 0),
        ("at_most", 3, False, 0),
        ("at_most", 3, True, 1),
        ("at_most", 4, True, 0),
        ("at_most", 4, False, 1),
    ],
)
def test_the_rule(rule: str | None, token: int, accepted: bool, expected: int) -> None:
    first = write("b", 12, token=3, order=1)
    assert (
        faults(first, write("a", 13, token=token, order=2, highest_before=3, accepted=accepted), rule=rule) == expected
    )


@pytest.mark.parametrize("fields", [{"fence": False, "token": 1}, {"token": None}])
def test_what_cannot_be_judged_is_taken(fields: dict[str, Any]) -> None:
    first = write("b", 12, token=3, order=1)
    assert faults(first, write("a", 13, order=2, highest_before=3, **fields)) == 0
    assert faults(first, write("a", 13, order=2, highest_before=3, accepted=False, **fields)) == 1


@pytest.mark.parametrize(("claimed", "expected"), [(2, 1), (3, 0), (4, 1)])
def test_the_highest_token_is_that_of_the_log(claimed: int, expected: int) -> None:
    assert (
        faults(write("b", 12, token=3, order=1), write("b", 13, token=9, order=2, highest_before=claimed)) == expected
    )


@pytest.mark.parametrize(("claimed", "expected"), [(2, 1), (3, 0), (4, 0)])
def test_a_token_unseen_may_have_been_accepted_where_an_order_is_missing(claimed: int, expected: int) -> None:
    writes = (
        write("b", 12, token=3, order=1),
        unanswered("b", 13),
        write("b", 14, token=9, order=3, highest_before=claimed),
    )
    assert faults(*writes) == expected
    assert faults(*writes, write("b", 15, token=9, order=4, highest_before=9)) == expected


def test_what_showed_after_a_gap_is_known_from_there_on() -> None:
    after_gap = write("a", 14, token=2, order=3, highest_before=5, accepted=False)
    assert faults(after_gap, write("b", 15, token=6, order=4, highest_before=5)) == 0
    assert faults(after_gap, write("b", 15, token=6, order=4, highest_before=2)) == 1
    assert faults(after_gap, write("b", 15, token=6, order=6, highest_before=4)) == 1


def test_orders_are_given_once_and_from_one() -> None:
    assert faults(write("b", 12), write("b", 13)) == 2
    assert faults(write("b", 12), write("b", 13), write("b", 14, order=2)) == 2
    assert faults(write("b", 12, order=0)) == 1


def test_a_presentation_raises_the_highest_token_and_is_judged_as_a_write_is() -> None:
    def with_shown(*writes: Write, **fields: Any) -> int:
        shown = presentation("b", 12, **{"token": 5, **fields})
        return check_trial(trial(beliefs=TWO, writes=writes, presentations=[shown])).fence_faults

    refused = {"token": 4, "order": 2, "accepted": False}
    assert with_shown(write("a", 13, highest_before=5, **refused)) == 0
    assert with_shown(write("a", 13, highest_before=0, **refused)) == 1, "what was shown to it, it forgot"
    assert with_shown(write("a", 13, highest_before=5, token=4, order=2)) == 1, "and took an older one"
    assert with_shown(write("b", 13, highest_before=5, token=5, order=2)) == 0
    assert with_shown(token=4, highest_before=5, order=7, accepted=True) == 1
    assert with_shown(token=4, highest_before=5, order=7, accepted=False) == 0
    assert with_shown(fence=False, token=4, highest_before=5, order=7) == 0
    assert with_shown(write("a", 13, token=6)) == 2, "one order for two"


def test_a_presentation_without_an_answer_may_have_happened() -> None:
    silent = presentation("b", 12, answered_ns=None, order=0, accepted=None)
    assert check_trial(trial(beliefs=TWO, presentations=[silent])).unknown == 1


def test_keys_have_logs_of_their_own() -> None:
    beliefs = (belief("a", 0, 9), belief("b", 10, 20, key="other"))
    writes = (write("a", 5, token=5), write("b", 12, token=1, key="other"))
    assert check_trial(trial(beliefs=beliefs, writes=writes)).fence_faults == 0
