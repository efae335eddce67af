"""Token order: of two grants of one key in proven order, the later must have the greater token.

When the token was drawn is not known; it lies between the ask and the telling. Grant G is proven earlier than G' in two
ways:

    by real time    G was reported before G' was asked for: `from_ns` of G <= `asked_ns` of G'. This holds for any lock
                    (Herlihy & Wing 1990).
    by exclusion    G's client had stopped believing before that of G' began: `until_ns` of G <= `from_ns` of G'. This
                    is how the grants of waiters are judged, who asked long before. It supposes that G' was reported in
                    time (see `reported_in_time`): a client stopped between the drawing of its token and reading it
                    learns late of an old grant, whose smaller token is what a fence is there for, and no fault of the
                    token's source.

Each grant is compared with the greatest token of all grants proven earlier than it, and not only with its neighbour:
that is what a fenced resource compares it with, and no fault is hidden by a grant whose place is not proven. A grant
whose token is not above that one is a fault, paired with the grant that had it (the first one, if several had).
Grants without a token are not judged. `pairs` counts the grants that were compared.
"""

from collections.abc import Sequence

from bench.hazards.checker.beliefs import Disturbances, by_key, in_order_of_report, reported_in_time
from bench.hazards.checker.running import RunningMaximum
from bench.records.hazards import Belief, TokenFault, Trial


def token_faults_of(trial: Trial) -> tuple[int, tuple[TokenFault, ...]]:
    """How many grants were compared, and which fell short, by key and instant."""
    disturbances = Disturbances(trial.faults)
    pairs, faults = 0, []
    for key, beliefs in by_key(trial.beliefs).items():
        reported = [(belief, belief.token) for belief in in_order_of_report(beliefs) if belief.token is not None]
        greatest = _Greatest(reported)
        for later, token in reported:
            proven = greatest.before(later, reported_in_time(later, disturbances))
            if proven is None:
                continue
            pairs += 1
            earlier, earlier_token = proven
            if token <= earlier_token:
                faults.append(
                    TokenFault(
                        key=key,
                        earlier=earlier.grant,
                        later=later.grant,
                        earlier_token=earlier_token,
                        later_token=token,
                    )
                )
    return pairs, tuple(faults)


class _Greatest:
    """The greatest token among the grants of one key that are proven earlier than a given one."""

    def __init__(self, reported: Sequence[tuple[Belief, int]]) -> None:
        self._reported = reported
        # Of equal tokens the first one reported is the greatest: its rank is the smallest.
        ranked = [(belief, (token, -rank)) for rank, (belief, token) in enumerate(reported)]
        self._by_telling = RunningMaximum((belief.from_ns, entry) for belief, entry in ranked)
        # One instant must not put two grants before each other, nor one before itself: a belief of no length counts as
        # over only after its instant, here and in `before`.
        self._by_ending = RunningMaximum(
            (max(belief.until_ns, belief.from_ns + 1), entry) for belief, entry in ranked if belief.until_ns is not None
        )

    def before(self, later: Belief, by_exclusion: bool) -> tuple[Belief, int] | None:
        """The grant that had it, and the token; None when no grant is proven earlier."""
        found = [self._by_telling.up_to(min(later.asked_ns, later.from_ns - 1))]
        if by_exclusion:
            found.append(self._by_ending.up_to(later.from_ns))
        proven = [entry for entry in found if entry is not None]
        return self._reported[-max(proven)[1]] if proven else None
