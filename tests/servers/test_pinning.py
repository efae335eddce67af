"""Generator and servers on processors of their own, as far as there are any."""

import os
import subprocess
import sys

import pytest

from bench.servers.running.pinning import NOT_OURS, NOT_PINNED, pin, place, places

# A thread and a child, and then as long as somebody holds its standard input.
_FAMILY = """
import subprocess, sys, threading
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
threading.Thread(target=sys.stdin.read).start()
print(child.pid, flush=True)
"""


@pytest.mark.parametrize(
    ("processors", "processes", "nodes", "generator", "servers"),
    [
        ({0, 1}, 1, 1, "0", "1"),
        ({4, 2, 7, 5}, 1, 3, "2", "4,5,7"),
        ({0, 1, 2, 3}, 2, 2, "0,1", "2,3"),
        ({0, 1}, 4, 0, "0", "1"),
    ],
)
def test_the_generator_gets_one_for_each_process_and_the_servers_the_others(
    processors: set[int], processes: int, nodes: int, generator: str, servers: str
) -> None:
    placed = place(True, processes, nodes, processors)
    assert placed.words(servers_are_ours=True) == {"generator": generator, "servers": servers}
    assert placed.words(servers_are_ours=False)["servers"] == NOT_OURS


@pytest.mark.parametrize(
    ("pinned", "processes", "nodes", "processors"),
    [(False, 1, 1, {0, 1}), (True, 1, 1, {3}), (True, 1, 3, {0, 1}), (True, 2, 3, {0, 1, 2, 3})],
)
def test_where_nothing_is_pinned_everybody_may_run_everywhere(
    pinned: bool, processes: int, nodes: int, processors: set[int]
) -> None:
    """Not asked for; one processor; an ensemble whose nodes would take turns."""
    placed = place(pinned, processes, nodes, processors)
    assert placed.generator == placed.servers == processors
    assert set(placed.words(servers_are_ours=True).values()) == {NOT_PINNED}


def test_a_process_moves_with_its_threads_and_children_and_back() -> None:
    allowed = os.sched_getaffinity(0)
    one = {min(allowed)}
    with subprocess.Popen(
        [sys.executable, "-c", _FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        before = places([process.pid, child])
        threads = [int(name) for name in os.listdir(f"/proc/{process.pid}/task")]  # noqa: PTH208
        assert len(threads) == 2
        pin([process.pid], one)
        assert all(os.sched_getaffinity(number) == one for number in (*threads, child))
        pin([process.pid], before[process.pid])
        assert all(os.sched_getaffinity(number) == allowed for number in (*threads, child))


def test_a_process_that_is_gone_is_no_mistake() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    pin([ended.pid], os.sched_getaffinity(0))
    assert places([ended.pid]) == {}
