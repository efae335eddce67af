"""The climb of the saturation workload: how many clients it takes until more clients bring no more throughput.

Between warm-up and window the clients are let in by steps: 1, 2, 4, ... of them, each step for the same time. Then the
window is measured with as many as had the best throughput, and the others stand aside. So the short steps only choose;
the number that a campaign compares comes from the window, and the luck of the step that won is not in it. All of it is
one run, so every run has a knee of its own and the run stays the unit. (A run for each number of clients would compare
steps across the moods of the machine, and cost a start of the load for each.)
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from gevent.event import Event

from bench.load.recorder import Tally
from bench.records.histogram import LatencyHistogram
from bench.records.ladder import SETTLING_SHARE, steps_to

_CLIENTS, _PAIRS, _ACQUIRE = "clients", "pairs", "acquire"  # what a tally of the climb holds for each step


class Climb:
    """One process's part. `clients` is the number of its own, of `of` clients in all processes together.

    Times are monotonic ns. A pair belongs to the step in which it ends, so that all are known when the climb is over;
    the first fifth of a step belongs to nobody, since there the clients of the step before are still finishing.
    """

    def __init__(self, clients: int, rank: int, processes: int, of: int, begins_ns: int, step_ns: int) -> None:
        self._begins_ns, self._step_ns = begins_ns, step_ns
        # Dealt out in turn: of three clients in two processes the first has two.
        self._ours = [min(clients, -(-(step - rank) // processes)) for step in steps_to(of)[:-1]] + [clients]
        self._admitted = clients
        self._changed = Event()
        self._pairs: Counter[int] = Counter()
        self._acquires = [LatencyHistogram() for _ in self._ours]

    @property
    def settling_ns(self) -> int:
        """How long clients take to stand aside or to come back."""
        return round(SETTLING_SHARE * self._step_ns)

    def run(self, sleep_until: Callable[[int], None]) -> None:
        """Go up step by step; to be run by a greenlet of its own."""
        for number in range(len(self._ours)):
            sleep_until(self._begins_ns + number * self._step_ns)
            self.go_to(number)
        sleep_until(self._begins_ns + len(self._ours) * self._step_ns)

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

    def note(self, ended_ns: int, took_ns: int | None, pair: bool) -> None:
        """Count an operation that has ended; `took_ns` is its acquire, None where it got nothing."""
        number, within_ns = divmod(ended_ns - self._begins_ns, self._step_ns)
        if not 0 <= number < len(self._ours) or within_ns < self.settling_ns:
            return
        self._pairs[number] += pair
        if took_ns is not None:
            self._acquires[number].record(took_ns)

    def tally(self) -> Tally:
        """What was counted, by the step's number; tallies of several processes add up to that of all: `ladder_of`."""
        found = Tally()
        for number, ours in enumerate(self._ours):
            found.histograms[f"{number}/{_ACQUIRE}"] = self._acquires[number]
            found.counts[f"{number}/{_PAIRS}"] = self._pairs[number]
            found.counts[f"{number}/{_CLIENTS}"] = ours
        return found


def ladder_of(climbed: Tally, step_s: float) -> list[dict[str, Any]]:
    """The steps, lowest first, as the fields of a LadderStep; histograms as counts by lower edge."""
    steps = []
    number = 0
    while (clients := climbed.counts.get(f"{number}/{_CLIENTS}")) is not None:
        steps.append(
            {
                "clients": clients,
                "window_s": step_s * (1 - SETTLING_SHARE),
                "pairs": climbed.counts[f"{number}/{_PAIRS}"],
                "acquire": {
                    str(edge): many for edge, many in climbed.histograms[f"{number}/{_ACQUIRE}"].counts.items()
                },
            }
        )
        number += 1
    return steps
