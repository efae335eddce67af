"""The order of the measurements: sides of a comparison next to each other, turned around in every second repetition."""

from pathlib import Path
from typing import Any, cast

from bench.calibrate.comparison import COST_MS, WANTED
from bench.calibrate.rounds import Rounds
from bench.servers.running.supervisor import Supervisor


class _NoTool:
    """Stands for a native tool that is never run here."""

    def make_rows(self, clients: int) -> None:
        self.rows = clients


def steps(folder: Path, pairs: int) -> list[str]:
    """What would be measured, in order."""
    tool = cast(Any, _NoTool())
    return [step.words for step in Rounds(Supervisor(folder), tool, tool).steps(pairs)]


def test_every_comparison_is_turned_around(tmp_path: Path) -> None:
    both = steps(tmp_path, 2)
    first, second = both[: len(both) // 2], both[len(both) // 2 :]
    assert sorted(first) == sorted(second)
    for native, ours in (
        ("redis-benchmark, 16 clients", "Locust on redis, 16 clients"),
        ("redis-benchmark, one client", "Locust on redis, one client"),
        ("redis-benchmark, the lock's scripts", "Locust on redis, the lock itself, 16 clients"),
        ("pgbench, 16 clients", "Locust on postgres-row, 16 clients"),
        ("pgbench, one client", "Locust on postgres-row, one client"),
    ):
        assert first.index(native) < first.index(ours)
        assert second.index(native) > second.index(ours)
        assert abs(first.index(native) - first.index(ours)) == 1


def test_every_system_has_its_cost_measured(tmp_path: Path) -> None:
    # postgres-row is measured on the way, by the comparison with one client.
    costs = {words.removeprefix("client CPU of ") for words in steps(tmp_path, 1) if words.startswith("client CPU of ")}
    assert costs | {"postgres-row"} == set(COST_MS)


def test_names_of_lines_are_unique() -> None:
    names = [wanted.name for wanted in WANTED]
    assert len(names) == len(set(names))
