"""The climb of the saturation workload: how many clients it takes until more clients bring no more throughput.

Between warm-up and window the clients are let in by steps: 1, 2, 4, ... of them, each step for the same time. Then the
window is measured with as many as had the best throughput, and the others stand aside. So the short steps only choose;
the number that a campaign compares comes from the window, and the luck of the step that won is not in it. All of it is
one run, so every run has a knee of its own and the run stays the unit. (A run for each number of clients would compare
steps across the moods of the machine, and cost a start of the load for each.)

An operation of the climb takes the same way through the clients as one of the window, recorder and Locust included, so
a step's rate and latency may be put beside the window's.
"""

from collections.abc import Callable

from gevent.event import Event

from bench.load.recorder import Recorder
from bench.load.rows import CODES, as_rows, column
from bench.load.steps import step_of
from bench.records.ladder import SETTLING_SHARE, steps_to
from bench.systems.base import Outcome


class Climb:
    """One process's part. `clients` is the number of its own, of `of` clients in all processes together.

    Times are monotonic ns. A pair belongs to the step in which it ends, so that all are known when the climb is over;
    the first fifth of a step belongs to nobody, since there the clients of the step before are still finishing.
    """

    def __init__(self, clients: int, rank: int, processes: int, of: int, begins_ns: int, step_ns: int) -> None:
        self.begins_ns, self._step_ns = begins_ns, step_ns
        # Dealt out in turn: of three clients in two processes the first has two.
        self._ours = [min(clients, -(-(step - rank) // processes)) for step in steps_to(of)[:-1]] + [clients]
        self._admitted = clients
        self._changed = Event()
        self.recorder = Recorder(keep_rows=True)  # of the operations that start between the first step and the last

    @property
    def settling_ns(self) -> int:
        """How long clients take to stand aside or to come back."""
        return round(SETTLING_SHARE * self._step_ns)

    @property
    def _ends_ns(self) -> int:
        return self.begins_ns + len(self._ours) * self._step_ns

    def counts(self, instant_ns: int) -> bool:
        """Does an operation of this instant belong to the climb?"""
        return self.begins_ns <= instant_ns < self._ends_ns

    def run(self, sleep_until: Callable[[int], None]) -> None:
        """Go up step by step; to be run by a greenlet of its own."""
        for number in range(len(self._ours)):
            sleep_until(self.begins_ns + number * self._step_ns)
            self.go_to(number)
        sleep_until(self._ends_ns)

    def go_to(self, step: int) -> None:
        """Let in as many clients as a step has, and no others from now on."""
        self._admit(self._ours[step])

    def _admit(self, clients: int) -> None:
        self._admitted = clients
        changed, self._changed = self._changed, Event()
        changed.set()

    def is_admitted(self, place: int) -> bool:
        """May the client at this place (from 0, within its process) start an operation now?"""
        return place < self._admitted

    def wait_for_change(self) -> None:
        """Wait until other clients may be let in."""
        self._changed.wait()

    def steps(self) -> list[dict[str, int]]:
        """The clients of this process and the pairs that they made, by step."""
        rows = as_rows(self.recorder.packed_rows)
        number = step_of(rows, self.begins_ns, self._step_ns)
        pair = column(rows, "released") == CODES[Outcome.RELEASED]
        return [
            {"clients": ours, "pairs": int((pair & (number == step)).sum())} for step, ours in enumerate(self._ours)
        ]
