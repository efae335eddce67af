"""Whether every claim has a verdict or the reason why it can have none, and whether pages say what the data say."""

import re
from collections.abc import Iterator
from pathlib import Path

from bench.analysis.evidence import Evidence
from bench.report.claims_list import claim_lines
from bench.report.claims_table import verdict_rows
from bench.report.notebook_list import RENDERED
from bench.report.topics import apart

_PAGES = ("README.md", "docs/*.md", "figures/*.md", f"{RENDERED.as_posix()}/*.md")
_COMPLETE = Path("docs") / "results.md"  # has every verdict
_ESCAPED = re.compile(r"\\(.)")
_CELL_ENDS = re.compile(r"(?<!\\)\|")
_Said = tuple[str, str]  # a claim's id and a system's title


def faults(evidence: Evidence, root: Path) -> Iterator[str]:
    """A sentence for each claim without a verdict or a reason, and for each verdict of a page that is not the data's.

    `root` has the pages: README.md, docs/, figures/, notebooks/rendered/.
    """
    for line in claim_lines(evidence):
        if not line.judged:
            yield f"{line.id} has neither a verdict nor a reason why it is not testable. {line.sentence}"
    complete = {(row.id, row.system) for row in verdict_rows(evidence)}
    expected = _verdicts(evidence)
    for line in claim_lines(evidence):  # the untested ones too
        expected.setdefault((line.id, line.system), set()).add(line.verdict)
    of_topics = [_verdicts(found) for topic, found in apart(evidence) if topic.judged]
    for pattern in _PAGES:
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root)
            written = list(_written(path.read_text(encoding="utf-8")))
            for said, verdict in written:
                allowed = {word for one in (expected, *of_topics) for word in one.get(said, ())}
                if verdict not in allowed:
                    here = " or ".join(sorted(allowed)) or "nothing"
                    yield f"{name}: {said[0]} on {said[1]} reads `{verdict}`; the data say {here}"
            if name == _COMPLETE:
                missing = complete - {said for said, _ in written}
                yield from (f"{name} lacks {claim} on {system}" for claim, system in sorted(missing))


def _verdicts(evidence: Evidence) -> dict[_Said, set[str]]:
    found: dict[_Said, set[str]] = {}
    for row in verdict_rows(evidence):
        found.setdefault((row.id, row.system), set()).add(row.shown)
    return found


def _written(page: str) -> Iterator[tuple[_Said, str]]:
    """The verdicts in a page's tables: those with columns for the claim, the system and the verdict."""
    places: tuple[int, int, int] | None = None
    header: list[str] = []
    for line in page.splitlines():
        if not line.startswith("|"):
            places, header = None, []
            continue
        cells = [_plain(cell) for cell in _CELL_ENDS.split(line)[1:-1]]
        if not header:
            header = cells
            wanted = ("Claim", "System", "Verdict")
            places = None
            if all(word in header for word in wanted):
                claim, system, verdict = map(header.index, wanted)
                places = claim, system, verdict
        elif places is not None and len(cells) == len(header) and re.fullmatch(r"C\d{2,3}", cells[places[0]]):
            yield (cells[places[0]], cells[places[1]]), cells[places[2]]


def _plain(cell: str) -> str:
    return _ESCAPED.sub(r"\1", cell.strip().strip("*")).strip()
