"""One suite for all kinds of resource, on real servers: the same attempts have the same verdicts everywhere."""

import json
import random
import threading

import pytest

from bench.hazards.resources.base import Attempt, Judged, Reading, Resource, Rule, accepts
from tests.hazards.resources.hosted import Hosted, attempt, fresh_key, presentation

pytestmark = pytest.mark.servers
WRITERS, WRITES = 4, 25


def test_a_place_is_ready_for_json(hosted: Hosted) -> None:
    with hosted.open(json.loads(json.dumps(hosted.place))) as resource:
        assert resource.kind == hosted.kind


def test_a_fresh_key_has_nothing(hosted: Hosted) -> None:
    with hosted.open() as resource:
        key = fresh_key()
        assert resource.read(key) == Reading(0, 0)
        assert hosted.log(key) == []


def test_an_accepted_write_is_read_by_others(hosted: Hosted) -> None:
    with hosted.open() as writer, hosted.open() as reader:
        sent = attempt(fresh_key(), 7, value=1)
        assert writer.write(sent) == Judged(sent.attempt_id, 1, True, 0, 0)
        assert reader.read(sent.key) == Reading(1, 7)


@pytest.mark.parametrize("rule", list(Rule))
def test_a_holders_second_write_under_one_token(hosted: Hosted, rule: Rule) -> None:
    """Claim C39: "refuse token <= last" refuses the holder itself."""
    with hosted.open() as resource:
        key = fresh_key()
        first, second = attempt(key, 7, rule=rule, value=1), attempt(key, 7, rule=rule, value=2, value_read=1)
        assert resource.write(first).accepted
        accepted = rule is Rule.BELOW
        assert resource.write(second) == Judged(second.attempt_id, 2, accepted, 7, 1)
        assert resource.read(key) == Reading(2 if accepted else 1, 7)


def test_an_unchecked_second_write_is_taken_by_either_rule(hosted: Hosted) -> None:
    with hosted.open() as resource:
        key = fresh_key()
        assert resource.write(attempt(key, 7, value=1)).accepted
        assert resource.write(attempt(key, 7, fence=False, rule=Rule.AT_MOST, value=2)).accepted
        assert resource.read(key) == Reading(2, 7)


@pytest.mark.parametrize("rule", list(Rule))
def test_a_stale_token_is_refused_with_the_fence(hosted: Hosted, rule: Rule) -> None:
    """Claim C57, the half that matters."""
    with hosted.open() as late, hosted.open() as current:
        key = fresh_key()
        assert current.write(attempt(key, 8, rule=rule, value=1)).accepted
        stale = attempt(key, 7, rule=rule, value=99)
        assert late.write(stale) == Judged(stale.attempt_id, 2, False, 8, 1)
        assert current.read(key) == Reading(1, 8)
        assert current.write(attempt(key, 9, rule=rule, value=2)).accepted


def test_a_stale_token_is_accepted_without_the_fence(hosted: Hosted) -> None:
    """Claim C57, the other half. And the highest token stays: what was seen is not forgotten."""
    with hosted.open() as resource:
        key = fresh_key()
        assert resource.write(attempt(key, 8, value=1)).accepted
        stale = attempt(key, 7, fence=False, value=99)
        assert resource.write(stale) == Judged(stale.attempt_id, 2, True, 8, 1)
        assert resource.read(key) == Reading(99, 8)
        assert not resource.write(attempt(key, 7, value=3)).accepted


@pytest.mark.parametrize("fence", [True, False])
def test_no_token_cannot_be_judged(hosted: Hosted, fence: bool) -> None:
    with hosted.open() as resource:
        key = fresh_key()
        assert resource.write(attempt(key, 8, value=1)).accepted
        bare = attempt(key, None, fence=fence, value=2)
        assert resource.write(bare) == Judged(bare.attempt_id, 2, True, 8, 1)
        assert resource.read(key) == Reading(2, 8)


# The highest token was 8: what is shown, whether the resource checks it, and what becomes of both.
PRESENTED = {
    "higher": (9, True, True, 9),
    "equal": (8, True, True, 8),
    "lower": (7, True, False, 8),
    "none": (None, True, True, 8),
    "lower, unchecked": (7, False, True, 8),
    "higher, unchecked": (9, False, True, 9),
}


