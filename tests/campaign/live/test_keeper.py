"""Who keeps: what is told of a session, when it is written, and what the page and the terminal hear of it."""

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.campaign.live import keeper as keeping
from bench.campaign.live.keeper import Keeper
from bench.load.channel import Channel, Message
from bench.records.hazards import FaultWindow
from bench.records.live_seconds import COLUMNS, read_seconds
from bench.records.store import CampaignFolder, Store
from bench.servers.running.supervisor import Supervisor
from tests.campaign.live.sessions import NS, OPENS_NS, Process, begin
from tests.campaign.live.test_keep import second_of
from tests.campaigns import environment

END = Message("end", {}, b"")
FACTS = {"pairs_per_s": 400.0, "acquire_us_p50": 7_500.0, "double_holds": 0, "failed": 0}


def moment(at_s: float, *systems: str) -> dict[str, object]:
    of_all = {"holders": 1, "waiters": 3, "generator_cpu_share": 0.1, "machine_cpu_share": 0.4}
    return {"at_s": at_s, "systems": dict.fromkeys(systems, FACTS), **of_all}


class Desk:
    """A keeper, with what it says, and the other end of its page's channel."""

    def __init__(self, root: Path) -> None:
        self.said: list[str] = []
        self.store = Store(root / "runs")
        ours, theirs = socket.socketpair()
        self.page = Channel(theirs)
        self.ours = Channel(ours)
        supervisor = Supervisor(root / "home")
        self.keeper = Keeper(lambda _: supervisor, self.store, environment(), self.said.append, self.draw)
        self.keeper.serve(self.ours)

    def draw(self, folder: CampaignFolder) -> Mapping[str, bytes]:
        return {"svg": b"<svg/>", "png": folder.path.name.encode()}

    def kept(self) -> Mapping[str, object]:
        assert self.page.readable(10)
        message = self.page.receive()
        assert message is not None
        assert message.kind == "kept"
        return message.content

    def play(self, process: Process, seconds: int = 3, systems: tuple[str, ...] = ("memory",)) -> None:
        self.keeper.take(Message("begin", begin(systems, [process.node]), b""))
        for number in range(seconds):
            rows = {name: second_of(number) for name in systems}
            self.keeper.take(Message("second", *process.second(rows, stopped=number == seconds - 1)))
            self.keeper.show(moment(number + 1.0, *systems))

    def campaigns(self) -> list[CampaignFolder]:
        return [self.store.open(CampaignFolder, name) for name in sorted(self.store.names(CampaignFolder))]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.keeper.close()
    made.ours.close()
    made.page.close()


def test_a_session_that_ended_is_kept_and_the_page_hears_of_it(desk: Desk) -> None:
    desk.play(Process())
    desk.keeper.take(END)
    content = desk.kept()
    (folder,) = desk.campaigns()
    name = folder.path.name
    assert content["campaign"] == name
    assert desk.said == [f"kept as {name}: lockbench report --campaign {name}"]
    files = content["files"]
    assert isinstance(files, dict)
    assert Path(files["png"]).read_text() == name
    lines = list(read_seconds(Path(files["csv"])))
    assert [line["at_s"] for line in lines] == ["1.0", "2.0", "3.0"]
    assert set(lines[0]) == set(COLUMNS)
    assert (lines[0]["acquire_us_p50"], lines[0]["acquire_us_p99"]) == ("7500.0", "")
    assert pq.read_table(files["parquet"]).num_rows == 1_200


def test_the_operations_of_several_systems_say_whose_they_are(desk: Desk) -> None:
    names = ("memory", "null")
    desk.play(Process(systems=names), systems=names)
    desk.keeper.take(END)
    files = desk.kept()["files"]
    assert isinstance(files, dict)
    table = pq.read_table(files["parquet"])
    assert table.num_rows == 2_400
    assert table["system"].value_counts().to_pylist() == [{"values": name, "counts": 1_200} for name in names]


def test_what_a_worker_reports_after_the_end_still_belongs_to_the_session(desk: Desk) -> None:
    one, other = Process("a"), Process("b")
    desk.keeper.take(Message("begin", begin(nodes=("a", "b")), b""))
    for number in range(3):
        desk.keeper.take(Message("second", *one.second({"memory": second_of(number)}, stopped=number == 2)))
    desk.keeper.take(END)
    for number in range(3):
        rows = {"memory": second_of(number, client=10)}
        desk.keeper.take(Message("second", *other.second(rows, stopped=number == 2)))
    desk.kept()
    (folder,) = desk.campaigns()
    (run,) = folder.runs()
    assert run.measured.counts["acquire/acquired"] == 2_400
    assert run.measured.live is not None
    assert run.measured.live.processes_lost == 0


def test_nobody_waits_for_ever_for_a_worker_that_is_gone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_LAST_REPORTS_S", 0.1)
    process = Process("a")
    desk.keeper.take(Message("begin", begin(nodes=("a", "gone")), b""))
    for number in range(3):
        desk.keeper.take(Message("second", *process.second({"memory": second_of(number)}, stopped=number == 2)))
    desk.keeper.take(END)
    desk.kept()
    assert len(desk.campaigns()) == 1


def test_a_page_that_goes_in_the_middle_of_a_test_costs_nothing_that_was_received(desk: Desk) -> None:
    process = Process()
    desk.keeper.take(Message("begin", begin(), b""))
    for number in range(3):
        desk.keeper.take(Message("second", *process.second({"memory": second_of(number)})))
    desk.keeper.close()
    (folder,) = desk.campaigns()
    (run,) = folder.runs()
    assert run.measured.counts["acquire/acquired"] == 1_200
    assert run.measured.live is not None
    assert run.measured.live.processes_lost == 1
    assert not (folder.path / "live" / "session.svg").exists(), "nobody is left to look at it"


def test_the_end_alone_and_a_second_end_keep_nothing_more(desk: Desk) -> None:
    desk.keeper.take(END)
    desk.play(Process())
    for _ in range(3):
        desk.keeper.take(END)
    desk.kept()
    desk.keeper.close()
    assert len(desk.campaigns()) == 1


def test_a_session_of_a_moment_is_not_kept_and_that_is_said(desk: Desk) -> None:
    desk.play(Process(), seconds=1)
    desk.keeper.take(END)
    desk.keeper.close()
    assert desk.campaigns() == []
    assert desk.said == ["the test was not kept: it was shorter than 2 s after its warm-up"]


def test_of_a_fault_that_is_added_twice_the_last_word_counts(desk: Desk) -> None:
    began = FaultWindow(kind="kill", target="node 1", began_ns=OPENS_NS + NS, ended_ns=None, confirmed="gone")
    desk.keeper.add_fault(began)  # no session runs
    desk.play(Process())
    desk.keeper.add_fault(began)
    desk.keeper.add_fault(began.model_copy(update={"ended_ns": OPENS_NS + 2 * NS}), {"memory"})
    desk.keeper.take(END)
    desk.kept()
    (folder,) = desk.campaigns()
    (run,) = folder.runs()
    assert [fault.ended_ns for fault in run.measured.faults] == [OPENS_NS + 2 * NS]


def test_a_folder_that_cannot_be_written_ends_no_session(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("in the way")
    desk = Desk(tmp_path)
    desk.play(Process())
    desk.keeper.take(END)
    desk.keeper.close()
    assert "will not be kept" in desk.said[0]
    assert len(desk.said) == 1
