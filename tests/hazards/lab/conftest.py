"""One lab of all server sets for the tests of this folder, whole again after each."""

from collections.abc import Callable, Iterator

import pytest

from bench.hazards.lab.lab import Lab, open_lab
from bench.hazards.lab.servers import LabServers
from bench.systems.registry import SYSTEMS, server_sets
from tests.processes import running_in


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("home")
    specs = server_sets(tuple(SYSTEMS.values()))
    with open_lab(home, specs) as opened:
        folders = {state.folder.parent for spec in specs for state in opened.servers(spec.name).running.nodes}
        yield opened
    assert not [process for folder in {home, *folders} for process in running_in(folder)]


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
