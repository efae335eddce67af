"""Self-checks of the delay lines of a run: were they as asked for, and was the load carried like the probe?

Those between clients and servers, and those between servers, are asked the same.
"""

import math
import statistics
from collections.abc import Sequence

from bench.analysis.check_parts import check_of
from bench.analysis.holds import RunEvents
from bench.records.network import read_network
from bench.records.numbers import percent
from bench.records.schema import Check, Measured, NetworkMeasured, RunPlan, Severity

ERROR_SHARE_LIMIT, ERROR_LIMIT_US = 0.05, 60.0  # of the round trip that was added, whichever is more
# Where a line is busier than this, what comes to it waits for about as long as one message takes.
BUSY_LIMIT = 0.7


def allowed_us(network: NetworkMeasured) -> float:
    """How far a round trip may lie from what it should be."""
    return max(ERROR_LIMIT_US, ERROR_SHARE_LIMIT * network.added_us_asked)


def network_delay(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """The added round trip against the one asked for. Reports use the measured one in any case."""
    return _delay("network_delay", measured.network)


def network_lines(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """The same round trip before and after, lines with time to spare, and messages no later than those of the probe."""
    return _lines("network_lines", measured.network)


def peer_network_delay(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """As `network_delay`, between servers."""
    return _delay("peer_network_delay", measured.peer_network)


def peer_network_lines(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """As `network_lines`, between servers. Besides: nothing went past the lines, and one server led throughout."""
    found = measured.peer_network
    wrong = []
    if found is not None and found.past_lines:
        wrong.append(f"servers reached each other past the lines ({found.past_lines[0]})")
    if found is not None and found.leader != found.leader_after:
        wrong.append(f"{found.leader} led before and {found.leader_after} after")
    return _lines("peer_network_lines", found, wrong)


def _delay(name: str, network: NetworkMeasured | None) -> Check:
    error_us = network.error_us if network else 0.0
    return check_of(
        name,
        network is not None and abs(error_us) <= allowed_us(network),
        Severity.NOTE,
        f"{network.rtt_us:,.0f} µs measured, {error_us:+,.0f} µs from what was asked for; a line alone adds "
        f"{network.overhead_us:,.0f} µs"
        if network
        else "not measured",
        f"{allowed_us(network):,.0f} µs" if network else "measured",
        "the round trip was as asked for",
        "the round trip was not as asked for; the measured one counts",
    )


def _lines(name: str, network: NetworkMeasured | None, more: Sequence[str] = ()) -> Check:
    wrong = ["nobody measured the lines"] if network is None else [*_wrong(network), *more]
    return check_of(
        name,
        not wrong,
        Severity.VOID,
        _seen(network) if network else "not measured",
        f"{allowed_us(network):,.0f} µs, {percent(BUSY_LIMIT)} of a processor" if network else "measured",
        "the lines carried the load as they carried the probe",
        f"{'; '.join(wrong)}: the latency is the lines'",
    )


def _wrong(network: NetworkMeasured) -> list[str]:
    limit_us = allowed_us(network)
    passed = {
        "the round trip was another before than after": abs(_drift_us(network)) <= limit_us + _chance_us(network),
        "the delay lines were the bottleneck, use fewer clients": network.busy_share <= BUSY_LIMIT,
        "the load's messages were held longer than the probe's": 2.0 * _later_us(network) <= limit_us,
    }
    return [words for words, good in passed.items() if not good]


def _seen(network: NetworkMeasured) -> str:
    return (
        f"{_drift_us(network):+,.0f} µs from before to after; {network.messages_per_s:,.0f} messages/s of "
        f"{network.messages_per_s_at_most:,.0f}, {percent(network.busy_share)} of a processor; held "
        f"{_later_us(network):+,.0f} µs longer than the probe's"
    )


def _drift_us(network: NetworkMeasured) -> float:
    before_us, after_us = (statistics.median(one.us_p50 for one in side) for side in (network.before, network.after))
    return after_us - before_us


def _chance_us(network: NetworkMeasured) -> float:
    """How far two medians of a network with jitter lie apart by chance: three standard errors of their difference, each
    by the quartiles of its sample (of a normal distribution)."""
    asked = read_network(network.asked)
    if asked is None or not asked.jitter_ms:
        return 0.0
    errors_us = [
        max(1.25 * (one.us_p75 - one.us_p25) / 1.35 / one.samples**0.5 for one in side)
        for side in (network.before, network.after)
    ]
    return 3.0 * math.hypot(*errors_us)


def _later_us(network: NetworkMeasured) -> float:
    return (network.late_us_p50 or 0.0) - (network.late_us_p50_alone or 0.0)
