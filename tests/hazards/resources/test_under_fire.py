"""Several holders present and write while the wire is muted and severed, and send again what had no answer, also two at
a time: the log is one order of judgements by the rule, each attempt once, and no older token passes after a newer one.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from bench.hazards.resources.base import Attempt, Judged, Resource, ResourceUnreachable
from bench.hazards.resources.ledger import State
from bench.hazards.resources.registry import kinds
from tests.hazards.resources.hosted import Hosted, attempt, fresh_key, presentation
from tests.hazards.resources.test_lost_replies import Wire

WIRED = [kind for kind in kinds() if kind != "file"]
pytestmark = [pytest.mark.servers, pytest.mark.parametrize("hosted", WIRED, indirect=True)]
HOLDERS, ATTEMPTS = 3, 24
TOKENS = (None, 1, 2, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1)


@dataclass(frozen=True)
class Sent:
    attempt: Attempt
    answered: float
    verdict: Judged


def send(resource: Resource, one: Attempt, found: list[Sent]) -> bool:
    try:
        verdict = resource.write(one)
    except ResourceUnreachable:
        return False
    found.append(Sent(one, time.monotonic(), verdict))
    return True


@pytest.mark.parametrize("seed", range(2))
def test_one_order_by_the_rule(hosted: Hosted, seed: int) -> None:
    key, over, connected = fresh_key(), threading.Event(), threading.Barrier(HOLDERS + 1)
    attempts: dict[str, Attempt] = {}
    first_sent: dict[str, float] = {}
    found: list[Sent] = []

    def hold(number: int) -> None:
        chance = random.Random(100 * seed + number)
        with hosted.open(wire.place) as resource, hosted.open() as second:
            connected.wait(60)
            for turn in range(ATTEMPTS):
                upto = 1 + min(len(TOKENS) - 1, turn * len(TOKENS) // ATTEMPTS + chance.randint(0, 1))
                token = chance.choice(TOKENS[:upto])
                fence = chance.random() < 0.8
                kind = presentation if chance.random() < 0.5 else attempt
                one = kind(key, token, fence=fence)
                attempts[one.attempt_id], first_sent[one.attempt_id] = one, time.monotonic()
                if send(resource, one, found):
                    continue
                with ThreadPoolExecutor(2) as again:
                    list(again.map(lambda way: send(way, one, found), (resource, second)))  # noqa: B023

    with ExitStack() as stack:
        wire = Wire(hosted.place, stack)
        with ThreadPoolExecutor(HOLDERS) as holders:
            holding = [holders.submit(hold, number) for number in range(HOLDERS)]
            connected.wait(60)
            chance = random.Random(seed)
            while not all(one.done() for one in holding):
                over.wait(chance.uniform(0.01, 0.1))
                wire.mute()
                over.wait(chance.uniform(0.0, 0.03))
                wire.sever()
            for one in holding:
                one.result()
    log = hosted.log(key)
    assert [verdict.order for verdict in log] == list(range(1, len(log) + 1))
    assert len({verdict.attempt_id for verdict in log}) == len(log)
    state = State()
    for verdict in log:
        state, expected = state.judge(attempts[verdict.attempt_id])
        assert verdict == expected
    by_id = {verdict.attempt_id: verdict for verdict in log}
    assert all(by_id[one.attempt.attempt_id] == one.verdict for one in found)
    # In real time too: what was first sent after another had its answer stands behind it.
    for one in found:
        later = [other for other in found if one.answered < first_sent[other.attempt.attempt_id]]
        assert all(one.verdict.order < other.verdict.order for other in later)
