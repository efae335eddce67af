"""Whatever count of the reference is printed as one more than it is, the judge finds it."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.judge.comparison import COUNT
from tests.judge.page import tables_of
from tests.judge.printed import SAFETY
from tests.judge.records import Run
from tests.judge.renderings import Rendered

Span = tuple[int, int]
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# Counts in other words.
_OTHERS = re.compile(r"\d+(?=: acquired| of these| trials| searches| pairs of grants$| pauses| grants\b)")


def _one_more(number: str) -> str:
    """One more in its last place."""
    digits = number.replace(",", "")
    places = len(digits.partition(".")[2])
    more = float(digits) + 10.0**-places if places else int(digits) + 1
    return f"{more:,.{places}f}" if "," in number else f"{more:.{places}f}"


def _altered(text: str, span: Span) -> str:
    first, end = span
    return f"{text[:first]}{_one_more(text[first:end])}{text[end:]}"


def _of_counts(text: str) -> list[Span]:
    """Each number of each "k of n in so many runs, ≤ so much", but for those in the names of faults."""
    found = (match for match in COUNT.finditer(text) if not text[match.end() :].startswith(" held nodes"))
    spans = [match.span(group) for match in found for group in (1, 2, 3, 4) if match.group(group)]
    return spans + [one.span() for one in _OTHERS.finditer(text) if not any(a <= one.start() < b for a, b in spans)]


def _passes(spans: Sequence[Sequence[Span]]) -> Iterator[dict[int, Span]]:
    """One number of each line at a time."""
    for place in range(max(map(len, spans))):
        yield {line: of_line[place] for line, of_line in enumerate(spans) if place < len(of_line)}


def _tried(
    lines: Sequence[str], spans: Sequence[Sequence[Span]], found_in: Callable[[list[str]], set[int]]
) -> tuple[int, list[str]]:
    """How many numbers were altered, and those of which nothing was found."""
    assert found_in(list(lines)) == set()
    altered, escaped = 0, []
    for one in _passes(spans):
        found = found_in([_altered(text, one[line]) if line in one else text for line, text in enumerate(lines)])
        altered += len(one)
        escaped += [_altered(lines[line], span) for line, span in one.items() if line not in found]
    return altered, escaped


def _lines(name: str, text: str, runs: Sequence[Run]) -> set[int]:
    """Where the judge finds something wrong."""
    found: set[int] = Rendered({name: text}).against(runs)[name].lines
    return found


def _say(name: str, altered: int, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{name}: {altered:,} numbers altered, each by one in its last place")


def test_no_number_of_the_page_escapes(
    rendered: Rendered, runs: Sequence[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    text = rendered.texts["hazards.md"]
    lines = text.splitlines()
    spans: list[list[Span]] = [[] for _ in lines]
    for _, header, rows in tables_of(text):
        for row in rows:
            line = lines[row.number]
            # Between these columns each number is altered, elsewhere those of counts: a parameter is part of a name.
            between = ("n", "Verdict") if "n" in header else ("Pauses beyond the TTL", "Why it is off")
            if set(between) <= set(header):
                borders = [match.start() for match in re.finditer(r"(?<!\\)\|", line)]
                first, last = (borders[header.index(column)] for column in between)
                spans[row.number] = [match.span() for match in _NUMBER.finditer(line, first, last)]
            else:
                spans[row.number] = _of_counts(line)

    # How many runs were planned, a judge of what was played cannot know.
    (started,) = (number for number, line in enumerate(lines) if line.startswith("- **Runs:**"))
    spans[started] = [match.span() for match in _NUMBER.finditer(lines[started], lines[started].index("planned"))]

    def found_in(lines: list[str]) -> set[int]:
        return _lines("hazards.md", "\n".join(lines), runs)

    altered, escaped = _tried(lines, spans, found_in)
    _say("hazards.md", altered, capsys)
    assert escaped == []
    assert altered > 5_000


def _cells(text: str) -> tuple[list[str], list[list[str]]]:
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


def _written(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue()


def _spans_of_cells(
    header: Sequence[str], row: Sequence[str], numbers: Sequence[str], words: Sequence[str]
) -> list[tuple[int, Span]]:
    """By column: the numbers of some, and the counts in the words of others."""
    found = [(place, (0, len(row[place]))) for place in map(header.index, numbers) if row[place]]
    return found + [(place, span) for place in map(header.index, words) for span in _of_counts(row[place])]


@pytest.mark.parametrize(
    ("name", "numbers", "words", "least"),
    [
        (
            "hazard_verdicts.csv",
            (
                "shown",
                "of_trials",
                "of_runs",
                "upper_bound_of_runs",
                "shown_outside",
                "of_outside",
                "late_accepted_fence_off",
                "late_judged_fence_off",
                "late_accepted_fence_on",
                "late_judged_fence_on",
                "unavailable",
                "of_exposed_to_that",
                "overlap_s_max",
            ),
            ("reason",),
            2_000,
        ),
        ("claims.csv", (), ("found", "why"), 500),
    ],
)
def test_no_count_of_a_row_escapes(
    rendered: Rendered,
    runs: Sequence[Run],
    name: str,
    numbers: Sequence[str],
    words: Sequence[str],
    least: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    header, rows = _cells(rendered.texts[name])
    spans = [
        _spans_of_cells(header, row, numbers, words) if name != "claims.csv" or row[0] in SAFETY else [] for row in rows
    ]
    altered, escaped = 0, []
    for place in range(max(map(len, spans))):
        changed = [list(row) for row in rows]
        touched = {line for line, of_line in enumerate(spans) if place < len(of_line)}
        for line in touched:
            column, span = spans[line][place]
            changed[line][column] = _altered(rows[line][column], span)
        found = _lines(name, _written(header, changed), runs)
        altered += len(touched)
        escaped += [changed[line][spans[line][place][0]] for line in sorted(touched - found)]
    _say(name, altered, capsys)
    assert escaped == []
    assert altered > least


def test_no_word_of_a_verdict_escapes(rendered: Rendered, runs: Sequence[Run]) -> None:
    header, rows = _cells(rendered.texts["hazard_verdicts.csv"])
    for name in ("hazard", "verdict", "has_token", "evidence_runs", "void_runs"):
        changed = [list(row) for row in rows]
        for row in changed:
            row[header.index(name)] += "-01"
        assert _lines("hazard_verdicts.csv", _written(header, changed), runs) == set(range(len(rows)))


def test_no_number_of_a_trial_escapes(
    rendered: Rendered, runs: Sequence[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    """Here each comparison is of one cell alone: all are altered at once, and as many are found."""
    header, rows = _cells(rendered.texts["hazards.csv"])
    numbers = [
        place
        for place, name in enumerate(header)
        if header.index("ttl_ms") <= place <= header.index("unknown") or name.startswith("measured_")
    ]
    altered = 0
    for row in rows:
        for place in numbers:
            if _NUMBER.fullmatch(row[place]):
                row[place] = _one_more(row[place])
                altered += 1
    compared = Rendered({"hazards.csv": _written(header, rows)}).against(runs)["hazards.csv"]
    _say("hazards.csv", altered, capsys)
    assert len(compared.wrong) == altered
    assert altered > 50_000


def test_no_count_of_the_glance_escapes(
    rendered: Rendered, runs: Sequence[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows of the first table that come from hazards."""
    lines = rendered.texts["comparison.md"].splitlines()
    ends = next(number for number, line in enumerate(lines) if line.startswith("| Operational cost"))
    starts = next(number for number, line in enumerate(lines) if line.startswith("| Safe when the holder pauses"))
    told = [starts <= number < ends or line.startswith("- **Under faults:**") for number, line in enumerate(lines)]
    spans = [_of_counts(line) if here else [] for here, line in zip(told, lines, strict=True)]

    def found_in(lines: list[str]) -> set[int]:
        return _lines("comparison.md", "\n".join(lines), runs)

    altered, escaped = _tried(lines, spans, found_in)
    _say("comparison.md", altered, capsys)
    assert escaped == []
    assert altered >= 20
