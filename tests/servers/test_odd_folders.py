"""Every set of private servers comes up, holds a lock and goes down under a home folder of any name."""

from pathlib import Path

import pytest

from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec
from bench.systems.base import ClientOptions, Grant, Released
from bench.systems.registry import SYSTEMS, System
from bench.systems.wait import Wait
from tests.thorough import case

# One start of a set takes seconds, so what is alike for a program's reader stands in one name, and folders of several
# names lie in each other.
NAMES = {
    "spaces": "my  bench folder ",
    "not ASCII": "größe-日本語-🔒",
    "not UTF-8": b"latin-1-\xe9".decode("utf-8", "surrogateescape"),
    "quotes": 'it\'s "quoted" `twice`',
    "backslashes": "back\\slash\\n\\u0041\\",
    "patterns": "a*b?c[d]{e,f}~!",
    "what settings files mean": "a#b=c:d;e%f,g@h|i&j<k>(l)",
    "what shells expand": "$HOME${PATH}$(id)%s%n",
    "an option": "-v --help",
    "lines": "line\none\ttab",
    "long": "n" * 120,
}
PATHS = (
    ("spaces", "not ASCII", "quotes", "backslashes"),
    ("patterns", "what settings files mean", "what shells expand"),
    ("an option", "lines"),
    ("not UTF-8",),
    ("long",),
)
assert sorted(name for path in PATHS for name in path) == sorted(NAMES)
SETS: dict[str, System] = {
    entry.servers.name: entry
    for entry in reversed(tuple(SYSTEMS.values()))
    if entry.servers is not None and not entry.tags
} | {"dynamodb": SYSTEMS["dynamodb"]}


# Each set in one folder, by turns; all of them in each is for `make thorough`.
CASES = [
    case(name, path, rare=(place - turn) % len(PATHS) != 0)
    for place, name in enumerate(SETS)
    for turn, path in enumerate(PATHS)
]


@pytest.mark.servers
@pytest.mark.parametrize(("set_name", "path"), CASES, ids=str)
def test_a_set_lives_in_an_odd_folder(set_name: str, path: tuple[str, ...], tmp_path: Path) -> None:
    system = SETS[set_name]
    spec = system.servers
    assert isinstance(spec, ServerSpec)
    supervisor = Supervisor(tmp_path.joinpath(*(NAMES[name] for name in path), ".lockbench"))
    supervisor.up([spec])
    try:
        if system.durable_variant:  # has the server write its own settings file anew
            supervisor.configure(spec, SYSTEMS[system.durable_variant].server_variant)
        options = ClientOptions(ttl_ms=10_000, variant=system.client_variant)
        with system.client_class.open(supervisor.endpoint(spec), options) as client:
            grant = client.acquire("key", 10_000, 10_000, Wait.parse(system.default_wait))
            assert isinstance(grant, Grant), grant
            assert isinstance(client.release(grant), Released)
        assert [line.problem for line in supervisor.status([spec])] == [None] * len(spec.node_names)
    finally:
        stopped = supervisor.down([spec])
    assert len(stopped) == len(spec.node_names)
