"""Which systems each scenario is played on where none is named: written down, so that a trait changes none unseen."""

from pathlib import Path

import pytest
import yaml

from bench.hazards.scenario import Scenario, ScenarioError, load_scenario, scenario_names

_SIX = ("redis", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb")
CHOSEN: dict[str, tuple[str, ...]] = {
    "cable-pulled": _SIX,
    "client-clock": (*_SIX, "dynamodb-client-clock"),
    "clock-back-and-crash": _SIX,
    "crash-and-failover": ("redis", "zookeeper", "etcd"),
    "crash-recovery": _SIX,
    "failover": ("redis", "zookeeper", "etcd"),
    "fence-gap": ("redis", "zookeeper", "etcd", "dynamodb"),
    "gc-pause": _SIX,
    "idle-in-transaction": ("postgres-row",),
    "late-on-the-wire": _SIX,
    "late-quorum": ("redlock",),
    "late-release": ("redis", "redis-plain-delete", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb"),
    "late-request": _SIX,
    "lease-dies-in-queue": ("zookeeper", "etcd"),
    "mod-revision": ("etcd",),
    "naive-fence": ("redis", "redis-naive-fence"),
    "nodes-down": ("redlock", "zookeeper", "etcd"),
    "page-scenario": _SIX,
    "redlock-clock": ("redlock", "redis"),
    "redlock-drift": ("redlock", "redis"),
    "resources": ("redis",),
    "restart": ("redis", "zookeeper", "etcd", "postgres-row", "postgres-advisory"),
    "restarted-node": ("redlock",),
    "second-write": ("redis", "zookeeper", "etcd", "postgres-row", "dynamodb"),
    "server-clock": ("redis", "zookeeper", "etcd", "postgres-row"),
    "stalled-leader": ("zookeeper", "etcd"),
    "suspended-client": _SIX,
    "swallowed-reply": _SIX,
    "token-sources": (
        "redis",
        "redis-aof",
        "redlock",
        "zookeeper",
        "zookeeper-sequence-token",
        "etcd",
        "postgres-row",
        "postgres-row-unguarded",
        "postgres-row-counter",
        "postgres-row-xid",
        "postgres-advisory",
        "dynamodb",
    ),
    "watchdog": _SIX,
}
PLAIN = {
    "title": "t",
    "question": "q",
    "actors": {"one": {}},
    "parameters": {"ttl_ms": 1000},
    "trials": {"ttl_ms": [500, 1000]},
    "steps": [{"actor": "one", "do": "acquire"}],
}


def scenario(folder: Path, **more: object) -> Scenario:
    (folder / "s.yaml").write_text(yaml.safe_dump({**PLAIN, **more}))
    return load_scenario("s", folder)


def test_every_scenario_is_written_down() -> None:
    assert list(CHOSEN) == scenario_names()


@pytest.mark.parametrize("name", CHOSEN)
def test_the_chosen_are_as_written_here(name: str) -> None:
    assert load_scenario(name).systems == CHOSEN[name]


def test_what_has_the_traits_is_played_where_it_is_named(tmp_path: Path) -> None:
    one = scenario(tmp_path, systems={"needs": {"lease": True, "servers": True}, "without": ["redlock"]})
    assert one.systems == ("redis", "zookeeper", "etcd", "dynamodb")
    playable = ("redis", "redis-aof", "zookeeper-sequence-token", "dynamodb-client-clock")
    assert all(map(one.can_be_played_on, playable)), "a variant has the traits of its system"
    assert not any(map(one.can_be_played_on, ("redlock", "postgres-row", "memory", "null")))


def test_where_and_when_may_ask_for_a_trait(tmp_path: Path) -> None:
    one = scenario(
        tmp_path,
        systems=["redis", "postgres-row"],
        where=[{"ttl_ms": 500}, {"ttl_ms": 1000, "lease": True}],
        steps=[{"actor": "one", "do": "acquire", "when": {"lease": False}}],
    )
    played = {name: one.trials_of({"system": name}, full=False) for name in one.systems}
    assert played == {"redis": [{"ttl_ms": 500}, {"ttl_ms": 1000}], "postgres-row": [{"ttl_ms": 500}]}
    assert [one.steps[0].applies({"system": name}) for name in one.systems] == [False, True]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"systems": {"needs": {"leese": True}}}, "no trait leese: choose from servers, lease"),
        ({"systems": ["redis"], "parameters": {"ttl_ms": 1, "token": 1}}, "token is the name of a trait"),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, more: dict[str, object], told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        scenario(tmp_path, **more)
