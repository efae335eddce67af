"""The real servers, started by the bench's own supervisor when a test first needs them, stopped at the end."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from bench.conformance.harness import Harness
from bench.conformance.play import store_of_its_own
from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec
from bench.systems.registry import SYSTEMS, System


class Servers:
    """Server sets, up and proven. A set that does not come up fails each test that needs it, and skips none."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._up: dict[str, ServerSpec] = {}
        self._failed: dict[str, LockbenchError] = {}
        self._variants: dict[str, dict[str, str]] = {}

    def endpoint(self, system: System) -> Endpoint:
        """The system's endpoint, its servers in the system's variant; a store of its own for one without servers."""
        spec = system.servers
        if spec is None:
            return store_of_its_own()
        if spec.name not in self._up:
            self._start(spec)
        wanted = dict(system.server_variant)
        if self._variants.get(spec.name, {}) != wanted:
            self._supervisor.configure(spec, wanted)
            self._variants[spec.name] = wanted
        return self._supervisor.endpoint(spec)

    def _start(self, spec: ServerSpec) -> None:
        if spec.name in self._failed:  # once is enough: the other forty tests need not wait for it again
            raise self._failed[spec.name]
        try:
            self._supervisor.up([spec])
        except LockbenchError as failed:
            self._failed[spec.name] = failed
            raise
        self._up[spec.name] = spec

    def down(self) -> None:
        """Stop what was started."""
        self._supervisor.down(list(self._up.values()))


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """One supervisor with a home of its own, so that no server of the user's is touched."""
    started = Servers(Supervisor(tmp_path_factory.mktemp("lockbench")))
    yield started
    started.down()


@pytest.fixture
def bench_of(servers: Servers) -> Callable[[str], AbstractContextManager[Harness]]:
    """A harness for a system by name, with its servers in the right variant."""

    def harness(name: str) -> Harness:
        return Harness(SYSTEMS[name], servers.endpoint(SYSTEMS[name]))

    return harness
