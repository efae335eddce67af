"""The letters behind numbers that the runs cannot tell apart, and the footnote that says why."""

import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from bench.analysis import names
from bench.analysis.cells import Cell
from bench.analysis.evidence import Evidence
from bench.analysis.groups import Group, groups, too_few
from bench.analysis.intervals import CONFIDENCE, RUNS_FOR_AN_INTERVAL
from bench.records.numbers import percent
from bench.report import formats
from bench.report.formats import NO_BREAK
from bench.report.model import Text
from bench.report.table_model import NOTE_WORDS, Footnotes

SIGN = "≈"

# Metric -> the workload whose cells are compared by it, and its name in a footnote. Contention is not among them: how
# clients wait is a parameter of that workload, and it differs from system to system.
COMPARED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "acquire_us_p50": ("uncontended", "median acquire"),
        "acquire_us_p99": ("uncontended", "p99 acquire"),
        "acquire_us_p999": ("uncontended", "p99.9 acquire"),
        "throughput_pairs_per_s": ("saturation", "pairs per second"),
    }
)


@dataclass(frozen=True, slots=True)
class GroupMark:
    """A letter, and the sentence that belongs to it."""

    letter: str
    sentence: str


class GroupMarks:
    """All groups of more than one cell of one campaign. No letter is used twice, so that none can be misread."""

    def __init__(self, evidence: Evidence) -> None:
        self._marks: dict[tuple[int, str], GroupMark] = {}  # by the cell's own identity: a cell has no hash
        letters = _letters()
        for name, (workload, words) in COMPARED.items():
            cells = [cell for cell in evidence.cells if cell.workload.title == workload]
            for group in groups(cells, name):
                if group.others:
                    letter = next(letters)
                    mark = GroupMark(letter, _sentence(letter, words, group))
                    self._marks |= {(id(cell), name): mark for cell in group.cells}

    def letter(self, cell: Cell | None, metric: str) -> str:
        """The letter of a number; empty for one that stands apart."""
        mark = self._marks.get((id(cell), metric))
        return mark.letter if mark else ""

    def marked(self, text: Text, cell: Cell, metric: str, notes: Footnotes) -> Text:
        """The text with its letter and its footnote, where the number belongs to a group."""
        mark = self._marks.get((id(cell), metric))
        if mark is None:
            return text
        marks = (*text.marks, notes.number(mark.sentence))
        return replace(text, words=f"{text.words} {SIGN}{NO_BREAK}{mark.letter}", marks=marks)


def method_sentences(evidence: Evidence) -> Iterable[str]:
    """What the letters mean, and which cells could have got one but have too few runs."""
    yield (
        f"Numbers with the same letter after {SIGN} cannot be distinguished: the {percent(CONFIDENCE)} interval of "
        "their ratio to the best of the group contains 1. Only like is compared with like: equally many servers from "
        "the same source, and acquires (likewise releases) that either all wait for a disk or all do not; never an "
        f"emulator or a bound. An interval needs {RUNS_FOR_AN_INTERVAL} runs of each."
    )
    compared = {workload for workload, _ in COMPARED.values()}
    few = [cell for cell in too_few(evidence.cells) if cell.workload.title in compared]
    if few:
        cells = dict.fromkeys(f"{names.title(cell.system)}, {cell.workload.title}" for cell in few)
        yield f"Too few runs to compare: {'; '.join(cells)}."


def _sentence(letter: str, words: str, group: Group) -> str:
    """With the ratios and their intervals where they fit; `comparison.csv` has all numbers."""
    said = f"{SIGN}{NO_BREAK}{letter}: {words} indistinguishable from {names.title(group.best.system)}; add runs"
    ratios = ", ".join(f"{names.title(cell.system)} {formats.times_value(times, 3)}" for cell, times in group.others)
    for others in (ratios, ", ".join(names.title(cell.system) for cell, _ in group.others)):
        if len(f"{said}: {others}".split()) <= NOTE_WORDS:
            return f"{said}: {others}"
    return f"{said}: {formats.counted([len(group.others)], 'system')}"


def _letters() -> Iterator[str]:
    yield from string.ascii_lowercase
    yield from (f"{one}{two}" for one in string.ascii_lowercase for two in string.ascii_lowercase)
