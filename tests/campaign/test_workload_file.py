"""A workload file: cells under the user's names, and every mistake with its line in one message."""

from pathlib import Path

import pytest

from bench.campaign.asked import BadWorkload
from bench.campaign.load_plans import plan_runs
from bench.campaign.modes import QUICK, choose_systems
from bench.campaign.workload_file import WorkloadFile, read_workload_file

EXAMPLE = Path(__file__).parents[2] / "docs/workload.yaml"


def read(folder: Path, text: str, systems: tuple[str, ...] = ("memory",)) -> WorkloadFile:
    path = folder / "w.yaml"
    path.write_text(text, encoding="utf-8")
    return read_workload_file(path, QUICK, choose_systems(systems))


def test_the_example_in_docs_holds_cells_under_its_names() -> None:
    found = read_workload_file(EXAMPLE, QUICK)
    assert [entry.name for entry in found.systems] == ["redis"]
    assert found.repetitions == 2
    runs = plan_runs("c", found.systems, found.cells, QUICK, found.repetitions, 1)
    assert {run.workload.label for run in runs} == {"checkout, 4 clients", "checkout, 16 clients", "nightly import"}
    assert {run.run_id for run in runs} >= {"redis-checkout-16-clients-02", "redis-nightly-import-01"}
    (one,) = (run.workload for run in runs if run.run_id == "redis-nightly-import-01")
    assert (one.name, one.rate_per_s, one.arrivals, one.measure_s) == ("rate", 100.0, "uniform", 2.0)


def test_a_name_stays_where_the_parameters_are_the_modes_own(tmp_path: Path) -> None:
    found = read(tmp_path, "mine: {workload: contended}\n")
    (cell,) = (one.on(found.systems[0], QUICK) for one in found.cells)
    assert cell.title == "mine"


def test_systems_and_repetitions_are_optional_and_the_command_lines_systems_come_first(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("systems: etcd\nmine: {workload: uncontended, hold: 5ms}\n")
    assert [entry.name for entry in read_workload_file(path, QUICK).systems] == ["etcd"]
    assert [entry.name for entry in read_workload_file(path, QUICK, choose_systems(["null"])).systems] == ["null"]
    path.write_text("mine: {workload: uncontended}\n")
    assert read_workload_file(path, QUICK).systems == choose_systems(["all"])
    assert read_workload_file(path, QUICK).repetitions is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no workload in it; see docs/workload.yaml"),
        ("systems: [redis]\n", "there is no workload in it"),
        ("- a\n", "line 1: write `name: value` lines here"),
        ("a: [1\n", "line 2: this is no YAML: "),
        ("a: \x00\n", "this is no YAML: "),
        ("a:\n", "line 1, a: write `name: value` lines here"),
        ("a: contended\n", "line 1, a: write `name: value` lines here"),
        ("a: {clients: 4}\n", "line 1, a, workload: choose one of uncontended, contended, saturation, rate, hot-cold"),
        ("a: {workload: fast}\n", "line 1, a, workload: choose one of uncontended"),
        ("a:\n  workload: contended\n  hold: 10\n", "line 3, a, hold: 10 has no unit: write 10ms, 10s or 10min"),
        ("a: {workload: contended, holds: 1ms}\n", "line 1, a, holds: there is no such parameter; there are clients,"),
        (
            "a: {workload: contended, rate: 5}\n",
            "line 1, a, rate: only for the workloads rate, contended-rate",
        ),
        ("a: {workload: contended, clients: []}\n", "line 1, a, clients: write one value, or a list of values"),
        ("a: {workload: contended, clients: [[4]]}\n", "line 1, a, clients: write one value, or a list of values"),
        ("a: {workload: contended, clients: yes}\n", "line 1, a, clients: 'yes' is not a whole number"),
        ("a: {workload: contended, clients: 1_0}\n", "line 1, a, clients: '1_0' is not a whole number"),
        ("a: {workload: contended, keys: 0}\n", "line 1, a, keys: clients of contended share keys"),
        ("a: {workload: contended, wait: watch}\n", "line 1, a, wait: memory cannot wait by watch"),
        ("a: {workload: rate}\na: {workload: rate}\n", "line 2, a: stands here a second time"),
        ("a: {workload: rate, hold: 1ms, hold: 2ms}\n", "line 1, a, hold: stands here a second time"),
        ("a: {workload: rate}\n'a': {workload: rate}\n", "line 2, a: stands here a second time"),
        ("systems: redis\na: {workload: rate}\nsystems: etcd\n", "line 3, systems: stands here a second time"),
        ("a: &a {workload: rate}\nb: {<<: *a, hold: 1ms}\n", "line 2, b: `<<` is not supported: write the parameters"),
        ("a: &a {workload: rate}\nb: {<<: [*a, *a]}\n", "line 2, b: `<<` is not supported"),
        ("<<: {a: {workload: rate}}\nb: {workload: rate}\n", "line 1: `<<` is not supported"),
        ("rate: {workload: rate}\n", "line 1, rate: this is the name of a workload"),
        ("Contended: {workload: contended}\n", "line 1, Contended: this is the name of a workload"),
        ("HOT-cold: {workload: contended}\n", "line 1, HOT-cold: this is the name of a workload"),
        ("all: {workload: contended}\n", "line 1, all: this means every workload: give the cell a name of its own"),
        ("All: {workload: contended}\n", "line 1, All: this means every workload"),
        ("'№': {workload: rate}\n", "a name is printable, and has a letter or a digit"),
        ("'=1+1': {workload: rate}\n", "a spreadsheet would take what begins with = for a formula"),
        (f"{'x' * 61}: {{workload: rate}}\n", "a name has at most 60 characters"),
        ("systems: [mongo]\na: {workload: rate}\n", "line 1, systems: no system 'mongo': choose from redis"),
        ("repetitions: 0\na: {workload: rate}\n", "line 1, repetitions: 0 is outside 1..1000"),
        ("repetitions: [2]\na: {workload: rate}\n", "line 1, repetitions: write one number"),
        ("a: {workload: contended, clients: &x [*x]}\n", "write one value, or a list of values"),
        ("# " + "x" * 70_000, "larger than 64 KiB: is this a workload file?"),
    ],
)
def test_each_mistake_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadWorkload) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(f"{tmp_path / 'w.yaml'}: ")
    assert told in str(refused.value)


def test_all_mistakes_are_in_one_message(tmp_path: Path) -> None:
    text = "systems: [mongo]\na:\n  workload: contended\n  hold: 10\n  ttl: soon\nb:\n  workload: rate\n  zipf: 1\n"
    with pytest.raises(BadWorkload) as refused:
        read(tmp_path, text)
    places = ("line 1, systems: ", "line 4, a, hold: ", "line 5, a, ttl: ", "line 8, b, zipf: ")
    assert all(place in str(refused.value) for place in places)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: \xc3"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(content)
    with pytest.raises(BadWorkload, match="this is no YAML"):
        read_workload_file(path, QUICK)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadWorkload, match="No such file"):
        read_workload_file(tmp_path / "w.yaml", QUICK)
