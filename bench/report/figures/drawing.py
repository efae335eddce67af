"""A finished figure with its words and its provenance, and how it becomes bytes that never change."""

import io
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation, Transform

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.report.figures.grounds import on_dark_ground
from bench.report.formats import NO_BREAK, ms
from bench.report.machine import cores, ours, run_sources, servers_place
from bench.report.style import MUTED, house_style

FORMATS = ("svg", "pdf", "png")
CAPTION_SIZE = 7.0
# A single run beside what all runs of a cell say together.
RUN_DOT: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 4.0, "markeredgewidth": 0.0}
_CAPTION_LINE_IN = 0.135
_CHARACTERS_PER_IN = 18.0  # of DejaVu Sans at the caption's size


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure. `runs` are the ids of the runs that it shows; `name` is its file name without ending."""

    name: str
    title: str
    caption: str
    runs: tuple[str, ...]
    campaign_id: str
    git_commit: str
    figure: Figure = field(repr=False)
    _done: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    def rendered(self, file_format: str) -> bytes:
        """The figure as `svg`, `pdf` or `png` (200 dpi): the same bytes for the same data and library versions."""
        if file_format not in self._done:
            self._done[file_format] = self._render(file_format)
        return self._done[file_format]

    def rendered_for_documents(self, file_format: str, *, dark: bool = False, transparent: bool = False) -> bytes:
        """The same for other people's documents: text in SVG is text, and there may be a dark ground, or none."""
        key = f"{file_format} for documents{' dark' * dark}{' transparent' * transparent}"
        if key not in self._done:
            with house_style(), on_dark_ground(self.figure) if dark else nullcontext():
                self._done[key] = self._render(file_format, {"svg.fonttype": "none"}, transparent)
        return self._done[key]

    def _render(
        self, file_format: str, settings: Mapping[str, object] = MappingProxyType({}), transparent: bool = False
    ) -> bytes:
        subject = f"lockbench campaign {self.campaign_id}, commit {self.git_commit}"
        # Dates and library names are left out: they change from day to day and from machine to machine.
        metadata: dict[str, dict[str, str | None]] = {
            "svg": {"Title": self.title, "Description": f"{self.caption} {subject}", "Date": None, "Creator": None},
            "pdf": {"Title": self.title, "Subject": subject, "CreationDate": None, "Creator": None, "Producer": None},
            "png": {"Title": self.title, "Description": subject, "Software": None},
        }
        buffer = io.BytesIO()
        with house_style(), mpl.rc_context(cast(Any, dict(settings))):
            # The ground is the figure's own: white, unless somebody made it dark.
            ground = self.figure.get_facecolor()
            self.figure.savefig(
                buffer,
                format=file_format,
                metadata=metadata[file_format],
                facecolor="none" if transparent else ground,
                transparent=transparent,
            )
        return buffer.getvalue()

    def _repr_svg_(self) -> str:
        return self.rendered("svg").decode("utf-8")


def canvas(width_in: float, height_in: float) -> Figure:
    """An empty figure that no interactive backend knows of; call inside `house_style`."""
    figure = Figure(figsize=(width_in, height_in))
    FigureCanvasAgg(figure)
    return figure


def write_caption(figure: Figure, caption: str) -> float:
    """Write the caption along the bottom edge; returns the height that it takes, in inches."""
    width_in, height_in = figure.get_size_inches()
    figure.text(
        0.1 / width_in,
        0.06 / height_in,
        "\n".join(_wrapped(caption, width_in)),
        fontsize=CAPTION_SIZE,
        color=MUTED,
        va="bottom",
        linespacing=1.25,
    )
    return caption_height_in(caption, width_in)


def caption_height_in(caption: str, width_in: float) -> float:
    """The height that a caption takes in a figure of this width, in inches."""
    return 0.1 + _CAPTION_LINE_IN * len(_wrapped(caption, width_in))


def _wrapped(caption: str, width_in: float) -> list[str]:
    return textwrap.wrap(caption, int((width_in - 0.2) * _CHARACTERS_PER_IN))


def machine_words(evidence: Evidence) -> str:
    """The machine and the campaign, for captions."""
    machine = evidence.environment
    sources = run_sources(evidence)
    measured = (
        f"; loopback round trip {machine.loopback_rtt_us_p50:.0f}{NO_BREAK}µs, fdatasync "
        f"{ms(machine.fdatasync_us_p50)}{NO_BREAK}ms (medians)"
    )
    return (
        f"Machine: {machine.cpu_model}, {cores(machine)}, {machine.operating_system}; {servers_place(sources)}"
        f"{measured if ours(sources) else ''}. Campaign {evidence.campaign.campaign_id}."
    )


def load_drawing(
    name: str, title: str, caption: str, runs: Iterable[str], evidence: Evidence, figure: Figure
) -> Drawing:
    """A figure of a campaign of load, with the campaign as its provenance."""
    campaign = evidence.campaign
    return Drawing(name, title, caption, tuple(runs), campaign.campaign_id, campaign.git_commit, figure)


def lab_drawing(
    name: str, title: str, caption: str, runs: Iterable[str], hazards: HazardEvidence, figure: Figure
) -> Drawing:
    """A figure of a hazard campaign, with the campaign as its provenance."""
    campaign = hazards.campaign
    return Drawing(name, title, caption, tuple(runs), campaign.campaign_id, campaign.git_commit, figure)


def lab_words(hazards: HazardEvidence) -> str:
    """The machine and the hazard campaign, for captions."""
    machine = hazards.environment
    return (
        f"Machine: {machine.cpu_model}, {cores(machine)}, {machine.operating_system}; clients and servers "
        f"share it. Hazard campaign {hazards.campaign.campaign_id}."
    )


def write_title(figure: Figure, title: str) -> None:
    """Write the title along the top edge."""
    width_in, height_in = figure.get_size_inches()
    figure.text(0.1 / width_in, 1.0 - 0.1 / height_in, title, fontsize=10, fontweight="bold", va="top")


def beside(axes: Axes, points: float, above_points: float = 0.0) -> Transform:
    """Data coordinates moved to the right, or upwards, by some points, for markers that would hide each other."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("these axes belong to no figure")
    return axes.transData + ScaledTranslation(points / 72.0, above_points / 72.0, figure.dpi_scale_trans)


def veil(pad: float) -> dict[str, Any]:
    """A box for words that stand over what is drawn, which shows through it; `pad` in points."""
    return {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": pad}
