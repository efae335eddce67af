"""How several pytest workers (`pytest -n`) share the tests: what shares servers stays with one of them."""

from xdist.scheduler import LoadScopeScheduling

_SHARE_SERVERS = ("tests/hazards/scenarios", "tests/hazards/lab", "tests/hazards/resources")


class ByServers(LoadScopeScheduling):
    """The unit that a worker takes is a file, with two exceptions.

    Files that share servers, such as a lab of every server set, are one unit. The conformance suite is one file over
    all systems: there each server set is a unit, by the word that its systems' names begin with.
    """

    def _split_scope(self, nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        folder = path.rpartition("/")[0]
        if folder in _SHARE_SERVERS:
            return folder
        if path == "tests/conformance/test_systems.py":
            return test.partition("-")[0]
        return path
