"""The figures of a pack: text that stays text, for a light or a dark ground, with no ground at all where asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.figures.drawing import Drawing


@dataclass(frozen=True, slots=True)
class InDocuments:
    """A drawing as documents hold it. A dark one has a name of its own."""

    drawing: Drawing
    dark: bool = False
    transparent: bool = False  # PNG alone

    @property
    def name(self) -> str:
        return f"{self.drawing.name}-dark" if self.dark else self.drawing.name

    @property
    def title(self) -> str:
        return self.drawing.title

    @property
    def caption(self) -> str:
        return self.drawing.caption

    @property
    def runs(self) -> Sequence[str]:
        return self.drawing.runs

    def rendered(self, file_format: str) -> bytes:
        """As `Drawing.rendered`, with real text in SVG."""
        nothing_behind = self.transparent and file_format == "png"
        return self.drawing.rendered_for_documents(file_format, dark=self.dark, transparent=nothing_behind)
