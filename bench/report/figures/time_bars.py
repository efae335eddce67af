"""Bars of shares: where a median goes, one stacked bar a row, its own median being 100 %."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.report import formats
from bench.report.figures.drawing import RUN_DOT

WIDTH_IN = 7.6
ROW_IN, LEGEND_IN = 0.36, 0.5
LEFT_IN, _RIGHT_IN = 1.62, 1.85
_BAR = 0.56
_FITS_PERCENT = 9.0  # a segment wide enough for its number


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of segment. Lightness and hatching tell them apart without colour."""

    title: str
    colour: str
    hatch: str = ""
    ink: str = "#222222"


CLIENT = Kind("client's processor, at most", "#999999")
NETWORK = Kind("round trips", "#56B4E9", "////")
DURABLE = Kind("durable writes", "#0072B2", ink="white")
SERVER = Kind("server's own time", "#E69F00")
REST = Kind("not accounted for", "#ffffff", "....")


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: its name at the left, words at the right, and the medians of its runs as dots above it."""

    name: str
    words: str
    median_us: float
    segments: Sequence[tuple[Kind, float]]  # in µs
    runs_us: Sequence[float]

    @property
    def percent(self) -> float:
        """How far it reaches."""
        return max(100.0, sum(map(self.share, (value_us for _, value_us in self.segments))))

    def share(self, value_us: float) -> float:
        return 100.0 * value_us / self.median_us


def draw_bars(
    figure: Figure,
    bars: Sequence[Bar],
    kinds: Sequence[Kind],
    what: str,
    below_in: float,
    content_in: float,
    left_in: float = LEFT_IN,
) -> None:
    """The bars above `below_in`, right of the names, and their legend below the title."""
    height_in = figure.get_size_inches()[1]
    width_in = WIDTH_IN - left_in - _RIGHT_IN
    axes = figure.add_axes((left_in / WIDTH_IN, below_in / height_in, width_in / WIDTH_IN, content_in / height_in))
    longest = max(bar.percent for bar in bars)
    slowest = max(bar.share(value) for bar in bars for value in bar.runs_us)
    axes.set_xlim(0.0, max(longest, slowest) * 1.03)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(f"share of the median {what}, %; numbers in the bars are µs")
    axes.axvline(100.0, color="#222222", linewidth=1.2, zorder=4)
    for place, bar in enumerate(bars):
        _bar(axes, place, bar, longest)
        if len(bar.runs_us) > 1:
            runs = [bar.share(value) for value in bar.runs_us]
            axes.plot(runs, [place - _BAR / 2.0 - 0.09] * len(runs), color="#222222", zorder=6, **RUN_DOT)
        _words(axes, place, bar)
    _legend(figure, kinds, 1.0 - 0.33 / height_in)


def _bar(axes: Axes, place: int, bar: Bar, longest: float) -> None:
    left = 0.0
    for kind, value_us in bar.segments:
        width = bar.share(value_us)
        if width <= 0.0:
            continue
        axes.barh(
            place,
            width,
            left=left,
            height=_BAR,
            color=kind.colour,
            hatch=kind.hatch,
            edgecolor="#555555",
            linewidth=0.6,
        )
        if width >= _FITS_PERCENT * longest / 100.0:
            axes.text(
                left + width / 2.0,
                place,
                formats.significant(value_us),
                ha="center",
                va="center",
                fontsize=7.0,
                color=kind.ink,
                # Neither hatching nor the line of the median may run through a number.
                bbox={"facecolor": kind.colour, "edgecolor": "none", "pad": 0.8},
                zorder=5,
            )
        left += width


def _words(axes: Axes, place: int, bar: Bar) -> None:
    axes.annotate(
        bar.name,
        (0.0, place),
        (-6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
        fontweight="bold",
        linespacing=1.0,
    )
    axes.annotate(
        bar.words,
        (1.0, place),
        (6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=7.2,
        color="#222222",
        linespacing=1.05,
    )


def _legend(figure: Figure, kinds: Sequence[Kind], top: float) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=kind.colour, hatch=kind.hatch, edgecolor="#555555", linewidth=0.6, label=kind.title)
        for kind in kinds
    ]
    handles.append(Line2D([], [], color="#222222", linewidth=1.2, label="median"))
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.0, top),
        ncols=3 if len(kinds) < 6 else 4,
        frameon=False,
        fontsize=7.4,
        handlelength=1.8,
        columnspacing=1.4,
        labelspacing=0.35,
    )
