"""What all tests share."""

import signal
from collections.abc import Iterator

import pytest

from tests.processes import default_in_children


@pytest.fixture(scope="session", autouse=True)
def _interruptible_children() -> Iterator[None]:
    """What a shell or cron puts into the background begins with SIGINT ignored, and so would all that a test starts."""
    with default_in_children(signal.SIGINT):
        yield
