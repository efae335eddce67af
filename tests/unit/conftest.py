"""A PostgreSQL for the tests of one module, which may do to it what they like."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.postgres_server import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # Not under pytest's own folder: that is closed to the account which the server runs as when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="lockbench-test-", dir="/var/tmp"))
    started = Server(folder)
    yield started
    started.end(signal.SIGINT)
    shutil.rmtree(folder)
