"""Systems that the runs cannot tell apart share a group; systems of unlike classes are never compared."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.cells import Absent, Cell
from bench.analysis.groups import CellClass, class_of, durable_answers, groups, too_few
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL, ratio
from bench.analysis.metrics import METRICS
from bench.analysis.notes import BOUND_WORDS
from bench.analysis.runs import Setting
from bench.records.schema import Workload
from tests.run_rows import run_row

METRIC = "acquire_us_p50"
WRITES = {"acquire_durable_writes": "1", "release_durable_writes": "1"}
DURABLE = {"durable_when": "fsync=on, commit=on|local", **WRITES}
ON = (("commit", "local"), ("fsync", "on"), ("wal", "whatever"))


def cell(
    system: str,
    values: Sequence[float],
    *,
    capabilities: Mapping[str, str] = DURABLE,
    durability: tuple[tuple[str, str], ...] = ON,
    nodes: int = 3,
    source: str = "native",
    tags: tuple[str, ...] = (),
    bounds: tuple[str, ...] = (),
    ttl_ms: int = 10_000,
    metric: str = METRIC,
) -> Cell:
    """A cell with one run for each value."""
    workload = Workload(name="uncontended", clients=1, keys=0, ttl_ms=ttl_ms)
    setting = Setting("1", source, nodes, durability, tags, "")
    rows = tuple(
        run_row(
            f"{system}-{number}",
            system,
            workload,
            number,
            bounds=bounds,
            setting=setting,
            capabilities=capabilities,
            metrics={**dict.fromkeys(METRICS, 1.0), metric: value},
        )
        for number, value in enumerate(values, 1)
    )
    return Cell(system, workload, setting, rows)


def runs(median: float, count: int = RUNS_FOR_AN_INTERVAL, seed: int = 1) -> list[float]:
    dice = random.Random(seed)
    return [median * math.exp(dice.gauss(0.0, 0.05)) for _ in range(count)]


def test_what_cannot_be_told_apart_shares_a_group_and_what_can_does_not() -> None:
    cells = [cell("slow", runs(50.0)), cell("one", runs(10.0, seed=2)), cell("two", runs(10.1, seed=3))]
    found = groups(cells, METRIC)
    assert [{one.system for one in group.cells} for group in found] == [{"one", "two"}, {"slow"}]
    ((_, times),) = found[0].others
    assert times.low <= 1.0 <= times.high
    assert found[1].others == ()


def test_the_best_is_the_largest_where_more_is_better() -> None:
    rate = "throughput_pairs_per_s"
    cells = [cell("low", runs(10.0), metric=rate), cell("high", runs(90.0), metric=rate)]
    assert [group.best.system for group in groups(cells, rate)] == ["high", "low"]


UNLIKE = {
    "servers": {"nodes": 1},
    "source": {"source": "compose"},
    "parameters": {"ttl_ms": 9_000},
    "durability": {"durability": (("commit", "off"), ("fsync", "on"))},
    "a lock that never writes": {"capabilities": {"durable_when": ""}},
    "an acquire that does not write": {"capabilities": {**DURABLE, "acquire_durable_writes": "0"}},
}


@pytest.mark.parametrize("unlike", UNLIKE)
def test_unlike_rows_are_not_compared(unlike: str) -> None:
    found = groups([cell("one", runs(10.0)), cell("two", runs(10.0, seed=2), **UNLIKE[unlike])], METRIC)
    assert [len(group.cells) for group in found] == [1, 1]


LEFT_OUT = {
    "an emulator": {"tags": ("emulator",)},
    "durability not told": {"durability": (("commit", "not told"), ("fsync", "on"))},
    "durability not recorded": {"durability": (("fsync", "on"),)},
    "an old record": {"capabilities": {"nodes": "3"}},
    **{f"a bound: {word}": {"bounds": (word,)} for word in BOUND_WORDS if word != "clients"},
}


@pytest.mark.parametrize("why", LEFT_OUT)
def test_what_may_not_be_compared_is_in_no_group(why: str) -> None:
    found = groups([cell("one", runs(10.0)), cell("two", runs(10.0, seed=2), **LEFT_OUT[why])], METRIC)
    assert [one.system for group in found for one in group.cells] == ["one"]


@pytest.mark.parametrize("word", BOUND_WORDS)
def test_a_rate_that_is_a_bound_is_in_no_group_whatever_binds(word: str) -> None:
    rate = "throughput_pairs_per_s"
    alike = [cell("one", runs(10.0), metric=rate), cell("two", runs(10.0, seed=2), metric=rate, bounds=(word,))]
    assert [one.system for group in groups(alike, rate) for one in group.cells] == ["one"]


def test_more_clients_than_there_were_would_not_lower_a_latency() -> None:
    found = groups([cell("one", runs(10.0)), cell("two", runs(10.0, seed=2), bounds=("clients",))], METRIC)
    assert len(found[0].cells) == 2


def test_few_runs_are_named_and_not_grouped() -> None:
    few = cell("few", runs(10.0, RUNS_FOR_AN_INTERVAL - 1, seed=2))
    cells = [cell("one", runs(10.0)), few, cell("alone in its class", runs(10.0, 2), nodes=1)]
    assert [one.system for group in groups(cells, METRIC) for one in group.cells] == ["one"]
    assert too_few(cells) == (few,)


def test_the_class_is_told_in_words() -> None:
    assert class_of(cell("one", runs(1.0))) == CellClass(
        cell("one", [1.0]).workload.digest, ("acquire", "release"), 3, "native"
    )
    words = class_of(cell("one", runs(1.0), nodes=1, capabilities={"durable_when": "fsync=off"}))
    assert words is not None
    assert words.words == "1 server, native, nothing durable"
    assert CellClass("", ("acquire", "release"), 3, "native").words == "3 servers, native, acquire and release durable"


BOTH = ("acquire", "release")


@pytest.mark.parametrize(
    ("durable_when", "settings", "durable"),
    [
        ("appendonly=yes, appendfsync=always", {"appendonly": "yes", "appendfsync": "always"}, BOTH),
        ("appendonly=yes, appendfsync=always", {"appendonly": "yes", "appendfsync": "everysec"}, ()),
        ("appendonly=yes, appendfsync=always", {"appendonly": "no/yes", "appendfsync": "always"}, ()),
        ("synchronous_commit=on|local", {"synchronous_commit": "local"}, BOTH),
        ("forceSync=yes", {"forceSync": "not told"}, None),
        ("", {}, BOTH),  # it writes, and nothing can switch that off
    ],
)
def test_durability_is_what_the_server_says(
    durable_when: str, settings: dict[str, str], durable: tuple[str, ...] | None
) -> None:
    capabilities = {"durable_when": durable_when, **WRITES}
    one = cell("one", [1.0], capabilities=capabilities, durability=tuple(settings.items()))
    assert durable_answers(one) == durable
    only_release = cell("one", [1.0], capabilities={**capabilities, "acquire_durable_writes": "0"})
    if durable == BOTH:
        settled = replace(only_release, setting=one.setting)
        assert durable_answers(settled) == ("release",)


@settings(max_examples=40)
@given(st.lists(st.floats(min_value=1.0, max_value=3.0), min_size=1, max_size=6), st.integers(1, 1_000))
def test_every_cell_is_in_one_group_connected_to_its_best(medians: list[float], seed: int) -> None:
    """Nothing is promised between two members that are both not the best: that relation is not transitive."""
    cells = [cell(f"s{place}", runs(median, seed=seed + place)) for place, median in enumerate(medians)]
    found = groups(cells, METRIC)
    # By chance the runs of a cell may have a trend in their order, and no interval then.
    grouped = [one for one in cells if not isinstance(value := one.value(METRIC), Absent) and value.has_confidence]
    assert sorted(one.system for group in found for one in group.cells) == sorted(one.system for one in grouped)
    seen: list[Cell] = []
    for group in found:
        best = group.best.value(METRIC).value  # type: ignore[union-attr]
        assert all(one.value(METRIC).value >= best for one in group.cells)  # type: ignore[union-attr]
        for one, times in group.others:
            assert times.contains(1.0)
            assert times == ratio(values_of(one), values_of(group.best))
        for earlier in seen:  # a group that was left behind did not take this best cell in
            assert not ratio(values_of(group.best), values_of(earlier)).contains(1.0)
        seen.append(group.best)


def values_of(one: Cell) -> list[float]:
    return [run.metrics[METRIC] or 0.0 for run in one.runs]
