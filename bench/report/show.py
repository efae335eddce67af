"""What notebooks show: tables of one campaign that display themselves, light or dark as the notebook is."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd
from rich.console import Console, RenderableType

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.runs import run_frame
from bench.report import hazard_page, hazard_verdicts, page
from bench.report.claims_table import safety_rows
from bench.report.fitting import WIDTH
from bench.report.hazard_terminal import hazard_terminal
from bench.report.html_parts import style
from bench.report.limits import limits as limit_sentences
from bench.report.terminal import claims_terminal, comparison_terminal


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
    return _sentences(limit_sentences(evidence))


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


def hazard_facts(hazards: HazardEvidence) -> Shown:
    """What was played, on which machine and servers."""
    told = hazard_verdicts.hazard_facts(hazards)
    return Shown(hazard_page.facts_fragment(hazards), "\n".join(f"{name}: {value}" for name, value in told))


def under_faults(hazards: HazardEvidence) -> Shown:
    """What becomes of each system under each fault, and why."""
    return Shown(hazard_page.verdicts_fragment(hazards), _text(hazard_terminal(hazards)))


def window(hazards: HazardEvidence) -> Shown:
    """How each system keeps to the claimed hazard window."""
    lines = hazard_verdicts.window_lines(hazards)
    return Shown(hazard_page.window_fragment(hazards), "\n".join("; ".join(line) for line in lines))


def scenarios(hazards: HazardEvidence, *chosen: str) -> Shown:
    """Every scenario, or the chosen ones: what was counted and timed in each."""
    return Shown(hazard_page.scenarios_fragment(hazards, chosen), _text(hazard_terminal(hazards)))


def hazard_claims(hazards: HazardEvidence) -> Shown:
    """What becomes of the claims about safety."""
    rows = safety_rows(hazards)
    told = "\n".join(f"{row.id} {row.system}: {row.shown}. {row.why}" for row in rows)
    return Shown(page.claim_rows_fragment(rows), told)


def hazard_limits(hazards: HazardEvidence) -> Shown:
    """What these trials cannot say."""
    return _sentences(hazard_verdicts.hazard_limits(hazards))


def hazard_runs(hazards: HazardEvidence) -> pd.DataFrame:
    """The runs behind everything, one row each, void ones with the reason."""
    rows = [
        {
            "run_id": run.run_id,
            "state": str(run.state),
            "trials": len(run.trials),
            "void_reason": f"{run.void_cause}: {run.void_reason}" if run.void else "",
        }
        for run in hazards.runs
    ]
    return pd.DataFrame(rows, columns=["run_id", "state", "trials", "void_reason"])


def _sentences(sentences: Sequence[str]) -> Shown:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return Shown(f'<div class="lockbench"><ul>{items}</ul></div>', "\n".join(f"- {one}" for one in sentences))


def _text(renderable: RenderableType) -> str:
    console = Console(width=WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()
