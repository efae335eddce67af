"""A signal that comes while a notebook runs ends the command in order, and its kernel with it."""

import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest

from bench.records.store import CampaignFolder
from bench.report.notebook import NOTEBOOK, render_notebooks
from tests.commands.test_bad_luck import until
from tests.thorough import case

_COMMAND = """
import sys
from pathlib import Path
from bench.commands.endings import end_in_order
from bench.records.store import CampaignFolder
from bench.report.notebook import render_notebooks
end_in_order()
folder, root, target = map(Path, sys.argv[1:])
render_notebooks(target, CampaignFolder(folder), root)
"""


def one_cell(root: Path, source: str) -> Path:
    """A folder whose notebook of comparison is this cell."""
    (root / NOTEBOOK).parent.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), root / NOTEBOOK)
    return root


@pytest.mark.parametrize("within_a_cell", [False, True], ids=["while the kernel starts", "within a cell"])
@pytest.mark.parametrize("number", [signal.SIGINT, case(signal.SIGTERM, rare=True)])
def test_a_signal_ends_the_command_and_the_kernel(
    synthetic: Path, tmp_path: Path, number: signal.Signals, within_a_cell: bool
) -> None:
    begun = tmp_path / "begun"
    waits = f"import pathlib, threading; pathlib.Path({str(begun)!r}).touch(); threading.Event().wait(60)"
    root = one_cell(tmp_path / "root", waits)
    command = [sys.executable, "-c", _COMMAND, str(synthetic), str(root), str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        children: list[psutil.Process] = []

        def seen() -> bool:
            children[:] = psutil.Process(process.pid).children(recursive=True)
            return begun.exists() if within_a_cell else bool(children)

        until(seen)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    # The kernel may still say that its folder is gone, if it was about to use it.
    assert said.splitlines()[0].strip() == "interrupted; finished runs are kept"
    assert "Traceback" not in said
    assert not psutil.wait_procs(children, timeout=5)[1]


def test_each_signal_has_its_handler_again(synthetic: Path, tmp_path: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    seen: list[int] = []
    before = {number: signal.signal(number, lambda told, _: seen.append(told)) for number in numbers}
    try:
        render_notebooks(tmp_path / "out", CampaignFolder(synthetic), one_cell(tmp_path / "root", "1 + 1"))
        for number in numbers:
            signal.raise_signal(number)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert seen == list(numbers)
