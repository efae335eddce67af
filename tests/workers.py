"""How several pytest workers (`pytest -n`) share the tests: what shares servers stays with one of them."""

from xdist.scheduler import LoadScopeScheduling


class ByServers(LoadScopeScheduling):
    """The unit that a worker takes is a file, with two exceptions.

    The scenarios of the lab are one unit, since they share a lab of every server set. The conformance suite is one file
    over all systems: there each server set is a unit, by the word that its systems' names begin with.
    """

    def _split_scope(self, nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        folder = path.rpartition("/")[0]
        if folder == "tests/hazards/scenarios":
            return folder
        if path == "tests/conformance/test_systems.py":
            return test.partition("-")[0]
        return path
