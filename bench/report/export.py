"""Tables and figures of a campaign as files, the same bytes every time, with a manifest of the runs behind each."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.documents.claims import claims_document
from bench.report.documents.comparison import comparison_document
from bench.report.documents.hazards import hazards_document
from bench.report.documents.results import page_document
from bench.report.documents.topic import topic_document
from bench.report.export_folder import MANIFEST, refuse_foreign, replace_export
from bench.report.export_provenance import campaigns_of, provenance_of
from bench.report.figures import Drawing, hazard_drawings, load_drawings
from bench.report.figures.drawing import FORMATS
from bench.report.hazard_tidy import trials_csv, verdicts_csv
from bench.report.left_out_table import left_out_csv
from bench.report.round_trips_table import round_trips_csv
from bench.report.tidy import cells_csv, claims_csv, comparison_csv, curves_csv, runs_csv
from bench.report.topics import Topic, apart, drawn_apart
from bench.report.traffic_table import traffic_csv
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown

__all__ = ["MANIFEST", "PAGE", "export", "write_evidence"]

PAGE = "comparison.html"  # what a reader opens first
_OPENED = ("Summary", "At a glance", "Under faults")  # of its sections; the others open when somebody asks for them


def export(
    campaign: CampaignFolder | Path, target: Path, root: Path | None = None, hazards: HazardFolder | None = None
) -> list[Path]:
    """Write comparison.{md,csv,html}, claims.{md,csv}, {cells,curves,runs}.csv, MANIFEST.json, and each figure; of
    runs over several networks also round_trips.csv, cost_model.csv and, where it was counted, traffic.csv.

    Figures are SVG, PDF and PNG. With a hazard campaign also hazards.{md,csv,html}, hazard_verdicts.csv, its figures;
    with campaigns about a topic beside it also that topic's {md,html}, {cells,runs}.csv, their figures.
    Makes `target` where it is missing; replaces an earlier export that lies there; returns the files, sorted. `root` is
    the project's folder, for its claims (default: found from the current folder). Raises StoreError or ClaimsError for
    damaged input, ReportError where `target` is not lockbench's to write, or cannot be written.
    """
    refuse_foreign(target)
    folder = campaign if isinstance(campaign, CampaignFolder) else CampaignFolder(campaign)
    evidence = Evidence.load(folder, root, hazards)
    files = _files(evidence)
    refuse_foreign(target, files)  # once more: drawing took seconds, and now all names are known
    return replace_export(target, provenance_of(evidence), campaigns_of(evidence), files)


def write_evidence(evidence: Evidence, target: Path) -> list[Path]:
    """The same into a folder that is ours by its place, whatever became of the files there."""
    return replace_export(target, provenance_of(evidence), campaigns_of(evidence), _files(evidence))


def _files(evidence: Evidence) -> "_Files":
    drawn = load_drawings(evidence)
    of_topics = drawn_apart(evidence)
    under_faults = hazard_drawings(evidence.hazards, evidence.claims) if evidence.hazards is not None else []
    files = _tables(evidence, drawn, under_faults, of_topics)
    files |= _figures([*drawn, *chain(*of_topics.values()), *under_faults])
    for topic, found in apart(evidence):
        files |= _topic(topic, found, of_topics[topic.place])
    if evidence.hazards is not None:
        files |= _hazards(evidence.hazards, under_faults)
    return files


_Files = dict[str, tuple[bytes, tuple[str, ...]]]  # name -> content and the runs behind it


def _tables(
    evidence: Evidence,
    drawings: list[Drawing],
    under_faults: list[Drawing],
    of_topics: Mapping[str, Sequence[Drawing]],
) -> _Files:
    measured = tuple(sorted(row.run_id for row in evidence.rows))
    # The comparison's cells about safety rest on the hazard campaign, those about waiting on their own.
    every = tuple(sorted(run for runs in campaigns_of(evidence).values() for run in runs))
    judged = tuple(sorted({run_id for judgement in evidence.judgements for run_id in judgement.evidence}))
    texts = {
        "comparison.md": (markdown(comparison_document(evidence)), every),
        "comparison.csv": (comparison_csv(evidence), every),
        PAGE: (html_page(page_document(evidence, drawings, under_faults, of_topics), _OPENED), every),
        "claims.md": (markdown(claims_document(evidence)), judged),
        "claims.csv": (claims_csv(evidence), judged),
        "cells.csv": (cells_csv(evidence), measured),
        "curves.csv": (curves_csv(evidence), measured),
        "runs.csv": (runs_csv(evidence), measured),
    }
    over_networks = evidence.about_networks
    for name, text in (
        ("round_trips.csv", round_trips_csv(over_networks)),
        ("cost_model.csv", left_out_csv(over_networks)),
        ("traffic.csv", traffic_csv(over_networks)),
    ):
        if text:
            texts[name] = (text, tuple(sorted(row.run_id for row in over_networks.rows)))
    return {name: (text.encode("utf-8"), runs) for name, (text, runs) in texts.items()}


def _topic(topic: Topic, found: Evidence, drawings: Sequence[Drawing]) -> _Files:
    every = tuple(sorted(row.run_id for row in found.rows))
    document = topic_document(topic, found, drawings)
    texts = {
        f"{topic.place}.md": markdown(document),
        f"{topic.place}.html": html_page(document),
        f"{topic.place}_cells.csv": cells_csv(found),
        f"{topic.place}_runs.csv": runs_csv(found),
    }
    return {name: (text.encode("utf-8"), every) for name, text in texts.items()}


def _hazards(hazards: HazardEvidence, drawings: list[Drawing]) -> _Files:
    every = tuple(sorted(run.run_id for run in hazards.runs))
    texts = {
        "hazards.md": markdown(hazards_document(hazards)),
        "hazards.html": html_page(hazards_document(hazards, drawings)),
        "hazards.csv": trials_csv(hazards),
        "hazard_verdicts.csv": verdicts_csv(hazards),
    }
    return {name: (text.encode("utf-8"), every) for name, text in texts.items()}


def _figures(drawings: list[Drawing]) -> _Files:
    return {
        f"{drawing.name}.{file_format}": (drawing.rendered(file_format), tuple(sorted(set(drawing.runs))))
        for drawing in drawings
        for file_format in FORMATS
    }
