"""Each self-check passes on a clean run and fails on the one thing it is there for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.analysis.holds import Holds, RunEvents
from bench.analysis.selfchecks import self_checks
from bench.records.histogram import LatencyHistogram
from bench.records.schema import (
    STRANGERS,
    Check,
    Facts,
    JobsDone,
    LadderStep,
    Measured,
    RecordsServers,
    RunPlan,
    Severity,
    Struck,
    WarmUp,
    Workload,
)

OPERATIONS = 1000
FACTS = Facts(version="7", identity="run a", durability={"appendonly": "no"}, nodes=1)
SIDE_BY_SIDE = {
    "overlap_rounds": 12.0,
    "overlap_rounds_overlapping": 12.0,
    "overlap_speedup": 4.0,
    "overlap_alone_us": 1500.0,
    "overlap_wait_us": 900.0,
    "overlap_blocked_share": 0.0,
    "loop_lag_idle_us_p50": 20.0,
}


RISING = WarmUp(round_s=1.0, pairs_per_s=(100.0, 200.0), change=0.6, flat=False)
RATE = {"name": "rate", "rate_per_s": 1000.0}
SATURATION = {"name": "saturation", "step_s": 0.2}


def ladder(*pairs_per_s: int) -> tuple[LadderStep, ...]:
    """Steps of 1, 2, 4, ... clients."""
    return tuple(
        LadderStep(clients=1 << place, window_s=1.0, pairs=pairs, acquire="") for place, pairs in enumerate(pairs_per_s)
    )


def histogram(*values_ns: int, times: int = OPERATIONS) -> str:
    return LatencyHistogram({value: times // len(values_ns) for value in values_ns}).encode()


def plan(**changes: Any) -> RunPlan:
    workload = {"name": "contended", "clients": 8, "keys": 1, "measure_s": 1.0, **changes}
    return RunPlan(
        campaign_id="c", run_id="r", position=0, system="redis", workload=Workload(**workload), repetition=1, seed=1
    )


def kept_by(after: str) -> RecordsServers:
    """Servers of records, beside those of the lock, that were others afterwards."""
    kept = FACTS.model_copy(update={"identity": "run a"})
    return RecordsServers(
        system="elsewhere", source="native", facts_before=kept, facts_after=kept.model_copy(update={"identity": after})
    )


def measured(**changes: Any) -> Measured:
    histograms = {name: histogram(1_000_000) for name in ("acquire/acquired", "response/acquired", "release/released")}
    histograms["think/all"] = histogram(6_000_000)  # eight clients for one second, less what the rest takes
    histograms["loop_lag/all"] = histogram(30_000)
    record = {
        "started_at": "2026-01-01T00:00:00Z",
        "window_s": 1.0,
        "histograms": histograms,
        "counts": dict.fromkeys(histograms, OPERATIONS),
        "aborted": 0,
        "generator_cpu_s": 0.4,
        "generator_processes": 1,
        "facts_before": FACTS,
        "facts_after": FACTS,
        "source": "native",
        "locust_requests": OPERATIONS,
        "self_observations": SIDE_BY_SIDE,
        **changes,
    }
    return Measured(**record)


def events(*, overlap_ns: int = 0, waiting_ns: int = 50, tokens: bool = True, clients: int = 8) -> RunEvents:
    """One hold after another, 100 ns each; `overlap_ns` lets each last into the next."""
    place = np.arange(OPERATIONS, dtype=np.int64)
    acquired = place * 100
    token = place + 1 if tokens else np.full(OPERATIONS, -1)
    holds = Holds.of(place, place * 0, acquired - waiting_ns, acquired, acquired + 100 + overlap_ns, token)
    instants = place * 1_000_000
    return RunEvents({"acquired": OPERATIONS}, holds, clients, instants, np.full(OPERATIONS, 1_000_000))


def check(name: str, run: RunPlan, record: Measured, found: RunEvents) -> Check:
    (one,) = [one for one in self_checks(run, record, found) if one.name == name]
    return one


def test_a_clean_run_passes_every_check() -> None:
    assert not [one for one in self_checks(plan(), measured(), events()) if not one.passed]


@pytest.mark.parametrize(
    ("name", "severity", "run", "record", "found"),
    [
        ("mutual_exclusion", "void", {}, {}, {"overlap_ns": 1}),
        ("token_order", "void", {}, {}, {"falls": True}),
        ("server_identity", "void", {}, {"facts_after": FACTS.model_copy(update={"identity": "run b"})}, {}),
        ("server_identity", "void", {}, {"facts_after": FACTS.model_copy(update={"durability": {}})}, {}),
        ("server_identity", "void", {}, {"records_servers": kept_by("run b")}, {}),
        ("errors", "void", {}, {"failed": 30}, {}),
        ("errors", "note", {}, {"failed": 2}, {}),
        ("overlap", "void", {}, {"self_observations": {}}, {}),
        (
            "overlap",
            "void",
            {},
            {"observed": {"overlap_rounds_overlapping": 0.0, "overlap_blocked_share": 1.0}},
            {},
        ),
        ("overlap", "note", {}, {"observed": {"overlap_speedup": 1.0}}, {}),
        ("overlap", "void", {}, {"observed": {"overlap_speedup": 1.0}, "server": False}, {}),
        ("contention", "void", {}, {}, {"waiting_ns": 0}),
        ("generator_cpu", "note", {}, {"generator_cpu_s": 0.95}, {}),
        ("generator_cpu", "note", {"name": "saturation"}, {"generator_cpu_s": 0.95}, {}),
        ("generator_cpu", "void", {"name": "uncontended"}, {"generator_cpu_s": 0.95}, {}),
        ("generator_cpu", "note", {}, {"generator_cpu_s": 1.9, "generator_processes": 2}, {}),
        ("machine_cpu", "note", {}, {"machine_cpu_share": 0.93}, {}),
        ("machine_cpu", "note", {"name": "uncontended"}, {"machine_cpu_share": 0.93}, {}),
        (
            "machine_cpu",
            "note",
            {"name": "saturation"},
            {
                "machine_cpu_share": 0.7,
                "cpu_share_by_processor": {"0": 0.5, "1": 0.9},
                "placement": {"generator": "0", "servers": "1"},
            },
            {},
        ),
        ("loop_lag", "void", {"name": "uncontended"}, {"lag_ns": 800_000}, {}),
        ("loop_lag", "note", {"name": "saturation"}, {"lag_ns": 800_000}, {}),
        ("loop_stall", "void", {"name": "saturation", "ttl_ms": 1000}, {"stall_ns": 260_000_000}, {}),
        ("aborted", "note", {}, {"aborted": 1}, {}),
        ("aborted", "void", {}, {"aborted": 20}, {}),
        ("counts_agree", "void", {}, {"counts": {"acquire/acquired": OPERATIONS}}, {}),
        ("lost_updates", "void", {}, {"lost_updates": 1}, {}),
        ("littles_law", "void", {"clients": 12}, {}, {"clients": 12}),
        ("littles_law", "void", {"clients": 6}, {}, {}),
        ("steady_state", "note", {}, {}, {"drift": 1.3}),
        ("arrivals", "void", RATE, {"arrivals": OPERATIONS + 1}, {}),
        ("unsent", "note", RATE, {"arrivals": OPERATIONS + 1, "unsent": 1}, {}),
        ("unsent", "void", RATE, {"arrivals": OPERATIONS + 11, "unsent": 11}, {}),
        ("wake", "void", RATE, {"arrivals": OPERATIONS, "woken_ns": {600_000: OPERATIONS}}, {}),
        ("wake", "note", RATE, {"arrivals": OPERATIONS, "woken_ns": {60_000: OPERATIONS - 100, 800_000: 100}}, {}),
        ("knee", "note", SATURATION, {"ladder": ladder(100, 200, 400, 800), "knee_clients": 8}, {}),
        ("knee", "note", SATURATION, {}, {}),
        ("counts_agree", "void", {}, {}, {"lost_rows": 1}),
        ("locust_agrees", "void", {}, {"locust_requests": OPERATIONS - 1}, {}),
        ("warm_servers", "note", {}, {"warmed": {"zookeeper": RISING}}, {}),
    ],
)
def test_a_check_fails_on_what_it_is_for(
    name: str, severity: str, run: dict[str, Any], record: dict[str, Any], found: dict[str, Any]
) -> None:
    """Only the check under test fails: the others do not know the fault."""
    record, found = dict(record), dict(found)
    clean = measured()
    histograms, counts = dict(clean.histograms), dict(clean.counts)
    if failed := record.pop("failed", 0):
        histograms["release/error"], counts["release/error"] = histogram(1_000, times=failed), failed
        record["errors"] = {"connection reset": failed}
    if lag_ns := record.pop("lag_ns", 0):
        histograms["loop_lag/all"] = histogram(lag_ns)
    if stall_ns := record.pop("stall_ns", 0):
        histograms["loop_lag/all"] = LatencyHistogram({30_000: OPERATIONS - 1, stall_ns: 1}).encode()
    if observed := record.pop("observed", None):
        record["self_observations"] = {**SIDE_BY_SIDE, **observed}
    if not record.pop("server", True):
        record["facts_before"] = record["facts_after"] = FACTS.model_copy(update={"nodes": 0})
    if woken_ns := record.pop("woken_ns", {}):
        histograms["wake/all"], counts["wake/all"] = LatencyHistogram(woken_ns).encode(), OPERATIONS
    drift = found.pop("drift", 1.0)
    lost_rows, falls = found.pop("lost_rows", 0), found.pop("falls", False)
    seen = events(**found)
    if drift != 1.0:
        grown = 1_000_000 * np.linspace(1.0, drift, OPERATIONS)
        seen = replace(seen, latency_ns=grown.astype(np.int64))
    if lost_rows:
        seen = replace(seen, acquires={"acquired": OPERATIONS - lost_rows})
    if falls:
        seen.holds.token[500] = 1
    changed = measured(**{"histograms": histograms, "counts": counts, **record})
    failures = [one for one in self_checks(plan(**run), changed, seen) if not one.passed]
    assert [(one.name, one.severity) for one in failures] == [(name, Severity(severity))]
    assert failures[0].observed
    assert len(failures[0].message) > 20


@pytest.mark.parametrize(
    ("acknowledged", "consumed", "passed"),
    [
        (1_000, 500, True),
        (1_950, 990, True),
        (2_500, 1_000, False),
        (1_950, 1_000, False),  # some deliveries failed
        (1_100, 500, False),  # one of two load processes came to what the other had consumed
    ],
)
def test_a_run_that_used_up_its_messages_says_how_to_have_more(acknowledged: int, consumed: int, passed: bool) -> None:
    jobs = JobsDone(
        way="for-update",
        lines_of_code=1,
        acknowledged=acknowledged,
        unknown=0,
        due=consumed,
        writes=consumed,
        lost_updates=0,
        missing=0,
        repeated=0,
    )
    run = plan(name="consume", keys=1_000, way="for-update")
    found = check("messages", run, measured(jobs=jobs), events())
    assert (found.passed, found.severity) == (passed, Severity.VOID)
    assert passed or "--keys" in found.message


def test_one_client_that_computes_all_the_time_is_told_and_not_void() -> None:
    """It queues for nobody, so its latency is true; but it is mostly its own."""
    run, record = plan(name="uncontended", clients=1, keys=0), measured(generator_cpu_s=0.96)
    assert check("generator_cpu", run, record, events()).passed
    assert check("loop_lag", run, record, events()).passed
    found = check("client_cpu", run, record, events())
    assert not found.passed
    assert found.severity is Severity.NOTE
    assert found.message.startswith("client-bound: the client computed for 96\u00a0% of the time")
    assert check("client_cpu", run, measured(), events()).passed


@pytest.mark.parametrize(("rest_s", "remedy"), [(0.1, "use more processors"), (1.0, "other work took 50\u00a0%")])
def test_a_busy_machine_says_whose_work_it_was(rest_s: float, remedy: str) -> None:
    record = measured(
        machine_cpu_share=0.97,
        cpu_share_by_processor={"0": 0.96, "1": 0.98},
        cpu_s_by_process={"generator": 0.5, "redis": 0.3, "rest of the machine": rest_s},
    )
    found = check("machine_cpu", plan(), record, events())
    assert found.observed.endswith(f"generator 0.5 s, redis 0.3 s, rest of the machine {rest_s} s")
    assert remedy in found.message


def test_a_call_without_a_wait_cannot_overlap() -> None:
    """`null`, `memory` and a server that answers at once: nothing ever sleeps, so nothing is blocked."""
    seen = {**SIDE_BY_SIDE, "overlap_rounds_overlapping": 0.0, "overlap_speedup": 0.4, "overlap_wait_us": 12.0}
    assert check("overlap", plan(), measured(self_observations=seen), events()).passed


def test_a_hold_longer_than_its_lease_is_not_called_a_broken_lock() -> None:
    place = np.arange(2, dtype=np.int64)
    until = np.array([90_000_000, 70_000_000])
    overstayed = Holds.of(place, place * 0, place * 0, np.array([1, 60_000_000]), until, place)
    found = check("mutual_exclusion", plan(ttl_ms=50), measured(), RunEvents({"acquired": 2}, overstayed, 2))
    assert not found.passed
    assert "outlived their leases" in found.message


def test_a_client_that_waited_all_the_time_is_contention() -> None:
    assert check("contention", plan(), measured(), events(waiting_ns=0, clients=7)).passed


def test_a_system_without_tokens_has_none_to_judge() -> None:
    found = check("token_order", plan(), measured(), events(tokens=False))
    assert found.passed
    assert "no fencing tokens" in found.message


@pytest.mark.parametrize(("label", "severity"), [("", Severity.VOID), ("checkout", Severity.NOTE)])
def test_clients_that_never_met_void_the_modes_own_cell_and_no_cell_of_the_users(
    label: str, severity: Severity
) -> None:
    """Who asks for two clients on a hundred keys gets the numbers of that."""
    found = check("contention", plan(label=label), measured(), events(waiting_ns=0))
    assert (found.passed, found.severity) == (False, severity)


STRUCK = Struck(kind="leader-killed", target="n1", window_opens_ns=0, began_ns=1, ended_ns=2, confirmed="seen")


def test_what_a_planned_fault_causes_is_no_failure_of_its_run() -> None:
    """Errors and another run id are; two holders and falling tokens are not."""
    run = plan(fault="leader-killed", fault_after_s=0.1, fault_s=0.1)
    counts = {**measured().counts, "acquire/error": 100}
    changed = {"counts": counts, "facts_after": FACTS.model_copy(update={"identity": "run b"})}
    for name in ("errors", "server_identity"):
        assert not check(name, plan(), measured(**changed), events()).passed
        assert check(name, run, measured(**changed, faults=(STRUCK,)), events()).passed
    other = FACTS.model_copy(update={"durability": {"appendonly": "yes"}})
    assert not check("server_identity", run, measured(facts_after=other, faults=(STRUCK,)), events()).passed
    double, falling = events(overlap_ns=50), events()
    falling = replace(falling, holds=replace(falling.holds, token=falling.holds.token[::-1].copy()))
    for name, found in (("mutual_exclusion", double), ("token_order", falling)):
        one = check(name, run, measured(faults=(STRUCK,)), found)
        assert not one.passed
        assert one.severity is Severity.VOID


def beside(**counts: int) -> Measured:
    """The same run with strangers; their operations by phase and outcome, as `acquire_acquired`."""
    named = {f"{STRANGERS}{name.replace('_', '/', 1)}": count for name, count in counts.items()}
    clean = measured()
    return clean.model_copy(
        update={
            "counts": {**clean.counts, **named},
            "histograms": {**clean.histograms, **{name: histogram(200_000, times=n) for name, n in named.items()}},
            "locust_requests": OPERATIONS + counts.get("acquire_acquired", 0),
        }
    )


def test_what_is_counted_is_that_of_all_clients() -> None:
    """Rows, counts and Locust's statistics have the strangers' operations as well; one that is missing is found."""
    run, found = plan(clients=10, strangers=2), events(clients=10)
    found = replace(found, acquires={"acquired": OPERATIONS + 500})
    whole = beside(acquire_acquired=500, release_released=500)
    for name in ("counts_agree", "locust_agrees", "errors"):
        assert check(name, run, whole, found).passed, name
    fewer = replace(found, acquires={"acquired": OPERATIONS + 499})
    assert not check("counts_agree", run, whole, fewer).passed
    lost = {**whole.counts, f"{STRANGERS}acquire/acquired": 499}
    assert not check("counts_agree", run, whole.model_copy(update={"counts": lost}), found).passed
    assert not check("locust_agrees", run, whole.model_copy(update={"locust_requests": OPERATIONS}), found).passed
    failed = {**whole.counts, f"{STRANGERS}release/lost": 100}
    assert not check("errors", run, whole.model_copy(update={"counts": failed}), found).passed


def test_a_late_generator_is_late_for_the_quicker_of_both() -> None:
    """Half a millisecond is little of a long wait, and a lot of a stranger's acquire."""
    late = {"loop_lag/all": histogram(500_000, times=100)}
    slow = {**measured().histograms, "acquire/acquired": histogram(100_000_000), **late}
    assert check("loop_lag", plan(), measured(histograms=slow), events()).passed
    quick = {**slow, f"{STRANGERS}acquire/acquired": histogram(200_000)}
    assert not check("loop_lag", plan(strangers=2), measured(histograms=quick), events()).passed
