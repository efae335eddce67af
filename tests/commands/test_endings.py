"""A signal ends a command wherever its main thread waits, whichever thread the kernel handed the signal to."""

import subprocess
import sys

import pytest

WAITS = {
    "for a thread": "threading.Event().wait()",
    "for a result": "concurrent.futures.Future().result()",
    "for a process": "subprocess.run(['sleep', '600'])",
    "for a file": "os.read(os.pipe()[0], 1)",
    "for a queue": "queue.SimpleQueue().get()",
}
_SCRIPT = """
import concurrent.futures, os, queue, signal, subprocess, threading
from bench.commands.endings import end_in_order

def strike():  # this thread gets the signal, once the main one surely waits
    while open(f"/proc/self/task/{{os.getpid()}}/stat").read().rpartition(")")[2].split()[0] != "S":
        pass
    signal.pthread_kill(threading.get_ident(), signal.{number})

end_in_order()
threading.Timer(0.3, strike).start()
try:
    {wait}
finally:
    print("in order")
"""


@pytest.mark.parametrize("wait", WAITS.values(), ids=list(WAITS))
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_that_another_thread_gets_ends_the_command(wait: str, number: str) -> None:
    script = _SCRIPT.format(number=number, wait=wait)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == {"SIGINT": 130, "SIGTERM": 143}[number], ended.stderr
    assert ended.stdout == "in order\n"
    assert ended.stderr == "interrupted; finished runs are kept\n"
