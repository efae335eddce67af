"""Two holders as the page shows them, of made-up words whose truth is known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.campaign.live.staging.heard import SHOWN_S, Heard
from bench.records.hazards import FaultWindow

_S = 1_000_000_000
START_S = 1_000  # of the lab's clock
Message = dict[str, Any]


def turn(grant: str, from_s: float, until_s: float | None, token: int, write_s: float | None = None) -> list[Message]:
    """One turn as an actor tells it; without an end it is in the middle of it."""

    def at(seconds: float) -> int:
        return round((START_S + seconds) * _S)

    said: list[Message] = [
        {"say": "asking", "key": "k", "asked_ns": at(from_s), "waited": True},
        {"say": "asked", "asked_ns": at(from_s), "answered_ns": at(from_s), "outcome": "acquired", "reason": ""},
        {"say": "held", "key": "k", "grant": grant, "token": token, "asked_ns": at(from_s), "from_ns": at(from_s),
         "ttl_ms": 2_000, "lease_until_ns": at(from_s + 2)},
    ]  # fmt: skip
    if until_s is not None:
        said.append({"say": "ended", "grant": grant, "at_ns": at(until_s), "by": "released", "reason": ""})
    if write_s is not None:
        said += written(grant, token, write_s, accepted=True, highest=token)
    return said


def written(grant: str, token: int, at_s: float, accepted: bool, highest: int, order: int = 1) -> list[Message]:
    sent_ns, attempt = round((START_S + at_s) * _S), f"{grant}-write"
    asked = {
        "attempt_id": attempt,
        "key": "k",
        "grant": grant,
        "token": token,
        "fence": True,
        "value_read": 0,
        "value": 1,
    }
    verdict = {"order": order, "accepted": accepted, "highest_before": highest, "value_before": 0, "judged_ns": sent_ns}
    return [
        {"say": "writing", "sent_ns": sent_ns, **asked},
        {"say": "wrote", "attempt_id": attempt, "sent_ns": sent_ns, "answered_ns": sent_ns, **verdict},
    ]


def told(heard: Heard, at_s: float, *in_force: FaultWindow) -> dict[str, Any]:
    return heard.report(round((START_S + at_s) * _S), in_force)


def pause(from_s: float, until_s: float | None = None) -> FaultWindow:
    ended_ns = None if until_s is None else round((START_S + until_s) * _S)
    began_ns = round((START_S + from_s) * _S)
    return FaultWindow(kind="pause", target="A", began_ns=began_ns, ended_ns=ended_ns, confirmed="seen")


def test_turns_that_follow_each_other_are_no_harm() -> None:
    heard = Heard(2_000)
    heard.add("A", turn("a1", 0, 1, token=1, write_s=0.5))
    heard.add("B", turn("b1", 1, None, token=2))
    shown = told(heard, 5)
    assert shown["counts"] == {"grants": 2}
    assert shown["holders_now"] == 1
    assert shown["beliefs"] == [["A", 5, 4, 1, "released"], ["B", 4, None, 2, ""]]
    assert shown["writes"] == [["A", 4.5, True, False]]


def test_a_holder_that_was_paused_makes_two_and_its_late_write_is_seen() -> None:
    heard = Heard(2_000)
    heard.add("A", turn("a1", 0, None, token=1))
    heard.add("B", turn("b1", 2, None, token=2))
    shown = told(heard, 4, pause(0.5))
    assert shown["holders_now"] == 2
    assert shown["counts"]["double_holds"] == 1, "before the first has come to itself"
    assert shown["faults"] == [["pause", "A", 3.5, None, ""]]
    heard.struck(pause(0.5, 5))
    heard.add("A", written("a1", 1, 5.1, accepted=False, highest=2))
    shown = told(heard, 6)
    assert shown["counts"] == {"grants": 2, "double_holds": 1, "stale_refused": 1}
    assert shown["writes"] == [["A", 0.9, False, True]]
    assert shown["faults"] == [["pause", "A", 5.5, 1, ""]]


def test_a_release_whose_word_is_still_on_its_way_is_no_double_hold() -> None:
    """The two tell by pipes of their own, so the later grant may be heard before the earlier one's end."""
    heard = Heard(2_000)
    heard.add("A", turn("a1", 0, None, token=1))
    heard.add("B", turn("b1", 1, None, token=2))
    assert "double_holds" not in told(heard, 1.1)["counts"]
    heard.add("A", [{"say": "ended", "grant": "a1", "at_ns": (START_S + 1) * _S - 1, "by": "released", "reason": ""}])
    assert "double_holds" not in told(heard, 3)["counts"]


def test_the_dead_believe_nothing() -> None:
    heard = Heard(2_000)
    heard.add("A", turn("a1", 0, None, token=1))
    heard.killed("A", round((START_S + 1) * _S))
    heard.add("B", turn("b1", 2, None, token=2))
    shown = told(heard, 6)
    assert shown["holders_now"] == 1
    assert "double_holds" not in shown["counts"]
    assert shown["beliefs"][0] == ["A", 6, 5, 1, "killed"]


def test_after_the_end_nobody_holds() -> None:
    heard = Heard(2_000)
    heard.add("A", turn("a1", 0, None, token=1))
    heard.add("B", [])
    heard.end(round((START_S + 1) * _S))
    assert told(heard, 2)["holders_now"] == 0


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.booleans())
def test_counts_do_not_depend_on_how_often_the_page_looks(lengths: list[int], looks: bool) -> None:
    """A turn begins every two seconds and lasts for so many tenths of one: those of more than twenty overlap."""
    heard, late = Heard(2_000), 0
    for number, tenths in enumerate(lengths):
        from_s, last = 2.0 * number, number == len(lengths) - 1
        until_s = from_s + tenths / 10
        late += until_s > from_s + 2 and not last
        heard.add("AB"[number % 2], turn(f"g{number}", from_s, until_s, token=number + 1))
        if looks:
            told(heard, from_s + 0.1)
    assert told(heard, 2.0 * len(lengths) + 10)["counts"].get("double_holds", 0) == late


def test_an_hour_does_not_grow_and_what_is_counted_stays() -> None:
    heard = Heard(2_000)
    for number in range(3_600):
        heard.add("AB"[number % 2], turn(f"g{number}", number, number + 1.5, token=number + 1, write_s=number + 0.2))
        if number % 30 == 0:
            shown = told(heard, number)
            assert len(shown["beliefs"]) <= SHOWN_S + 3
    assert sum(map(len, heard._turns.values())) < 700
    assert len(heard._doubles) < 700
    assert told(heard, 3_610)["counts"]["double_holds"] == 3_599


@pytest.mark.parametrize("amount", [None, 200.0])
def test_a_fault_is_named_with_its_amount(amount: float | None) -> None:
    heard = Heard(2_000)
    window = pause(1, 2).model_copy(update={"amount": amount, "unit": "" if amount is None else "ms"})
    heard.struck(window)
    assert told(heard, 3)["faults"][0][4] == ("" if amount is None else "200 ms")
    assert told(heard, 3 + SHOWN_S)["faults"] == []
