"""How several pytest workers (`pytest -n`) share the tests: what shares servers stays with one of them."""

from collections.abc import Sequence

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Folders whose files share servers, or what is costly to make: the judge reads all of the reference first.
_TOGETHER = ("tests/hazards/scenarios", "tests/hazards/lab", "tests/hazards/resources", "tests/jobs", "tests/judge")
# What takes longest begins first, so that the workers end at about the same time.
_FIRST = (
    "tests/hazards/scenarios",
    "tests/commands",
    "tests/conformance",
    "tests/hazards",
    "tests/load",
    "tests/report",
)


def longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests in the order in which workers take them; those of one file stay together."""

    def place(item: pytest.Item) -> int:
        return next((at for at, folder in enumerate(_FIRST) if item.nodeid.startswith(folder)), len(_FIRST))

    return sorted(items, key=place)


class ByServers(LoadScopeScheduling):
    """The unit that a worker takes is a file, with two exceptions.

    Files that share servers, such as a lab of every server set, or other costly things are one unit. The conformance
    suite is one file over all systems: there each server set is a unit, by the word that its systems' names begin with.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by number of tests, it would undo `longest_first`

    def _split_scope(self, nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        folder = path.rpartition("/")[0]
        if folder in _TOGETHER:
            return folder
        if path == "tests/conformance/test_systems.py":
            return test.partition("-")[0]
        return path
