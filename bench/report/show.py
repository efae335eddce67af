"""What notebooks show: tables of one campaign that display themselves, light or dark as the notebook is."""

from dataclasses import dataclass
from html import escape

import pandas as pd
from rich.console import Console, RenderableType

from bench.analysis.evidence import Evidence
from bench.analysis.runs import run_frame
from bench.report import page
from bench.report.html_parts import style
from bench.report.limits import limits as limit_sentences
from bench.report.terminal import WIDTH, claims_terminal, comparison_terminal


@dataclass(frozen=True, slots=True)
class Shown:
    """A table as HTML, and as text where HTML cannot be shown."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return style() + self.html

    def __repr__(self) -> str:
        return self.text


def comparison(evidence: Evidence) -> Shown:
    """The comparison: claimed beside measured."""
    return Shown(page.comparison_fragment(evidence), _text(comparison_terminal(evidence)))


def costs(evidence: Evidence) -> Shown:
    """What an acquire needs, and what the servers time themselves."""
    return Shown(page.costs_fragment(evidence), _text("see the HTML view, or comparison.md of `lockbench export`"))


def settings(evidence: Evidence) -> Shown:
    """What was measured, on which machine and servers, with which parameters."""
    return Shown(page.settings_fragment(evidence), _text("see the HTML view, or comparison.md of `lockbench export`"))


def claims(evidence: Evidence) -> Shown:
    """What becomes of each claim."""
    return Shown(page.claims_fragment(evidence), _text(claims_terminal(evidence)))


def limits(evidence: Evidence) -> Shown:
    """What these numbers cannot say."""
    sentences = limit_sentences(evidence)
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return Shown(f'<div class="lockbench"><ul>{items}</ul></div>', "\n".join(f"- {one}" for one in sentences))


def runs(evidence: Evidence) -> pd.DataFrame:
    """The runs behind everything, one row each, reduced to the columns that fit a page."""
    columns = [
        "run_id",
        "state",
        "void_reason",
        "operations",
        "acquire_us_p50",
        "acquire_us_p99",
        "throughput_pairs_per_s",
    ]
    return run_frame(evidence.rows).reindex(columns=columns).round(1)


def _text(renderable: RenderableType) -> str:
    console = Console(width=WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()
