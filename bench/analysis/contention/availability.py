"""What waiters got while a fault was in force: seconds without a grant, how acquires ended, and in what order.

An instant is before a fault, during it or after it. A fault without an end (a holder killed) is an instant itself, so
nothing is during it. Everything is seen by the clients of the load: what a holder that was killed had is not among it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.analysis.contention.fairness import overtook
from bench.analysis.contention.queues import Queue, queues
from bench.analysis.holds import Column, RunEvents
from bench.analysis.quantiles import FRACTIONS, carries, nearest_rank
from bench.records.schema import OverTime, Struck
from bench.records.workload import Workload

BEFORE, DURING, AFTER = PHASES = ("before", "during", "after")
_ACQUIRED = "acquired"
_DOT_NS = 10_000_000


def outcome_name(phase: str, outcome: str) -> str:
    """What the number of acquires that ended like this in a phase is called."""
    return f"{phase}_{outcome}"


@dataclass(frozen=True, slots=True)
class _Answers:
    """Every acquire, by when it was meant to start and when it was answered."""

    intended_ns: Column
    started_ns: Column
    answered_ns: Column
    outcome: npt.NDArray[np.str_]

    @classmethod
    def of(cls, events: RunEvents) -> "_Answers":
        holds, refused = events.holds, events.refused
        return cls(
            np.concatenate((holds.intended_ns, refused.intended_ns)),
            np.concatenate((holds.started_ns, refused.started_ns)),
            np.concatenate((holds.acquired_ns, refused.answered_ns)),
            np.concatenate((np.full(len(holds), _ACQUIRED), refused.outcome)),
        )


def availability(
    workload: Workload, faults: Sequence[Struck], events: RunEvents, whole: RunEvents | None = None
) -> Mapping[str, float]:
    """Of a run in which a fault struck one key; empty for others, where nothing was ever granted, and for a fault that
    struck when all had been answered.

    `whole` has the grants to requests from outside the window as well: a time in which they came is none without a
    grant. `without_grant_s` is the longest time without a grant that meets the fault; it began `without_grant_from_s`
    after that did. Where it ended with no grant, but with the window or the latest answer, `grants_again` is 0. From
    the fault's end (its instant, where it has none) it lasted for another `grants_again_s`: 0 where grants returned
    while the fault was in force, or never stopped and the longest time between two of them meets its end by chance.
    """
    all_queues = list(queues(events if whole is None else whole))
    if not faults or len(all_queues) != 1:
        return {}
    began_ns, ended_ns = span_ns(faults)
    answers, (queue,) = _Answers.of(events), all_queues
    opens_ns = faults[0].window_opens_ns
    last_ns = max(int(answers.answered_ns.max()), opens_ns + round(workload.measure_s * 1e9))
    granted_ns = queue.acquired_ns[(queue.acquired_ns >= opens_ns) & (queue.acquired_ns <= last_ns)]
    bounds_ns = np.concatenate(([opens_ns], granted_ns, [last_ns]))
    meets = (bounds_ns[1:] >= began_ns) & (bounds_ns[:-1] <= ended_ns)
    if not meets.any():
        return {}
    gaps_ns = np.where(meets, np.diff(bounds_ns), -1)
    longest = int(gaps_ns.argmax())
    again_ns, again = int(bounds_ns[longest + 1]), longest < len(granted_ns)
    stopped = not _granted_in_force(queue, faults, int(bounds_ns[longest]))
    found = {
        "without_grant_s": float(gaps_ns[longest]) / 1e9,
        "without_grant_from_s": (int(bounds_ns[longest]) - began_ns) / 1e9,
        "grants_again_s": max(0, again_ns - ended_ns) / 1e9 if stopped else 0.0,
        "grants_again": float(again),
        "fault_s": (ended_ns - began_ns) / 1e9,
        **_outcomes(answers, began_ns, ended_ns),
        **_latencies(answers, began_ns, ended_ns),
    }
    if again:
        found |= _order(queue, again_ns)
    return found


def span_ns(faults: Sequence[Struck]) -> tuple[int, int]:
    """From just before the first signal until all of it was over."""
    began_ns = max(one.began_ns for one in faults)
    return began_ns, max(began_ns, *(one.ended_ns or 0 for one in faults))


def _granted_in_force(queue: Queue, faults: Sequence[Struck], until_ns: int) -> bool:
    """Did anybody get the key while all of the fault was in force?

    The first answer may have been on its way when the fault struck, unless its acquire began afterwards. The second
    cannot: the key was free again only after the first.
    """
    in_force_ns = max(one.in_force_ns or one.began_ns for one in faults)
    mine = (queue.acquired_ns >= in_force_ns) & (queue.acquired_ns <= until_ns)
    return int(mine.sum()) > 1 or bool((queue.started_ns[mine] >= in_force_ns).any())


def over_time(faults: Sequence[Struck], events: RunEvents) -> OverTime | None:
    """The acquires of a run with a fault, for a figure."""
    if not faults:
        return None
    answers, opens_ns = _Answers.of(events), faults[0].window_opens_ns
    took_ns = answers.answered_ns - answers.intended_ns
    slowest: dict[tuple[int, str], int] = {}
    for place in np.argsort(took_ns, kind="stable").tolist():
        slot = int(answers.intended_ns[place] - opens_ns) // _DOT_NS
        slowest[slot, str(answers.outcome[place])] = place
    shown = sorted(slowest.values(), key=lambda place: (int(answers.intended_ns[place]), place))
    return OverTime(
        at_ms=tuple(round(int(answers.intended_ns[place] - opens_ns) / 1e6, 1) for place in shown),
        took_ms=tuple(round(int(took_ns[place]) / 1e6, 3) for place in shown),
        outcomes=tuple(str(answers.outcome[place]) for place in shown),
    )


def _outcomes(answers: _Answers, began_ns: int, ended_ns: int) -> Mapping[str, float]:
    """By when they were answered: an acquire that a fault breaks off is answered while the fault is in force."""
    phases = (answers.answered_ns >= began_ns).astype(int) + (answers.answered_ns >= ended_ns)
    counts = Counter(zip(phases.tolist(), answers.outcome.tolist(), strict=True))
    return {outcome_name(PHASES[phase], outcome): float(count) for (phase, outcome), count in sorted(counts.items())}


def _latencies(answers: _Answers, began_ns: int, ended_ns: int) -> Mapping[str, float]:
    """Of grants, from the intended instant: those answered before the fault, and those meant to start after it."""
    took_ns = answers.answered_ns - answers.intended_ns
    granted = answers.outcome == _ACQUIRED
    found = {"longest_wait_s": float((answers.answered_ns - answers.started_ns).max()) / 1e9}
    for phase, mine in ((BEFORE, answers.answered_ns < began_ns), (AFTER, answers.intended_ns >= ended_ns)):
        values = took_ns[granted & mine]
        for quantile in ("p50", "p99"):
            if carries(len(values), FRACTIONS[quantile]):
                found[f"{phase}_us_{quantile}"] = float(nearest_rank(values, FRACTIONS[quantile])) / 1e3
    return found


def _order(queue: Queue, again_ns: int) -> Mapping[str, float]:
    """Of those who waited when grants came again, and of the grants until the last of them had got the key: how many
    overtook somebody who had asked at least one grant earlier."""
    waited = (queue.started_ns < again_ns) & (queue.acquired_ns >= again_ns)
    until_ns = int(queue.acquired_ns[waited].max()) if waited.any() else again_ns
    served = (queue.acquired_ns >= again_ns) & (queue.acquired_ns <= until_ns)
    return {
        "waited_through": float(waited.sum()),
        "overtook_afterwards_share": float(overtook(queue)[served].mean()),
    }