@pytest.mark.parametrize(("token", "fence", "accepted", "highest"), PRESENTED.values(), ids=PRESENTED)
def test_a_token_is_presented_and_the_value_read_in_one_step(
    hosted: Hosted, token: int | None, fence: bool, accepted: bool, highest: int
) -> None:
    with hosted.open() as resource:
        key = fresh_key()
        assert resource.write(attempt(key, 8, value=41)).accepted
        shown = presentation(key, token, fence=fence)
        verdict = resource.write(shown)
        assert verdict == Judged(shown.attempt_id, 2, accepted, 8, 41)
        assert resource.read(key) == Reading(41, highest)
        assert hosted.log(key)[1:] == [verdict]
        assert resource.write(shown) == verdict, "shown once more, it is judged once"


def test_a_key_never_written_is_presented_to_as_any_other(hosted: Hosted) -> None:
    with hosted.open() as resource:
        shown = presentation(fresh_key(), 5)
        assert resource.write(shown) == Judged(shown.attempt_id, 1, True, 0, 0)
        assert resource.read(shown.key) == Reading(0, 5)


def test_a_late_write_is_refused_once_a_newer_token_was_presented(hosted: Hosted) -> None:
    """The gap of a fence that learns of tokens from writes: the late write, between the next holder's read and its
    write. Shown at the read, the token closes it; shown at the write, an update is lost."""
    with hosted.open() as late, hosted.open() as current:
        key = fresh_key()
        assert late.write(presentation(key, 7)).accepted
        read = current.write(presentation(key, 8)).value_before
        assert not late.write(attempt(key, 7, value=1)).accepted
        assert not late.write(presentation(key, 7)).accepted
        assert current.write(attempt(key, 8, value=read + 1, value_read=read)).value_before == read

        gap = fresh_key()
        read = current.read(gap).value
        assert late.write(attempt(gap, 7, value=1)).accepted
        assert current.write(attempt(gap, 8, value=read + 1, value_read=read)).value_before == 1 != read


def test_the_strict_rule_cannot_live_with_presentations(hosted: Hosted) -> None:
    """ "Refuse token <= last" refuses the first write of whoever has presented its token."""
    with hosted.open() as resource:
        key = fresh_key()
        assert resource.write(presentation(key, 7, rule=Rule.AT_MOST)).accepted
        assert not resource.write(attempt(key, 7, rule=Rule.AT_MOST)).accepted


def test_an_old_holder_races_a_presentation_and_loses_no_update(hosted: Hosted) -> None:
    """Either the late write comes first, and the new holder reads it, or it is refused: nothing lies between."""
    with hosted.open() as late, hosted.open() as current:
        key, value = fresh_key(), 0
        seen = set()
        for token in range(2, 32, 2):
            assert late.write(presentation(key, token)).accepted
            gate = threading.Barrier(2)
            told: dict[str, Judged] = {}

            def race(name: str, resource: Resource, one: Attempt) -> None:
                gate.wait(60)  # noqa: B023 - both threads end within the round
                told[name] = resource.write(one)  # noqa: B023

            races = [
                threading.Thread(target=race, args=("write", late, attempt(key, token, value=value + 1))),
                threading.Thread(target=race, args=("presentation", current, presentation(key, token + 1))),
            ]
            for thread in races:
                thread.start()
            for thread in races:
                thread.join(60)
            read = told["presentation"].value_before
            assert told["presentation"].accepted
            assert told["write"].accepted is (told["write"].order < told["presentation"].order)
            assert read == value + told["write"].accepted
            mine = current.write(attempt(key, token + 1, value=read + 1, value_read=read))
            assert (mine.accepted, mine.value_before) == (True, read)
            value = read + 1
            seen.add(told["write"].accepted)
        assert seen <= {True, False}


