"""What lockbench prints of a hazard campaign: the other side, and the only module here that may know of lockbench."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis import names
from bench.analysis.claims import load_claims
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.claims import judge_by_hazards
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.verdicts import verdict_frame
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.documents.comparison import comparison_document
from bench.report.documents.hazards import hazards_document
from bench.report.hazard_tidy import trials_csv, verdicts_csv
from bench.report.tidy import claims_csv
from bench.report.writers.csv import csv_of
from bench.report.writers.markdown import markdown
from bench.systems.registry import SYSTEMS
from tests.judge import glance, page, printed
from tests.judge.comparison import Comparison
from tests.judge.records import Run, runs_of

TITLES: Mapping[str, str] = {names.title(system): system for system in SYSTEMS}
_Compare = Callable[[str, Sequence[Run], Comparison], None]
COMPARE: Mapping[str, _Compare] = {
    "hazard_verdicts.csv": printed.compare_verdicts,
    "hazards.csv": printed.compare_trials,
    "hazards.md": lambda text, runs, seen: page.compare_page(text, runs, TITLES, seen),
    "claims.csv": printed.compare_claims,
    "comparison.md": lambda text, runs, seen: glance.compare_glance(text, runs, TITLES, seen),
}


@dataclass(frozen=True)
class Rendered:
    """The files of an export that count hazards, as text."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, hazards: Path, load: Path | None = None) -> "Rendered":
        """Of a hazard campaign; with a campaign of load the comparison as well, as an export has it."""
        folder = HazardFolder(hazards)
        if load is None:
            evidence, comparison = HazardEvidence.load(folder), {}
            judgements = [one for claim in load_claims() for one in judge_by_hazards(claim, evidence)]
            claims = csv_of(verdict_frame(judgements))
        else:
            whole = Evidence.load(CampaignFolder(load), hazards=folder)
            assert whole.hazards is not None
            evidence, comparison = whole.hazards, {"comparison.md": markdown(comparison_document(whole))}
            claims = claims_csv(whole)
        return cls(
            {
                "hazard_verdicts.csv": verdicts_csv(evidence),
                "hazards.csv": trials_csv(evidence),
                "hazards.md": markdown(hazards_document(evidence)),
                "claims.csv": claims,
                **comparison,
            }
        )

    def against(self, runs: Sequence[Run], *names_of_files: str) -> dict[str, Comparison]:
        """Each file (default: all) held against the judge."""
        compared = {}
        for name in names_of_files or self.texts:
            compared[name] = Comparison()
            COMPARE[name](self.texts[name], runs, compared[name])
        return compared


def judged(hazards: Path) -> list[Run]:
    return runs_of(hazards)


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    """A CSV of a hazard campaign, row by row."""
    return list(csv.DictReader(io.StringIO(Rendered.of(folder).texts[name])))


def alike(folder: Path) -> Sequence[Run]:
    """The runs of a campaign of which lockbench and the judge say the same."""
    runs = judged(folder)
    compared = Rendered.of(folder).against(runs)
    assert {name: one.wrong for name, one in compared.items() if one.wrong} == {}
    return runs
