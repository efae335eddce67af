"""How long a line holds each message: the arithmetic of a delay, apart from sockets and clocks."""

import random
from dataclasses import dataclass, field

_NS_PER_US = 1_000


@dataclass(slots=True)
class Delay:
    """A hold each way, with jitter on top, and connections that live for so long. All draws are seeded."""

    jitter_us: float = 0.0  # each way, uniform from 0 to this
    reset_after_s: float = 0.0  # mean life of a connection, exponential; 0: it is never reset
    seed: int = 0
    jitters: bool = False  # from the first hold on that has it
    onward_ns: int = 0
    backward_ns: int = 0
    _draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)

    def become(self, jitter_us: float, reset_after_s: float, seed: int) -> None:
        """Another network from now on, with draws of its own."""
        self.jitter_us, self.reset_after_s, self.seed = jitter_us, reset_after_s, seed
        self._draw = random.Random(seed)

    def hold(self, onward_us: float, backward_us: float, jitters: bool = True) -> None:
        """Set how long messages are held from now on, to the server and back, with the jitter or without. Never less
        than nothing."""
        self.jitters = jitters
        self.onward_ns = max(0, round(onward_us * _NS_PER_US))
        self.backward_ns = max(0, round(backward_us * _NS_PER_US))

    def due_ns(self, now_ns: int, onward: bool, latest_ns: int) -> int:
        """When a message that came now goes on: never before the one ahead of it, due at `latest_ns`."""
        due_ns = now_ns + (self.onward_ns if onward else self.backward_ns)
        if self.jitter_us and self.jitters:
            due_ns += round(self._draw.uniform(0.0, self.jitter_us) * _NS_PER_US)
        return max(due_ns, latest_ns)

    def life_ns(self) -> int | None:
        """How long a new connection lives; None: as long as its ends want."""
        return round(self._draw.expovariate(1.0 / self.reset_after_s) * 1e9) if self.reset_after_s else None
