"""A Jupyter kernel of our own environment, that nothing outside of it can change.

Whoever renders a report may have kernels named `python3` of other interpreters, startup files, profiles, templates and
settings of Matplotlib. None of them belongs in a report: the same data give the same page for everybody.
"""

import asyncio
import atexit
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
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


class _SignalsStay(asyncio.SelectorEventLoop):
    """Nobody takes a signal's handler away in here. nbclient would: an interruption would be the cancellation of some
    task instead of the end of the command, and no signal would have its handler again afterwards."""

    def add_signal_handler(self, *_arguments: object) -> None:
        raise RuntimeError("signals are the command's")  # which nbclient expects, outside the main thread

    def remove_signal_handler(self, sig: int) -> bool:
        return False


class OwnNotebookClient(NotebookClient):
    """Executes a notebook in that kernel, which is gone afterwards, whatever ended it."""

    def create_kernel_manager(self) -> KernelManager:
        manager = super().create_kernel_manager()
        manager.kernel_spec_manager = _OneKernel()
        return manager

    def run(self, environment: Mapping[str, str]) -> None:
        """Every cell. Raises what nbclient does, and what a signal's handler raises."""
        self.shutdown_kernel = "immediate"  # nothing in it is worth a wait
        try:
            with asyncio.Runner(loop_factory=_SignalsStay) as runner:
                try:
                    runner.run(self.async_execute(env=dict(environment)))
                except (KeyboardInterrupt, SystemExit):
                    # A signal. What comes of the cell while it is cancelled is no news.
                    runner.get_loop().set_exception_handler(lambda _loop, _context: None)
                    raise
        finally:
            atexit.unregister(self._cleanup_kernel)  # it would fail once more, at our end, with a traceback
            if self.km is not None and self.km.has_kernel:  # which was about to start
                asyncio.run(self._async_cleanup_kernel())


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
