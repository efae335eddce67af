"""Hand-offs and fairness of histories whose truth is known: a fair queue, a lottery, a favourite."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.contention.fairness import jain_index, overtook, wait_by_time_ns
from bench.analysis.contention.hand_offs import hand_offs, queue_waits
from bench.analysis.contention.measures import CONTENTION, HAND_OFFS, contention
from bench.analysis.contention.queues import queues
from bench.analysis.holds import Holds, Refused, RunEvents
from bench.analysis.metrics import METRICS
from bench.records.workload import Workload

HOLD, RELEASE, HAND_OFF = 1_000_000, 50_000, 200_000
SERVICE = HOLD + RELEASE + HAND_OFF


@dataclass
class History:
    """One key; each grant as (client, asked, granted), held for HOLD and released in RELEASE."""

    grants: list[tuple[int, int, int]]
    refusals: list[tuple[int, int]] = field(default_factory=list)
    freed: bool = True

    @property
    def events(self) -> RunEvents:
        client, asked, granted = (np.array(column, dtype=np.int64) for column in zip(*self.grants, strict=True))
        until = granted + HOLD
        holds = Holds.of(
            client,
            client * 0,
            asked,
            granted,
            until,
            client * 0 - 1,
            freed_ns=until + RELEASE if self.freed else None,
        )
        columns = np.array(self.refusals, dtype=np.int64).reshape(-1, 2)
        refused = Refused(columns[:, 0] * 0, columns[:, 0], columns[:, 0], columns[:, 1])
        return RunEvents({"acquired": len(client)}, holds, len(set(client.tolist())), refused=refused)


def closed_loop(clients: int, turns: int, choose: "np.random.Generator | None" = None) -> History:
    """All ask at once, and again when their release is answered; in order, or by a draw among those who wait."""
    waiting = [(0, client) for client in range(clients)]
    grants, now = [], HAND_OFF
    for _ in range(turns):
        place = 0 if choose is None else int(choose.integers(len(waiting)))
        asked, client = waiting.pop(place)
        grants.append((client, asked, now))
        waiting.append((now + HOLD + RELEASE, client))
        now += SERVICE
    return History(grants)


def measures(history: History, clients: int, **changes: object) -> dict[str, float]:
    # A window as long as the history: from the first asking to the last release's answer.
    window_s = (history.grants[-1][2] + HOLD + RELEASE) / 1e9
    workload = Workload(name="contended", clients=clients, keys=1, wait="block", measure_s=window_s, **changes)
    return dict(contention(workload, history.events))


@pytest.mark.parametrize("clients", [2, 3, 8])
def test_a_fair_queue_waits_as_the_yardstick_says(clients: int) -> None:
    found = measures(closed_loop(clients, 1_000 * clients), clients)
    assert found["hand_off_us_mean"] == found["hand_off_us_p50"] == HAND_OFF / 1e3
    assert found["queue_wait_us_p50"] == pytest.approx(found["fair_wait_us_mean"])
    assert found["fair_wait_us_mean"] == pytest.approx((clients - 1) * SERVICE / 1e3)
    assert found["key_utilisation"] == pytest.approx(1.0, abs=0.01)
    assert found["overtaking_share"] == 0.0
    assert found["jain_index"] == pytest.approx(1.0)
    assert found["clients_without_grant"] == 0.0
    assert "kept_hand_off_us_p50" not in found


def test_a_lottery_overtakes_and_waits_no_longer_on_average() -> None:
    dice = np.random.default_rng(5)
    fair, lottery = (measures(closed_loop(8, 20_000, one), 8) for one in (None, dice))
    assert lottery["overtaking_share"] > 0.5
    assert lottery["queue_wait_us_mean"] == pytest.approx(fair["queue_wait_us_mean"], rel=0.02)
    assert lottery["queue_wait_us_p99"] > 3 * fair["queue_wait_us_p99"]
    assert lottery["wait_by_time_us"] > 1.5 * fair["wait_by_time_us"]
    assert lottery["longest_wait_us"] > 5 * fair["longest_wait_us"]
    assert lottery["jain_index"] > 0.99, "in the long run a lottery is fair"


def test_a_favourite_is_seen_by_those_who_got_nothing() -> None:
    """Client 0 takes the key again and again, past seven who wait until they give up."""
    grants = [(0, now, now + 10_000) for now in range(0, 400 * SERVICE, SERVICE)]
    end = grants[-1][2] + SERVICE
    found = measures(History(grants, [(1, end)] * 7), 8)
    assert found["clients_without_grant"] == 7
    assert found["jain_index"] == pytest.approx(1 / 8)
    assert found["overtaking_share"] == pytest.approx(1.0, abs=0.01)
    assert found["longest_wait_us"] == pytest.approx(end / 1e3, rel=0.01)
    assert "hand_off_us_mean" not in found
    assert found["kept_hand_off_us_p50"] == HAND_OFF / 1e3


def test_a_client_without_any_event_waited_all_the_time() -> None:
    """Two serve each other; the six whose requests began before the window, and end after it, are in no record."""
    pair = closed_loop(2, 400)
    found = measures(pair, 8)
    assert found["clients_without_grant"] == 6
    assert found["overtaking_share"] == pytest.approx(1.0, abs=0.02)
    assert found["longest_wait_us"] >= (pair.grants[-1][2] - pair.grants[0][1]) / 1e3
    assert measures(pair, 2)["overtaking_share"] == 0.0


def lottery_of(clients: int, turns: int, again: float, dice: np.random.Generator) -> History:
    """Who releases asks again at once, and often wins again; else it is a draw among those who wait."""
    waiting = dict.fromkeys(range(clients), 0)
    before, now, grants = 0, HAND_OFF, []
    for _ in range(turns):
        others = [client for client in waiting if client != before]
        client = before if dice.random() < again else others[int(dice.integers(len(others)))]
        grants.append((client, waiting[client], now))
        waiting[client] = now + HOLD + RELEASE
        before, now = client, now + SERVICE
    return History(grants)


def only_of_the_window(history: History, window_ns: tuple[int, int]) -> History:
    """What was recorded before the operations around the window were: requests that began in it."""
    return History([one for one in history.grants if window_ns[0] <= one[1] < window_ns[1]])


@pytest.mark.parametrize(("clients", "again"), [(8, 0.0), (64, 0.0), (8, 0.9), (64, 0.9)])
def test_grants_to_requests_from_outside_the_window_lie_in_no_hand_off(clients: int, again: float) -> None:
    """In an unfair queue these are many, within the window and after its close."""
    history = lottery_of(clients, 4_000, again, np.random.default_rng(clients))
    window_ns = (1_000 * SERVICE, 3_000 * SERVICE)
    workload = Workload(name="contended", clients=clients, keys=1, wait="block", measure_s=2_000 * SERVICE / 1e9)
    found = contention(workload, history.events, window_ns)
    assert found["hand_off_us_mean"] == pytest.approx(HAND_OFF / 1e3)
    assert found["key_utilisation"] == pytest.approx(1.0, abs=0.01)
    assert found["fair_wait_us_mean"] == pytest.approx((clients - 1) * SERVICE / 1e3)
    hidden = contention(workload, only_of_the_window(history, window_ns).events)
    assert hidden["hand_off_us_mean"] > 1.05 * HAND_OFF / 1e3, "which is why they are recorded"


def test_the_wait_of_a_client_without_any_event_is_no_longer_than_the_window() -> None:
    pair = closed_loop(2, 400)
    window_ns = (100 * SERVICE, 200 * SERVICE)
    workload = Workload(name="contended", clients=3, keys=1, wait="block", measure_s=100 * SERVICE / 1e9)
    found = contention(workload, pair.events, window_ns)
    assert found["clients_without_grant"] == 1
    assert found["longest_wait_us"] == pytest.approx(100 * SERVICE / 1e3, rel=1e-3)


def test_who_nobody_waited_for_hands_nothing_over() -> None:
    alone = History([(client % 2, at + 500, at + 900) for client, at in enumerate(range(0, 50 * SERVICE, SERVICE))])
    found = measures(alone, 2)
    assert not [name for name in found if name in HAND_OFFS]
    assert found["overtaking_share"] == 0.0


def test_a_grant_that_is_answered_before_the_release_is_a_negative_hand_off() -> None:
    early = History([(0, 0, 100), (1, 50, 100 + HOLD + 10)])
    (queue,) = queues(early.events)
    parts = hand_offs(queue)
    assert parts is not None
    assert parts.changed_ns.tolist() == [10 - RELEASE]
    assert queue_waits(queue).tolist() == [100 + HOLD + 10 - 50]


def test_records_without_the_releases_answer_have_fairness_and_no_hand_off() -> None:
    history = closed_loop(4, 2_000)
    history.freed = False
    found = measures(history, 4)
    assert {"overtaking_share", "jain_index"} <= found.keys()
    assert not [name for name in found if name.startswith(("hand_off", "queue_wait", "fair_wait", "kept"))]


def test_think_time_shortens_the_fair_wait() -> None:
    found = measures(closed_loop(4, 2_000), 4, think_ms=2.0)
    assert found["fair_wait_us_mean"] == pytest.approx((3 * SERVICE - 2_000_000) / 1e3)


def test_every_measure_is_a_metric() -> None:
    assert set(CONTENTION) <= METRICS.keys()


# -- what can be said of any history ---------------------------------------------------------------------------------

spans = st.tuples(st.integers(0, 60), st.integers(1, 60))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), min_size=2, max_size=12), st.lists(spans, max_size=6))
def test_overtakings_are_those_counted_one_by_one(
    grants: list[tuple[int, int]], refusals: list[tuple[int, int]]
) -> None:
    """Grants at 10, 20, 30, ...; each asked some time before."""
    made = [(client, 10 * (place + 1) - 1 - before, 10 * (place + 1)) for place, (client, before) in enumerate(grants)]
    out = [(asked, asked + length) for asked, length in refusals]
    (queue,) = queues(History(made, out).events)
    expected = []
    for _, asked, granted in made:
        between = [at for _, _, at in made if at <= asked]
        waiting = [start for _, start, at in made if at > granted] + [start for start, at in out if at > granted]
        expected.append(any(start < at for start in waiting for at in between))
    assert overtook(queue).tolist() == expected


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=30))
def test_jain_lies_between_one_client_and_all(shares: list[int]) -> None:
    found = jain_index(shares)
    if not any(shares):
        assert found is None
    else:
        assert found is not None
        assert 1 / len(shares) - 1e-9 <= found <= 1 + 1e-9


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=30))
def test_the_wait_by_time_is_at_least_the_mean_and_at_most_the_longest(waits: list[int]) -> None:
    found = wait_by_time_ns(np.array(waits, dtype=np.int64))
    assert found is not None
    assert np.mean(waits) * (1 - 1e-9) <= found <= max(waits) * (1 + 1e-9)
