"""Scales that several figures have."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from bench.report import formats


def doubling(axes: Axes, counts: Sequence[float], beyond: float = 1.5) -> None:
    """A horizontal scale on which each doubling is as long, with the measured numbers as its ticks.

    It goes on beyond the first and the last of them by that factor.
    """
    axes.set_xscale("log", base=2)
    axes.set_xlim(counts[0] / beyond, counts[-1] * beyond)
    axes.xaxis.set_major_locator(FixedLocator(list(counts)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def logarithmic(axes: Axes, steps: Sequence[float] = (1.0,)) -> None:
    """A vertical scale by powers of ten, with a tick at each of the `steps` of a power."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: formats.significant(y, 1)))
