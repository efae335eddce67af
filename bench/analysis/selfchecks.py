"""The self-checks of a run: whether its numbers may be believed, decided from its records alone.

Each check is a pure function of the plan, the measurement and the events, so that checks that are added later can be
run on stored campaigns. A failed check of severity `void` empties the run's cells; one of severity `note` becomes a
footnote.

How hard a check is depends on what the workload claims. `uncontended` and `rate` claim a latency: where operations of
several clients queued for the generator's own processor, the latency is the generator's, and the run is void.
`contended`, `hot-cold` and `saturation` claim how a lock behaves under pressure: a busy generator turns their
throughput into a lower and their latencies into an upper bound, which is a note. A violated promise of the lock itself
(two holders, tokens that fall) voids any workload: the number belongs to something that is not a lock.
"""

from collections.abc import Callable
from pathlib import Path

from bench.analysis.check_parts import CLAIM_LATENCY, by_outcome, check_of, is_alone, quantile_us
from bench.analysis.contention.availability import availability, over_time
from bench.analysis.contention.strangers import populations
from bench.analysis.from_events import from_events
from bench.analysis.holds import RunEvents, overlaps, read_events, read_whole, token_regressions, waited
from bench.analysis.live_checks import LIVE_CHECKS
from bench.analysis.load_checks import arrivals, knee, littles_law, steady_state, unsent, wake, warm_servers
from bench.analysis.network.checks import network_delay, network_lines, peer_network_delay, peer_network_lines
from bench.analysis.processor_checks import client_cpu, generator_cpu, machine_cpu
from bench.analysis.runs import WHICH_MEMBER
from bench.records.histogram import LatencyHistogram
from bench.records.numbers import percent
from bench.records.schema import STRANGERS, Check, Checked, Facts, Measured, RunPlan, Severity
from bench.records.workload import CONSUME, CONTENDED, DELIVERIES, JOBS, MEETING, OPEN_LOOPS, SATURATION, UPDATE

_LAG = "loop_lag/all"
_ACQUIRED = ("acquire/acquired", f"{STRANGERS}acquire/acquired")
_LAG_SHARE_LIMIT = 0.5  # of the median acquire
_LAG_FLOOR_US = 250.0  # less than this is within a busy machine's noise, whatever the latency
_STALL_SHARE_LIMIT = 0.25  # of the lease
_ERROR_SHARE_LIMIT = 0.01
_ABORTED_SHARE_LIMIT = 0.01
_BLOCKED_LIMIT = 0.5  # of single acquires
_WAIT_FLOOR_US = 500.0  # an answer that comes sooner leaves little time in which something could overlap
_SPEEDUP_LIMIT = 1.2
_OF_A_FAULT = ("errors", "steady_state", "unsent")
_FAILURES = ("lost", "unknown", "error")

_CheckFunction = Callable[[RunPlan, Measured, RunEvents], Check]


def check_run(plan: RunPlan, measured: Measured, events_path: Path) -> Checked:
    """All checks of one run. Raises OSError or ValueError when the events cannot be read."""
    events, whole = read_events(events_path), read_whole(events_path)
    meeting = populations(plan.workload, events).meeting
    everybody = None if whole is None else populations(plan.workload, whole).meeting
    return Checked(
        checks=self_checks(plan, measured, events),
        from_events=from_events(plan, events, whole, measured.window_ns),
        availability=dict(availability(plan.workload, measured.faults, meeting, everybody)),
        over_time=over_time(measured.faults, meeting),
    )


def self_checks(plan: RunPlan, measured: Measured, events: RunEvents) -> tuple[Check, ...]:
    """All checks, in the order in which a reader should see them."""
    checks = [*_CHECKS, *_CHECKS_OF.get(plan.workload.name, ())]
    if plan.workload.has_network:
        checks += _OF_A_NETWORK
    if plan.workload.has_peer_network:
        checks += _OF_A_PEER_NETWORK
    if measured.live is not None:
        checks += LIVE_CHECKS
    found = (check(plan, measured, events) for check in checks)
    return tuple(_excused(one) if measured.faults and one.name in _OF_A_FAULT else one for one in found)


def _excused(check: Check) -> Check:
    """What a fault is planned to cause is what its run is about. It is in the table of availability."""
    if check.passed:
        return check
    return check.model_copy(update={"passed": True, "message": f"expected of the planned fault: {check.observed}"})


# -- was everything counted ------------------------------------------------------------------------------------------


