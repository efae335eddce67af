"""One lab of all server sets for the tests of this folder, whole again after each."""

from collections.abc import Callable, Iterator

import pytest

from bench.hazards.lab.lab import Lab, open_lab
from bench.hazards.lab.servers import LabServers
from bench.systems.registry import SYSTEMS, server_sets
from tests.processes import running_in


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("home")
    with open_lab(home, server_sets(tuple(SYSTEMS.values()))) as opened:
        folders = {state.folder.parent for spec in SYSTEMS.values() if spec.servers for state in _nodes(opened, spec)}
        yield opened
    assert not [process for folder in {home, *folders} for process in running_in(folder)]


def _nodes(lab: Lab, system: object):
    return lab.servers(system.servers.name).running.nodes  # type: ignore[attr-defined]


@pytest.fixture
def servers_of(lab: Lab) -> Iterator[Callable[[str], LabServers]]:
    """The servers of a system, in its variant. What a test broke is mended afterwards, and seen to be whole."""
    taken: list[LabServers] = []

    def take(system: str) -> LabServers:
        spec = SYSTEMS[system].servers
        assert spec is not None
        servers = lab.servers(spec.name)
        servers.configure(SYSTEMS[system].server_variant)
        taken.append(servers)
        return servers

    yield take
    for servers in taken:
        endpoint = servers.endpoint
        servers.mend()
        assert servers.broken() == []
        assert servers.endpoint == endpoint
    assert lab.broken() == []
