"""Messages and bytes of a lock, from made-up counts: keep-alives are no part of what a pair sends."""

from dataclasses import replace

import pytest

from bench.analysis.network.traffic import sent
from bench.analysis.runs import RunRow
from bench.records.schema import Carried, Traffic, TrafficPhase
from bench.records.workload import Workload
from tests.run_rows import run_row

UNCONTENDED = Workload(name="uncontended", clients=1, keys=0, network="rtt=0ms")


def phase(seconds: float, messages: int, times: int = 0, peers: int | None = None) -> TrafficPhase:
    """Messages of 100 bytes, half of them each way."""
    return TrafficPhase(
        seconds=seconds,
        times=times,
        clients=carried(messages),
        peers=None if peers is None else carried(peers),
    )


def carried(messages: int) -> Carried:
    half = messages // 2
    return Carried(messages_to=half, bytes_to=100 * half, messages_from=half, bytes_from=100 * half)


def run(run_id: str, extra: int = 0, **changes: object) -> RunRow:
    """Two messages of keep-alive a second for each client, 40 between servers; 4 for a pair, 6 for a hand-off."""
    phases = {
        "open": phase(1.0, 2, peers=40),
        "pairs": phase(2.0, 20 * (4 + extra) + 4, 20, peers=20 * 8 + 80),
        "holder": phase(3.0, 6, peers=120),
        "waiter": phase(3.0, 12, peers=120),
        "hand_offs": phase(0.5, 30 + 2, 5, peers=20),
    }
    made = run_row(run_id, "etcd", UNCONTENDED, 1, traffic=Traffic(ttl_ms=2_000, wait="watch", phases=phases))
    return replace(made, **changes)  # type: ignore[arg-type]


def test_what_is_sent_by_itself_is_no_part_of_a_pair() -> None:
    (found,) = sent([run("a"), run("b", extra=2), run("c")])
    messages = {name: by_unit["messages"] for name, by_unit in found.numbers.items()}
    assert messages == {
        "pair": pytest.approx(4.0),
        "hand_off": pytest.approx(6.0),
        "holder_s": pytest.approx(2.0),
        "waiter_s": pytest.approx(2.0),
        "peers_pair": pytest.approx(8.0),
        "peers_hand_off": pytest.approx(0.0),
        "peers_holder_s": pytest.approx(40.0),
        "peers_waiter_s": pytest.approx(0.0),
    }
    assert found.numbers["pair"]["bytes"] == pytest.approx(400.0)
    assert (found.system, found.wait, len(found.runs)) == ("etcd", "watch", 3)


def test_runs_that_do_not_count_and_lines_that_are_not_there() -> None:
    assert not sent([run("a", traffic=None)])
    assert not sent([run("a", void_cause="delay lines busy")])
    whole = run("a").traffic
    assert whole is not None
    alone = {name: one.model_copy(update={"peers": None}) for name, one in whole.phases.items()}
    (found,) = sent([run("a", traffic=whole.model_copy(update={"phases": alone}))])
    assert {*found.numbers} == {"pair", "hand_off", "holder_s", "waiter_s"}