def test_presentations_at_the_same_time_have_one_order(hosted: Hosted) -> None:
    """The highest of those before decides, however many show their tokens at once."""
    key = fresh_key()
    gate = threading.Barrier(WRITERS)
    answers: list[tuple[int, Judged]] = []

    def show(tokens: list[int]) -> None:
        with hosted.open() as resource:
            gate.wait(60)
            answers.extend((token, resource.write(presentation(key, token))) for token in tokens)

    dice = random.Random(11)
    threads = [threading.Thread(target=show, args=(dice.sample(range(1, 40), 10),)) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    highest = 0
    in_order = sorted(answers, key=lambda answer: answer[1].order)
    assert [verdict.order for _, verdict in in_order] == list(range(1, WRITERS * 10 + 1))
    for token, verdict in in_order:
        assert (verdict.highest_before, verdict.accepted, verdict.value_before) == (highest, token >= highest, 0)
        highest = max(highest, token)
    assert hosted.log(key) == [verdict for _, verdict in in_order]


def test_tokens_have_63_bits(hosted: Hosted) -> None:
    """A token that passes through a double, as Lua's and JavaScript's numbers are, loses its last bits after 2^53."""
    with hosted.open() as resource:
        key = fresh_key()
        for base in (2**53, 2**62):
            for token in (base, base + 1):
                assert resource.write(attempt(key, token, rule=Rule.AT_MOST)).accepted
            assert not resource.write(attempt(key, base)).accepted
            assert resource.read(key).highest == base + 1
        assert not resource.write(attempt(key, 9)).accepted, "compared as text"


def test_an_attempt_is_judged_once(hosted: Hosted) -> None:
    with hosted.open() as resource, hosted.open() as other:
        key = fresh_key()
        taken = attempt(key, 7, value=1)
        first = resource.write(taken)
        refused = attempt(key, 6, value=9)
        second = other.write(refused)
        assert (first.accepted, second.accepted) == (True, False)
        other.write(attempt(key, 8, value=2))
        assert other.write(taken) == first
        assert resource.write(refused) == second
        assert resource.read(key) == Reading(2, 8)
        assert len(hosted.log(key)) == 3


@pytest.mark.parametrize("key", ["a/b", "a}{b", "ключ 'x'", "%2F", "k" * 512])
def test_any_key(hosted: Hosted, key: str) -> None:
    with hosted.open() as resource:
        sent = attempt(key + fresh_key(), 1, value=5)
        verdict = resource.write(sent)
        assert resource.read(sent.key) == Reading(5, 1)
        assert hosted.log(sent.key) == [verdict]
        assert resource.read(sent.key + "/") == Reading(0, 0)


def test_each_hosting_begins_afresh(hosted: Hosted) -> None:
    key = fresh_key()
    with hosted.open() as resource:
        resource.write(attempt(key, 3))
    with hosted.host.hosted() as another, hosted.open(another) as resource:
        assert resource.read(key) == Reading(0, 0)
        resource.write(attempt(key, 1, value=4))
        assert len(hosted.host.judged(another, key)) == 1
    assert len(hosted.log(key)) == 1


def test_writers_at_the_same_time_have_one_order(hosted: Hosted) -> None:
    """Each verdict follows from the one before it: no two attempts were judged on one state."""
    key = fresh_key()
    dice = random.Random(7)
    tokens = [[dice.choice([None, *range(1, 9)]) for _ in range(WRITES)] for _ in range(WRITERS)]
    sent = {}
    answers: dict[str, Judged] = {}
    gate = threading.Barrier(WRITERS)

    def write_all(resource: Resource, mine: list[int | None], writer: int) -> None:
        gate.wait(60)
        for number, token in enumerate(mine):
            one = attempt(key, token, fence=number % 5 > 0, value=1 + writer * WRITES + number)
            sent[one.attempt_id] = one
            answers[one.attempt_id] = resource.write(one)

    def run(mine: list[int | None], writer: int) -> None:
        with hosted.open() as resource:
            write_all(resource, mine, writer)

    threads = [threading.Thread(target=run, args=(mine, writer)) for writer, mine in enumerate(tokens)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)

    log = hosted.log(key)
    assert [verdict.order for verdict in log] == list(range(1, WRITERS * WRITES + 1))
    assert {verdict.attempt_id: verdict for verdict in log} == answers
    value: int | None = 0
    highest = 0
    for verdict in log:
        one = sent[verdict.attempt_id]
        assert (verdict.value_before, verdict.highest_before) == (value, highest)
        assert verdict.accepted == accepts(one.fence, one.rule, one.token, highest)
        if verdict.accepted:
            value, highest = one.value, max(highest, one.token or 0)
    assert {verdict.accepted for verdict in log} == {True, False}
    with hosted.open() as resource:
        assert resource.read(key) == Reading(value or 0, highest)


def test_two_writers_race_for_one_token(hosted: Hosted) -> None:
    """The sharpest race: the first to be judged takes the token away from the other."""
    with hosted.open() as first, hosted.open() as second:
        key = fresh_key()
        for token in range(1, 16):
            verdicts: list[Judged] = []
            gate = threading.Barrier(2)

            def race(resource: Resource) -> None:
                gate.wait(60)  # noqa: B023 - both threads end within the round
                verdicts.append(resource.write(attempt(key, token, rule=Rule.AT_MOST)))  # noqa: B023

            threads = [threading.Thread(target=race, args=(resource,)) for resource in (first, second)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert sorted(verdict.accepted for verdict in verdicts) == [False, True]
