"""How figures look: the house's settings, and the colour, marker and line of each system.

No figure leans on colour alone. A system's look stands in its folder's `entries.py`.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import matplotlib.style

from bench.analysis import names
from bench.systems.registry import DASHED, DOTTED, SOLID, Look

__all__ = ("DASHED", "DOTTED", "MPLSTYLE", "MUTED", "SOLID", "SOURCE_GREYS", "Look", "house_style", "look")

MPLSTYLE = Path(__file__).with_name("lockbench.mplstyle")

MUTED = "#666666"  # captions and notes
SOURCE_GREYS = ("#d4d4d4", "#bdbdbd", "#a3a3a3", "#888888", "#6e6e6e")  # one for each of the five pages, in their order

_NEWCOMER_MARKERS = ("*", "X", "h", "p", "<", ">")
_NEWCOMER_COLOURS = ("#000000", "#7A4FA3", "#8A6D00", "#4D4D4D")


def look(system: str) -> Look:
    """The look of a system. One that states none gets a fixed look from its name, the same in every figure."""
    own = names.look(system)
    if own is not None:
        return own
    dice = zlib.crc32(system.encode())
    return Look(
        _NEWCOMER_COLOURS[dice % len(_NEWCOMER_COLOURS)],
        _NEWCOMER_MARKERS[dice // 7 % len(_NEWCOMER_MARKERS)],
        DASHED if dice // 49 % 2 else SOLID,
    )


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save inside this: the settings of the user's own matplotlibrc do not reach our figures."""
    with mpl.rc_context():
        mpl.rcdefaults()
        matplotlib.style.use(MPLSTYLE)
        yield
