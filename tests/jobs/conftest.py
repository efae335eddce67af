"""A PostgreSQL that keeps the records of all tests of this folder."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.servers.endpoint import Endpoint
from tests.unit.postgres_server import Server


@pytest.fixture(scope="package")
def endpoint() -> Iterator[Endpoint]:
    # Not under pytest's own folder: that is closed to the account which the server runs as when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="lockbench-test-", dir="/var/tmp"))
    started = Server(folder)
    yield started.endpoint
    started.end(signal.SIGINT)
    shutil.rmtree(folder)
