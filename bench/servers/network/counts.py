"""What a line process says of itself: how much it carried, what that cost, and how late it was."""

import time
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 1 << 16  # of the newest messages' lateness


@dataclass(frozen=True, slots=True)
class Counts:
    """At one instant. `late_us_p50` and `late_us_p99` are of the messages held since the last look; None: none was."""

    at_ns: int
    cpu_ns: int
    messages: int
    late_us_p50: float | None
    late_us_p99: float | None

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Counts":
        """What `Ledger.look` made."""
        return cls(**tree)


@dataclass(frozen=True, slots=True)
class Tally:
    """What came up to an instant: to the servers (onward), and back."""

    onward_messages: int
    onward_bytes: int
    backward_messages: int
    backward_bytes: int


class Ledger:
    """Kept while messages pass, so it is as cheap as can be. A message is what one read returned."""

    __slots__ = ("_late_ns", "_looked", "came_bytes", "came_messages", "held", "messages")

    def __init__(self) -> None:
        self._late_ns = array("q", bytes(8 * _KEPT))
        self.messages = 0
        self.came_messages = [0, 0]  # back, and onward
        self.came_bytes = [0, 0]
        self.held = 0  # of these, those that were held
        self._looked = 0

    def late(self, by_ns: int) -> None:
        """A message that was held went on so long after it was due."""
        self._late_ns[self.held & (_KEPT - 1)] = by_ns
        self.held += 1

    def came(self, onward: bool, length: int) -> None:
        """One message was read, of so many bytes. Its end is none."""
        self.came_messages[onward] += 1
        self.came_bytes[onward] += length

    def tally(self) -> dict[str, Any]:
        """What came, as a tree for JSON."""
        (back, on), (back_bytes, on_bytes) = self.came_messages, self.came_bytes
        return asdict(Tally(on, on_bytes, back, back_bytes))

    def look(self) -> dict[str, Any]:
        """The counts, as a tree for JSON."""
        new = min(self.held - self._looked, _KEPT)
        late_ns = sorted(self._late_ns[(self.held - 1 - place) & (_KEPT - 1)] for place in range(new))
        self._looked = self.held
        p50, p99 = (late_ns[int(share * (new - 1))] / 1_000 if new else None for share in (0.5, 0.99))
        return {
            "at_ns": time.monotonic_ns(),
            "cpu_ns": time.process_time_ns(),
            "messages": self.messages,
            "late_us_p50": p50,
            "late_us_p99": p99,
        }