def counts_agree(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Histograms of the rows that arrived, the processes' own counts, and the events hold the same operations."""
    in_histograms = {name: LatencyHistogram.decode(text).total for name, text in measured.histograms.items()}
    acquires = by_outcome(measured, "acquire")
    return check_of(
        "counts_agree",
        in_histograms == measured.counts and acquires == events.acquires,
        Severity.VOID,
        f"histograms {sum(in_histograms.values())}, counts {sum(measured.counts.values())}, "
        f"acquires {sum(acquires.values())}, events {sum(events.acquires.values())}",
        "equal, outcome by outcome",
        "every operation is in the histograms, the counts and the events",
        "operations were lost between the load processes and the record; see log.txt",
    )


def locust_agrees(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Locust's own statistics counted the same acquires, by another way through its workers and master."""
    acquires = sum(by_outcome(measured, "acquire").values())
    return check_of(
        "locust_agrees",
        measured.locust_requests == acquires + measured.climb_requests,
        Severity.VOID,
        f"Locust {measured.locust_requests}, recorder {acquires} and {measured.climb_requests} in the climb",
        "equal",
        "Locust counted the same acquires",
        "Locust and the recorder counted different acquires; look in log.txt for discarded reports",
    )


def aborted(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Operations that were cut off at the end are in no histogram, and they were the slow ones."""
    share = measured.aborted / max(1, measured.aborted + sum(by_outcome(measured, "acquire").values()))
    return check_of(
        "aborted",
        measured.aborted == 0,
        Severity.VOID if share > _ABORTED_SHARE_LIMIT else Severity.NOTE,
        f"{measured.aborted} ({percent(share, 2)})",
        f"none; more than {percent(_ABORTED_SHARE_LIMIT)} voids the run",
        "every operation that began in the window was seen to its end",
        "operations were cut off at the end of the run, so the longest waits are missing; measure longer",
    )


def errors(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Operations that ended in `lost`, `unknown` or `error`, whether acquires or releases."""
    both = (by_outcome(measured, "acquire"), by_outcome(measured, "release"))
    failed = sum(outcomes.get(word, 0) for outcomes in both for word in _FAILURES)
    share = failed / max(1, sum(sum(outcomes.values()) for outcomes in both))
    common = next(iter(measured.errors), "no reason was recorded")
    return check_of(
        "errors",
        failed == 0,
        Severity.VOID if share > _ERROR_SHARE_LIMIT else Severity.NOTE,
        f"{failed} ({percent(share, 2)})",
        f"none; more than {percent(_ERROR_SHARE_LIMIT)} voids the run",
        "no operation failed",
        f"{failed} operations failed, most often with: {common}",
    )


# -- did the generator measure itself --------------------------------------------------------------------------------


def loop_lag(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """How long a response waited for its client's turn, at the median, over what waking up costs anyway.

    A client that is alone waits for nobody's turn: all that the probe finds in its way is that client's own computing,
    which is in its latency already, and which `client_cpu` tells.
    """
    lag_us = quantile_us(measured, _LAG, 0.5)
    excess_us = max(0.0, lag_us - measured.self_observations.get("loop_lag_idle_us_p50", 0.0))
    medians_us = [quantile_us(measured, name, 0.5) for name in _ACQUIRED if measured.histograms.get(name)]
    limit_us = max(_LAG_FLOOR_US, _LAG_SHARE_LIMIT * min(medians_us, default=0.0))
    alone = is_alone(plan, measured)
    return check_of(
        "loop_lag",
        alone or excess_us <= limit_us,
        Severity.VOID if plan.workload.name in CLAIM_LATENCY else Severity.NOTE,
        f"{excess_us:.0f} µs over the idle loop's at the median",
        "one client for each process: none" if alone else f"{limit_us:.0f} µs",
        "responses were processed promptly",
        "responses waited for the generator's event loop, so latencies are at most what is shown; use more processes",
    )


def loop_stall(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """A generator that stands still lets its own leases run out, and then looks like a broken lock."""
    stall_ms = quantile_us(measured, _LAG, 1.0) / 1e3
    limit_ms = _STALL_SHARE_LIMIT * plan.workload.ttl_ms
    return check_of(
        "loop_stall",
        stall_ms <= limit_ms,
        Severity.VOID,
        f"{stall_ms:.1f} ms at the longest",
        f"{limit_ms:.0f} ms, a quarter of the lease",
        "the load generator never stood still for long",
        "the load generator stood still so long that leases may have expired because of it; measure again undisturbed",
    )


def overlap(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Acquires of different keys ran side by side in one process before the warm-up.

    They cannot, and need not, where a call leaves the process nothing to wait for: `null`, `memory`, or a server on
    loopback that answers before its client looks for the answer.
    """
    seen = measured.self_observations
    # A client library that blocks the process: the next call begins only after the last one has ended.
    blocks = seen.get("overlap_blocked_share", 0.0) > _BLOCKED_LIMIT and not seen.get("overlap_rounds_overlapping")
    # One that queues its callers for a lock of its own: all calls begin, and take as long as one after another,
    # although most of that time is waiting.
    wait_us = seen.get("overlap_wait_us", 0.0)
    mostly_waiting = wait_us >= max(_WAIT_FLOOR_US, 0.5 * seen.get("overlap_alone_us", 0.0))
    queues = mostly_waiting and seen.get("overlap_speedup", _SPEEDUP_LIMIT) < _SPEEDUP_LIMIT
    # A server with one thread, or one that shares its processors with everything else, looks the same from its clients.
    # So only where there is no server is it certain that the client queues; and one client has nobody to queue behind.
    has_server = measured.facts_before.nodes != 0
    alone = is_alone(plan, measured)
    observed = "not observed"
    if seen.get("overlap_rounds"):
        observed = (
            f"calls overlapped in {seen['overlap_rounds_overlapping']:.0f} of {seen['overlap_rounds']:.0f} rounds, "
            f"{seen['overlap_speedup']:.1f} times as fast as sequential calls; "
            f"{percent(seen['overlap_blocked_share'])} of single calls blocked the process"
        )
    return check_of(
        "overlap",
        bool(seen.get("overlap_rounds")) and not blocks and (not queues or (has_server and alone)),
        Severity.NOTE if queues and has_server and not blocks else Severity.VOID,
        observed,
        f"some overlap, or {_SPEEDUP_LIMIT} times as fast, if there is anything to wait for",
        "calls of several clients in one load process run concurrently",
        "concurrent calls took as long as sequential ones: the server or its client library handles one at a time"
        if queues and not blocks
        else "clients of one process ran sequentially: their library blocks the event loop, so nothing was concurrent",
    )


# -- did the lock keep its promises ----------------------------------------------------------------------------------


def mutual_exclusion(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """No two holds of one key at one instant, from the answer to the acquire to the sending of the release."""
    holds = events.holds
    doubles = overlaps(holds)
    given_twice = int(overlaps(holds, plan.workload.ttl_ms).sum())
    count = int(doubles.sum())
    where = f"; first on key {holds.key[doubles][0]}, client {holds.client[doubles][0]}" if count else ""
    return check_of(
        "mutual_exclusion",
        count == 0,
        Severity.VOID,
        f"{count} of {len(holds)} holds began during another{where}",
        "none",
        "no two clients held one key at the same time",
        f"two clients held one key at the same time ({given_twice} times within the first lease); this is no lock"
        if given_twice
        else "holds outlived their leases: the hold is longer than the TTL, or the load generator stood still",
    )


def lost_updates(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Clients of one process raise a counter of the key: they read it when they get the lock and write it at the end.

    What mutual exclusion is for, seen on the protected thing itself and not on the clock: a write that overwrites what
    somebody else wrote since the reading is an update lost.
    """
    lost = measured.lost_updates
    return check_of(
        "lost_updates",
        lost == 0,
        Severity.VOID,
        f"{lost} updates were overwritten; there were {len(events.holds)} holds in the window",
        "none",
        "no update of the protected resource was lost" if plan.workload.keys else "no shared resource was updated",
        "two clients changed the resource at the same time and one change was lost: the key was granted twice, or a "
        "hold outlived its lease (see mutual_exclusion)",
    )


def jobs(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """The table itself, asked when all jobs had ended: is what was acknowledged in it, once, and still there?"""
    found = measured.jobs
    wrong = 1 if found is None else found.lost_updates + found.missing + found.repeated
    return check_of(
        "jobs",
        wrong == 0,
        Severity.VOID,
        "the table was not asked"
        if found is None
        else f"{found.acknowledged} jobs acknowledged, {found.unknown} unknown, {found.writes} writes in the table: "
        f"{found.lost_updates} overwritten, {found.missing} missing, {found.repeated} repeated",
        "none overwritten, missing or repeated",
        "every job took effect, exactly once",
        "jobs overwrote each other, or took effect not at all or twice: this way does not keep them apart",
    )


def messages(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Were there messages until the end? Of one that is consumed, a job only finds that there is nothing to do.

    Each load process begins at another message, so one may come to what another has consumed: then some messages were
    acknowledged more often than they are delivered.
    """
    there, found = plan.workload.shared_keys, measured.jobs
    acknowledged, consumed = (0, there) if found is None else (found.acknowledged, found.due)
    return check_of(
        "messages",
        consumed < there and acknowledged <= DELIVERIES * consumed,
        Severity.VOID,
        f"{consumed} of {there} messages consumed, in {acknowledged} deliveries",
        f"fewer than there are, in at most {DELIVERIES} deliveries of each",
        "there were messages until the end",
        f"all messages were consumed, and later jobs did nothing: raise --keys (now {there}), or measure for less time",
    )


def token_order(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Fencing tokens rise with every grant of a key. Without tokens there is nothing to break."""
    falls = token_regressions(events.holds)
    count = int(falls.sum())
    with_token = int((events.holds.token != -1).sum())
    where = f"; first on key {events.holds.key[falls][0]}, token {events.holds.token[falls][0]}" if count else ""
    return check_of(
        "token_order",
        count == 0,
        Severity.VOID,
        f"{count} of {with_token} tokens not above the previous one{where}",
        "none",
        "fencing tokens rose with every grant" if with_token else "there are no fencing tokens to judge",
        "a later holder got no higher fencing token, so the resource could not have fenced off the earlier one",
    )


def contention(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """Where clients share keys somebody had to wait; a generator that serialises its clients would never notice.

    With many keys, as in hot-cold, that may also be chance: there it is a note, as with parameters of the user's own.

    A client without any event waited from before the window until after it: every client was at work when it opened.
    """
    # A job is one operation: whether it waited within is not in its row.
    asked = plan.workload.name in MEETING and plan.workload.name not in JOBS and plan.workload.meeting_clients > 1
    meeting = populations(plan.workload, events).meeting
    refused = sum(meeting.acquires.get(word, 0) for word in ("busy", "timeout"))
    met = int(waited(meeting.holds).sum())
    starved = meeting.starved(plan.workload.meeting_clients)
    return check_of(
        "contention",
        not asked or refused + met + starved > 0,
        Severity.VOID if plan.workload.title == CONTENDED else Severity.NOTE,
        f"{met} holds had to wait, {refused} acquires were refused, {starved} clients waited throughout",
        "at least one" if asked else "none expected in this workload",
        "clients met at the lock" if asked else "clients were not meant to meet",
        "no client ever found the lock held, so there was no contention; hold longer, or look for a blocking client",
    )


def server_identity(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """The same server, with the same settings, answered before and after; so of the records of jobs."""
    sides = [(measured.facts_before, measured.facts_after)]
    if (kept := measured.records_servers) is not None and kept.system != plan.system:
        sides.append((kept.facts_before, kept.facts_after))
    if measured.faults:  # a server that was killed comes back with another run id, and another node may answer
        sides = [(_but_who(before), _but_who(after)) for before, after in sides]
    identities = [
        before.identity if before == after else f"{before.identity} before, {after.identity} after"
        for before, after in sides
    ]
    return check_of(
        "server_identity",
        all(before == after for before, after in sides),
        Severity.VOID,
        "; records: ".join(identities),
        "the same before and after",
        "the same server answered before and after",
        "the server restarted, changed its settings, or was replaced during the run; measure again",
    )


def _but_who(facts: Facts) -> Facts:
    settings = {name: value for name, value in facts.durability.items() if name not in WHICH_MEMBER}
    return facts.model_copy(update={"identity": "servers with a fault", "durability": settings})


_CHECKS: tuple[_CheckFunction, ...] = (
    mutual_exclusion,
    lost_updates,
    token_order,
    server_identity,
    errors,
    overlap,
    contention,
    generator_cpu,
    client_cpu,
    machine_cpu,
    loop_lag,
    loop_stall,
    aborted,
    counts_agree,
    locust_agrees,
    littles_law,
    steady_state,
    warm_servers,
)
_OF_A_NETWORK: tuple[_CheckFunction, ...] = (network_delay, network_lines)
_OF_A_PEER_NETWORK: tuple[_CheckFunction, ...] = (peer_network_delay, peer_network_lines)
_CHECKS_OF: dict[str, tuple[_CheckFunction, ...]] = {
    **dict.fromkeys(OPEN_LOOPS, (arrivals, unsent, wake)),
    SATURATION: (knee,),
    UPDATE: (jobs,),
    CONSUME: (jobs, messages),
}
