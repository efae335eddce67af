"""The ladder of the saturation workload: throughput by number of clients, within one run, and the knee in it."""

from collections.abc import Sequence

from bench.records.schema import LadderStep

KNEE_SHARE = 0.95  # of the best throughput
SETTLING_SHARE = 0.2  # of a step, at its beginning, in which nothing is counted


def steps_to(clients: int) -> tuple[int, ...]:
    """The numbers of clients of the steps: 1, 2, 4, ... and at last all of them; none where there is only one."""
    if clients < 2:
        return ()
    return (*(1 << power for power in range((clients - 1).bit_length())), clients)


def best_step(pairs: Sequence[int]) -> int:
    """The index of the step with the best throughput, of steps of one length; the lowest where several are alike."""
    return max(range(len(pairs)), key=lambda step: (pairs[step], -step))


def knee_clients(ladder: Sequence[LadderStep]) -> int | None:
    """The smallest number of clients with at least 95 % of the best throughput; None for a ladder without any.

    Throughput that rises no more, or falls, behind the knee is paid for in latency alone (Little's law). The best step
    is the best of a few noisy ones, so its rate is a little flattered, and the knee errs to the side of more clients.
    """
    best = max((step.pairs_per_s for step in ladder), default=0.0)
    reached = (step.clients for step in ladder if step.pairs_per_s >= KNEE_SHARE * best)
    return min(reached, default=None) if best > 0 else None


def still_rising(ladder: Sequence[LadderStep]) -> bool:
    """Is the knee at the top: did the last step still bring more than 5 %? Then more clients may bring more."""
    return len(ladder) > 1 and knee_clients(ladder) == max(step.clients for step in ladder)
