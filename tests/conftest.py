"""What all tests share."""

import signal
from collections.abc import Iterator

import pytest
from xdist.remote import Producer
from xdist.scheduler.protocol import Scheduling

from tests.processes import default_in_children
from tests.workers import ByServers


@pytest.fixture(scope="session", autouse=True)
def _interruptible_children() -> Iterator[None]:
    """What a shell or cron puts into the background begins with SIGINT ignored, and so would all that a test starts."""
    with default_in_children(signal.SIGINT):
        yield


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """Several workers share the tests by the servers that these need."""
    return ByServers(config, log)
