"""A made-up session becomes a campaign whose numbers are those of its rows; what is missing of one is said."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.analysis.evidence import Evidence
from bench.analysis.notes import CHECKS
from bench.campaign.carrying_out import what_is_left
from bench.campaign.live.kept import Fault, Session, keep
from bench.campaign.live.looks import look
from bench.campaign.live.network import Crossed
from bench.campaign.live.received import NotKept, Received
from bench.campaign.same_experiment import CannotResume
from bench.records.hazards import FaultWindow
from bench.records.histogram import LatencyHistogram
from bench.records.schema import Check, JobsDone, NetworkMeasured, RoundTrips
from bench.records.store import CampaignFolder, RunFolder, Store
from bench.report.documents.comparison import comparison_document
from bench.report.writers.markdown import markdown
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import Outcome
from tests.campaign.live.sessions import NS, OPENS_NS, Process, begin
from tests.campaign.live.test_console import Row, fair, held, refused
from tests.campaigns import environment

NAME = "live-20260101T000000Z"
_STEP_NS = 2_500_000  # of `fair`: hold and hand-off


def second_of(number: int, grants: int = 400, client: int = 0) -> list[Row]:
    """A fair queue of four clients in one second of the session: 400 grants fill it."""
    at_ns = OPENS_NS + number * NS
    rows = fair(clients=4, grants=grants)
    return [(row[0] + client, row[1], *(instant + at_ns for instant in row[2:7]), *row[7:]) for row in rows]


def kept(
    tmp_path: Path,
    received: Received,
    faults: Sequence[Fault] = (),
    crossed: Crossed | None = None,
    jobs: JobsDone | None = None,
) -> CampaignFolder:
    received.seal()
    supervisor = Supervisor(tmp_path / "home")
    before, after = (look(received.systems, lambda _: supervisor, when) for when in ("before", "after"))
    try:
        return keep(
            Session(received, before, after, faults, crossed, jobs), NAME, Store(tmp_path / "runs"), environment()
        )
    finally:
        received.close()


def session(tmp_path: Path, seconds: int = 3, **does: object) -> Received:
    received, process = Received(begin(**does), tmp_path), Process()
    for number in range(seconds):
        received.add(*process.second({"memory": second_of(number)}, stopped=number == seconds - 1))
    return received


def only_run(folder: CampaignFolder) -> RunFolder:
    (run,) = folder.runs()
    return run


def checks_of(run: RunFolder) -> Mapping[str, Check]:
    return {check.name: check for check in run.checked.checks}


def test_its_numbers_are_those_of_its_rows(tmp_path: Path) -> None:
    run = only_run(kept(tmp_path, session(tmp_path)))
    measured, checks = run.measured, checks_of(run)
    assert pq.read_table(run.events_path).num_rows == 1_200
    assert measured.counts["acquire/acquired"] == measured.counts["release/released"] == 1_200
    assert LatencyHistogram.decode(measured.histograms["acquire/acquired"]).total == 1_200
    assert measured.locust_requests == 1_200
    assert measured.window_ns == (OPENS_NS, OPENS_NS + 3 * NS)
    assert measured.window_s == run.plan.workload.measure_s == 3.0
    assert measured.generator_cpu_s == pytest.approx(0.3)
    assert (run.plan.workload.clients, run.plan.workload.keys, run.plan.workload.wait) == (4, 1, "block")
    assert run.checked.from_events["hand_off_us_p50"] == 500
    assert all(checks[name].passed for name in ("counts_agree", "locust_agrees", "mutual_exclusion", "littles_law"))
    assert not run.checked.void, [check for check in run.checked.checks if not check.passed]


def test_what_began_before_the_window_is_kept_apart(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path), Process()
    earlier = held(3, OPENS_NS - NS // 10, OPENS_NS - NS // 100)
    received.add(*process.second({"memory": second_of(0)}, around=[earlier]))
    for number in (1, 2):
        received.add(*process.second({"memory": second_of(number)}, stopped=number == 2))
    run = only_run(kept(tmp_path, received))
    assert run.measured.counts["acquire/acquired"] == 1_200
    assert pq.read_table(run.around_path).num_rows == 1


def test_it_is_never_taken_for_a_planned_run(tmp_path: Path) -> None:
    folder = kept(tmp_path, session(tmp_path))
    assert folder.campaign.mode == "live"
    run = only_run(folder)
    assert not checks_of(run)["live_session"].passed
    assert run.plan.workload.label == "live contended, 4 clients, hold 2 ms"
    page = markdown(comparison_document(Evidence.load(folder)))
    assert "live contended, 4 clients" in page
    assert CHECKS["live_session"][1] in page
    assert not (folder.path.parent / "latest").exists(), "that is the last planned campaign"
    with pytest.raises(CannotResume, match="live session"):
        what_is_left(folder)


def test_what_a_form_has_and_the_workload_has_not_is_left_out(tmp_path: Path) -> None:
    workload = only_run(kept(tmp_path, session(tmp_path))).plan.workload
    assert (workload.rate_per_s, workload.zipf_exponent) == (0.0, 0.0)


def test_systems_side_by_side_have_a_run_each(tmp_path: Path) -> None:
    names = ("memory", "null")
    received, process = Received(begin(names), tmp_path), Process(systems=names)
    for number in range(3):
        rows = {"memory": second_of(number), "null": second_of(number, grants=100)}
        received.add(*process.second(rows, stopped=number == 2))
    runs = {run.plan.system: run for run in kept(tmp_path, received).runs()}
    counts = {name: run.measured.counts["acquire/acquired"] for name, run in runs.items()}
    assert counts == {"memory": 1_200, "null": 300}
    assert {name: run.measured.live.beside for name, run in runs.items() if run.measured.live} == {
        "memory": ("null",),
        "null": ("memory",),
    }
    assert all(checks_of(run)["counts_agree"].passed for run in runs.values())


def test_operations_that_were_lost_on_their_way_are_seen(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path), Process()
    received.add(*process.second({"memory": second_of(0)}))
    process.second({"memory": second_of(1)})  # counted, and never sent
    received.add(*process.second({"memory": second_of(2)}, stopped=True))
    run = only_run(kept(tmp_path, received))
    assert not checks_of(run)["counts_agree"].passed
    assert run.checked.void


def test_a_lost_worker_costs_what_it_had_not_reported(tmp_path: Path) -> None:
    received = Received(begin(nodes=("a", "b", "c")), tmp_path)
    one, other = Process("a"), Process("b")
    received.add(*one.second({"memory": second_of(0)}))
    received.add(*other.second({"memory": second_of(0, client=10)}))  # and then it is gone; c said nothing at all
    for number in (1, 2):
        received.add(*one.second({"memory": second_of(number)}, stopped=number == 2))
    assert not received.over.is_set()
    run = only_run(kept(tmp_path, received))
    measured, checks = run.measured, checks_of(run)
    assert measured.counts["acquire/acquired"] == 1_600
    assert measured.live is not None
    assert measured.live.processes_lost == 2
    assert not checks["live_whole"].passed
    assert checks["counts_agree"].passed
    assert run.plan.workload.clients == 8
    assert "2 load processes never reported their end" in run.log_path.read_text()


def test_the_most_clients_count_where_they_changed(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path), Process()
    for number, clients in enumerate((4, 16, 8)):
        received.add(*process.second({"memory": second_of(number)}, number == 2, clients, asked_clients=clients))
    run = only_run(kept(tmp_path, received))
    assert run.plan.workload.clients == 16
    assert not checks_of(run)["live_clients"].passed
    assert checks_of(run)["littles_law"].passed, "clients that were not there all the time are nobody's loss"


def test_clients_that_start_one_by_one_are_no_change(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path), Process()
    for number, clients in enumerate((1, 2, 4)):
        received.add(*process.second({"memory": second_of(number)}, number == 2, clients, asked_clients=4))
    assert checks_of(only_run(kept(tmp_path, received)))["live_clients"].passed


@pytest.mark.parametrize(
    ("rows", "seconds", "why"),
    [(400, 1, "shorter than 2 s"), (0, 4, "no operation")],
)
def test_nothing_is_kept_of_nothing(tmp_path: Path, rows: int, seconds: int, why: str) -> None:
    received, process = Received(begin(), tmp_path), Process()
    for number in range(seconds):
        received.add(*process.second({"memory": second_of(number, rows)}, stopped=number == seconds - 1))
    with pytest.raises(NotKept, match=why):
        kept(tmp_path, received)
    assert not (tmp_path / "runs").exists()


def test_a_test_that_never_left_its_warm_up_is_not_kept(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path), Process()
    for number in range(3):
        received.add(*process.second({}, stopped=number == 2, opens_ns=(1 << 63) - 1))
    with pytest.raises(NotKept, match="shorter than 2 s"):
        kept(tmp_path, received)


def test_clocks_of_other_machines_are_not_mixed(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path), Process()
    for number in range(3):
        received.add(*process.second({"memory": second_of(number)}, clock="another"))
    with pytest.raises(NotKept, match="several machines"):
        kept(tmp_path, received)


def test_a_session_without_bounds_is_kept_up_to_one(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path, rows_at_most=1_000), Process()
    for number in range(6):
        received.add(*process.second({"memory": second_of(number)}))
        assert received._rows_left >= 0
    assert received.over.is_set(), "nobody waits for more"
    run = only_run(kept(tmp_path, received))
    measured, checks = run.measured, checks_of(run)
    assert measured.counts["acquire/acquired"] == 800
    assert measured.window_s == 2.0
    assert measured.live is not None
    assert measured.live.cut_off
    assert checks["counts_agree"].passed
    assert checks["locust_agrees"].passed
    assert not checks["live_whole"].passed


def test_rows_lie_in_files_that_end_with_the_process(tmp_path: Path) -> None:
    received = session(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert received.has_rows("memory")
    received.close()


def test_a_disk_that_takes_no_more_costs_only_what_comes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    received, process = Received(begin(), tmp_path), Process()
    for number in range(2):
        received.add(*process.second({"memory": second_of(number)}))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("bench.campaign.live.received._write", full)
        received.add(*process.second({"memory": second_of(2)}))
    run = only_run(kept(tmp_path, received))
    assert run.measured.counts["acquire/acquired"] == 800
    assert checks_of(run)["counts_agree"].passed
    assert "No space left" in run.log_path.read_text()


def test_other_outcomes_are_kept_as_they_are(tmp_path: Path) -> None:
    received, process = Received(begin(), tmp_path), Process()
    for number in range(3):
        slow = [refused(9, OPENS_NS + number * NS, Outcome.TIMEOUT)]
        received.add(*process.second({"memory": [*second_of(number), *slow]}, stopped=number == 2))
    run = only_run(kept(tmp_path, received))
    assert run.measured.counts["acquire/timeout"] == 3
    assert checks_of(run)["counts_agree"].passed


def test_faults_are_those_of_the_systems_that_they_struck(tmp_path: Path) -> None:
    names = ("memory", "null")
    received, process = Received(begin(names), tmp_path), Process(systems=names)
    for number in range(3):
        rows = {name: second_of(number) for name in names}
        received.add(*process.second(rows, stopped=number == 2))
    began_ns = OPENS_NS + NS
    window = FaultWindow(kind="pause", target="node 1", began_ns=began_ns, ended_ns=began_ns + NS // 2, confirmed="T")
    runs = {run.plan.system: run for run in kept(tmp_path, received, [Fault(window, frozenset({"null"}))]).runs()}
    assert runs["memory"].measured.faults == ()
    (struck,) = runs["null"].measured.faults
    assert (struck.kind, struck.began_ns, struck.window_opens_ns) == ("pause", began_ns, OPENS_NS)
    assert runs["null"].checked.over_time is not None


def test_what_another_session_reports_late_is_not_mixed_in(tmp_path: Path) -> None:
    received, process = session(tmp_path), Process("late")
    received.add(*process.second({"memory": second_of(0)}, session=2))
    assert only_run(kept(tmp_path, received)).measured.counts["acquire/acquired"] == 1_200


def test_the_record_can_be_read_again_as_text(tmp_path: Path) -> None:
    run = only_run(kept(tmp_path, session(tmp_path)))
    assert json.loads(run.text("measured"))["live"]["processes_lost"] == 0


def trip(us: float) -> RoundTrips:
    return RoundTrips(us_p25=us, us_p50=us, us_p75=us, samples=100)


def crossed(*lines_us: float) -> Crossed:
    """A line for each of these round trips; the targets are numbered."""
    sides = tuple(map(trip, lines_us))
    measured = NetworkMeasured(
        asked="rtt=2ms",
        placement="not pinned",
        added_us_asked=2_000.0,
        direct=trip(20.0),
        undelayed=trip(60.0),
        before=sides,
        after=sides,
        messages=1_000,
        messages_per_s=300.0,
        messages_per_s_at_most=20_000.0,
        busy_share=0.01,
        late_us_p50_alone=10.0,
        late_us_p50=10.0,
        late_us_p99=50.0,
    )
    return Crossed([("127.0.0.1", number) for number in range(len(lines_us))], measured)


def test_its_network_is_in_its_record_as_it_was_measured(tmp_path: Path) -> None:
    received, process = Received({**begin(), "network": "rtt=2ms"}, tmp_path), Process()
    for number in range(3):
        received.add(*process.second({"memory": second_of(number)}, stopped=number == 2))
    run = only_run(kept(tmp_path, received, crossed=crossed(2_030.0)))
    assert run.plan.workload.network == "rtt=2ms"
    assert run.plan.workload.label == "live contended, 4 clients, hold 2 ms, network rtt=2ms"
    assert run.measured.network is not None
    assert run.measured.network.rtt_us == 2_030.0
    assert checks_of(run)["network_delay"].passed
    assert checks_of(run)["network_lines"].passed


def test_a_network_that_was_not_measured_voids_the_run(tmp_path: Path) -> None:
    received, process = Received({**begin(), "network": "rtt=2ms"}, tmp_path), Process()
    for number in range(3):
        received.add(*process.second({"memory": second_of(number)}, stopped=number == 2))
    run = only_run(kept(tmp_path, received))
    assert run.measured.network is None
    assert run.checked.void


def test_of_several_systems_each_has_the_lines_to_its_own_servers() -> None:
    found = crossed(2_000.0, 2_100.0, 2_200.0)
    assert found.of([("127.0.0.1", 1)]).rtt_us == 2_100.0
    assert len(found.of([("127.0.0.1", 0), ("127.0.0.1", 2)]).before) == 2
