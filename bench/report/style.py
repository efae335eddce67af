"""How a system looks in every figure: one colour, marker and line style each, so that no figure leans on colour alone.

Colours are those of Okabe and Ito (Color Universal Design, 2008), told apart under all common colour-vision
deficiencies.
A durable sibling has its system's colour, with a dashed line and hollow markers.
"""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import matplotlib as mpl
import matplotlib.style
from matplotlib.typing import LineStyleType

MPLSTYLE = Path(__file__).with_name("lockbench.mplstyle")

MUTED = "#666666"  # captions and notes
SOURCE_GREYS = ("#d4d4d4", "#bdbdbd", "#a3a3a3", "#888888", "#6e6e6e")  # one for each of the five pages, in their order

SOLID: LineStyleType = "solid"
DASHED: LineStyleType = (0, (4.0, 1.6))
DOTTED: LineStyleType = (0, (1.2, 1.6))


@dataclass(frozen=True, slots=True)
class Look:
    """Colour, marker and line of one system; `hollow` markers are filled with white."""

    colour: str
    marker: str
    line: LineStyleType = SOLID
    hollow: bool = False

    @property
    def face(self) -> str:
        return "white" if self.hollow else self.colour


LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "redis": Look("#D55E00", "o"),
        "redis-aof": Look("#D55E00", "o", DASHED, hollow=True),
        "redlock": Look("#E69F00", "s"),
        "redlock-aof": Look("#E69F00", "s", DASHED, hollow=True),
        "zookeeper": Look("#009E73", "^"),
        "etcd": Look("#0072B2", "D"),
        "postgres-row": Look("#CC79A7", "v"),
        "dynamodb": Look("#56B4E9", "P", DOTTED, hollow=True),
        "memory": Look("#000000", "x", DOTTED),
        "null": Look("#777777", "+", DOTTED),
    }
)

_NEWCOMER_MARKERS = ("*", "X", "h", "p", "<", ">")
_NEWCOMER_COLOURS = ("#000000", "#7A4FA3", "#8A6D00", "#4D4D4D")


def look(system: str) -> Look:
    """The look of a system. One that has no entry yet gets a fixed look from its name, the same in every figure."""
    if system in LOOKS:
        return LOOKS[system]
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
