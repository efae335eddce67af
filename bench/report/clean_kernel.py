"""A Jupyter kernel of our own environment, that nothing outside of it can change.

Whoever renders a report may have kernels named `python3` of other interpreters, startup files, profiles, templates and
settings of Matplotlib. None of them belongs in a report: the same data give the same page for everybody.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

_FOREIGN = ("JUPYTER", "IPYTHON", "PYTHON", "MPL", "MATPLOTLIBRC")
_PACKAGE = Path(__file__).resolve().parents[2]


class _OneKernel(KernelSpecManager):
    """Knows the interpreter that runs lockbench, by whatever name it is asked for, and looks nowhere."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


class OwnNotebookClient(NotebookClient):
    """Executes a notebook in that kernel."""

    def create_kernel_manager(self) -> KernelManager:
        manager = super().create_kernel_manager()
        manager.kernel_spec_manager = _OneKernel()
        return manager


@contextmanager
def clean_environment() -> Iterator[dict[str, str]]:
    """The environment of this process and of the kernels that it starts, without what others set for theirs.

    Jupyter and IPython get empty folders of their own, which are removed afterwards; so also where there is no home
    folder to write to. Matplotlib gets the folder that we use: its cache of fonts takes seconds to make, and decides
    nothing.
    """
    before = dict(os.environ)
    kept = {name: value for name, value in before.items() if not name.startswith(_FOREIGN)}
    with tempfile.TemporaryDirectory(prefix="lockbench-notebook-") as folder:
        own = {f"JUPYTER_{kind}_DIR": f"{folder}/{kind.lower()}" for kind in ("CONFIG", "DATA", "RUNTIME")}
        os.environ.clear()
        os.environ.update(
            kept,
            **own,
            JUPYTER_PREFER_ENV_PATH="1",
            IPYTHONDIR=f"{folder}/ipython",
            MPLBACKEND="agg",
            MPLCONFIGDIR=mpl.get_cachedir(),
            MATPLOTLIBRC=str(Path(mpl.get_data_path()) / "matplotlibrc"),
            PYTHONPATH=str(_PACKAGE),
            PYTHONUTF8="1",
        )
        try:
            yield dict(os.environ)
        finally:
            os.environ.clear()
            os.environ.update(before)
