"""Self-checks of processor time: who had none to spare, and whose the number therefore is."""

from bench.analysis.check_parts import (
    CLAIM_LATENCY,
    GENERATOR_CPU_LIMIT,
    check_of,
    generator_share,
    is_alone,
    machine_shares,
)
from bench.analysis.holds import RunEvents
from bench.records.numbers import percent
from bench.records.processor_time import REST
from bench.records.schema import Check, Measured, RunPlan, Severity

# Where processors are busier than this, whoever becomes ready rarely finds one free.
MACHINE_CPU_LIMIT = 0.85
_QUIET = 0.15  # of all processors: what a machine without other work spends on networking for the run, and on itself


def generator_cpu(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """The processor time of the load processes. Above the limit clients queue for it.

    With no more clients than processes nobody queues: see `client_cpu`.
    """
    share = generator_share(measured)
    alone = is_alone(plan, measured)
    bound = plan.workload.name not in CLAIM_LATENCY
    return check_of(
        "generator_cpu",
        alone or share <= GENERATOR_CPU_LIMIT,
        Severity.NOTE if bound else Severity.VOID,
        f"{share:.2f} of a processor for each load process",
        "one client for each process: none" if alone else f"{GENERATOR_CPU_LIMIT:.2f}",
        "the load generator had processor time to spare" if not alone else "no client queued for the load generator",
        "generator-bound: throughput is at least, and latencies are at most, what is shown; use more processes"
        if bound
        else "clients queued for the load generator's processor, so the latency is the generator's; use more processes",
    )


def client_cpu(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """The processor time of a client that is alone in its process.

    It queues for nobody, so the latency is true: what this client, in this language, has to wait. But it is the
    client's more than the system's, which could do more than it was asked for.
    """
    share = generator_share(measured)
    alone = is_alone(plan, measured)
    return check_of(
        "client_cpu",
        not alone or share <= GENERATOR_CPU_LIMIT,
        Severity.NOTE,
        f"{share:.2f} of a processor" if alone else "several clients in a process: see generator_cpu",
        f"{GENERATOR_CPU_LIMIT:.2f}" if alone else "none",
        "the client mostly waited for the system" if alone else "no client was alone in its process",
        f"client-bound: the client computed for {percent(share)} of the time, so latency and rate are mostly its own",
    )


def machine_cpu(plan: RunPlan, measured: Measured, events: RunEvents) -> Check:
    """How busy the processors were that the run may use: all of them, and where servers have some of their own, those.

    Where everybody waits for processors, throughput under pressure is the machine's and not the system's. A workload
    that claims a latency leaves most of a machine idle: there, a busy one means that somebody else was at work too, or
    that the nodes of an ensemble stood in each other's way. In both the number stands as a bound, with a note.
    """
    shares = machine_shares(measured)
    busiest = max(shares.values(), default=0.0)
    bound = (
        "latencies include waits for a processor, so they are at most what is shown"
        if plan.workload.name in CLAIM_LATENCY
        else "throughput is at least, and latencies are at most, what is shown"
    )
    remedy = "use more processors"
    if _rest_share(measured) > _QUIET:
        remedy = f"other work took {percent(_rest_share(measured))} of the machine: measure when it is quiet"
    by_process = ", ".join(f"{name} {spent:.1f} s" for name, spent in measured.cpu_s_by_process.items())
    busy = ", ".join(f"{percent(share)} of {name}" for name, share in shares.items())
    return check_of(
        "machine_cpu",
        busiest <= MACHINE_CPU_LIMIT,
        Severity.NOTE,
        f"{busy}: {by_process}" if shares else "not recorded",
        percent(MACHINE_CPU_LIMIT),
        "there was processor time to spare" if shares else "the machine was not observed",
        f"machine-bound: {bound}; {remedy}",
    )


def _rest_share(measured: Measured) -> float:
    """What neither generator nor servers used of the processors, as a share of all of them."""
    there_s = measured.window_s * max(1, len(measured.cpu_share_by_processor))
    return measured.cpu_s_by_process.get(REST, 0.0) / there_s
