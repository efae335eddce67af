"""What notebooks show: tables of one campaign that display themselves, light or dark as the notebook is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd
from rich.console import Console

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.network.prediction import Asked, predict
from bench.analysis.network.reading import read
from bench.analysis.runs import run_frame
from bench.records.store import CampaignFolder
from bench.report import curve_table, hazard_verdicts, jobs_table, left_out_table
from bench.report.claims_list import BY_PAGE, claim_lines, claims_by, count_words, disagreement_blocks
from bench.report.claims_table import safety_rows, tally
from bench.report.comparison import build_comparison
from bench.report.documents import comparison as of_load
from bench.report.documents import hazards as of_hazards
from bench.report.documents.claims import claims_blocks, claims_table
from bench.report.documents.prediction import prediction_blocks
from bench.report.figures.drawing import Drawing
from bench.report.fitting import WIDTH
from bench.report.limits import limits as limit_sentences
from bench.report.model import Block, Bullets, Paragraph
from bench.report.writers.html import html_fragment, style
from bench.report.writers.markdown import markdown_blocks
from bench.report.writers.terminal import terminal


@dataclass(frozen=True, slots=True)
class Shown:
    """A part of a report as HTML, and as text where HTML cannot be shown."""

    blocks: tuple[Block, ...]

    def _repr_html_(self) -> str:
        return style() + html_fragment(self.blocks)

    def _repr_markdown_(self) -> str:
        return markdown_blocks(self.blocks)

    def __repr__(self) -> str:
        # In a notebook a console of rich's shows what it prints, and an empty line where it prints nothing.
        console = Console(width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
        with console.capture() as captured:
            console.print(terminal(self.blocks))
        return captured.get()


def comparison(evidence: Evidence) -> Shown:
    """The comparison: claimed beside measured."""
    return Shown(of_load.glance_blocks(evidence))


def drawn(draw: Callable[[Evidence], Drawing], evidence: Evidence) -> Drawing | Shown:
    """A figure; one line where this campaign has no run for it."""
    found = draw(evidence)
    return found if found.runs else not_measured()


def not_measured(what: str = "this campaign has no run of it") -> Shown:
    """One line in the place of what was not measured."""
    return Shown((Paragraph(f"Not measured: {what}."),))


def numbers(evidence: Evidence) -> Shown:
    """Latency and throughput of every row with the intervals that its runs give, and the notes of its cells."""
    return _some(of_load.numbers_blocks(evidence))


def curves(evidence: Evidence) -> Shown:
    """Throughput and latency by the number of clients."""
    return _some(curve_table.blocks(build_comparison(evidence)))


def jobs(evidence: Evidence) -> Shown:
    """The same job by every way of doing it: with a lock, and without one."""
    return _some(jobs_table.blocks(build_comparison(evidence)))


def claims_in_words(evidence: Evidence, by: str = BY_PAGE) -> Shown:
    """Every claim with one sentence, by `page` or by `system`."""
    lines = claim_lines(evidence)
    return Shown((Paragraph(f"In all: {count_words(lines)}."), *claims_by(lines, by)))


def disagreements(evidence: Evidence) -> Shown:
    """Where pages contradict each other."""
    return Shown(tuple(disagreement_blocks(evidence)))


def _some(blocks: Iterable[Block]) -> Shown:
    """One line where there is none."""
    return Shown(found) if (found := tuple(blocks)) else not_measured()


def costs(evidence: Evidence) -> Shown:
    """What an acquire needs, and what the servers time themselves."""
    return Shown(of_load.costs_blocks(evidence))


def settings(evidence: Evidence) -> Shown:
    """What was measured, on which machine and servers, with which parameters."""
    return Shown(of_load.settings_blocks(evidence))


def claims(evidence: Evidence) -> Shown:
    """What becomes of each claim."""
    return Shown(claims_blocks(evidence))


def limits(evidence: Evidence) -> Shown:
    """What these numbers cannot say."""
    return Shown((Bullets(limit_sentences(evidence)),))


def waiting(evidence: Evidence) -> Shown:
    """Waiting under contention as tables: who got the lock next, beside a fair queue, and fairness."""
    return Shown(of_load.waiting_blocks(evidence))


def prediction(
    campaign: CampaignFolder,
    rtt_ms: float,
    peer_rtt_ms: float | None = None,
    fsync_ms: float | None = None,
    clients: int = 1,
    hold_ms: float = 0.0,
) -> Shown:
    """What each system would take on a network of one's own; None: as between client and servers, as measured."""
    peer_us, fsync_us = (None if value is None else value * 1e3 for value in (peer_rtt_ms, fsync_ms))
    asked = Asked(rtt_ms * 1e3, peer_us, fsync_us, clients, hold_ms)
    return Shown(tuple(prediction_blocks(predict(read(campaign, clients, hold_ms), asked))))


def cost_model(evidence: Evidence) -> Shown:
    """The cost model of each system, and its errors on networks that it has not seen."""
    return Shown(left_out_table.blocks(evidence))


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
    return Shown((of_hazards.facts(hazards),))


def verdicts(hazards: HazardEvidence | None) -> Shown:
    """What becomes of each system under each fault, in a word; one line where no hazard campaign was played."""
    if hazards is None:
        return not_measured("no hazard campaign lies beside this one; `lockbench hazard run all` plays one")
    return Shown(tuple(of_hazards.verdict_blocks(hazards)))


def under_faults(hazards: HazardEvidence) -> Shown:
    """What becomes of each system under each fault, and why."""
    return Shown((*of_hazards.verdict_blocks(hazards), of_hazards.reasons_table(hazards)))


def window(hazards: HazardEvidence) -> Shown:
    """How each system keeps to the claimed hazard window."""
    return Shown(tuple(of_hazards.window_blocks(hazards)))


def scenarios(hazards: HazardEvidence, *chosen: str) -> Shown:
    """Every scenario, or the chosen ones: what was counted and timed in each."""
    return _some(of_hazards.scenario_blocks(hazards, 3, chosen))


def hazard_claims(hazards: HazardEvidence) -> Shown:
    """What becomes of the claims about safety."""
    rows = safety_rows(hazards)
    return Shown((Paragraph(f"Verdicts: {tally(rows)}."), claims_table(rows)))


def hazard_limits(hazards: HazardEvidence) -> Shown:
    """What these trials cannot say."""
    return Shown((Bullets(hazard_verdicts.hazard_limits(hazards)),))


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
