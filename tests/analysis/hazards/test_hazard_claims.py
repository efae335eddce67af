"""Claims about safety against made-up campaigns: what makes them hold, fail, or hold with a condition."""

from pathlib import Path

import pytest

from bench.analysis.claims import Claim, load_claims
from bench.analysis.evidence import Evidence
from bench.analysis.hazards import counts
from bench.analysis.hazards.claims import base, judge_by_hazards, judges
from bench.analysis.hazards.rows import HazardRun
from bench.analysis.judgement import Judgement, Verdict
from bench.analysis.verdicts import adjudicate, verdict_frame
from bench.records.store import CampaignFolder
from bench.report.claims_table import untested, verdict_rows
from tests.analysis.hazards import records
from tests.analysis.hazards.records import NS_PER_MS, Staged, crash, jump, pause, runs, two_holders, window

CLAIMS = {claim.id: claim for claim in load_claims()}
# What the issue of the hazard lab asks for, and C34.
ASKED = [
    *(f"C{number}" for number in (*range(13, 32), 33, 34, *range(35, 40), *range(44, 48), *range(53, 61))),
    *("C63", "C64", "C67", "C68"),
]
HOLDS, FAILS, CONDITION = Verdict.HOLDS, Verdict.FAILS, Verdict.CONDITION
CANNOT_SAY, NOT_TESTABLE, NOT_MEASURED = Verdict.CANNOT_SAY, Verdict.NOT_TESTABLE, Verdict.NOT_MEASURED


