"""Self-checks of the load models: arrivals of an open loop, the ladder of saturation, Little's law, steady state."""

from bench.analysis.check_parts import (
    GENERATOR_CPU_LIMIT,
    by_outcome,
    check_of,
    clients_of,
    generator_share,
    histogram_of,
    quantile_us,
)
from bench.analysis.contention.strangers import populations
from bench.analysis.holds import RunEvents
from bench.analysis.steady import LARGE, OPERATIONS_NEEDED, SURE, Trend, latency_trend, throughput_trend
from bench.records.histogram import LatencyHistogram
from bench.records.ladder import KNEE_SHARE, still_rising
from bench.records.numbers import percent
from bench.records.schema import Check, Measured, RunPlan, Severity

_UNSENT_SHARE_LIMIT = 0.01
_WAKE_SHARE_LIMIT = 0.5  # of the response at the same quantile
_WAKE_FLOOR_US = 250.0  # as with loop lag: less is within a busy machine's noise
_LITTLE_TOLERANCE = 0.05
_INSIDE = {"acquire": "acquiring", "hold": "holding", "release": "releasing"}
_BETWEEN = "think"


# -- open loop -------------------------------------------------------------------------------------------------------


def arrivals(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Every arrival that the seeded schedule has in the window was sent, or counted as unsent or cut off."""
    sent = sum(by_outcome(measured, "acquire").values())
    return check_of(
        "arrivals",
        measured.arrivals == sent + measured.unsent + measured.aborted,
        Severity.VOID,
        f"scheduled {measured.arrivals}, sent {sent}, unsent {measured.unsent}, cut off {measured.aborted}",
        "scheduled is the sum of the others",
        "every scheduled arrival is accounted for",
        "arrivals are missing, most likely those that came while the system was slow; see log.txt",
    )


def unsent(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Arrivals that no client was free to send: their response times, longer than all others, are missing."""
    share = measured.unsent / max(1, measured.arrivals)
    return check_of(
        "unsent",
        measured.unsent == 0,
        Severity.VOID if share > _UNSENT_SHARE_LIMIT else Severity.NOTE,
        f"{measured.unsent} of {measured.arrivals} arrivals ({percent(share, 2)})",
        f"none; more than {percent(_UNSENT_SHARE_LIMIT)} voids the run",
        "a client was free for every arrival",
        f"{plan.workload.clients} clients could not keep up with {plan.workload.rate_per_s:g} operations a second, and "
        "the arrivals that waited longest were never sent; lower the rate, or use more clients",
    )


def wake(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """How late the generator itself started operations for which a client was free: it is part of every response."""
    late, limit, allowed = {}, {}, {}
    for fraction in (0.5, 0.99):
        late[fraction] = quantile_us(measured, "wake/all", fraction)
        response_us = quantile_us(measured, "response/acquired", fraction)
        limit[fraction] = max(_WAKE_FLOOR_US, _WAKE_SHARE_LIMIT * response_us)
        allowed[fraction] = late[fraction] <= limit[fraction]
    return check_of(
        "wake",
        all(allowed.values()),
        Severity.NOTE if allowed[0.5] else Severity.VOID,
        f"{late[0.5]:.0f} µs at the median, {late[0.99]:.0f} µs at p99",
        f"{limit[0.5]:.0f} µs and {limit[0.99]:.0f} µs",
        "operations started when they were due",
        "the load generator started operations late although clients were free, so responses are at most what is "
        "shown; use more processes, or a quieter machine",
    )


# -- saturation ------------------------------------------------------------------------------------------------------


def knee(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Whether there were clients enough for the ceiling: the window has those of the best step of the ladder.

    Where the generator's processor is full (see `generator_cpu`) the knee is its own.
    """
    ladder = measured.ladder
    asked = plan.workload.step_s > 0 and plan.workload.clients > 1
    rates = ", ".join(f"{step.clients}: {step.pairs_per_s:.0f}" for step in ladder)
    whose = "of the load generator" if generator_share(measured) > GENERATOR_CPU_LIMIT else "of the system"
    rising = still_rising(ladder)
    return check_of(
        "knee",
        not rising and (bool(ladder) or not asked),
        Severity.NOTE,
        f"knee {whose} at {measured.knee_clients} clients, window with {measured.window_clients}; pairs a second by "
        f"clients: {rates}"
        if ladder
        else "no ladder",
        f"fewer than all clients reach {percent(KNEE_SHARE)} of the best" if asked else "no climb was asked for",
        "more clients brought no more throughput" if ladder else "no climb was asked for",
        "throughput was still rising at the last step, so it is at least what is shown; use more clients"
        if rising
        else "no step of the climb was measured; see log.txt",
    )


# -- any workload ----------------------------------------------------------------------------------------------------


def littles_law(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Clients = throughput x (acquire + hold + release + think), Little's law (Operations Research 9, 1961).

    The right side is the recorded time of all operations by the length of the window. More of it than there are clients
    cannot be. Less means that clients stood still, died, or did what nobody recorded. In an open loop clients may be
    idle, so there only the first half holds.

    At each edge of the window a client may be in the middle of something, whose time is counted wholly or not at all;
    a client that waited from before the window until after it has no record at all.
    """
    inside = {phase: histogram_of(measured, phase) for phase in _INSIDE}
    between = histogram_of(measured, _BETWEEN)
    spent_s = {_INSIDE[phase]: _sum_s(histogram) for phase, histogram in inside.items()}
    spent_s["in the generator"] = _sum_s(between)
    window_s, clients = measured.window_s, clients_of(plan, measured)
    busy = sum(spent_s.values()) / window_s
    longest_s = sum((histogram.quantile_ns(1.0) or 0.0) / 1e9 for histogram in (*inside.values(), between))
    tolerance = _LITTLE_TOLERANCE + longest_s / window_s
    seen = clients if not events.clients else min(clients, events.clients)
    closed = between.total > 0 and measured.live is None  # there clients come and go
    too_much = busy > clients * (1 + tolerance)
    too_little = closed and busy < seen * (1 - tolerance)
    shares = ", ".join(f"{percent(spent / max(1e-9, busy * window_s))} {where}" for where, spent in spent_s.items())
    return check_of(
        "littles_law",
        not too_much and not too_little,
        Severity.VOID,
        f"{busy:.2f} of {clients} clients at work on average" + (f": {shares}" if closed else ""),
        f"{f'{seen * (1 - tolerance):.2f}' if closed else 0} to {clients * (1 + tolerance):.2f}",
        "the recorded times add up to the clients' time",
        "more time was recorded than the clients had: operations were counted twice, or a clock is wrong"
        if too_much
        else "part of the clients' time is not recorded; look in log.txt for clients that ended",
    )


def _sum_s(histogram: LatencyHistogram) -> float:
    return (histogram.mean_ns() or 0.0) * histogram.total / 1e9


def steady_state(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """No trend in throughput or latency across the window. The rate of an open loop is its own and not looked at."""
    trends: dict[str, Trend | None] = {}
    meeting, strangers = populations(plan.workload, events)
    for whose, part in (("", meeting), ("the strangers' ", strangers)):
        if part is not None:
            instants = part.intended_ns
            trends[f"{whose}latency"] = latency_trend(instants, part.latency_ns, measured.window_s)
            if not measured.arrivals:
                trends[f"{whose}throughput"] = throughput_trend(instants, measured.window_s)
    judged = {name: found for name, found in trends.items() if found is not None}
    moved = [f"{name} by {percent(found.change, signed=True)}" for name, found in judged.items() if not found.steady]
    seen = ", ".join(
        f"{name} {percent(found.change, signed=True)} (chance {found.chance:.2g})" for name, found in judged.items()
    )
    return check_of(
        "steady_state",
        not moved,
        Severity.NOTE,
        seen or f"{len(events.latency_ns)} operations are too few for a trend; {OPERATIONS_NEEDED} are needed",
        f"less than {percent(LARGE)} across the window, or a chance of more than {percent(SURE)}",
        "no trend across the window",
        f"not steady: {' and '.join(moved)} across the window; warm up or measure longer",
    )


def warm_servers(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Whether the servers' throughput was flat before their first run: a JVM compiles itself while it works.

    What was seen before this run stays true of all runs on the same servers, though later ones find them warmer. A
    rise is reported, no fall, and only a large one: short rounds, as in a quick campaign, differ by more than a tenth.
    """
    rising = [name for name, warmed in measured.warmed.items() if warmed.change is None or warmed.change >= LARGE]
    seen = ", ".join(
        f"{name} {'granted nothing' if one.change is None else percent(one.change, signed=True)} at the end of "
        f"{len(one.pairs_per_s) * one.round_s:.0f} s"
        for name, one in measured.warmed.items()
    )
    return check_of(
        "warm_servers",
        not rising,
        Severity.NOTE,
        seen or "not recorded",
        f"less than {percent(LARGE)} across the last rounds",
        "the servers were warm" if seen else "the servers were not warmed up",
        f"the servers of {', '.join(rising)} were still getting faster; warm up longer, as a full campaign does",
    )
