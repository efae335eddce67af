"""Notebooks run in our own interpreter and see nothing of what others set up for theirs."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat
import pytest

from bench.records.store import CampaignFolder
from bench.report.files import ReportError
from bench.report.notebook import render_notebooks
from tests import campaigns
from tests.commands.command import lockbench

_TOLD = "import os, sys, matplotlib.pyplot as plt; import bench; print(sys.executable, 'hostile' in globals(), plt)"
_SPOIL = "hostile = True\nraise SystemExit('hostile startup')\n"


def kernelspec(folder: Path, argv: list[str]) -> None:
    """A kernel named python3 that is none of ours."""
    place = folder / "kernels" / "python3"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "theirs", "language": "python"}))


def foreign_path(tmp: Path) -> Mapping[str, str]:
    kernelspec(tmp / "share", ["/nonexistent/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"])
    return {"JUPYTER_PATH": str(tmp / "share")}


def foreign_data(tmp: Path) -> Mapping[str, str]:
    kernelspec(tmp / "data", ["/bin/false", "{connection_file}"])
    return {"JUPYTER_DATA_DIR": str(tmp / "data")}


def foreign_home(tmp: Path) -> Mapping[str, str]:
    kernelspec(tmp / ".local/share/jupyter", ["/bin/false"])
    startup(tmp / ".ipython")
    return {"HOME": str(tmp)}


def foreign_spec_without_sense(tmp: Path) -> Mapping[str, str]:
    place = tmp / "share" / "kernels" / "python3"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text("{")
    return {"JUPYTER_PATH": str(tmp / "share"), "JUPYTER_PREFER_ENV_PATH": "0"}


def startup(folder: Path) -> None:
    place = folder / "profile_default" / "startup"
    place.mkdir(parents=True)
    (place / "00.py").write_text(_SPOIL)
    (place.parent / "ipython_config.py").write_text(f"get_config().InteractiveShellApp.exec_lines = {[_SPOIL]!r}\n")
    (place.parent / "ipython_kernel_config.py").write_text("raise RuntimeError('hostile')\n")


def foreign_ipython(tmp: Path) -> Mapping[str, str]:
    startup(tmp / "ipython")
    return {"IPYTHONDIR": str(tmp / "ipython")}


def foreign_config(tmp: Path) -> Mapping[str, str]:
    for name in ("jupyter_config", "jupyter_nbconvert_config", "ipython_kernel_config"):
        (tmp / f"{name}.py").write_text("raise RuntimeError('hostile')\n")
        (tmp / f"{name}.json").write_text("{")
    return {"JUPYTER_CONFIG_DIR": str(tmp), "JUPYTER_CONFIG_PATH": str(tmp)}


def foreign_template(tmp: Path) -> Mapping[str, str]:
    for name in ("basic", "base"):
        place = tmp / "nbconvert" / "templates" / name
        place.mkdir(parents=True)
        (place / "index.html.j2").write_text("hostile template")
        (place / "conf.json").write_text("{}")
    return {"JUPYTER_PATH": str(tmp), "JUPYTER_DATA_DIR": str(tmp)}


def foreign_python_startup(tmp: Path) -> Mapping[str, str]:
    (tmp / "startup.py").write_text(_SPOIL)
    return {"PYTHONSTARTUP": str(tmp / "startup.py")}


def foreign_modules(tmp: Path) -> Mapping[str, str]:
    for name in ("sitecustomize", "ipykernel_launcher", "bench"):
        (tmp / f"{name}.py").write_text("raise RuntimeError('hostile')\n")
    return {"PYTHONPATH": str(tmp)}


def foreign_rc(tmp: Path) -> Mapping[str, str]:
    (tmp / "matplotlibrc").write_text("backend: hostile\naxes.facecolor: hostile\nfont.size: hostile\n")
    return {"MATPLOTLIBRC": str(tmp), "MPLCONFIGDIR": str(tmp)}


def fixed(**variables: str) -> Callable[[Path], Mapping[str, str]]:
    return lambda tmp: variables


HOSTILE: dict[str, Callable[[Path], Mapping[str, str]]] = {
    "a kernelspec on JUPYTER_PATH": foreign_path,
    "a kernelspec in the user's data": foreign_data,
    "a kernelspec that is no JSON": foreign_spec_without_sense,
    "a home with kernels and startup files": foreign_home,
    "a home that cannot be written": fixed(HOME="/proc/nowhere"),
    "an IPython profile": foreign_ipython,
    "an IPython folder that cannot be written": fixed(IPYTHONDIR="/proc/nowhere"),
    "configuration of Jupyter": foreign_config,
    "a runtime folder that cannot be written": fixed(JUPYTER_RUNTIME_DIR="/proc/nowhere"),
    "templates of nbconvert": foreign_template,
    "PYTHONSTARTUP": foreign_python_startup,
    "modules on PYTHONPATH": foreign_modules,
    "warnings as errors": fixed(PYTHONWARNINGS="error"),
    "a backend that does not exist": fixed(MPLBACKEND="hostile"),
    "a backend without a display": fixed(MPLBACKEND="tkagg", DISPLAY=":99"),
    "a matplotlibrc": foreign_rc,
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", HOSTILE)
def test_a_notebook_sees_our_interpreter_and_nothing_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    for name, value in HOSTILE[case](tmp_path).items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    ipynb, html = render_notebooks(tmp_path / "out", root=notebook_of(tmp_path / "root", _TOLD))
    (output,) = nbformat.read(ipynb, as_version=4).cells[0].outputs
    assert output.text.startswith(f"{sys.executable} False"), output.text
    assert output.name == "stdout"
    assert "hostile template" not in html.read_text()
    assert sys.executable in html.read_text()
    assert os.environ == before


def test_a_kernel_that_does_not_start_is_one_clear_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = notebook_of(tmp_path / "root", _TOLD)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ReportError, match=r"could not run in /bin/false.*--no-notebook"):
        render_notebooks(tmp_path / "out", root=root)
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_the_table_is_printed_although_a_notebook_fails_and_in_hostile_surroundings(tmp_path: Path) -> None:
    campaign = one_run(tmp_path)
    more: dict[str, str] = {}
    for number, make in enumerate(HOSTILE.values()):
        (tmp_path / str(number)).mkdir()
        more |= make(tmp_path / str(number))
    more.pop("PYTHONPATH")  # that one would break lockbench itself, and rightly
    more.pop("PYTHONWARNINGS")
    (campaign.path / "report" / "comparison.ipynb").mkdir(parents=True)
    done = lockbench(tmp_path, "report", "-c", str(campaign.path), "--no-hazards", more=more, within_s=110)
    assert done.returncode == 1
    assert "Claimed and measured, with intervals" in done.stdout
    assert re.search(r"error: cannot write .*comparison\.ipynb: Is a directory", done.stderr)
    assert "Traceback" not in done.stdout + done.stderr


def test_the_last_line_names_the_page_to_open(tmp_path: Path) -> None:
    campaign = one_run(tmp_path)
    page = campaign.path / "report" / "comparison.html"
    done = lockbench(tmp_path, "report", "-c", str(campaign.path), "--no-hazards", "--no-notebook")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"open {page}"
    assert page.is_file()


def one_run(tmp: Path) -> CampaignFolder:
    plans = campaigns.plans(("redis",), ("uncontended",), repetitions=1)
    folder = campaigns.start(tmp / "made", plans)
    campaigns.add_run(folder, plans[0], campaigns.measured(plans[0], campaigns.SHAPES["redis"]))
    return folder


def notebook_of(root: Path, source: str) -> Path:
    """A project whose notebook has one cell, of this source."""
    (root / "notebooks").mkdir(parents=True)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbformat.write(notebook, root / "notebooks" / "comparison.ipynb")
    return root