@pytest.fixture(autouse=True)
def _any_number_of_runs_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which counts make which word. That a few runs decide nothing has tests of its own (test_few_runs)."""
    monkeypatch.setattr(counts, "FEW", 1.0)
    monkeypatch.setattr(base, "RUNS_FOR_AN_INTERVAL", 1)


def judge(claim: str, *found: HazardRun) -> Judgement:
    (judgement,) = judge_by_hazards(CLAIMS[claim], records.evidence(*found))
    return judgement


def twice(scenario: str, system: str, *staged: Staged) -> list[HazardRun]:
    """Two runs of the same trials: one decides nothing."""
    return [records.run(records.plan(scenario, system, number), *staged) for number in (1, 2)]


def by_system(claim: str, *found: HazardRun) -> dict[str, Judgement]:
    return {one.system: one for one in judge_by_hazards(CLAIMS[claim], records.evidence(*found))}


def events(**found: tuple[int, int]) -> list[Staged]:
    return [Staged({"event": event}, fell=fell, pairs=pairs) for event, (fell, pairs) in found.items()]


def test_every_claim_that_was_asked_for_has_a_judge_and_no_other() -> None:
    assert sorted(judges()) == sorted(ASKED)
    assert set(judges()) <= set(CLAIMS)


@pytest.mark.parametrize("claim", ASKED)
def test_without_runs_a_claim_stays_not_measured_and_says_which_runs_it_wants(claim: str) -> None:
    got = judge(claim)
    assert got.verdict is NOT_MEASURED
    assert got.why.startswith("no ")
    assert got.evidence == ()


@pytest.mark.parametrize(
    ("claim", "scenario", "system"),
    [
        ("C19", "gc-pause", "redis"),
        ("C25", "redlock-clock", "redlock"),
        ("C45", "failover", "zookeeper"),
        ("C68", "late-release", "redis"),
    ],
)
def test_void_runs_alone_make_a_claim_untestable_with_the_reason(claim: str, scenario: str, system: str) -> None:
    void = records.run(records.plan(scenario, system), two_holders(False), void="the fault was not confirmed")
    got = judge(claim, void)
    assert got.verdict is NOT_TESTABLE
    assert "the fault was not confirmed" in got.why
    assert got.evidence == (void.run_id,)


# -- pauses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trials", "verdict", "why"),
    [
        ([two_holders(False), two_holders(True)], CONDITION, "as long as no token is checked"),
        ([two_holders(False), pause(fence=True, overlap_ms=9.0, accepted=1)], HOLDS, "with it 1 of 1"),
        ([two_holders(False)], HOLDS, "no late write met a fence"),
        ([pause(), pause(fence=True)], FAILS, "two holders in 0 of 2"),
        ([pause(500.0)], NOT_MEASURED, "no trial could have shown the harm: too short to outlast a lease"),
    ],
)
def test_redis_is_not_safe_under_pauses(trials: list[Staged], verdict: Verdict, why: str) -> None:
    got = judge("C19", runs("gc-pause", "redis", *trials))
    assert got.verdict is verdict
    assert why in got.why


def test_redlock_is_not_safe_under_pauses_fence_or_not() -> None:
    got = judge("C20", runs("gc-pause", "redlock", two_holders(False, token=False), two_holders(True, token=False)))
    assert got.verdict is HOLDS
    assert "with it 1 of 1, as there is no token" in got.why


@pytest.mark.parametrize(
    ("claim", "system", "trials", "verdict", "why"),
    [
        ("C21", "zookeeper", [two_holders(False), two_holders(True)], HOLDS, "95 % confidence; without it 1 of"),
        ("C22", "etcd", [pause(fence=True, overlap_ms=9.0, accepted=1)], FAILS, "fence on: 1 of 1"),
        ("C22", "etcd", [two_holders(False)], NOT_TESTABLE, "no late write met a fence"),
        ("C23", "postgres-row", [pause(), pause(fence=True)], HOLDS, "with or without a fence; no TTL"),
        ("C24", "dynamodb", [two_holders(True)], CONDITION, "on an emulator of the API"),
    ],
)
def test_safe_under_pauses_with_fencing(
    claim: str, system: str, trials: list[Staged], verdict: Verdict, why: str
) -> None:
    got = judge(claim, runs("gc-pause", system, *trials))
    assert got.verdict is verdict
    assert why in got.why


def test_correct_without_a_fence_needs_pauses_and_partitions() -> None:
    stopped = runs("gc-pause", "etcd", two_holders(False), two_holders(True))
    told = runs("cable-pulled", "etcd", Staged({"fence": False}, overlap_ms=4.0))
    redis = runs("gc-pause", "redis", two_holders(False))
    got = judge("C64", stopped, told, redis)
    assert got.verdict is FAILS
    assert "holder stopped: two holders in 0 of 0, late writes accepted 1 of 1" in got.why
    assert "holder cut off: two holders in 0 of 1" in got.why
    assert "Redis, stopped the same way" in got.why
    assert set(got.evidence) == {stopped.run_id, told.run_id}
    assert judge("C64", told).verdict is CONDITION
    harmless = runs("gc-pause", "etcd", pause(4000.0))
    assert judge("C64", harmless, told).verdict is CONDITION
    careless = records.run(records.plan("cable-pulled", "etcd", 2, asks_first=False), Staged({"fence": False}))
    assert judge("C64", harmless, told, careless).verdict is HOLDS


def test_the_window_is_judged_system_by_system() -> None:
    def late(pause_ms: float, by_ms: float) -> Staged:
        return pause(pause_ms, overlap_ms=pause_ms - 1000.0 - by_ms, accepted=1)

    got = by_system(
        "C31",
        runs("gc-pause", "redis", late(1600.0, 2.0), late(3000.0, 2.0)),
        runs("gc-pause", "etcd", late(1600.0, 300.0), late(3000.0, 300.0)),
        runs("gc-pause", "zookeeper", late(1600.0, 100.0), late(3000.0, 1000.0)),
        runs("gc-pause", "postgres-row", pause(), pause(3000.0)),
    )
    assert {system: one.verdict for system, one in got.items()} == {
        "redis": HOLDS,
        "etcd": CONDITION,
        "zookeeper": FAILS,
        "postgres-row": NOT_TESTABLE,
    }
    assert got["redis"].found == "slope 1.00, median difference 2 ms"
    assert "1750 ms" in got["etcd"].why
    # One length of pause is a point and no line: it may lie on the claimed one by chance.
    alone = by_system("C31", runs("gc-pause", "redis", late(1600.0, 2.0)))["redis"]
    assert alone.verdict is CONDITION
    assert "at the one pause length tried" in alone.why


def test_a_watchdog_guards_its_worker_and_not_its_process() -> None:
    def stalls(whole: Staged, worker: Staged, system: str = "redis") -> Judgement:
        return by_system(
            "C33",
            records.run(records.plan("watchdog", system, 1, stalled="process"), whole),
            records.run(records.plan("watchdog", system, 2, stalled="worker"), worker),
        )[system]

    assert stalls(two_holders(False), pause()).verdict is HOLDS
    assert stalls(two_holders(False), two_holders(False)).verdict is FAILS
    assert stalls(pause(), pause()).verdict is FAILS
    assert stalls(pause(900.0), pause()).verdict is NOT_TESTABLE
    assert stalls(pause(), pause(), "postgres-row").verdict is NOT_TESTABLE


def test_the_page_scenario_has_two_halves() -> None:
    def page(system: str, token: bool = True) -> HazardRun:
        return runs("page-scenario", system, two_holders(False, token=token), two_holders(True, token=token))

    got = by_system(
        "C53", page("redis"), page("redlock", token=False), runs("page-scenario", "postgres-row", pause(), pause())
    )
    assert got["redis"].verdict is HOLDS
    assert got["redlock"].verdict is FAILS
    assert "there is no token" in got["redlock"].why
    assert got["postgres-row"].verdict is NOT_TESTABLE
    half = by_system("C53", runs("page-scenario", "redis", two_holders(False)))["redis"]
    assert half.verdict is NOT_TESTABLE


# -- tokens --------------------------------------------------------------------------------------------------------


def test_a_number_that_the_adapter_makes_is_not_built_in() -> None:
    got = judge("C13", runs("token-sources", "redis", *events(contended=(0, 359), server_killed=(10, 10))))
    assert got.verdict is HOLDS
    assert "a script's counter" in got.why
    assert "after the servers were killed: out of order in 10 of 10" in got.why
    without = runs("token-sources", "redlock", Staged({"event": "contended"}, token=False, grants=30))
    assert judge("C14", without).found == "no token"


@pytest.mark.parametrize(
    ("claim", "system", "found", "verdict", "why"),
    [
        (
            "C15",
            "zookeeper",
            {"contended": (0, 359), "server_killed": (0, 4), "entry_deleted": (0, 39)},
            HOLDS,
            "0 of 359",
        ),
        ("C15", "zookeeper", {"contended": (0, 359), "entry_deleted": (0, 39)}, CONDITION, "not tried: after the serv"),
        ("C15", "zookeeper", {"contended": (0, 9), "server_killed": (0, 4), "entry_deleted": (1, 9)}, FAILS, "1 of 9"),
        (
            "C16",
            "etcd",
            {"contended": (0, 9), "server_killed": (0, 2), "entry_deleted": (2, 9)},
            CONDITION,
            "not after the lock's entry was deleted",
        ),
    ],
)
def test_a_built_in_token_rises_under_the_events_that_were_asked_for(
    claim: str, system: str, found: dict[str, tuple[int, int]], verdict: Verdict, why: str
) -> None:
    got = judge(claim, runs("token-sources", system, *events(**found)))
    assert got.verdict is verdict
    assert why in got.why


def test_expiry_of_a_lease_is_an_event_too() -> None:
    sources = runs("token-sources", "dynamodb", *events(contended=(0, 179), entry_deleted=(39, 39)))
    expired = runs("gc-pause", "dynamodb", pause(fence=True, overlap_ms=600.0, refused=1, pairs=1))
    got = judge("C18", sources, expired)
    assert got.verdict is CONDITION
    assert "after a lease expired: out of order in 0 of 1" in got.why
    assert "not tried" not in got.why
    fell = runs("gc-pause", "dynamodb", pause(fence=True, overlap_ms=600.0, refused=1, pairs=1, fell=1))
    assert judge("C18", sources, fell).verdict is FAILS


def test_variants_that_lie_make_their_claims_fail() -> None:
    xid = judge("C17", runs("token-sources", "postgres-row-xid", *events(contended=(244, 479))))
    assert (xid.verdict, xid.system) == (FAILS, "postgres-row-xid")
    assert "244 of 479" in xid.why
    sequence = runs("token-sources", "zookeeper-sequence-token", *events(contended=(0, 9), entry_deleted=(0, 9)))
    assert judge("C54", sequence).verdict is HOLDS
    naive = runs("naive-fence", "redis-naive-fence", Staged(pairs=29, fell=10))
    control = runs("naive-fence", "redis", Staged(pairs=19))
    got = judge("C38", naive, control)
    assert got.verdict is FAILS
    assert "in one script, for comparison: 0 of 19" in got.why
    assert set(got.evidence) == {naive.run_id, control.run_id}


@pytest.mark.parametrize(("after", "verdict"), [((18.0, 19.0), CONDITION), ((18.0, 18.0), HOLDS)])
def test_mod_revision_is_a_token_until_somebody_writes_the_key(after: tuple[float, float], verdict: Verdict) -> None:
    create, mod = after
    measures = {
        "create_revision_before": 18.0,
        "mod_revision_before": 18.0,
        "create_revision_after": create,
        "mod_revision_after": mod,
    }
    assert judge("C55", runs("mod-revision", "etcd", Staged(measures=measures))).verdict is verdict


# -- clocks --------------------------------------------------------------------------------------------------------


def bare(by_ms: float, broke: bool, ttl_ms: int = 500) -> Staged:
    """The holder has no more than a majority, and one of its clocks jumps."""
    return jump(by_ms, broke, nodes=1, ttl_ms=ttl_ms, held=3)


def alone(by_ms: float, broke: bool) -> Staged:
    """One Redis, which sets nothing aside."""
    return jump(by_ms, broke, nodes=1, held=1, drift=False)


@pytest.mark.parametrize(
    ("jumps", "verdict", "why"),
    [
        ([jump(14.0, True), jump(13.0, False)], CONDITION, "at the one TTL that was tried"),
        ([jump(14.0, True), jump(18.0, True, ttl_ms=1000)], HOLDS, "14 ms at a TTL of 500 ms, 18 ms at a TTL of 1,000"),
        ([jump(14.0, True), jump(309.0, True, ttl_ms=30_000)], CONDITION, "at some TTLs"),
        ([jump(309.0, True, ttl_ms=30_000), jump(110.0, True, ttl_ms=10_000)], FAILS, "set aside for drift: 102 ms"),
        ([jump(550.0, False)], FAILS, "no jump of up to 550 ms"),
        (
            [bare(14.0, True), jump(14.0, True), jump(550.0, False, 2)],
            CONDITION,
            "needed: 1 of 3 held, 3 of 5 held (2 are not enough)",
        ),
        ([bare(13.0, True), bare(12.0, False)], CONDITION, "(1 % of the TTL + 2 ms), on 1 of the 3"),
        ([bare(13.0, True), bare(12.0, False)], CONDITION, "brackets around that in 1 search, at a TTL"),
    ],
)
def test_ten_ms_against_the_smallest_jumps_that_broke(jumps: list[Staged], verdict: Verdict, why: str) -> None:
    got = judge("C25", *twice("redlock-clock", "redlock", *jumps))
    assert got.verdict is verdict
    assert why in got.why
    once = judge("C25", runs("redlock-clock", "redlock", *jumps))
    assert once.verdict is CANNOT_SAY
    assert once.why == f"searched in only one run: {got.why}"


def drift(percent: float, broke: bool, ttl_ms: int = 10_000, nodes: int = 1, held: int = 3) -> Staged:
    return Staged(
        {"rate_percent": percent, "nodes_held": held, "nodes_drifting": nodes, "ttl_ms": ttl_ms},
        {"remaining_validity_ms": 5.0},
        ttl_ms=ttl_ms,
        overlap_ms=4.0 * broke,
        token=False,
    )


def test_ten_ms_of_total_drift_are_no_jump_but_a_rate_over_a_lease() -> None:
    """A clock that gains 90 ms over a lease of ten seconds breaks nothing: 10 ms of drift in all is no limit there."""
    steps = twice("redlock-clock", "redlock", bare(14.0, True), bare(18.0, True, ttl_ms=1000))
    assert judge("C25", *steps).verdict is HOLDS
    drifts = runs("redlock-drift", "redlock", drift(0.9, False), drift(1.5, True), drift(2.0, True))
    got = judge("C25", *steps, drifts)
    assert got.verdict is CONDITION
    assert "0.9 % (90 ms over a lease) broke nothing and 1.5 % (150 ms over a lease) gave two holders" in got.why
    assert "at a TTL of 10,000 ms, on 1 of 3 held nodes" in got.why


def clock_step(shown: bool, by_ms: float = 3000.0) -> Staged:
    return Staged({"step": "3 ttl"}, overlap_ms=200.0 * shown, faults=(window("clock_jump", amount=by_ms),))


def client_step(shown: bool, by_ms: float = 1500.0, whose: str = "contender") -> Staged:
    return Staged({"whose": whose}, overlap_ms=200.0 * shown, faults=(window("client_clock", amount=by_ms),))


@pytest.mark.parametrize(
    ("redis", "redlock", "verdict", "why"),
    [
        # 5.5 ms are left in each; Redlock sets 7 ms aside, one Redis nothing.
        (
            [alone(6.0, True), alone(5.0, False)],
            [bare(13.0, True), bare(12.0, False)],
            FAILS,
            "one Redis breaks at the smaller jump: smallest jump of one clock, one Redis against Redlock on 3 nodes, "
            "in 1 search of each: "
            "6 ms with 5.5 ms left against 13 ms with 5.5 ms left at a TTL of 500 ms",
        ),
        (
            [alone(20.0, True), alone(19.0, False)],
            [bare(13.0, True), bare(12.0, False)],
            HOLDS,
            "Redlock: clocks needed: 1 of 3 held",
        ),
        (
            [alone(13.0, True), alone(5.0, False)],
            [bare(14.0, True), bare(9.0, False)],
            CANNOT_SAY,
            "the brackets cannot distinguish the two",
        ),
        ([alone(6.0, True)], [jump(14.0, True)], NOT_MEASURED, "bare majority was not found"),
        ([alone(6.0, True)], [], NOT_MEASURED, "bare majority was not found"),
    ],
)
def test_one_redis_against_redlock_by_the_smallest_jumps_of_both(
    redis: list[Staged], redlock: list[Staged], verdict: Verdict, why: str
) -> None:
    found = twice("redlock-clock", "redis", *redis) + twice("redlock-clock", "redlock", *redlock) * bool(redlock)
    got = judge("C26", *found)
    assert got.verdict is verdict
    assert why in got.why
    if verdict in (HOLDS, FAILS):
        once = judge("C26", *found[1:])
        assert (once.verdict, once.why) == (CANNOT_SAY, f"searched in only one run: {got.why}")


def test_that_a_long_jump_breaks_one_redis_does_not_say_which_is_the_more_sensitive() -> None:
    redlock = runs("redlock-clock", "redlock", jump(14.0, True), jump(550.0, False, nodes=2))
    for shown in (False, True):
        got = judge("C26", runs("server-clock", "redis", clock_step(shown)), redlock)
        assert got.verdict is NOT_MEASURED
        assert "no search for the smallest jump on one Redis" in got.why


def test_a_claim_about_two_clocks_needs_both_stepped() -> None:
    servers = runs("server-clock", "etcd", clock_step(False), clock_step(False, 3_600_000.0))
    got = judge("C28", servers)
    assert got.verdict is CONDITION
    assert "the client's clock was not stepped" in got.why
    assert "by 3,000 to 3,600,000 ms: two holders in 0 of 2" in got.why
    client = runs("client-clock", "etcd", client_step(False))
    got = judge("C28", servers, client)
    assert "no client's clock judges the lease, so client jumps are not counted" in got.why
    outside = judge("C28", servers, runs("client-clock", "etcd", client_step(True)))
    assert (outside.verdict, outside.why) == (FAILS, "two holders also in 1 of 1 unexposed trials")


@pytest.mark.parametrize("by_ms", [0.0, 1500.0, -3_600_000.0])
def test_jumps_that_could_end_no_lease_are_no_zeros(by_ms: float) -> None:
    """A control, a jump within what a lease of etcd may last, and one back."""
    counted = runs("server-clock", "etcd", clock_step(False), clock_step(False, by_ms))
    assert "two holders in 0 of 1 in 1 run" in judge("C28", counted).why
    none = judge("C28", runs("server-clock", "etcd", clock_step(False, by_ms)))
    assert none.verdict is NOT_MEASURED
    assert "no jump long enough" in none.why


def test_a_lock_without_a_lease_has_nothing_that_a_clock_could_end() -> None:
    jumps = runs("server-clock", "postgres-row", clock_step(False), clock_step(False, 3_600_000.0))
    got = judge("C29", jumps, runs("clock-back-and-crash", "postgres-row", crash_as_clocks_go_back(2.0)))
    assert got.verdict is NOT_TESTABLE
    assert got.why == "no lease that a clock could end"


def crash_as_clocks_go_back(recovery_ms: float, back_ms: float = 6_000.0, after_ms: float = 100.0) -> Staged:
    kill, step = window("kill"), window("clock_jump", amount=-back_ms)
    late = step.model_copy(update={"began_ns": kill.began_ns + int(after_ms * NS_PER_MS)})
    return Staged({"step": "-3 ttl"}, {"recovery_ms": recovery_ms}, ttl_ms=2000, faults=(kill, late))


@pytest.mark.parametrize(
    ("crashes", "verdict", "why"),
    [
        ([], CONDITION, "for the servers' clocks only"),
        ([crash_as_clocks_go_back(2_010.0)], CONDITION, "blocked for longer than a lease in 0 of 1"),
        ([crash_as_clocks_go_back(8_020.0)], FAILS, "blocked for longer than a lease in 1 of 1"),
        ([crash_as_clocks_go_back(62_000.0, 60_000.0)], FAILS, "blocked for longer than a lease in 1 of 1"),
        ([crash_as_clocks_go_back(-1.0)], FAILS, "blocked for longer than a lease in 1 of 1"),
        ([crash_as_clocks_go_back(2_010.0), crash_as_clocks_go_back(8_020.0)], FAILS, "in 1 of 2"),
        ([crash_as_clocks_go_back(2_010.0, 0.0)], CONDITION, "for the servers' clocks only"),  # no step: a control
    ],
)
@pytest.mark.parametrize(("claim", "system"), [("C27", "zookeeper"), ("C28", "etcd")])
def test_a_lock_that_waits_for_the_clock_after_a_crash_is_sensitive_to_it(
    claim: str, system: str, crashes: list[Staged], verdict: Verdict, why: str
) -> None:
    found = [runs("server-clock", system, clock_step(False)), runs("client-clock", system, client_step(False))]
    if crashes:
        found.append(runs("clock-back-and-crash", system, *crashes))
    got = judge(claim, *found)
    assert got.verdict is verdict, got.why
    assert why in got.why


def test_it_depends_on_whose_clock_judges_the_expiry() -> None:
    record = runs("client-clock", "dynamodb", client_step(False), client_step(False, -1500.0, "holder"))
    clock = runs("client-clock", "dynamodb-client-clock", client_step(True), client_step(False, -1500.0, "holder"))
    got = judge("C30", record, clock)
    assert got.verdict is CONDITION
    assert "by the client's clock: 1 of 2" in got.why
    assert judge("C30", runs("client-clock", "dynamodb", client_step(True)), clock).verdict is FAILS
    harmless = runs(
        "client-clock", "dynamodb", client_step(False), client_step(False, -1500.0), client_step(False, 0.0)
    )
    assert "two holders in 0 of 1" in judge("C30", harmless, clock).why


# -- servers -------------------------------------------------------------------------------------------------------


def down(count: int, acquired: bool, how: str = "kill", limit: int = 50, took_ms: float = 1.0) -> Staged:
    return Staged(
        {"nodes_down": count, "how": how, "node_timeout_ms": limit},
        {"nodes_down": float(count), "acquired": float(acquired), "acquire_ms": took_ms},
        token=False,
    )


def test_how_many_servers_may_be_down_is_what_can_be_tested() -> None:
    got = judge("C35", runs("nodes-down", "redlock", *(down(count, count < 3) for count in range(6))))
    assert got.verdict is CONDITION
    assert got.why.startswith("to survive 2 losses, as 3 of 5 must answer; other server counts were not tried")
    three = judge("C36", runs("nodes-down", "zookeeper", *(down(count, count < 2) for count in range(4))))
    assert three.why.startswith("to survive one loss")
    hung = judge(
        "C36",
        runs("nodes-down", "zookeeper", *(down(count, count < 2) for count in range(4)), down(1, False, "hang")),
    )
    assert hung.verdict is CONDITION
    assert "with a minority hanging, 1 of 1 clients timed out" in hung.why
    early = judge("C35", runs("nodes-down", "redlock", down(0, True), down(2, False), down(3, False)))
    assert early.verdict is FAILS
    assert judge("C37", runs("nodes-down", "etcd", down(0, True))).verdict is NOT_TESTABLE


@pytest.mark.parametrize(
    ("trials", "verdict"),
    [
        ([down(1, True, "hang", 5, 5.4), down(2, True, "hang", 50, 50.6)], HOLDS),
        ([down(1, True, "hang", 50, 50.6)], CONDITION),
        ([down(1, True, "hang", 5, 5.4), down(2, True, "hang", 50, 700.0)], FAILS),
        ([down(1, True, "hang", 5, 5.4), down(2, False, "hang", 50)], FAILS),
        ([down(1, True, "kill", 5, 5.4)], NOT_MEASURED),
    ],
)
def test_a_limit_for_each_node_bounds_an_acquire(trials: list[Staged], verdict: Verdict) -> None:
    assert judge("C59", runs("nodes-down", "redlock", *trials)).verdict is verdict


def quorum(elapsed_ms: float, granted: bool, validity_ms: float | None = None) -> Staged:
    measures = {"elapsed_ms": elapsed_ms, "granted": float(granted)}
    if granted:
        left_ms = 2000.0 - elapsed_ms - 22.0
        measures |= {"validity_ms": left_ms if validity_ms is None else validity_ms, "drift_ms": 22.0}
    return Staged(measures=measures, ttl_ms=2000, token=False)


@pytest.mark.parametrize(
    ("trials", "verdict"),
    [
        ([quorum(200.0, True), quorum(1992.0, False), quorum(2400.0, False)], HOLDS),
        ([quorum(200.0, True), quorum(1992.0, True)], FAILS),
        ([quorum(200.0, True, 1999.0), quorum(2400.0, False)], FAILS),
        ([quorum(200.0, True), quorum(500.0, False)], NOT_TESTABLE),
    ],
)
def test_nothing_left_of_the_ttl_is_no_grant(trials: list[Staged], verdict: Verdict) -> None:
    assert judge("C58", runs("late-quorum", "redlock", *trials)).verdict is verdict


def test_redis_forgets_in_a_failover_and_in_a_restart_unless_it_writes() -> None:
    lost = runs("restart", "redis", Staged(overlap_ms=1.0), durability="none")
    kept = records.run(records.plan("restart", "redis", 2, durability="always"), Staged())
    failover = runs("failover", "redis", Staged({"replicated": False}, overlap_ms=9.0), Staged({"replicated": True}))
    assert judge("C44", lost, kept, failover).verdict is HOLDS
    assert judge("C44", lost, kept).verdict is CONDITION
    assert judge("C44", kept).verdict is FAILS
    promoted = judge("C60", failover)
    assert promoted.verdict is HOLDS
    assert "failover after replication: two holders in 0 of 1" in promoted.why
    assert judge("C60", runs("failover", "redis", Staged({"replicated": False}))).verdict is FAILS


def test_strong_consistency_means_that_the_lock_outlives_its_leader() -> None:
    held = Staged({"replicated": True}, {"granted": 0.0})
    assert judge("C45", runs("failover", "zookeeper", held, held)).verdict is HOLDS
    stolen = Staged({"replicated": True}, {"granted": 1.0}, overlap_ms=9.0)
    assert judge("C46", runs("failover", "etcd", held, stolen)).verdict is FAILS
    stalled = runs("stalled-leader", "etcd", Staged(overlap_ms=900.0))
    assert judge("C46", runs("failover", "etcd", held), stalled).verdict is FAILS


def test_a_row_lock_stands_in_for_an_advisory_one_and_says_so() -> None:
    row = runs("restart", "postgres-row", Staged(), durability="own")
    got = judge("C47", row)
    assert (got.verdict, got.system) == (CONDITION, "postgres-row")
    own = runs("restart", "postgres-advisory", Staged(), durability="own")
    got = judge("C47", row, own)
    assert (got.verdict, got.system) == (HOLDS, "postgres-advisory")
    broken = runs("restart", "postgres-advisory", Staged(overlap_ms=900.0), durability="own")
    assert judge("C47", broken).verdict is FAILS
    gone = judge("C47", runs("restart", "postgres-advisory", Staged(measures={"still_held": 0.0}), durability="own"))
    assert gone.verdict is CONDITION, "nobody else held it, and yet it ended with its server"
    assert "the lock survived 0 of 1 trials" in gone.why


# -- endings and resources -----------------------------------------------------------------------------------------


def test_recovery_is_judged_by_one_yardstick_for_all_systems() -> None:
    def six(system: str, *excess_ms: float) -> list[HazardRun]:
        return records.often("crash-recovery", system, *(crash(1000.0 + one) for one in excess_ms))

    worse = [*six("zookeeper", 20.0)[:3], *six("zookeeper", 160.0)[3:]]
    got = by_system(
        "C67",
        *six("redis", 3.0, -1.0),
        *six("dynamodb", 22.0, 24.0, 176.0),
        *worse,
        *six("etcd", 292.0, 457.0),
        *six("redlock", 3.0, -1001.0),
        *six("postgres-row", -997.0),
    )
    assert {system: one.verdict for system, one in got.items()} == {
        "redis": HOLDS,
        "redlock": FAILS,
        "zookeeper": Verdict.CANNOT_SAY,
        "etcd": FAILS,
        "postgres-row": HOLDS,
        "dynamodb": CONDITION,
    }
    assert "on an emulator" in got["dynamodb"].why, "one crash of eighteen decides nothing"
    assert "range from 20 to 160 ms" in got["zookeeper"].why
    assert "by up to 1,750 ms here" in got["etcd"].why, "an allowance explains, and excuses nothing"
    assert "nobody got the lock in 6 of 12" in got["redlock"].why
    assert "no TTL" in got["postgres-row"].why


def test_one_run_of_crashes_decides_nothing() -> None:
    (got,) = by_system("C67", runs("crash-recovery", "redis", *[crash(1003.0)] * 100)).values()
    assert got.verdict is Verdict.CANNOT_SAY
    assert "1 of 6 runs" in got.why
    assert "p95 +3 ms (100 crashes)" in got.why


def test_what_a_default_ttl_costs_after_a_crash() -> None:
    sane = judge("C34", runs("crash-recovery", "redis", crash(1003.0), crash(2000.0, 2000)))
    assert sane.verdict is CONDITION
    assert "about 30 s" in sane.why


@pytest.mark.parametrize(
    ("checked", "plain", "verdict"),
    [(0.0, 1.0, HOLDS), (1.0, 1.0, FAILS), (0.0, 0.0, FAILS), (0.0, None, CONDITION)],
)
def test_compare_and_delete_against_a_plain_delete(checked: float, plain: float | None, verdict: Verdict) -> None:
    def released(stolen: float) -> Staged:
        return Staged(measures={"stolen": stolen}, faults=(window(),))

    found = [runs("late-release", "redis", released(checked))]
    if plain is not None:
        found.append(runs("late-release", "redis-plain-delete", released(plain)))
    assert judge("C68", *found).verdict is verdict


def test_a_late_write_in_the_locks_own_transaction() -> None:
    pinned = Staged({"idle_timeout": "off"}, {"late_write_accepted": 1.0, "pinned_ms": 1800.0}, faults=(window(),))
    ended = Staged(
        {"idle_timeout": "on"}, {"late_write_accepted": 0.0, "pinned_ms": 601.0}, overlap_ms=9.0, unanswered=1
    )
    got = judge("C56", runs("idle-in-transaction", "postgres-row", pinned, ended))
    assert got.verdict is HOLDS
    assert "idle timeout off: the write went through in 1 of 1, never after the next grant" in got.why
    slipped = Staged({"idle_timeout": "on"}, {"late_write_accepted": 1.0}, overlap_ms=9.0, accepted=1)
    assert judge("C56", runs("idle-in-transaction", "postgres-row", pinned, slipped)).verdict is FAILS


def test_every_kind_of_resource_checks_the_fence() -> None:
    def kind(name: str, number: int, *trials: Staged) -> HazardRun:
        return records.run(records.plan("resources", "redis", number, resource=name), *trials)

    refused, accepted = Staged({"fence": True}, refused=1), Staged({"fence": False}, accepted=1)
    assert judge("C57", kind("file", 1, refused, accepted), kind("etcd-txn", 2, refused)).verdict is HOLDS
    emulated = judge("C57", kind("s3-object", 1, refused))
    assert emulated.verdict is CONDITION
    assert "emulator" in emulated.why
    assert judge("C57", kind("file", 1, Staged({"fence": True}, accepted=1))).verdict is FAILS
    assert judge("C57", kind("file", 1, accepted)).verdict is CONDITION


# -- all of them together ------------------------------------------------------------------------------------------


def everything() -> list[HazardRun]:
    return [
        runs("gc-pause", "redis", two_holders(False), two_holders(True)),
        runs("redlock-clock", "redlock", jump(14.0, True)),
        runs("late-release", "redis", Staged(measures={"stolen": 0.0})),
    ]


def test_judgements_of_load_and_hazards_are_one_list_in_claim_order() -> None:
    claims = list(CLAIMS.values())
    before = adjudicate(claims, [])
    after = adjudicate(claims, [], records.evidence(*everything()))
    assert [one.claim.id for one in before] == list(CLAIMS)
    assert list(dict.fromkeys(one.claim.id for one in after)) == list(CLAIMS)
    unlike = {one.claim.id for one in after} - {one.claim.id for one in before if one in after}
    assert unlike <= set(judges()), "a claim about speed is judged as before"
    frame = verdict_frame(after)
    assert "found" not in verdict_frame(before).columns, "without a hazard campaign no column is added"
    redis = frame[frame["id"] == "C19"].iloc[0]
    assert redis.verdict == "holds here with a condition"
    assert redis.evidence_runs == "gc-pause-redis-01"
    assert redis.found.startswith("accepted 1 of 1")


def test_a_claim_that_no_judge_knows_is_left_to_the_others() -> None:
    claim = Claim("C99", "page.txt", "redis", "colour", None, None, "", "red", "look")
    assert judge_by_hazards(claim, records.evidence()) == ()


def test_a_report_shows_them_beside_the_claims_about_speed(synthetic: Path, tmp_path: Path) -> None:
    plan = records.plan("gc-pause", "redis", fence=False)
    folder = records.start(tmp_path, plan)
    records.add_run(folder, plan, two_holders(False), two_holders(True))
    loaded = Evidence.load(CampaignFolder(synthetic), hazards=folder)
    rows = {row.id: row for row in verdict_rows(loaded)}
    assert rows["C19"].claimed == "not safe under GC pauses"
    assert rows["C19"].measured.startswith("accepted 1 of 1 without the fence")
    assert rows["C19"].evidence == "gc-pause-redis-01"
    assert rows["C01"].measured
    assert "C19" not in untested(loaded)
    assert "C20" in untested(loaded)
    plain = Evidence.load(CampaignFolder(synthetic))
    assert plain.hazards is None
    assert [row for row in verdict_rows(loaded) if row.id not in judges()] == list(verdict_rows(plain))
