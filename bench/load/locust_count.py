"""How many acquires Locust itself has counted: by another way than ours, so that a loss on either is seen."""

from collections import Counter
from typing import Any


def acquires_by_system(stats: Any) -> Counter[str]:
    """From Locust's statistics, where the type of a request is the system; of all outcomes together."""
    found = Counter[str]()
    for (name, system), entry in stats.entries.items():
        if name.startswith("acquire"):
            found[system] += entry.num_requests
    return found


class LocustCount:
    """That of one test, whatever Locust's button for a reset makes of its numbers meanwhile."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._before = Counter[str]()

    def begin(self) -> None:
        """Another test begins. Locust has forgotten its numbers by itself."""
        self._before.clear()

    def reset(self) -> None:
        """Locust is about to forget its numbers."""
        self._before = self.so_far()

    def so_far(self) -> Counter[str]:
        """Acquires by system since the test began."""
        return self._before + acquires_by_system(self._environment.runner.stats)
