"""What all tests share."""

import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol
from xdist.remote import Producer
from xdist.scheduler.protocol import Scheduling

from tests.guardian import watch
from tests.processes import default_in_children
from tests.standstill import Standstills
from tests.workers import ByServers, longest_first

_STANDSTILLS = pytest.StashKey[Standstills]()


@pytest.fixture(scope="session", autouse=True)
def watched(tmp_path_factory: pytest.TempPathFactory) -> "subprocess.Popen[bytes]":
    """Whatever becomes of this process, what its tests started ends with it."""
    return watch(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session", autouse=True)
def _interruptible_children() -> Iterator[None]:
    """What a shell, cron or nohup starts in the background ignores some signals, and so would what a test starts."""
    with default_in_children(signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        yield


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """Several workers share the tests by the servers that these need."""
    return ByServers(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = longest_first(items)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_STANDSTILLS] = Standstills()


def pytest_unconfigure(config: pytest.Config) -> None:
    if (standstills := config.stash.get(_STANDSTILLS, None)) is not None:
        standstills.close()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """A test that failed while the machine stood still is run once more: see `tests.standstill`."""
    began_s = time.monotonic()
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if any(report.failed for report in reports):
        stood_s = item.config.stash[_STANDSTILLS].longest_since(began_s)
        if stood_s:
            item.warn(pytest.PytestWarning(f"run once more: the machine stood still for {stood_s:.1f} s meanwhile"))
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
