"""Explanations: by the functions that took the processor, or by the parts of a latency."""

from collections import Counter

from bench.analysis.floor import CriticalPath
from bench.calibrate.explain import by_room, explain_by_floor, explain_by_samples
from bench.calibrate.locust_runs import LocustRun, Sampled, short_place
from tests.calibrate.records import ENVIRONMENT

FUNCTIONS = Counter(
    {"gevent/hub.py:run": 50, "bench/systems/redis/lock.py:_take": 30, "bench/load/users.py:take_turn": 15, "x.py:f": 5}
)


def test_samples_are_told_by_place_and_by_function() -> None:
    assert by_room(FUNCTIONS) == {"gevent": 0.5, "bench/systems/redis": 0.3, "bench/load": 0.15, "python": 0.05}
    told = explain_by_samples(Sampled(0.25, 100, FUNCTIONS))
    assert "25\u00a0% is the kernel's" in told
    assert "30\u00a0% bench/systems/redis" in told
    assert "gevent/hub.py:run 50\u00a0%" in told


def test_a_file_between_two_rooms_belongs_to_the_outer_one() -> None:
    places = {"bench/systems/base.py:acquire": 1, "bench/cli.py:main": 1}
    assert by_room(places) == {"bench/systems": 0.5, "bench": 0.5}


def test_no_path_of_the_machine_is_told() -> None:
    assert short_place("/home/me/v/lib/python3.11/site-packages/gevent/hub.py:run") == "gevent/hub.py:run"
    assert short_place("/home/bench/lockbench/bench/load/users.py:take_turn") == "bench/load/users.py:take_turn"
    assert short_place("/usr/lib/python3.11/random.py:random") == "random.py:random"
    assert short_place("<string>:__init__") == "<string>:__init__"


def test_the_floor_is_told_with_its_parts() -> None:
    path = CriticalPath(client_round_trips=1, peer_round_trips=1, durable_writes=1)
    told = explain_by_floor(path, ENVIRONMENT, [_run(), _run(answer_calls=2.0, answer_us=600.0)])
    assert "its floor is 100 µs (2 round trips of 5 µs and 1 durable writes of 90 µs)" in told
    assert "disk and peers included, 300 µs" in told
    assert "400 µs for acquire and release together" in told


def _run(**view: float) -> tuple[LocustRun, dict[str, float]]:
    return LocustRun(1_000.0, 500.0, 400.0, 0.4, {}, {}), view
