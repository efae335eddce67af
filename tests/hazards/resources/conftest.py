"""Every kind of resource, hosted once on real servers that this session starts and stops."""

from collections.abc import Iterator

import pytest

from bench.hazards.resources.registry import NEEDS, host_of, kinds
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import SYSTEMS, server_sets
from tests.hazards.resources.hosted import Hosted


@pytest.fixture(scope="package")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Endpoint]]:
    """The servers that resources live on, by set name, private to this session."""
    specs = [spec for spec in server_sets(tuple(SYSTEMS.values())) if spec.name in NEEDS.values()]
    assert {spec.name for spec in specs} == set(NEEDS.values())
    own = Supervisor(tmp_path_factory.mktemp("resources"))
    own.up(specs)
    yield {spec.name: own.endpoint(spec) for spec in specs}
    own.down(specs)


@pytest.fixture(scope="package", params=kinds())
def hosted(request: pytest.FixtureRequest, endpoints: dict[str, Endpoint]) -> Iterator[Hosted]:
    """One kind after the other."""
    host = host_of(request.param, endpoints)
    with host.hosted() as place:
        yield Hosted(request.param, host, place)
