"""Containers: who started them decides who stops them, and their address is asked for before they prove themselves."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest

from bench.servers.running import compose
from bench.servers.running.compose import ComposeError, Container
from bench.servers.running.settings import ServerSettings, Settings
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import Node
from tests.servers.toy import ToyServers

SERVICES = ToyServers.compose_services


class Boxed(ToyServers):
    """In containers. Any server of the kind gives a good proof of itself, as any Redis does."""

    def prove(self, node: Node, pid: int | None) -> str:
        return f"server at {node.port}"


class Engine:
    """Stands for `bench.servers.running.compose` with an engine: its containers by service, with the port of each."""

    def __init__(self) -> None:
        self.running: dict[str, int] = {}
        self.fails = False
        self._last = 32767

    def start(self, services: Sequence[str] = SERVICES) -> None:
        for service in services:
            if service not in self.running:
                self._last += 1
                self.running[service] = self._last

    def up(self, services: Sequence[str]) -> None:
        self.start(services)
        if self.fails:
            raise ComposeError("container toy-2 is unhealthy")

    def containers(self, services: Sequence[str], *, running: bool = False) -> frozenset[str]:
        return frozenset(f"{name}-{self.running[name]}" for name in services if name in self.running)

    def address(self, service: str, port: int) -> tuple[str, int]:
        return "127.0.0.1", self.running[service]

    def container(self, service: str, port: int, address: tuple[str, int]) -> Container:
        if self.running.get(service) != address[1]:
            raise ComposeError(f"{service} was started anew")
        return Container(service, f"{service}-{address[1]}", "image", "now")

    def stop(self, container_ids: Collection[str]) -> list[str]:
        found = sorted(name for name, port in self.running.items() if f"{name}-{port}" in container_ids)
        for name in found:
            del self.running[name]
        return found

    def engine_answers(self) -> bool:
        return True


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    pretended = Engine()
    for name in ("up", "containers", "address", "container", "stop", "engine_answers"):
        monkeypatch.setattr(compose, name, getattr(pretended, name))
    return pretended


@pytest.fixture
def supervisor(tmp_path: Path) -> Supervisor:
    return Supervisor(tmp_path, Settings(servers={Boxed.name: ServerSettings(source="compose")}))


@pytest.mark.parametrize(
    ("by_hand", "left"),
    [((), []), (("toy-1",), ["toy-1"]), (("toy-2",), ["toy-2"]), (SERVICES, ["toy-1", "toy-2"])],
)
def test_only_those_that_lockbench_started_are_stopped(
    engine: Engine, supervisor: Supervisor, by_hand: tuple[str, ...], left: list[str]
) -> None:
    engine.start(by_hand)
    supervisor.up([Boxed()])
    supervisor.up([Boxed()])  # what a second call finds, the first one started
    assert supervisor.down([Boxed()]) == sorted(set(SERVICES) - set(left))
    assert sorted(engine.running) == left
    assert supervisor.status([Boxed()]) == []


def test_what_somebody_started_since_is_theirs(engine: Engine, supervisor: Supervisor) -> None:
    supervisor.up([Boxed()])
    engine.running.clear()  # `docker compose down`
    engine.start()  # `docker compose up`
    assert supervisor.down([Boxed()]) == []
    assert sorted(engine.running) == sorted(SERVICES)


@pytest.mark.parametrize("by_hand", [(), ("toy-1",), SERVICES])
def test_an_up_that_fails_leaves_what_was_there(
    engine: Engine, supervisor: Supervisor, by_hand: tuple[str, ...]
) -> None:
    engine.start(by_hand)
    engine.fails = True
    with pytest.raises(ComposeError, match="unhealthy"):
        supervisor.up([Boxed()])
    assert sorted(engine.running) == sorted(by_hand)


def swap(ports: dict[str, int]) -> dict[str, int]:
    return {"toy-1": ports["toy-2"], "toy-2": ports["toy-1"]}


def one_moved(ports: dict[str, int]) -> dict[str, int]:
    return {**ports, "toy-2": 40000}


def one_gone(ports: dict[str, int]) -> dict[str, int]:
    return {"toy-1": ports["toy-1"]}


@pytest.mark.parametrize(("moved", "told"), [(swap, ["toy-1", "toy-2"]), (one_moved, ["toy-2"]), (one_gone, ["toy-2"])])
def test_another_service_s_server_is_not_taken_for_it(
    engine: Engine, supervisor: Supervisor, moved: Callable[[dict[str, int]], dict[str, int]], told: list[str]
) -> None:
    """An engine that was started anew deals its ports out again, in another order."""
    supervisor.up([Boxed()])
    engine.running = moved(engine.running)
    assert [line.node for line in supervisor.status([Boxed()]) if line.problem] == told
    running = supervisor.up([Boxed()])[Boxed.name]
    assert {state.node.name: state.node.port for state in running.nodes} == engine.running
    assert running.endpoint.addresses == tuple(("127.0.0.1", engine.running[name]) for name in SERVICES)
