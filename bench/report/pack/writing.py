"""A pack as files: HTML that needs no other file, PDF, Markdown, LaTeX, CSV, and figures for light and dark pages."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import reportlab

from bench.analysis.evidence import Evidence
from bench.analysis.narrowing import of_systems
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.export_folder import refuse_foreign, replace_export
from bench.report.export_provenance import campaigns_of, provenance_of
from bench.report.figures.drawing import Drawing
from bench.report.hazard_tidy import verdicts_csv
from bench.report.pack.document import Pack, default_question, default_title, pack_document, three_figures
from bench.report.pack.pictures import InDocuments
from bench.report.pack.tables import chosen_properties, decision_csv
from bench.report.tidy import cells_csv
from bench.report.writers.html import html_page
from bench.report.writers.latex import latex
from bench.report.writers.markdown import markdown
from bench.report.writers.pdf import pdf

PAGE = "pack.html"  # what a reader opens first
PAGES_MAX = 6  # of the PDF
_LIGHT, _DARK = ("svg", "pdf", "png"), ("svg", "png")
_Files = dict[str, tuple[bytes, tuple[str, ...]]]  # name -> content and the runs behind it


def export_pack(
    campaign: CampaignFolder,
    target: Path,
    systems: Sequence[str],
    *,
    rows: Sequence[str] = (),
    title: str = "",
    question: str = "",
    transparent: bool = False,
    hazards: HazardFolder | None = None,
    root: Path | None = None,
) -> list[Path]:
    """Write pack.{html,pdf,md,tex}, table.csv, cells.csv, three figures and MANIFEST.json; returns the files, sorted.

    `rows` are names of the table's properties (default: all); `transparent` is about the PNG files. Raises StoreError
    or ClaimsError for damaged input, NotMeasured for a system without a run, ReportError where `target` is not
    lockbench's to write, or cannot be written, or a row is none.
    """
    refuse_foreign(target)
    whole = Evidence.load(campaign, root, hazards)
    evidence = of_systems(whole, systems)
    properties = chosen_properties(evidence, rows)
    pack = Pack(
        title=title or default_title(evidence),
        question=question or default_question(evidence),
        evidence=evidence,
        whole=whole,
        properties=properties,
        drawings=three_figures(evidence),
    )
    files = _files(pack, transparent)
    refuse_foreign(target, files)  # once more: drawing took seconds, and now all names are known
    provenance = provenance_of(evidence)
    provenance["rendered_with"] = {"matplotlib": mpl.__version__, "reportlab": reportlab.__version__}
    return replace_export(target, provenance, campaigns_of(evidence), files)


def _files(pack: Pack, transparent: bool) -> _Files:
    document = pack_document(pack)
    every = tuple(sorted(run for runs in campaigns_of(pack.evidence).values() for run in runs))
    measured = tuple(sorted(row.run_id for row in pack.evidence.rows))
    texts: dict[str, tuple[str, tuple[str, ...]]] = {
        PAGE: (html_page(document), every),
        "pack.md": (markdown(document), every),
        "pack.tex": (latex(document), every),
        "table.csv": (decision_csv(pack.evidence, pack.properties), every),
        "cells.csv": (cells_csv(pack.evidence), measured),
    }
    if (lab := pack.evidence.hazards) is not None:
        texts["hazard_verdicts.csv"] = (verdicts_csv(lab), tuple(sorted(run.run_id for run in lab.runs)))
    files: _Files = {name: (text.encode("utf-8"), runs) for name, (text, runs) in texts.items()}
    files["pack.pdf"] = (pdf(document, pages_max=PAGES_MAX), every)
    for drawing in pack.drawings:
        files |= _figure(drawing, transparent)
    return files


def _figure(drawing: Drawing, transparent: bool) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
    light = InDocuments(drawing, transparent=transparent)
    dark = InDocuments(drawing, dark=True, transparent=transparent)
    runs = tuple(sorted(set(drawing.runs)))
    shown = [*((light, ending) for ending in _LIGHT), *((dark, ending) for ending in _DARK)]
    return {f"{one.name}.{ending}": (one.rendered(ending), runs) for one, ending in shown}
