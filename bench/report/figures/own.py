"""A figure of your own in the house's style, for a notebook: the same bytes for the same data."""

from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.report.figures.drawing import Drawing, canvas
from bench.report.style import house_style


@dataclass(frozen=True, slots=True)
class OwnFigure:
    """Draw into `axes`, then show or `save` it. No window and no pyplot are behind it."""

    figure: Figure = field(repr=False)
    axes: Axes = field(repr=False)

    def rendered(self, file_format: str = "svg") -> bytes:
        """As `svg`, `pdf` or `png`."""
        title = self.axes.get_title() or "figure"
        return Drawing("own", title, "", (), "", "", self.figure).rendered(file_format)

    def _repr_svg_(self) -> str:
        return self.rendered().decode("utf-8")


def own_figure(width_in: float = 7.6, height_in: float = 3.2) -> OwnFigure:
    """An empty figure with one pair of axes."""
    with house_style():
        figure = canvas(width_in, height_in)
        axes = figure.add_axes((0.1, 0.17, 0.87, 0.72))
    return OwnFigure(figure, axes)
